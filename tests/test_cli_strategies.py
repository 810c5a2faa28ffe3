"""`disputatio strategies`: each with its paper, its options in words, what it needs and what it costs."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from disputatio import cli_strategies
from disputatio.cli_meanings import LOGPROBS, MEANINGS, SHARED, meaning
from disputatio.cli_strategies import cost_line, measured
from disputatio.errors import NoLogprobs, ReplyError
from disputatio.evidence.odds import NEED_LOGPROBS
from disputatio.kit import Kit
from disputatio.pipeline import load_strategy, strategy_names, strategy_options
from disputatio.types import Choice, Prompt
from tests.shell import run
from tests.test_strategy_contract import BENIGN, QUESTION, Hand, Parrot

Capture = pytest.CaptureFixture[str]
COST: dict[str, Any] = {
    "strategy": "concat", "set": {}, "dataset": "ramdocs:dev.jsonl", "questions": 60, "model": "local:small",
    "roles": {}, "engine": "engine 1", "verify": False, "index": "", "calls": 1.0, "prompt_tokens": 1234.4,
    "cached_tokens": 300.0, "completion_tokens": 56.7,
}  # fmt: skip


@pytest.fixture
def costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of measured costs, as a file of the test's own that holds one measurement."""
    (tmp_path / cli_strategies.COSTS).write_text(json.dumps({"measured": [COST]}))
    monkeypatch.setattr("disputatio.cli_strategies.resources.files", lambda _: tmp_path)
    return tmp_path / cli_strategies.COSTS


def test_every_option_of_every_strategy_has_one_line_and_no_line_is_idle() -> None:
    options = {name: set(strategy_options(load_strategy(name))) for name in strategy_names()}
    assert [f"{name}.{one}" for name in options for one in options[name] if not meaning(name, one)] == []
    idle = [
        f"{name}.{one}" for name, own in MEANINGS.items() for one in own if one not in options.get(name, ())
    ]
    shared = [one for one in SHARED if sum(one in own for own in options.values()) < 2]
    assert (idle, shared) == ([], [])
    lines = [line for own in (SHARED, *MEANINGS.values()) for line in own.values()]
    assert [one for one in lines if "\n" in one or len(one) > 90 or one.endswith(".")] == []


def test_options_are_listed_with_default_type_and_meaning(capsys: Capture) -> None:
    listed = {one["name"]: one for one in run(capsys, "strategies", "--json").json}
    assert sorted(listed) == strategy_names()
    rounds = {"default": 3, "type": "int", "meaning": "most rounds of debate"}
    assert listed["madam_rag"]["options"]["rounds"] == rounds
    assert listed["madam_rag"]["options"]["history"]["type"] == "aggregate, peers"
    assert "2504.13079" in listed["madam_rag"]["paper"]
    shown = run(capsys, "strategies").out
    assert "    --set aggregator=true        aggregate the replies; false keeps every distinct" in shown


def test_every_strategy_names_its_paper(capsys: Capture) -> None:
    listed = run(capsys, "strategies", "--json").json
    assert [one["name"] for one in listed if not (one["summary"] and "20" in one["paper"])] == []


def test_costs_are_shown_with_what_they_were_measured_on(costs: Path, capsys: Capture) -> None:
    listed = {one["name"]: one for one in run(capsys, "strategies", "--json").json}
    assert listed["concat"]["cost"] == [{key: COST[key] for key in COST if key != "strategy"}]
    assert listed["crag"]["cost"] == []
    blocks = run(capsys, "strategies").out.split("\nconcat\n")[1].split("\ncrag\n")
    told = " ".join(blocks[0].split())
    assert "cost: 1.0 calls, 1,234 tokens read (300 from the prefix cache), 57 written a question: " in told
    assert "60 questions of ramdocs:dev.jsonl, local:small, engine 1" in told
    assert "cost: not measured" in blocks[1].split("self_rag")[0]


def test_a_cost_says_which_options_and_models_it_is_of() -> None:
    one = {
        **COST,
        "set": {"rounds": 1},
        "roles": {"drafter": "local:tiny"},
        "verify": True,
        "cached_tokens": 0,
        "index": "a.index",
    }
    assert cost_line(one) == (
        "1.0 calls, 1,234 tokens read, 57 written a question and its judged citations with rounds=1: "
        "60 questions of ramdocs:dev.jsonl over the index a.index, local:small, drafter: local:tiny, engine 1"
    )


def test_the_shipped_costs_are_of_shipped_strategies_and_whole() -> None:
    known = measured()
    assert set(known) <= set(strategy_names())
    for name, rows in known.items():
        for one in rows:
            assert set(one) == set(COST) - {"strategy"}
            assert set(one["set"]) <= set(strategy_options(load_strategy(name)))
            assert one["questions"] > 0
            assert one["prompt_tokens"] >= one["cached_tokens"] >= 0


def test_what_is_said_of_log_probabilities_is_so() -> None:
    class Noting(Parrot):
        chose = False

        def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> list[Choice]:
            self.chose = True
            return super().choose(prompts, options)

    class Mute(Noting):
        def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> list[Choice]:
            self.chose = True
            raise NoLogprobs("none")

    needed = {name for name, words in LOGPROBS.items() if words.startswith("needed, or --set votes")}
    assert needed == set(NEED_LOGPROBS)
    for name in strategy_names():
        strategy = getattr(importlib.import_module(f"disputatio.strategies.{name}"), name)
        noting = Noting()
        strategy(QUESTION, Kit(model=noting, retriever=Hand(BENIGN)))
        by_default = not LOGPROBS.get(name, "with").partition(", or")[0].count("with")
        shelves_alone = name == "majority_vote"  # in which sources have several passages
        assert noting.chose == (by_default and not shelves_alone), name
        if name in NEED_LOGPROBS:
            continue
        mute = Mute()
        strategy(QUESTION, Kit(model=mute, retriever=Hand(BENIGN)))  # goes on without


@pytest.mark.parametrize(
    ("name", "options", "needs"),
    [
        ("speculative_rag", {"aggregate": "all"}, False),
        ("speculative_rag", {"aggregate": "best"}, True),
        ("majority_vote", {"voters": "sources"}, True),
    ],
)
def test_options_change_what_is_asked_for(name: str, options: dict[str, Any], needs: bool) -> None:
    class Mute(Parrot):
        chose = False

        def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> list[Choice]:
            self.chose = True
            raise NoLogprobs("none")

    mute = Mute()
    try:
        load_strategy(name)(QUESTION, Kit(model=mute, retriever=Hand(BENIGN)), **options)
    except (NoLogprobs, ReplyError):
        assert needs
    assert mute.chose == needs


def test_the_list_fits_eighty_columns(costs: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, run(capsys, "strategies").out.splitlines())) <= 80
