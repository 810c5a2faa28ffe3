"""A run can be stopped at any moment, even by kill -9, and goes on where it was."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import ContextTooLong, MissingPart, ReplyError, ServerFault
from disputatio.eval.reporting.report import report
from disputatio.eval.running.preparing import Ask
from disputatio.eval.running.run_log import Entrant, read_journal, read_spending, read_trace
from disputatio.eval.running.run_log_file import FILE
from disputatio.eval.running.runner import PATIENCE, Progress, RunOutcome
from disputatio.events import Round
from disputatio.kit import Kit, chat
from disputatio.llm.scripted import Scripted
from disputatio.spending import Budget, Meter
from disputatio.trace import Trace
from disputatio.types import Answer, Passage, Usage
from tests.eval.fakes import HALF, MANIFEST, RIGHT, ask, examples, run, without_times

ROOT = Path(__file__).resolve().parents[3]
KILLS = int(os.environ.get("DISPUTATIO_TEST_KILLS", "4"))


def _run(
    out: Path, count: int = 4, entrants: Sequence[Entrant] = (RIGHT, HALF), **options: Any
) -> RunOutcome:
    asked: Ask = options.pop("ask", ask)
    return run(examples(count), entrants, ask=asked, out=out, manifest=MANIFEST, **options)


def _named(name: str) -> Entrant:
    return Entrant(label=name, strategy=name)


def test_all_strategies_answer_a_row_before_any_sees_the_next(tmp_path: Path) -> None:
    order: list[tuple[str, str]] = []

    def noting(q: str, p: Sequence[Passage], strategy: str, options: Mapping[str, Any], t: Trace) -> Answer:
        order.append((q, strategy))
        return ask(q, p, strategy, options, t)

    outcome = _run(tmp_path, 2, ask=noting)
    assert order == [
        ("question 0", "right"),
        ("question 0", "half"),
        ("question 1", "right"),
        ("question 1", "half"),
    ]
    assert outcome == RunOutcome(done=4, kept=0, faults=0, bugs=0)


def test_records_hold_scores_costs_and_the_settings(tmp_path: Path) -> None:
    _run(tmp_path, 2)
    first, _, third, fourth = (entry.record for entry in read_journal(tmp_path).entries)
    assert first.scores["em"] == 1.0
    assert fourth.scores == {
        "em": 0.0, "em_lenient": 0.0, "em_literal": 0.0, "em_released": 0.0,
        "precision": 0.0, "precision_lenient": 0.0,
        "recall": 0.0, "recall_lenient": 0.0, "f1": 0.0, "f1_lenient": 0.0,
    }  # fmt: skip
    assert (third.usage.prompt_tokens, third.rounds, third.options) == (101, 2, {"rounds": 1})
    assert (third.prompts, third.model) == ("h1", "scripted:toy")
    assert third.seconds >= 0


def test_what_is_done_is_not_asked_again(tmp_path: Path) -> None:
    _run(tmp_path, 2)

    def refusing(*_: Any) -> Answer:
        raise AssertionError("asked again")

    assert _run(tmp_path, 2, ask=refusing) == RunOutcome(done=0, kept=4, faults=0, bugs=0)
    assert _run(tmp_path, 3) == RunOutcome(done=2, kept=4, faults=0, bugs=0)


def test_a_fault_is_recorded_unscored_and_tried_again(tmp_path: Path) -> None:
    def failing(q: str, p: Sequence[Passage], strategy: str, options: Mapping[str, Any], t: Trace) -> Answer:
        if (q, strategy) == ("question 1", "half"):
            raise ServerFault("the endpoint failed", 503)
        if (q, strategy) == ("question 2", "half"):
            raise ReplyError("no JSON", "raw words")
        return ask(q, p, strategy, options, t)

    assert _run(tmp_path, 3, ask=failing) == RunOutcome(done=4, kept=0, faults=2, bugs=0, retried=2)
    faults = [entry.record for entry in read_journal(tmp_path).entries if entry.state == "fault"]
    assert [record.fault for record in faults] == [
        "ServerFault: the endpoint failed",
        "ReplyError: the model's reply was not usable: no JSON",
    ]
    assert all(record.scores == {} and record.abstained == "fault" for record in faults)
    assert _run(tmp_path, 3) == RunOutcome(done=2, kept=4, faults=0, bugs=0)


def test_a_bug_of_a_strategy_is_recorded_by_its_class_and_the_run_goes_on(tmp_path: Path) -> None:
    outcome = _run(tmp_path, 2, [_named("bug"), RIGHT])
    assert outcome == RunOutcome(done=2, kept=0, faults=0, bugs=2)
    bugs = [entry for entry in read_journal(tmp_path).entries if entry.state == "bug"]
    assert [bug.record.fault for bug in bugs] == ["KeyError: 'missing'"] * 2


def test_an_answer_that_abstained_for_a_fault_is_a_fault(tmp_path: Path) -> None:
    def faulty(q: str, p: Sequence[Passage], strategy: str, options: Mapping[str, Any], t: Trace) -> Answer:
        return Answer(question=q, abstained="fault")

    assert _run(tmp_path, 1, [RIGHT], ask=faulty).faults == 1
    assert read_journal(tmp_path).entries[0].record.scores == {}


def test_a_wrong_request_ends_the_run_at_once(tmp_path: Path) -> None:
    asked = []

    def lacking(q: str, *_: Any) -> Answer:
        asked.append(q)
        raise MissingPart("no index")

    with pytest.raises(MissingPart):
        _run(tmp_path, ask=lacking)
    assert asked == ["question 0"]
    assert read_journal(tmp_path).entries == ()


def test_a_run_gives_up_after_ten_faults_in_a_row(tmp_path: Path) -> None:
    outcome = _run(tmp_path, 30, [_named("down")])
    assert (outcome.faults, outcome.left) == (PATIENCE, 30 - PATIENCE)
    assert outcome.stopped == "10 faults in a row"


def test_a_fault_that_passes_is_tried_again_at_the_end_of_the_run(tmp_path: Path) -> None:
    order: list[str] = []

    def failing(q: str, p: Sequence[Passage], strategy: str, options: Mapping[str, Any], t: Trace) -> Answer:
        order.append(q)
        if order.count("question 0") == 1 and q == "question 0":
            raise ServerFault("the endpoint failed", 503)
        return ask(q, p, strategy, options, t)

    updates: list[Progress] = []
    outcome = _run(tmp_path, 2, [RIGHT], ask=failing, progress=updates.append)
    assert outcome == RunOutcome(done=2, kept=0, faults=0, bugs=0, retried=1)
    assert order == ["question 0", "question 1", "question 0"]
    assert [(update.done, update.faults) for update in updates] == [(0, 1), (1, 1), (2, 0)]
    assert [entry.state for entry in read_journal(tmp_path).entries] == ["done", "done"]


def test_a_fault_that_would_come_back_the_same_is_not_tried_again_in_one_run(tmp_path: Path) -> None:
    asked: list[str] = []

    def failing(q: str, *_: Any) -> Answer:
        asked.append(q)
        raise ContextTooLong("the prompt has too many tokens")

    assert _run(tmp_path, 2, [RIGHT], ask=failing) == RunOutcome(done=0, kept=0, faults=2, bugs=0)
    assert asked == ["question 0", "question 1"]


def test_a_fault_is_recorded_with_what_it_took_and_a_bug_with_its_traceback(tmp_path: Path) -> None:
    def failing(q: str, p: Sequence[Passage], strategy: str, options: Mapping[str, Any], t: Trace) -> Answer:
        t.spend([Usage(calls=3, prompt_tokens=50)])
        t.emit(Round(number=1))
        if strategy == "right":
            raise ReplyError("no JSON", "raw")
        raise ZeroDivisionError("in the strategy")

    _run(tmp_path, 1, ask=failing)
    fault, bug = read_journal(tmp_path).entries
    assert (fault.state, fault.record.usage.calls) == ("fault", 3)
    assert [event["event"] for event in read_trace(tmp_path, "right", "x0")] == ["round"]
    called, broke = read_trace(tmp_path, "half", "x0")
    assert (called["event"], broke["event"]) == ("round", "bug")
    stored = sqlite3.connect(tmp_path / FILE)
    ((detail,),) = stored.execute("SELECT detail FROM records WHERE state = 'bug'").fetchall()
    stored.close()
    assert bug.record.fault == "ZeroDivisionError: in the strategy"
    assert "Traceback" in detail and "in failing" in detail
    assert broke["traceback"] == detail


def test_a_strategy_that_would_end_the_process_is_a_bug(tmp_path: Path) -> None:
    def leaving(*_: Any) -> Answer:
        sys.exit(1)

    assert _run(tmp_path, 1, [RIGHT], ask=leaving).bugs == 1


def test_a_wrong_request_ends_the_run_after_the_questions_in_hand_are_recorded(tmp_path: Path) -> None:
    lacking = threading.Event()

    def asked(q: str, p: Sequence[Passage], strategy: str, options: Mapping[str, Any], t: Trace) -> Answer:
        if q == "question 0":
            lacking.set()
            raise MissingPart("no index")
        lacking.wait(10)
        return ask(q, p, strategy, options, t)

    with pytest.raises(MissingPart):
        _run(tmp_path, 20, [RIGHT], ask=asked, workers=2)
    assert [entry.record.row for entry in read_journal(tmp_path).entries] == [1]


def test_a_report_is_the_same_bytes_however_many_are_in_hand_and_whoever_is_done_first(
    tmp_path: Path,
) -> None:
    rng = random.Random(1)

    def unevenly(q: str, p: Sequence[Passage], strategy: str, options: Mapping[str, Any], t: Trace) -> Answer:
        time.sleep(rng.random() * 0.003)
        return ask(q, p, strategy, options, t)

    _run(tmp_path / "one", 20)
    _run(tmp_path / "many", 20, ask=unevenly, workers=7)
    one, many = (json.dumps(without_times(report(tmp_path / name, resamples=50))) for name in ("one", "many"))
    assert one == many


# --- budgets ------------------------------------------------------------------------------------
def _metered(calls: int) -> tuple[Meter, Ask]:
    """Return a meter of so many calls, and strategies of two calls a question that go by it."""
    meter = Meter(Budget(calls=calls))
    kit = meter.wrap(Kit(model=Scripted(lambda _: "yes", name="scripted:toy")))

    def asked(q: str, p: Sequence[Passage], strategy: str, options: Mapping[str, Any], t: Trace) -> Answer:
        for _ in range(2):
            kit.with_trace(t).complete("reader", [chat("You count.", q)])
        return ask(q, p, strategy, options, t)

    return meter, asked


@pytest.mark.parametrize("workers", [1, 4])
def test_a_budget_ends_the_run_before_it_is_exceeded_and_a_larger_one_goes_on(
    tmp_path: Path, workers: int
) -> None:
    meter, asked = _metered(21)
    first = _run(tmp_path, 8, ask=asked, meter=meter, workers=workers)
    assert meter.spent.calls <= 21
    assert first.stopped == "the budget of 21 calls is spent"
    assert (first.faults, first.done + first.left) == (0, 16)
    assert sum(first.waiting.values()) == first.left
    assert first.done >= 8  # few are given up half-way
    spent = sum(usage.calls for usage in read_spending(tmp_path).values())
    assert spent == meter.spent.calls

    meter, asked = _metered(1_000)
    second = _run(tmp_path, 8, ask=asked, meter=meter, workers=workers)
    assert (second.kept, second.done, second.left) == (first.done, first.left, 0)
    assert meter.spent.calls == spent + 2 * first.left
    _run(tmp_path / "free", 8)
    assert without_times(report(tmp_path, resamples=50)) == without_times(
        report(tmp_path / "free", resamples=50)
    )


def test_one_question_at_a_time_spends_its_budget_to_the_last_question_that_fits(tmp_path: Path) -> None:
    meter, asked = _metered(7)
    outcome = _run(tmp_path, 8, ask=asked, meter=meter)
    assert (outcome.done, meter.spent.calls) == (3, 6)


def test_a_budget_that_is_spent_asks_nothing(tmp_path: Path) -> None:
    meter, asked = _metered(0)
    outcome = _run(tmp_path, 2, ask=asked, meter=meter)
    assert (outcome.done, outcome.left, outcome.stopped) == (0, 4, "the budget of 0 calls is spent")
    assert read_journal(tmp_path).entries == ()


def test_several_workers_make_the_same_records(tmp_path: Path) -> None:
    _run(tmp_path / "one", 12)
    _run(tmp_path / "four", 12, workers=4)
    one, four = (read_journal(tmp_path / name).entries for name in ("one", "four"))
    assert [(e.entrant, e.record.row, e.record.scores, e.record.usage) for e in one] == [
        (e.entrant, e.record.row, e.record.scores, e.record.usage) for e in four
    ]


def test_models_are_made_ready_before_the_first_question_and_not_for_none(tmp_path: Path) -> None:
    order: list[str] = []

    def noting(q: str, p: Sequence[Passage], strategy: str, options: Mapping[str, Any], t: Trace) -> Answer:
        order.append(q)
        return ask(q, p, strategy, options, t)

    _run(tmp_path, 1, [RIGHT], ask=noting, prepare=lambda: order.append("ready"))
    _run(tmp_path, 1, [RIGHT], ask=noting, prepare=lambda: order.append("ready"))
    assert order == ["ready", "question 0"]


def test_no_more_questions_are_in_hand_than_there_are_workers(tmp_path: Path) -> None:
    lock, inside, most = threading.Lock(), [0], [0]

    def counting(q: str, p: Sequence[Passage], strategy: str, options: Mapping[str, Any], t: Trace) -> Answer:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        time.sleep(0.002)
        with lock:
            inside[0] -= 1
        return ask(q, p, strategy, options, t)

    _run(tmp_path, 12, ask=counting, workers=3)
    assert most[0] == 3


def test_progress_counts_up_and_says_what_remains(tmp_path: Path) -> None:
    updates: list[Progress] = []
    _run(tmp_path, 2, progress=updates.append)
    assert [(p.done, p.total, p.entrant, p.row) for p in updates] == [
        (1, 4, "right", 0),
        (2, 4, "half", 0),
        (3, 4, "right", 1),
        (4, 4, "half", 1),
    ]
    assert all(p.left is not None for p in updates)
    assert updates[-1].left == (0, 0, 0)


def _start(out: Path, count: int, workers: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.eval.fakes", str(out), str(count), str(workers)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_run_after_the_record_in_hand(tmp_path: Path, number: signal.Signals) -> None:
    with _start(tmp_path, 500, 1) as process:
        assert process.stdout is not None
        said = [process.stdout.readline().strip() for _ in range(3)]
        process.send_signal(number)
        said += process.stdout.read().split("\n")
    words = [line for line in said if line]
    assert process.returncode == 0
    assert words[-1] == "interrupted"
    assert len(read_journal(tmp_path).entries) == len(words) - 1 < 1000


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_kill_9_at_any_moment_loses_no_acknowledged_record_and_makes_none_twice(
    tmp_path: Path, workers: int
) -> None:
    rng, count, acknowledged = random.Random(workers), 40, set[str]()
    for _ in range(KILLS):
        with _start(tmp_path, count, workers) as process:
            assert process.stdout is not None
            for _ in range(rng.randrange(0, 2 * count // KILLS)):
                line = process.stdout.readline().strip()
                if line in ("", "finished"):
                    break
                acknowledged.add(line)
            time.sleep(rng.random() * 0.01)
            process.kill()
            rest = process.stdout.read().split("\n")
        acknowledged.update(line for line in rest[:-1] if line and line != "finished")
        if not (tmp_path / "records.sqlite").exists():
            continue
        entries = read_journal(tmp_path).entries if acknowledged else ()
        pairs = [f"{entry.entrant} {entry.record.row}" for entry in entries]
        assert acknowledged <= set(pairs)
        assert len(pairs) == len(set(pairs))
        assert all(entry.state == "done" and entry.record.scores["em"] is not None for entry in entries)
    outcome = _run(tmp_path, count)
    assert outcome.done + outcome.kept == 2 * count
    assert outcome.kept >= len(acknowledged)
    whole = _run(tmp_path / "whole", count)
    assert whole.done == 2 * count
    killed, straight = report(tmp_path, resamples=50), report(tmp_path / "whole", resamples=50)
    assert _scores(killed) == _scores(straight)


@pytest.mark.slow
def test_a_disk_that_fills_up_loses_no_acknowledged_record(tmp_path: Path) -> None:
    command = f"ulimit -f 1000; exec {sys.executable} -m tests.eval.fakes {tmp_path} 400 1"
    full = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    acknowledged = set(full.stdout.split("\n")) - {""}
    assert "sqlite3.OperationalError" in full.stderr
    assert "finished" not in acknowledged
    entries = read_journal(tmp_path).entries
    assert acknowledged <= {f"{entry.entrant} {entry.record.row}" for entry in entries}
    assert len(acknowledged) > 0
    outcome = _run(tmp_path, 400)
    assert (outcome.done + outcome.kept, outcome.kept) == (800, len(entries))


def _scores(found: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    (part,) = found["datasets"]
    return [
        (line["strategy"], line["n"], line["em"], line["f1"], line["calls"]) for line in part["strategies"]
    ]
