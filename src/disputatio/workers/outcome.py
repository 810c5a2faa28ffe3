"""The result of a function as data that travels: its value, or its error in words of our own.

An exception of ours may not survive being sent from process to process (its parts are not its message), and
one of another package may not be there on the other side. So an error travels as its kind, its message
and its traceback, and is raised again as its own class where that is one of `disputatio.errors`.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from disputatio import errors

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Generic[_Value]):
    """A value, or an error: `kind` is its class, `ours` whether that stands in `disputatio.errors`."""

    value: _Value | None = None
    kind: str = ""
    message: str = ""
    ours: bool = False
    traceback: str = ""

    def get(self) -> _Value:
        if self.kind:
            raise rebuild_error(self)
        return self.value  # type: ignore[return-value]  # None is a value like others


class _RemoteTraceback(Exception):
    """The traceback of an error as its worker saw it."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def capture(work: Callable[[], _Value]) -> Outcome[_Value]:
    """Run some work and return its result as data; a `SystemExit` of a strategy is an error like others.

    >>> capture(lambda: 1 // 0).kind
    'ZeroDivisionError'
    """
    try:
        return Outcome(value=work())
    except (Exception, SystemExit) as error:  # noqa: BLE001 (it travels, and is raised again)
        return capture_error(error)


def capture_error(error: BaseException) -> Outcome[Any]:
    kind = next((one for one in type(error).__mro__ if vars(errors).get(one.__name__) is one), None)
    return Outcome(
        kind=type(error).__name__ if kind is None else kind.__name__,
        message=str(error),
        ours=kind is not None,
        traceback="".join(traceback.format_exception(error)),
    )


def rebuild_error(outcome: Outcome[Any]) -> Exception:
    """Return the error again: of its own class where that is ours, else of a class of the same name.

    >>> str(rebuild_error(capture_error(errors.ServerFault("it failed", 503))))
    'it failed'
    """
    kind: Any = getattr(errors, outcome.kind) if outcome.ours else type(outcome.kind, (Exception,), {})
    error: Exception = kind.__new__(kind)
    error.args = (outcome.message,)
    error.__cause__ = _RemoteTraceback(outcome.traceback)
    return error
