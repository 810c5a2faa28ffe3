"""Run strategies over examples, record by record, so that stopping costs nothing.

Every strategy answers row 1, then row 2, so that an evaluation that is stopped early still compares them on
the same rows.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from disputatio.errors import (
    BudgetSpent,
    ContextTooLong,
    DisputatioError,
    NoLogprobs,
    NotJournalled,
    QuotaExceeded,
    Refused,
    WorkerLost,
)
from disputatio.eval.judge import Grade
from disputatio.eval.metrics import score_answer
from disputatio.eval.running.preparing import Work, is_of_the_question
from disputatio.eval.running.run_log import Entrant, Entry, Record, RunLog, RunManifest, State, open_run_log
from disputatio.events import Bug
from disputatio.protocols import interruptible
from disputatio.spending import Meter
from disputatio.trace import Trace
from disputatio.types import Answer, Example

# --- the time that is left ------------------------------------------------------------------------
# Questions in hand count for what is left of them. The range holds nineteen times of twenty, if the questions
# to come are like those seen.
_WIDE = 1.96  # standard deviations of the normal distribution to either side for 95 %


class Left(NamedTuple):
    """Seconds that remain; `low` and `high` are None before there are two times of each strategy."""

    seconds: float
    low: float | None
    high: float | None


@dataclass(slots=True)
class _Times:
    """Seconds of a strategy's questions: number, mean, sum of squared deviations (Welford 1962)."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, seconds: float) -> None:
        self.count += 1
        off = seconds - self.mean
        self.mean += off / self.count
        self.squares += off * (seconds - self.mean)

    @property
    def variance(self) -> float | None:
        return None if self.count < 2 else self.squares / (self.count - 1)


@dataclass(slots=True)
class QuestionPace:
    """The times of questions by strategy, where `workers` are in hand at a time."""

    workers: int = 1
    _times: dict[str, _Times] = field(default_factory=dict)

    def note(self, entrant: str, seconds: float) -> None:
        self._times.setdefault(entrant, _Times()).add(seconds)

    def left(self, waiting: Mapping[str, int], in_hand: Sequence[tuple[str, float]]) -> Left | None:
        """Estimate the time left for questions to begin and those in hand, each with the seconds it has had.

        A strategy that was not seen is taken to need the mean of those that were; None before any was.

        >>> pace = QuestionPace(workers=2)
        >>> for seconds in (8.0, 12.0):
        ...     pace.note("a", seconds)
        >>> pace.left({"a": 4}, [("a", 4.0)]).seconds
        23.0
        """
        if not self._times:
            return None
        mean = sum(times.mean for times in self._times.values()) / len(self._times)
        total = longest = spread = 0.0
        known = True
        counts = dict(waiting)
        for entrant, had in in_hand:
            times = self._times.get(entrant, _Times(mean=mean))
            rest = max(times.mean - had, 0.0)
            total += rest
            longest = max(longest, rest)
            counts.setdefault(entrant, 0)
        for entrant, count in counts.items():
            times = self._times.get(entrant, _Times(mean=mean))
            total += count * times.mean
            many = count + sum(name == entrant for name, _ in in_hand)
            if times.variance is None:
                known = known and not many
            else:  # of the questions to come, and of the mean that stands for them
                spread += many * times.variance + many**2 * times.variance / times.count
        seconds = max(total / self.workers, longest)
        if not known:
            return Left(seconds, None, None)
        wide = _WIDE * math.sqrt(spread) / self.workers
        return Left(seconds, max(seconds - wide, 0.0), seconds + wide)


PATIENCE = 10  # faults in a row after which going on is pointless
_FINAL = (ContextTooLong, NoLogprobs, NotJournalled, QuotaExceeded, Refused, WorkerLost)  # come back the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a run, reported after every record. `left` is None before there is an estimate.

    `done` counts the pairs that are settled; one that failed and is to be tried again is not.
    """

    done: int
    total: int
    faults: int
    left: Left | None
    entrant: str
    row: int
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """The outcome of a run: pairs answered now, answered before, and failed by a fault or a bug.

    `left` counts the pairs that were not tried, `waiting` those of each entrant; `stopped` says why when
    there are any. `retried` counts the faults that were tried again.
    """

    done: int
    kept: int
    faults: int
    bugs: int
    left: int = 0
    stopped: str = ""
    retried: int = 0
    waiting: Mapping[str, int] = field(default_factory=dict)


class Task(NamedTuple):
    """A question that is put to an entrant."""

    example: Example
    entrant: Entrant


class _Answered(NamedTuple):
    """An answer, the seconds on its bill, those that went by, and the judge's grades."""

    answer: Answer
    seconds: float
    wall: float
    grades: Mapping[str, Grade]


