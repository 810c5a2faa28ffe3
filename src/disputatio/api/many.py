"""Many questions over one engine, at the same time."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from disputatio.api.asking import prepared_for, until_cancelled
from disputatio.api.kept_answers import KeptAnswers, ask_settings
from disputatio.api.ray_asking import arguments_for_workers, ask_on_workers
from disputatio.api.request import Prepared
from disputatio.cancel import Cancel
from disputatio.errors import BudgetSpent, Cancelled, ConfigError, InputError, NotAsked
from disputatio.serialisation import Serialisable
from disputatio.spending import Budget, Meter, charge_to_thread
from disputatio.trace import Trace
from disputatio.types import Answer

_AHEAD = 4  # times `in_flight`: questions that are begun or finished before the one whose turn it is


@dataclass(frozen=True, slots=True, kw_only=True)
class AskResult(Serialisable):
    """The result of one of many questions: an `answer`, or the `error` that stood in its way."""

    question: str
    answer: Answer | None = None
    error: Exception | None = None

    def get(self) -> Answer:
        """Return the answer; raises the error where there is none."""
        if self.answer is None:
            raise self.error or Cancelled()
        return self.answer

    def to_dict(self) -> dict[str, Any]:
        """Return the question with its answer, or with the kind and the message of its error, as
        JSON values.
        """
        error = None
        if self.error is not None:
            error = {"kind": type(self.error).__name__, "message": str(self.error)}
        answer = None if self.answer is None else self.answer.to_dict()
        return {"question": self.question, "answer": answer, "error": error}


OnResult = Callable[[int, int | None, AskResult], None]


def ask_many(
    questions: Iterable[str],
    *,
    in_flight: int = 8,
    ordered: bool = True,
    keep: str | Path | None = None,
    budget: Budget | None = None,
    ray: str | None = None,
    workers: int | None = None,
    progress: OnResult | None = None,
    cancel: Cancel | None = None,
    **arguments: Any,
) -> Generator[AskResult, None, None]:
    """Answer many questions, `in_flight` at a time over one engine; the results come in the questions' order.

    `questions` may be endless: some more than are in flight are taken, and no more than those are held. With
    `ordered=False` results come as they are there. `keep` is a file of the answers, each on the disk before
    it is given: the same call with it asks only what it lacks (a question that failed is asked again). `ray`
    is the address of a cluster, or `local`: then `workers` (by default one a core) have `in_flight` questions
    each, with an engine each or a shared endpoint; one journal, here, keeps the calls of all.

    `budget` is the most that all questions may take together, wherever they are asked; with `keep` also those
    of earlier calls with that file. A call that may exceed it is not made: the result of its question, and of
    each that is not begun any more, has the error `NotAsked`. With a larger budget the same call goes on.

    It takes what `ask` takes, but for `trace`. An error is the result of its question and ends no other; a
    question that is cancelled has `Cancelled`, one that three workers died at `WorkerLost`.
    `progress(done, total, result)` is called for each question when it is finished, by one thread at a time
    (`total` is None where the questions cannot be counted). Dropping the iterator ends what is not finished.
    Raises what is wrong with the arguments before anything is asked; the first result raises `ClusterFault`
    where workers cannot be had.
    """
    if in_flight < 1:
        raise InputError("in_flight is at least 1")
    if isinstance(questions, str):
        raise InputError("questions is a list of questions, not one: use ask, or write [question]")
    if "trace" in arguments:
        raise ConfigError("ask_many takes no trace: several questions cannot share one")
    if ray == "" or (workers is not None and (ray is None or workers < 1)):
        raise InputError("workers, at least 1, are those of a cluster: give ray its address, or local")
    total = len(questions) if isinstance(questions, Sized) else None
    arguments = arguments_for_workers(arguments) if ray is not None else arguments
    prepared = prepared_for(arguments)
    kept = None if keep is None else KeptAnswers(Path(keep), ask_settings(prepared))
    count = workers or os.cpu_count() or 1
    meter = Meter(budget)
    if kept is not None:
        meter.begin(kept.spent(), kept.spend)
    sender = None if ray is None else partial(ask_on_workers, arguments, meter, ray, count, in_flight)
    hands = in_flight if ray is None else in_flight * count
    many = _Many(prepared, progress, total, meter=meter, kept=kept, sender=sender, ordered=ordered)
    return many.results(iter(questions), hands, cancel)


class _Many:
    """The walk over many questions: what answers them, and where results go."""

    def __init__(
        self,
        prepared: Prepared,
        progress: OnResult | None,
        total: int | None,
        *,
        meter: Meter,
        kept: KeptAnswers | None,
        sender: Callable[[], AbstractContextManager[Callable[[str], Answer]]] | None,
        ordered: bool,
    ) -> None:
        self._prepared = replace(prepared, kit=meter.wrap(prepared.kit))
        self._progress, self._total, self._meter = progress, total, meter
        self._kept, self._sender, self._ordered = kept, sender, ordered
        self._send: Callable[[str], Answer] | None = None
        self._done = 0
        self._lock, self._begins = threading.Lock(), threading.Lock()

    def results(
        self, questions: Iterator[str], in_flight: int, cancel: Cancel | None
    ) -> Generator[AskResult, None, None]:
        """Yield the results, with as many questions in flight and some more ahead."""
        ends = Cancel()
        waiting: deque[Future[AskResult]] = deque()
        with ExitStack() as stack:
            if self._kept is not None:
                stack.callback(self._kept.close)
            if self._sender is not None:
                self._send = stack.enter_context(self._sender())
            pool = ThreadPoolExecutor(in_flight, thread_name_prefix="disputatio ask_many")
            if cancel is not None:
                stack.enter_context(cancel.calling(ends.cancel))
            try:
                while True:
                    for question in islice(questions, _AHEAD * in_flight - len(waiting)):
                        waiting.append(pool.submit(self._result, question, ends))
                    if not waiting:
                        return
                    if not self._ordered:
                        first = next(iter(wait(waiting, return_when=FIRST_COMPLETED).done))
                        waiting.remove(first)
                        waiting.appendleft(first)
                    yield waiting.popleft().result()
            finally:
                ends.cancel()
                # What is kept, and who is asked, is let go of only when nobody is at it.
                pool.shutdown(wait=self._kept is not None or self._send is not None, cancel_futures=True)

    def _result(self, question: str, ends: Cancel) -> AskResult:
        try:
            ends.check()
            answer = self._kept.get(question) if self._kept is not None else None
            if answer is None:
                answer = until_cancelled(lambda cancel: self._asked(question, cancel), ends)
                if self._kept is not None:
                    self._kept.keep(question, answer)
            result = AskResult(question=question, answer=answer)
        except Exception as error:  # noqa: BLE001 (it is the result of its question)
            result = AskResult(question=question, error=error)
        with self._lock:
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, self._total, result)
        return result

    def _asked(self, question: str, cancel: Cancel) -> Answer:
        with self._within_budget(question):
            if self._send is not None:
                return self._send(question)
            prepared = replace(self._prepared, kit=charge_to_thread(self._prepared.kit))
            return prepared.answer(question, Trace(), cancel)

    @contextmanager
    def _within_budget(self, question: str) -> Iterator[None]:
        """Charge the calls of this thread to the question; raises `NotAsked` where none may be made."""
        with ExitStack() as stack:
            with self._begins:  # so that two do not begin with what is left for one
                if self._meter.stopped or not self._meter.admits(""):
                    raise NotAsked(f"not asked: {self._meter.stopped}")
                stack.enter_context(self._meter.question(question, ""))
            try:
                yield
            except BudgetSpent as error:
                raise NotAsked(f"not asked to the end: {error}") from error
