"""Run strategies over examples, record by record, so that stopping costs nothing.

Rows come first and strategies second: every strategy answers row 1, then row 2, so that an
evaluation that is stopped early still compares them on the same rows. How a question is asked is
the caller's affair (`Ask`); the runner measures, scores and records.
"""

from __future__ import annotations

import signal
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from disputatio.errors import DisputatioError, LLMError, ReplyError
from disputatio.eval.journal import Entrant, Journal, Manifest, State, open_journal
from disputatio.eval.judge import Grade, Judge, as_record
from disputatio.eval.metrics import score_answer
from disputatio.types import Answer, Example, Passage, Record

Ask = Callable[[str, Sequence[Passage], str, Mapping[str, Any]], Answer]
"""(question, passages, strategy, options) -> answer; raises `LLMError` or `ReplyError` for a fault."""

_Answered = tuple[Answer, float, Mapping[str, Grade]]  # with its seconds and the judge's grades
PATIENCE = 10  # faults in a row after which going on is pointless


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is, told after every record. `seconds_left` is None before there is a guess."""

    done: int
    total: int
    faults: int
    seconds_left: float | None
    entrant: str
    row: int
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run did: records made, pairs that were done before, faults and bugs met.

    `left` counts the pairs that were not tried; `stopped` says why when there are any.
    """

    done: int
    kept: int
    faults: int
    bugs: int
    left: int = 0
    stopped: str = ""


@dataclass(slots=True)
class _Tally:
    """The run so far, for progress and for the outcome."""

    total: int
    workers: int
    finished: int = 0
    faults: int = 0
    bugs: int = 0
    in_a_row: int = 0
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def count(self, entrant: str, state: State, seconds: float) -> None:
        self.finished += 1
        self.faults += state == "fault"
        self.bugs += state == "bug"
        self.in_a_row = 0 if state == "done" else self.in_a_row + 1
        self.seconds[entrant].append(seconds)

    def seconds_left(self, waiting: Mapping[str, int]) -> float | None:
        """What the waiting pairs will take at each entrant's own pace, or at the mean of all."""
        seen = [second for many in self.seconds.values() for second in many]
        if not seen:
            return None
        pace = {entrant: sum(many) / len(many) for entrant, many in self.seconds.items()}
        mean = sum(seen) / len(seen)
        return sum(count * pace.get(entrant, mean) for entrant, count in waiting.items()) / self.workers


def run(
    examples: Sequence[Example],
    entrants: Sequence[Entrant],
    *,
    ask: Ask,
    out: Path,
    manifest: Manifest,
    workers: int = 1,
    progress: Callable[[Progress], None] | None = None,
    prepare: Callable[[], None] | None = None,
    judge: Judge | None = None,
    about: Mapping[str, Any] | None = None,
) -> Outcome:
    """Ask every entrant every question that the journal in `out` has no answer to.

    A fault (`LLMError`, `ReplyError`) and an unforeseen exception of a strategy (a bug) are recorded
    as such and tried again by the next run; after ten in a row the run gives up. Other errors of ours
    (a missing part, a wrong option) end it. SIGINT ends it after the questions in hand. `workers`
    questions are in hand at a time; `about` is kept in the journal beside the manifest. `prepare` is
    called before the first question, if there is one, so that loading a model is not on its bill.
    `judge` grades each answer, off its bill; a judge's fault is a fault of the record.

    Raises `InputError` as `open_journal` does.
    """
    with open_journal(out, manifest, entrants, examples, run=about) as journal:
        done = journal.done()
        tasks = [
            (example, entrant)
            for example in examples
            for entrant in entrants
            if (example.id, entrant.label) not in done
        ]
        kept = len(examples) * len(entrants) - len(tasks)
        tally = _Tally(total=len(tasks), workers=workers)
        if tasks and prepare is not None:
            prepare()
        with _interruptible() as interrupted:
            left = _work(
                tasks,
                tally,
                interrupted,
                journal=journal,
                ask=ask,
                judge=judge,
                manifest=manifest,
                progress=progress,
            )
    stopped = ""
    if left:
        stopped = "interrupted" if interrupted.is_set() else f"{tally.in_a_row} faults in a row"
    good = tally.finished - tally.faults - tally.bugs
    return Outcome(done=good, kept=kept, faults=tally.faults, bugs=tally.bugs, left=left, stopped=stopped)


