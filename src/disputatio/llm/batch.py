"""A batch of calls: how long each took, and what the batch comes to where some of them failed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from disputatio.errors import BatchFault, LLMError
from disputatio.types import Choice, Completion

_Result = TypeVar("_Result", Completion, Choice)


class Laps:
    """Divides the wall time of a batch: a call has the seconds since the one that finished before it."""

    def __init__(self) -> None:
        self._last = time.perf_counter()

    def timed(self, result: _Result) -> _Result:
        """Return a result that is there now, with its share of the time."""
        now = time.perf_counter()
        seconds, self._last = now - self._last, now
        return replace(result, usage=replace(result.usage, seconds=seconds))


def results_of(outcomes: Sequence[_Result | LLMError]) -> list[_Result]:
    """Return the results of a batch; raises its fault where all calls failed, and `BatchFault` where some
    did.
    """
    errors = [outcome for outcome in outcomes if isinstance(outcome, LLMError)]
    results = [None if isinstance(outcome, LLMError) else outcome for outcome in outcomes]
    if errors and len(errors) == len(outcomes):
        raise errors[0]
    if errors:
        raise BatchFault(results, errors)
    return [result for result in results if result is not None]
