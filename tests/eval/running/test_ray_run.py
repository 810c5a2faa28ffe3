"""Workers give the report of a local evaluation, within one budget, and those that die give no answers.

One cluster on this machine serves all tests of a process.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import ClusterFault, ConfigError, InputError
from disputatio.eval.evaluate import evaluate
from disputatio.eval.reporting.report import report
from disputatio.eval.results import Results
from disputatio.eval.running.run_log import read_journal, read_spending
from disputatio.kit import Kit, chat
from disputatio.llm.call_cache import CallCache
from disputatio.spending import Budget
from disputatio.types import Answer, Example, Passage, Sampling
from tests.eval.fakes import without_times

slow = pytest.mark.slow
EXAMPLES = [
    Example(
        id=f"x{n}",
        row=n,
        question=f"What is number {n}?",
        gold=(f"n{n}",),
        wrong=("none",),
        passages=(Passage(text=f"Number {n} is n{n}.", id=f"p{n}", source="s"),),
        metadata={"dataset": "numbers", "strata": {"parity": "odd" if n % 2 else "even"}},
    )
    for n in range(12)
]


def reads(question: str, kit: Kit, *, poison: str = "", died: str = "") -> Answer:
    """Asks the model once; of the poisoned question its process dies: the first time, or each."""
    number = question.rsplit(maxsplit=1)[-1].rstrip("?")
    if number == poison and not (died and Path(died).exists()):
        if died:
            Path(died).touch()
        os._exit(1)
    if number == "7":
        raise ZeroDivisionError("one by nought")
    [completion] = kit.complete("reader", [chat("Read.", question)], Sampling(max_tokens=8))
    passages = kit.passages(question)
    right = completion.text and int(number) % 3
    return Answer(question=question, answers=(f"n{number}" if right else "none",), passages=tuple(passages))


def guesses(question: str, kit: Kit) -> Answer:
    """Always the same."""
    kit.complete("reader", [chat("Guess.", question), chat("Again.", question)], Sampling(max_tokens=8))
    return Answer(question=question, answers=("n1",))


@pytest.fixture
def script(tmp_path: Path) -> str:
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"": "seen"}))
    return f"scripted:{file}"


def evaluated(script: str, out: Path, **how: Any) -> Results:
    strategies = how.pop("strategies", {"reads": reads, "guesses": guesses})
    return evaluate(EXAMPLES, strategies, model=script, out=out, **how)


@slow
def test_the_report_is_that_of_a_local_run_whatever_the_order(
    ray_cluster: str, script: str, tmp_path: Path
) -> None:
    journal = tmp_path / "calls.sqlite"
    here = evaluated(script, tmp_path / "here", journal=tmp_path / "here.sqlite")
    there = evaluated(script, tmp_path / "there", ray=ray_cluster, workers=2, in_flight=3, journal=journal)
    assert there.outcome is not None and here.outcome is not None
    assert (there.outcome.done, there.outcome.bugs) == (here.outcome.done, here.outcome.bugs) == (23, 1)
    one, other = (without_times(report(tmp_path / name)) for name in ("here", "there"))
    for each in (one, other):  # how many were in hand, and whether calls were kept
        for dataset in each["datasets"]:
            dataset.pop("notes")
    assert json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert read_spending(tmp_path / "here") == read_spending(tmp_path / "there")
    with CallCache(journal) as calls:
        assert calls.count() == 35
    again = evaluated(
        script, tmp_path / "there", ray=ray_cluster, workers=1, journal=journal, budget=Budget(calls=40)
    )
    assert again.outcome is not None
    assert (again.outcome.kept, again.outcome.done, again.outcome.bugs) == (23, 0, 1)


@slow
def test_a_budget_is_one_for_all_workers_and_the_run_goes_on_with_a_larger_one(
    ray_cluster: str, script: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    how: dict[str, Any] = {"ray": ray_cluster, "workers": 2, "in_flight": 4}
    first = evaluated(script, out, budget=Budget(calls=9), **how)
    assert first.outcome is not None and first.outcome.stopped == "the budget of 9 calls is spent"
    assert sum(usage.calls for usage in read_spending(out).values()) <= 9
    second = evaluated(script, out, budget=Budget(calls=100))
    assert second.outcome is not None and second.outcome.left == 0
    assert len(read_journal(out).entries) == 24


@slow
def test_a_worker_that_dies_costs_a_retry_and_a_question_that_kills_is_a_failed_row(
    ray_cluster: str, script: str, tmp_path: Path
) -> None:
    died = tmp_path / "died"
    found = evaluated(
        script,
        tmp_path / "out",
        strategies={"once": reads, "each": reads},
        options={"once.poison": "4", "once.died": str(died), "each.poison": "2"},
        ray=ray_cluster,
        workers=2,
        in_flight=4,
    )
    assert died.exists() and found.outcome is not None
    assert (found.outcome.done, found.outcome.faults, found.outcome.bugs) == (21, 1, 2)
    entries = read_journal(tmp_path / "out").entries
    [(label, fault)] = [(entry.entrant, entry.record) for entry in entries if entry.state == "fault"]
    assert (label, fault.row, fault.answers, fault.scores) == ("each", 2, (), {})
    assert fault.fault.startswith("WorkerLost: 3 workers died at it")


@slow
def test_a_worker_without_the_model_ends_the_run_before_a_record(
    ray_cluster: str, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Absent:
        """A model that loads here alone."""

        name, here = "absent", os.getpid()

        def __init__(self) -> None:
            self.kept = os.getpid()

        def __setstate__(self, state: dict[str, Any]) -> None:
            from disputatio.errors import InputError

            raise InputError("absent: is not on this machine")

        def complete(self, prompts: Any, sampling: Any) -> Any:
            raise AssertionError("never asked")

    with pytest.raises(ClusterFault, match="absent: is not on this machine") as caught:
        evaluate(EXAMPLES, {"reads": reads}, model=Absent(), out=tmp_path / "out", ray=ray_cluster, workers=1)
    assert "\n" not in str(caught.value)
    assert read_journal(tmp_path / "out").entries == ()
    with pytest.raises(ClusterFault, match="fewer than the 64 workers"):
        evaluated(script, tmp_path / "many", ray=ray_cluster, workers=64)


@pytest.mark.parametrize(
    ("how", "error", "complaint"),
    [
        ({"workers": 2}, InputError, "give ray, or in_flight"),
        ({"ray": ""}, InputError, "needs the address of a cluster"),
        (
            {"ray": "local", "index": object()},
            ConfigError,
            "an index by its folder|cannot be searched|no retriever",
        ),
    ],
)
def test_what_workers_cannot_do_is_told_before_a_cluster_is_started(
    tmp_path: Path, script: str, how: dict[str, Any], error: type[Exception], complaint: str
) -> None:
    with pytest.raises(error, match=complaint):
        evaluated(script, tmp_path / "out", **how)