def _work(
    tasks: Sequence[tuple[Example, Entrant]],
    tally: _Tally,
    interrupted: threading.Event,
    *,
    journal: Journal,
    ask: Ask,
    judge: Judge | None,
    manifest: Manifest,
    progress: Callable[[Progress], None] | None,
) -> int:
    """Do the tasks in order, `workers` at a time; the number that was not begun."""
    waiting: dict[str, int] = defaultdict(int)
    for _, entrant in tasks:
        waiting[entrant.label] += 1
    todo = iter(tasks)
    begun = 0
    hand: dict[Future[_Answered], tuple[Example, Entrant, float]] = {}
    with ThreadPoolExecutor(max_workers=tally.workers, thread_name_prefix="question") as pool:
        while True:
            while len(hand) < tally.workers and not interrupted.is_set() and tally.in_a_row < PATIENCE:
                task = next(todo, None)
                if task is None:
                    break
                begun += 1
                hand[pool.submit(_timed, ask, judge, *task)] = (*task, time.perf_counter())
            if not hand:
                return len(tasks) - begun
            for future in wait(hand, return_when=FIRST_COMPLETED).done:
                example, entrant, start = hand.pop(future)
                record, state = _settle(
                    future, example, entrant, journal=journal, manifest=manifest, start=start
                )
                waiting[entrant.label] -= 1
                tally.count(entrant.label, state, record.seconds)
                if progress is not None:
                    progress(
                        Progress(
                            done=tally.finished,
                            total=tally.total,
                            faults=tally.faults + tally.bugs,
                            seconds_left=tally.seconds_left(waiting),
                            entrant=entrant.label,
                            row=example.row,
                            fault=record.fault,
                        )
                    )


def _timed(ask: Ask, judge: Judge | None, example: Example, entrant: Entrant) -> _Answered:
    start = time.perf_counter()
    answer = ask(example.question, example.passages, entrant.strategy, entrant.options)
    # A call that came from the journal counts for what it took when it was made.
    seconds = max(time.perf_counter() - start, answer.usage.seconds)
    judging = judge is not None and answer.abstained != "fault"
    return answer, seconds, judge(example, answer) if judge is not None and judging else {}


def _settle(
    future: Future[_Answered],
    example: Example,
    entrant: Entrant,
    *,
    journal: Journal,
    manifest: Manifest,
    start: float,
) -> tuple[Record, State]:
    """Record what came of one question; raises the errors that no record is made of."""
    error = future.exception()
    if error is None:
        answer, seconds, grades = future.result()
        fault = "the answer is a fault" if answer.abstained == "fault" else ""
        record = _record(example, entrant, answer, seconds, fault=fault, manifest=manifest, grades=grades)
        state: State = "fault" if fault else "done"
        journal.append(entrant.label, record, state=state, answer=answer)
        return record, state
    if not isinstance(error, Exception):
        raise error
    if isinstance(error, DisputatioError) and not isinstance(error, LLMError | ReplyError):
        raise error
    state = "fault" if isinstance(error, DisputatioError) else "bug"
    fault = f"{type(error).__name__}: {error}"
    detail = "" if state == "fault" else "".join(traceback.format_exception(error))
    nothing = Answer(question=example.question, abstained="fault")
    seconds = time.perf_counter() - start
    record = _record(example, entrant, nothing, seconds, fault=fault, manifest=manifest)
    journal.append(entrant.label, record, state=state, detail=detail)
    return record, state


def _record(
    example: Example,
    entrant: Entrant,
    answer: Answer,
    seconds: float,
    *,
    fault: str,
    manifest: Manifest,
    grades: Mapping[str, Grade] | None = None,
) -> Record:
    """The record of one answer; a fault has no scores, and neither has a verdict that is no grade."""
    metrics = manifest.metrics.get(example.metadata.get("dataset", ""), ())
    scores = {} if fault else score_answer(answer.answers, example, metrics)
    scores |= {name: None if one.grade is None else float(one.grade) for name, one in (grades or {}).items()}
    return Record(
        example=example.id,
        row=example.row,
        strategy=entrant.strategy,
        options=dict(entrant.options),
        answers=answer.answers,
        abstained=answer.abstained,
        scores=scores,
        usage=answer.usage,
        seconds=round(seconds, 6),
        rounds=answer.rounds,
        retrievals=answer.retrievals,
        fault=fault,
        prompts=entrant.prompts,
        model=answer.model or manifest.model,
        judged=as_record(grades or {}),
    )


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """SIGINT sets the event instead of breaking in; a second one breaks in as usual."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = signal.getsignal(signal.SIGINT) or signal.SIG_DFL

    def stop(_number: int, _frame: FrameType | None) -> None:
        event.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, stop)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)
