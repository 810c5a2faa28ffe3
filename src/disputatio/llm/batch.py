"""A batch of calls: its results are timed and reported as they come, and its faults raised together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, Generic, TypeVar

from disputatio.errors import BatchFault, LLMError, Malformed
from disputatio.protocols import Cancel
from disputatio.types import Choice, Completion

_Result = TypeVar("_Result", Completion, Choice)
_Item = TypeVar("_Item")
_Returned = TypeVar("_Returned")


class Batch(Generic[_Result]):
    """The outcomes of a batch of calls; if `timed`, one without a time gets the seconds since the last."""

    def __init__(self, on_done: Callable[[int, _Result], None] | None = None, *, timed: bool = True) -> None:
        self._on_done: Callable[[int, _Result], None] | None = on_done
        self._timed = timed
        self._outcomes: dict[int, _Result | LLMError] = {}
        self._last = time.perf_counter()

    def add(self, index: int, outcome: _Result | LLMError) -> None:
        """Keep the outcome of a call and report it unless it is a fault; a second one is ignored."""
        if index in self._outcomes:
            return
        if not isinstance(outcome, LLMError):
            now = time.perf_counter()
            if self._timed and not outcome.usage.seconds:
                outcome = replace(outcome, usage=replace(outcome.usage, seconds=now - self._last))
            self._last = now
            if self._on_done is not None:
                self._on_done(index, outcome)
        self._outcomes[index] = outcome

    def results(self, count: int) -> list[_Result]:
        """Return all results in order; raises the one fault of all calls, or `BatchFault` of some."""
        missing = Malformed("the model did not answer all prompts")
        outcomes = [self._outcomes.get(index, missing) for index in range(count)]
        faults = [outcome for outcome in outcomes if isinstance(outcome, LLMError)]
        results = [None if isinstance(outcome, LLMError) else outcome for outcome in outcomes]
        if faults and len(faults) == count:
            raise faults[0]
        if faults:
            raise BatchFault(results, faults)
        return [result for result in results if result is not None]


def in_threads(
    function: Callable[[_Item], _Returned],
    items: Sequence[_Item],
    *,
    in_flight: int,
    name: str,
    cancel: Cancel | None,
) -> Iterator[tuple[int, _Returned]]:
    """Call the function for items, `in_flight` at a time, and yield (index, result); `Cancelled` at once."""
    cancel = cancel or Cancel()
    pool = ThreadPoolExecutor(in_flight, thread_name_prefix=f"disputatio {name}")
    cancelled: Future[None] = Future()
    try:
        with cancel.calling(lambda: cancelled.set_result(None)):
            calls: dict[Future[Any], int] = {
                pool.submit(function, item): index for index, item in enumerate(items)
            }
            while calls:
                finished = wait([*calls, cancelled], return_when=FIRST_COMPLETED).done
                cancel.check()
                for call in finished:
                    yield calls.pop(call), call.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
