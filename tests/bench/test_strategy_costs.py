"""The costs that `disputatio strategies` shows are the means of what the folders of runs hold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from disputatio.eval.running.run_log import Entrant, Record, RunManifest, State, open_run_log
from disputatio.types import Example, Usage
from tests.bench.scripts import script

AS_THEY_STAND = {"k": None, "max_tokens": 256}


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    yield script("strategy_costs")


def _run(
    out: Path, calls: Mapping[str, list[int]], *, model: str = "local:small", **options: Mapping[str, Any]
) -> Path:
    """Return a folder of an evaluation: by label the calls of each question, with -1 for a fault."""
    examples = [
        Example(id=f"x{n}", row=n, question="q", gold=("g",), metadata={"dataset": "ramdocs:rows.jsonl"})
        for n in range(max(map(len, calls.values())))
    ]
    manifest = RunManifest(
        datasets={"ramdocs:rows.jsonl": "0"}, metrics={"ramdocs:rows.jsonl": ["em"]}, metrics_version=1,
        model=model, engine="engine 1",
    )  # fmt: skip
    entrants = [
        Entrant(
            label=label, strategy=label.split("#")[0], options=options.get(label.split("#")[0], AS_THEY_STAND)
        )
        for label in calls
    ]
    with open_run_log(out, manifest, entrants, examples) as journal:
        for label, each in calls.items():
            for n, count in enumerate(each):
                state: State = "done" if count >= 0 else "fault"
                journal.append(label, _record(n, label, count), state=state)
    return out


def _record(n: int, label: str, calls: int) -> Record:
    usage = Usage(calls=calls, prompt_tokens=100 * calls, cached_tokens=10 * calls, completion_tokens=calls)
    return Record(
        example=f"x{n}", row=n, strategy=label, options={}, answers=("g",) if calls >= 0 else (),
        abstained=None, scores={}, usage=usage, seconds=1.0, fault="" if calls >= 0 else "Timeout: none",
    )  # fmt: skip


def test_means_are_over_the_questions_that_were_answered(bench: Any, tmp_path: Path) -> None:
    costs = bench.costs_of(
        _run(tmp_path / "a", {"concat": [1, 1, 4, -1], "crag": [5, 6, 7]}, crag={"upper": 0.9})
    )
    concat = next(cost for cost in costs if cost["strategy"] == "concat")
    assert concat == {
        "strategy": "concat", "set": {}, "dataset": "ramdocs:rows.jsonl", "questions": 3,
        "model": "local:small", "roles": {}, "engine": "engine 1", "verify": False, "index": "",
        "calls": 2.0, "prompt_tokens": 200.0, "cached_tokens": 20.0, "completion_tokens": 2.0,
    }  # fmt: skip
    crag = next(cost for cost in costs if cost["strategy"] == "crag")
    assert (crag["set"], crag["calls"]) == ({"upper": 0.9}, 6.0)


def test_seeds_are_pooled_and_are_no_options_of_their_own(bench: Any, tmp_path: Path) -> None:
    seeds = {"madam_rag": [4, 4], "madam_rag#1": [8, 8]}
    [cost] = bench.costs_of(_run(tmp_path / "a", seeds, madam_rag={"shuffle_seed": 1, "rounds": 3}))
    assert (cost["set"], cost["calls"], cost["questions"]) == ({}, 6.0, 2)


def test_the_file_is_written_and_more_questions_win(
    bench: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many = _run(tmp_path / "many", {"concat": [1, 1, 1]})
    few = _run(tmp_path / "few", {"concat": [9], "crag": [7]})
    file = tmp_path / "costs.json"
    assert bench.main([str(many), str(few), "--out", str(file)]) == 0
    measured = json.loads(file.read_text())["measured"]
    assert [(cost["strategy"], cost["questions"], cost["calls"]) for cost in measured] == [
        ("concat", 3, 1.0),
        ("crag", 1, 7.0),
    ]
    assert "| concat | as they stand | ramdocs:rows.jsonl | 3 | local:small | 1.0 | 100.0 | 10.0 | 1.0 |" in (
        capsys.readouterr().out
    )


def test_what_is_there_is_kept_only_on_request(bench: Any, tmp_path: Path) -> None:
    file = tmp_path / "costs.json"
    bench.main([str(_run(tmp_path / "a", {"concat": [1]})), "--out", str(file)])
    bench.main([str(_run(tmp_path / "b", {"crag": [7]})), "--out", str(file), "--add"])
    assert [cost["strategy"] for cost in json.loads(file.read_text())["measured"]] == ["concat", "crag"]
    bench.main([str(tmp_path / "b"), "--out", str(file)])
    assert [cost["strategy"] for cost in json.loads(file.read_text())["measured"]] == ["crag"]


def test_strategies_of_others_are_left_out(
    bench: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = _run(tmp_path / "a", {"tests.eval.toy:vote": [1], "no_such_rag": [1]})
    assert bench.main([str(out), "--out", str(tmp_path / "costs.json")]) == 1
    assert "no strategy of ours" in capsys.readouterr().err
    assert not (tmp_path / "costs.json").exists()


def test_a_folder_without_an_evaluation_is_bad_input(
    bench: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench.main([str(tmp_path), "--out", str(tmp_path / "costs.json")]) == 2
    assert capsys.readouterr().err.startswith(f"strategy_costs: {tmp_path}: no evaluation here")
