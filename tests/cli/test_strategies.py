"""`disputatio strategies`: a line each, and by name the paper, the options, the needs and the cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from disputatio import pipeline
from disputatio.cli.strategies import cost_line
from disputatio.pipeline import strategy_names
from tests.shell import run

Capture = pytest.CaptureFixture[str]
COST: dict[str, Any] = {
    "strategy": "concat", "set": {}, "dataset": "ramdocs:dev.jsonl", "questions": 60, "model": "local:small",
    "roles": {}, "engine": "engine 1", "verify": False, "index": "", "calls": 1.0, "prompt_tokens": 1234.4,
    "cached_tokens": 300.0, "completion_tokens": 56.7,
}  # fmt: skip


@pytest.fixture
def costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of measured costs, as a file of the test's own that holds one measurement."""
    (tmp_path / pipeline.COSTS).write_text(json.dumps({"measured": [COST]}))
    monkeypatch.setattr("disputatio.pipeline.resources.files", lambda _: tmp_path)
    return tmp_path / pipeline.COSTS


def test_the_list_names_every_strategy_and_what_it_does(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    *lines, blank, hint = run(capsys, "strategies").out.splitlines()
    assert [line.split()[0] for line in lines if line[0] != " "] == strategy_names()
    [madam] = [line for line in lines if line.startswith("madam_rag ")]
    assert madam.split(maxsplit=1)[1] == "Let one agent per passage debate under an aggregator."
    assert (blank, hint) == ("", "Options, paper and cost of one: disputatio strategies NAME")
    assert max(map(len, lines)) <= 80


def test_a_summary_beside_a_long_name_wraps_under_itself(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["concat", "a_strategy_with_a_very_long_name"]
    summary = "Ask every passage alone, and let the answers that agree outvote the rest."
    described_by_name = {
        name: pipeline.StrategyDescription(
            name=name, summary=summary, paper="", options=(), needs_model=True, logprobs="", cost=()
        )
        for name in names
    }
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("disputatio.pipeline.strategy_names", lambda: names)
    monkeypatch.setattr("disputatio.pipeline.describe", described_by_name.__getitem__)
    *lines, _, _ = run(capsys, "strategies").out.splitlines()
    assert [line.split()[0] for line in lines if line[0] != " "] == names
    assert max(map(len, lines)) <= 80
    assert " ".join(line[34:] for line in lines) == f"{summary} {summary}"


def test_a_strategy_is_described_by_its_name(capsys: Capture) -> None:
    shown = run(capsys, "strategies", "madam_rag")
    assert shown.code == 0
    assert "arXiv 2504.13079" in " ".join(shown.out.split())
    assert "    --set aggregator=true        aggregate the replies; false: keep every distinct" in shown.out
    assert "    log-probabilities: not needed\n" in shown.out
    assert "needed, or --set votes=10" in run(capsys, "strategies", "crag").out


def test_an_unknown_name_is_answered_by_the_nearest(capsys: Capture) -> None:
    done = run(capsys, "strategies", "madamrag")
    assert (done.code, done.out) == (2, "")
    assert "did you mean 'madam_rag'?" in done.err


def test_json_has_default_type_and_meaning_of_every_option(capsys: Capture) -> None:
    rows = {row["name"]: row for row in run(capsys, "strategies", "--json").json}
    assert sorted(rows) == strategy_names()
    rounds = {"default": 3, "type": "int", "meaning": "maximum rounds of debate"}
    assert rows["madam_rag"]["options"]["rounds"] == rounds
    assert rows["madam_rag"]["options"]["history"]["type"] == "aggregate, peers"
    assert rows["madam_rag"]["needs"] == {"model": True, "logprobs": "not needed"}
    assert [name for name in rows if not rows[name]["needs"]["model"]] == ["disputation"]
    assert run(capsys, "strategies", "madam_rag", "--json").json == rows["madam_rag"]


def test_costs_are_shown_with_what_they_were_measured_on(costs: Path, capsys: Capture) -> None:
    assert run(capsys, "strategies", "concat", "--json").json["cost"] == [
        {key: COST[key] for key in COST if key != "strategy"}
    ]
    assert run(capsys, "strategies", "crag", "--json").json["cost"] == []
    text = " ".join(run(capsys, "strategies", "concat").out.split())
    assert "cost: 1.0 calls, 1,234 tokens read (300 from the prefix cache), 57 written per question: " in text
    assert "60 questions of ramdocs:dev.jsonl, local:small, engine 1" in text
    assert "cost: not measured" in run(capsys, "strategies", "crag").out


def test_a_cost_says_which_options_and_models_it_is_of() -> None:
    cost = {
        **COST,
        "set": {"rounds": 1},
        "roles": {"drafter": "local:tiny"},
        "verify": True,
        "cached_tokens": 0,
        "index": "a.index",
    }
    assert cost_line(cost) == (
        "1.0 calls, 1,234 tokens read, 57 written per question, with citations judged, with rounds=1: "
        "60 questions of ramdocs:dev.jsonl over the index a.index, local:small, drafter: local:tiny, engine 1"
    )


@pytest.mark.parametrize("name", strategy_names())
def test_a_description_fits_eighty_columns(
    name: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, run(capsys, "strategies", name).out.splitlines())) <= 80
