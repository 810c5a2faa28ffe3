"""Many questions over one engine, at the same time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from typing import Any

from disputatio.api.asking import Prepared, prepared_for, until_cancelled
from disputatio.calling import Cancel
from disputatio.errors import Cancelled, ConfigError, InputError
from disputatio.presenting import Serialisable
from disputatio.trace import Trace
from disputatio.types import Answer

_AHEAD = 4  # times `in_flight`: questions that are begun or finished before the one whose turn it is


@dataclass(frozen=True, slots=True, kw_only=True)
class AskResult(Serialisable):
    """What came of one of many questions: an `answer`, or the `error` that stood in its way."""

    question: str
    answer: Answer | None = None
    error: Exception | None = None

    def get(self) -> Answer:
        """The answer; raises the error where there is none."""
        if self.answer is None:
            raise self.error or Cancelled()
        return self.answer

    def to_dict(self) -> dict[str, Any]:
        """The question with its answer, or with the kind and the message of its error, as JSON values."""
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
    progress: OnResult | None = None,
    cancel: Cancel | None = None,
    **arguments: Any,
) -> Generator[AskResult, None, None]:
    """Answer many questions, `in_flight` at a time over one engine; the results come in the questions' order.

    It takes what `ask` takes, but for `trace`. An error is the result of its question and ends no other; a
    question that is cancelled has `Cancelled`. `progress(done, total, result)` is called for each question
    when it is finished, by one thread at a time (`total` is None where the questions cannot be counted).
    Dropping the iterator ends what is not finished. Raises what is wrong with the arguments before anything
    is asked.
    """
    if in_flight < 1:
        raise InputError("in_flight is at least 1")
    if isinstance(questions, str):
        raise InputError("questions is a list of questions, not one: use ask, or write [question]")
    if "trace" in arguments:
        raise ConfigError("ask_many takes no trace: several questions cannot share one")
    total = len(questions) if isinstance(questions, Sized) else None
    many = _Many(prepared_for(arguments), progress, total)
    return many.results(iter(questions), in_flight, cancel)


class _Many:
    """The walk over many questions: who answers, and who hears of it."""

    def __init__(self, prepared: Prepared, progress: OnResult | None, total: int | None) -> None:
        self._prepared, self._progress, self._total = prepared, progress, total
        self._done = 0
        self._lock = threading.Lock()

    def results(
        self, questions: Iterator[str], in_flight: int, cancel: Cancel | None
    ) -> Generator[AskResult, None, None]:
        """The results in order, with as many questions in flight and some more ahead."""
        ends = Cancel()
        waiting: deque[Future[AskResult]] = deque()
        pool = ThreadPoolExecutor(in_flight, thread_name_prefix="disputatio ask_many")
        with ExitStack() as stack:
            if cancel is not None:
                stack.enter_context(cancel.calling(ends.cancel))
            try:
                while True:
                    for question in islice(questions, _AHEAD * in_flight - len(waiting)):
                        waiting.append(pool.submit(self._result, question, ends))
                    if not waiting:
                        return
                    yield waiting.popleft().result()
            finally:
                ends.cancel()
                pool.shutdown(wait=False, cancel_futures=True)

    def _result(self, question: str, ends: Cancel) -> AskResult:
        try:
            ends.check()
            answer = until_cancelled(lambda cancel: self._prepared.answer(question, Trace(), cancel), ends)
            result = AskResult(question=question, answer=answer)
        except Exception as error:  # noqa: BLE001 (it is the result of its question)
            result = AskResult(question=question, error=error)
        with self._lock:
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, self._total, result)
        return result
