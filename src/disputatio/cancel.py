"""A switch that ends a question, and the model calls that it waits for, from any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from disputatio.errors import Cancelled


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
        """True after `cancel` was called."""
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