class _InHand(NamedTuple):
    number: int
    task: Task
    start: float
    trace: Trace


def run(
    examples: Sequence[Example],
    entrants: Sequence[Entrant],
    *,
    work: Work,
    out: Path,
    manifest: RunManifest,
    workers: int = 1,
    progress: Callable[[Progress], None] | None = None,
    on_record: Callable[[Entry], None] | None = None,
    prepare: Callable[[], None] | None = None,
    meter: Meter | None = None,
    about: Mapping[str, Any] | None = None,
) -> RunOutcome:
    """Ask every entrant every question that the journal in `out` has no answer to.

    A fault (`LLMError`, `ReplyError`) is recorded as such and tried once more at the end of the run, where
    that can help, and by the next run. An unforeseen exception of a strategy (a bug) is recorded with its
    traceback, and tried again by the next run. After ten in a row the run gives up. Other errors
    of ours (a missing part, a wrong option) end it when the questions in hand are recorded, and so do SIGINT,
    SIGTERM and the budget of `meter`, which must be the one that watches the kit that `work` uses.

    `progress` and `on_record` are called in this thread after every record. `workers` questions are in hand
    at a time; `about` is kept beside the manifest. `prepare` is called before the first question, if any, so
    that loading a model is not on its bill.

    Raises `InputError` as `open_run_log` does.
    """
    with open_run_log(out, manifest, entrants, examples, run=about) as journal:
        done = journal.done()
        tasks = [
            Task(example, entrant)
            for example in examples
            for entrant in entrants
            if (example.id, entrant.label) not in done
        ]
        resumed = len(examples) * len(entrants) - len(tasks)
        if meter is not None:
            meter.begin(journal.spent(), journal.spend)
        if tasks and prepare is not None:
            prepare()
        with interruptible() as interrupted:
            under_way = _Work(
                journal=journal,
                work=work,
                manifest=manifest,
                meter=meter,
                progress=progress,
                on_record=on_record,
                interrupted=interrupted,
                pace=QuestionPace(workers=workers),
                total=len(tasks),
                waiting=Counter(task.entrant.label for task in tasks),
            )
            under_way.go(tasks)
    waiting = {label: count for label, count in under_way.waiting.items() if count}
    failed = Counter(under_way.failed.values())
    return RunOutcome(
        done=len(tasks) - sum(waiting.values()) - failed.total(),
        kept=resumed,
        faults=failed["fault"],
        bugs=failed["bug"],
        left=sum(waiting.values()),
        stopped=under_way.why_stopped() if waiting else "",
        retried=under_way.retried,
        waiting=waiting,
    )


