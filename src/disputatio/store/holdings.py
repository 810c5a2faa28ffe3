"""What each source of an index holds, as a calibration reads it: counts, states, samples and sketches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from disputatio.types import Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Sketches(NamedTuple):
    """The MinHash sketches of passages, 64 bins a row, and the place of each one's source among the names."""

    rows: NDArray[np.uint8]
    sources: NDArray[np.int64]


class Holdings(Protocol):
    """The passages of an index by their source; a view of a folder, or an index that a server keeps."""

    def counts(self) -> dict[str, int]:
        """Return how many passages each source has."""

    def states(self) -> dict[str, str]:
        """Return one word a source for all that it holds: another word when a passage comes,
        changes or goes.
        """

    def drawn(self, sources: Sequence[str], per_source: int, salt: int) -> list[Passage]:
        """Return up to `per_source` passages of each source at random, source by source; the same
        for a salt.
        """

    def sketches(self, sources: Sequence[str]) -> Sketches:
        """Return those of all passages of some sources."""
