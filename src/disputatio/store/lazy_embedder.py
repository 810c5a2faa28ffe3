"""An embedder that is opened, and fetched if need be, at its first use.

A kit has one for every question, and few strategies use it: who does not embed neither waits nor downloads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from disputatio.protocols import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class LazyEmbedder:
    """An `Embedder` that `opened` gives when it is first asked for anything; thread-safe, opened once."""

    def __init__(self, opened: Callable[[], Embedder]) -> None:
        self._opened = opened
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._part().name

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._part().dimension

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return an array (len(texts), dimension) of unit rows; raises what opening the model raises."""
        return self._part().embed(texts, query=query)

    def _part(self) -> Embedder:
        with self._lock:
            if self._embedder is None:
                self._embedder = self._opened()
            return self._embedder
