"""Finds sources of an index that copy each other's texts, by the sketches that also mark duplicate hits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from disputatio.reliability.grouping import tied_by_text
from disputatio.reliability.similarity import COPY
from disputatio.store.segments import minhash

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from disputatio.store.contract import SourcePassages

MOST = 500_000  # passages that are compared; a larger index is not searched for copies
_ALL = 4_000  # up to this many passages, all pairs are compared, with the lower threshold of copies
_BINS = 20  # bins that two texts must fill together, or they are alike by chance


def tied_texts(held: SourcePassages, names: Sequence[str]) -> NDArray[np.int32] | None:
    """Return the group of each source, one number for each name; sources of mostly near-duplicate passages
    share one.

    None if the index is too large to compare all passages.
    """
    if sum(held.counts().values()) > MOST:
        return None
    rows, sources = held.sketches(names)
    pairs = np.array(_alike(rows) if len(rows) <= _ALL else minhash.pairs(rows), dtype=np.int64).reshape(
        -1, 2
    )
    if not len(pairs):
        return np.arange(len(names), dtype=np.int32)
    return tied_by_text(pairs, sources, len(names)).group


def _alike(sketches: NDArray[np.uint8]) -> list[tuple[int, int]]:
    """Return pairs of rows (earlier, later) whose estimated likeness is that of copies
    (`similarity.COPY`).
    """
    pairs: list[tuple[int, int]] = []
    filled = sketches > 0
    for row, (sketch, bins) in enumerate(zip(sketches, filled, strict=True)):
        later, full = sketches[row + 1 :], filled[row + 1 :]
        same = ((later == sketch) & bins).sum(axis=1)
        either = (full | bins).sum(axis=1)
        near = (either >= _BINS) & (same >= COPY * either)
        pairs += [(row, row + 1 + other) for other in np.flatnonzero(near).tolist()]
    return pairs
