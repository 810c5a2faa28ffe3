"""How a model is called: each result is reported as soon as it is there, and a call can be cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TypeGuard, TypeVar, cast

from disputatio.errors import BatchFault, Cancelled, Malformed
from disputatio.protocols import LLM, ReportingLLM
from disputatio.types import Choice, Completion, Prompt, Sampling

_Result = TypeVar("_Result", Completion, Choice)
_ROUNDING = 1e-3  # by which a certain option's log-probability may be above nought


class Cancel:
    """A switch that ends a question from any thread: its pending model calls end, and `Cancelled` is raised.

    It can be given to several questions, and stays on once it was pressed.

    >>> cancel = Cancel()
    >>> cancel.cancel()
    >>> cancel.cancelled
    True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = count()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """End what waits for this; calling it again does nothing."""
        with self._lock:
            self._cancelled = True
            callbacks, self._callbacks = self._callbacks, {}
        for callback in callbacks.values():
            callback()

    def check(self) -> None:
        """Raise `Cancelled` if `cancel` was called."""
        if self._cancelled:
            raise Cancelled

    @contextmanager
    def calling(self, callback: Callable[[], None]) -> Iterator[None]:
        """Within this context `cancel` calls `callback`, in the thread that cancels.

        It is called at once where `cancel` was called before.
        """
        with self._lock:
            number = next(self._numbers)
            late = self._cancelled
            if not late:
                self._callbacks[number] = callback
        if late:
            callback()
        try:
            yield
        finally:
            with self._lock:
                self._callbacks.pop(number, None)


def complete(
    model: LLM,
    prompts: Sequence[Prompt],
    sampling: Sampling,
    on_done: Callable[[int, Completion], None],
    cancel: Cancel,
) -> list[Completion]:
    """Return one completion a prompt, in order; `on_done(index, completion)` is called for each once it is
    there.

    A model that is no `ReportingLLM` reports when its whole batch is back. Raises `LLMError`, `Cancelled`,
    and `Malformed` for a model that does not return one completion a prompt.
    """
    cancel.check()
    if reports(model, "complete"):
        return model.complete_as_done(prompts, sampling, on_done, cancel)
    return _after_the_batch(model, prompts, lambda: model.complete(prompts, sampling), on_done, cancel)


def choose(
    model: LLM,
    prompts: Sequence[Prompt],
    options: Sequence[str],
    on_done: Callable[[int, Choice], None],
    cancel: Cancel,
) -> list[Choice]:
    """Return log P of each option for each prompt; reported and cancelled as by `complete`."""
    cancel.check()
    if reports(model, "choose"):
        return _checked(model.choose_as_done(prompts, options, on_done, cancel), options)
    return _after_the_batch(
        model, prompts, lambda: _checked(model.choose(prompts, options), options), on_done, cancel
    )


def _checked(choices: list[Choice], options: Sequence[str]) -> list[Choice]:
    """Return the choices; raises `Malformed` where log-probabilities are none (no numbers, or
    above nought).
    """
    for choice in choices:
        if len(choice.logprobs) != len(options) or not all(value <= _ROUNDING for value in choice.logprobs):
            raise Malformed("the model gave log-probabilities that are none")
    return choices


def reports(model: object, method: str) -> TypeGuard[ReportingLLM]:
    """Return whether a model's `complete_as_done` (or `choose_as_done`) stands for its `complete` (or
    `choose`).

    It does not where a subclass overrides `complete` alone. The other method of the two may be missing.
    """
    for kind in type(model).__mro__:
        if f"{method}_as_done" in vars(kind):
            return True
        if method in vars(kind):
            return False
    return False


def _after_the_batch(
    model: LLM,
    prompts: Sequence[Prompt],
    call: Callable[[], list[_Result]],
    on_done: Callable[[int, _Result], None],
    cancel: Cancel,
) -> list[_Result]:
    """Return the results of a batch, reported when all are there; of one that failed in part,
    those that are.
    """
    try:
        results = call()
    except BatchFault as fault:
        for index, result in enumerate(fault.results):
            if result is not None:
                on_done(index, cast("_Result", result))
        raise
    cancel.check()
    if len(results) != len(prompts):
        raise Malformed(f"{model.name}: {len(prompts)} calls were made and {len(results)} answered")
    for index, result in enumerate(results):
        on_done(index, result)
    return results