@dataclass(slots=True, kw_only=True)
class _Work:
    """A run under way: `waiting` counts pairs without a record, `failed` those that ended in a fault."""

    journal: RunLog
    work: Work
    manifest: RunManifest
    meter: Meter | None
    progress: Callable[[Progress], None] | None
    on_record: Callable[[Entry], None] | None
    interrupted: threading.Event
    pace: QuestionPace
    total: int
    waiting: Counter[str]
    failed: dict[tuple[str, str], State] = field(default_factory=dict)
    again: deque[Task] = field(default_factory=deque)
    retrying: bool = False
    retried: int = 0
    in_a_row: int = 0
    error: BaseException | None = None

    def go(self, tasks: Sequence[Task]) -> None:
        """Do the tasks in order, then those once more that failed and may succeed; raises what ended it."""
        with ThreadPoolExecutor(max_workers=self.pace.workers, thread_name_prefix="question") as pool:
            self._go_through(deque(tasks), pool)
            self.retrying = True
            if not self._is_over():
                self._go_through(self.again, pool)
        if self.error is not None:
            raise self.error

    def why_stopped(self) -> str:
        if self.interrupted.is_set():
            return "interrupted"
        if self.meter is not None and self.meter.stopped:
            return self.meter.stopped
        return f"{self.in_a_row} faults in a row"

    def _is_over(self) -> bool:
        """Return True if no further question is to be begun."""
        spent = self.meter is not None and bool(self.meter.stopped)
        return self.interrupted.is_set() or self.in_a_row >= PATIENCE or self.error is not None or spent

    def _go_through(self, todo: deque[Task], pool: ThreadPoolExecutor) -> None:
        numbers = itertools.count()
        hand: dict[Future[_Answered], _InHand] = {}
        while True:
            while todo and len(hand) < self.pace.workers and not self._is_over():
                if self.meter is not None and not self.meter.admits(todo[0].entrant.label):
                    break
                task = todo.popleft()
                self.retried += self.retrying
                trace = Trace()
                future = pool.submit(self._answer, task, trace)
                hand[future] = _InHand(next(numbers), task, time.perf_counter(), trace)
            if not hand:
                return
            done = wait(hand, return_when=FIRST_COMPLETED).done
            for future in sorted(done, key=lambda future: hand[future].number):
                pending = hand.pop(future)
                self._settle(future, pending, list(hand.values()))

    def _answer(self, task: Task, trace: Trace) -> _Answered:
        start = time.perf_counter()
        meter = self.meter
        with meter.question(task.example.id, task.entrant.label) if meter is not None else nullcontext():
            answer, seconds, grades = self.work(task.example, task.entrant, trace)
        # A call that came from the journal of calls counts for what it took when it was made.
        return _Answered(answer, max(seconds, answer.usage.seconds), time.perf_counter() - start, grades)

    def _settle(self, future: Future[_Answered], pending: _InHand, rest: Sequence[_InHand]) -> None:
        """Record what came of one question, and tell of it; an error that is not its own ends the run."""
        error = future.exception()
        if isinstance(error, BudgetSpent):
            return
        if error is not None and not is_of_the_question(error):
            self.error = self.error or error
            return
        record, state = self._write(future, pending)
        label = pending.task.entrant.label
        pair = (pending.task.example.id, label)
        self.in_a_row = 0 if state == "done" else self.in_a_row + 1
        if not self.retrying:
            self.waiting[label] -= 1
        self.failed.pop(pair, None)
        if state != "done":
            self.failed[pair] = state
        if state == "fault" and not self.retrying and not isinstance(error, _FINAL):
            self.again.append(pending.task)
        self.pace.note(label, future.result().wall if error is None else time.perf_counter() - pending.start)
        if self.on_record is not None:
            dataset = pending.task.example.metadata.get("dataset", "")
            self.on_record(Entry(entrant=label, dataset=dataset, state=state, record=record))
        if self.progress is not None:
            self.progress(self._progress(record, label, rest))

    def _progress(self, record: Record, label: str, rest: Sequence[_InHand]) -> Progress:
        now = time.perf_counter()
        to_begin = self.waiting + Counter(task.entrant.label for task in self.again)
        in_hand = [(pending.task.entrant.label, now - pending.start) for pending in rest]
        if not self.retrying:
            to_begin -= Counter(name for name, _ in in_hand)
        unsettled = self.waiting.total() + len(self.again) + (len(rest) if self.retrying else 0)
        return Progress(
            done=self.total - unsettled,
            total=self.total,
            faults=len(self.failed),
            left=self.pace.left(to_begin, in_hand),
            entrant=label,
            row=record.row,
            fault=record.fault,
        )

    def _write(self, future: Future[_Answered], pending: _InHand) -> tuple[Record, State]:
        (example, entrant), label = pending.task, pending.task.entrant.label
        error = future.exception()
        if error is None:
            answer, seconds, _, grades = future.result()
            fault = "the answer is a fault" if answer.abstained == "fault" else ""
            state: State = "fault" if fault else "done"
            detail = ""
        else:
            answer = Answer(question=example.question, abstained="fault", usage=pending.trace.usage())
            seconds, grades = time.perf_counter() - pending.start, {}
            fault = f"{type(error).__name__}: {error}"
            state = "fault" if isinstance(error, DisputatioError) else "bug"
            detail = "" if state == "fault" else "".join(traceback.format_exception(error))
        if detail:
            pending.trace.emit(Bug(traceback=detail))
        record = _record(
            example, entrant, answer, seconds, fault=fault, manifest=self.manifest, grades=grades
        )
        kept = answer if error is None else None
        events = pending.trace.records()
        self.journal.append(label, record, state=state, answer=kept, detail=detail, events=events)
        return record, state


def _record(
    example: Example,
    entrant: Entrant,
    answer: Answer,
    seconds: float,
    *,
    fault: str,
    manifest: RunManifest,
    grades: Mapping[str, Grade],
) -> Record:
    """Return the record of one answer; a fault has no scores, and neither has a verdict that is no grade."""
    metrics = manifest.metrics.get(example.metadata.get("dataset", ""), ())
    scores = {} if fault else score_answer(answer.answers, example, metrics)
    scores |= {name: None if grade.grade is None else float(grade.grade) for name, grade in grades.items()}
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
        judged={name: asdict(grade) for name, grade in grades.items()},
        read=answer.read,
    )
