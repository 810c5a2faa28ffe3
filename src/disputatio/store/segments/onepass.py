"""The two legs of a search over many rows: one pass of compiled loops keeps the best of every group.

A group is a source, or all rows. The sparse leg is exact. The dense leg scores, by their cosines, all
rows of a small segment, and of a large one those whose signs differ least from the query's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from disputatio.errors import StoreError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from disputatio.store.segments.legs import Query
    from disputatio.store.segments.segment import Segment

    Floats = NDArray[np.float32]
    Rows = NDArray[np.int64]

EXACT = 4096  # rows; a smaller segment's vectors are all scored
SHORTLIST = 400  # rows of a large segment that are scored, at least, where all rows are one group
SHORTLIST_OF_SOURCE = 48  # and of a source, where each is a group
OVER = 4  # rows that are scored for each row that is kept, at least
_NO_FLOATS = np.zeros(0, dtype=np.float32)
_NO_MASK = np.zeros(0, dtype=np.bool_)


class Part(NamedTuple):
    """A segment in a search; its rows are numbered from `first` on.

    `groups` has a group's number for each row, and `numbers` for each source of the segment; both are
    empty where all rows are one group. An empty `allowed` allows all rows.
    """

    segment: Segment
    first: int
    groups: NDArray[np.int32]
    numbers: NDArray[np.int32]
    allowed: NDArray[np.bool_]


class Heaps:
    """The best rows of every group: group g has `places[g]:places[g + 1]`, `filled[g]` of them used."""

    def __init__(self, room: NDArray[np.int64], limit: float) -> None:
        """`room` is how many rows each group keeps; a group without room takes none."""
        self.places = np.r_[0, np.cumsum(room)].astype(np.int64)
        self.scores = np.zeros(int(self.places[-1]), dtype=np.float32)
        self.rows = np.zeros(int(self.places[-1]), dtype=np.int64)
        self.filled = np.zeros(room.size, dtype=np.int64)
        self.limits = np.where(room > 0, np.float32(limit), np.float32(np.inf)).astype(np.float32)

    def found(self) -> tuple[Rows, Floats]:
        """The rows kept, rising, with their scores."""
        if self.filled.size == 1:
            used = slice(0, int(self.filled[0]))
        else:
            within = np.arange(self.rows.size) - np.repeat(self.places[:-1], np.diff(self.places))
            used = within < np.repeat(self.filled, np.diff(self.places))
        rows, scores = self.rows[used], self.scores[used]
        order = np.argsort(rows)
        return rows[order], scores[order]


def best_sparse(
    parts: Sequence[Part], query: Query, room: NDArray[np.int64], *, every: bool
) -> tuple[Heaps, list[Floats]]:
    """The best rows of each group by BM25 and, if `every`, the score of every row of each part."""
    from disputatio.store.segments import kernels

    leg: Callable[..., None] = kernels.sparse_leg
    heaps = Heaps(room, 0.0)
    scores = []
    for part, numbers in zip(parts, query.numbers, strict=True):
        scores.append(np.empty(part.segment.rows, dtype=np.float32) if every else _NO_FLOATS)
        leg(
            *_terms(part.segment, query, numbers),
            part.allowed,
            part.groups,
            heaps.places,
            heaps.scores,
            heaps.rows,
            heaps.filled,
            heaps.limits,
            part.first,
            scores[-1],
        )
    return heaps, scores


def bm25_of(segment: Segment, query: Query, numbers: NDArray[np.int64], rows: Rows) -> Floats:
    """The BM25 of some rows of a segment, in which the query's terms have these numbers."""
    from disputatio.store.segments import kernels

    leg: Callable[..., Floats] = kernels.bm25_of
    return leg(*_terms(segment, query, numbers), rows)


def best_dense(parts: Sequence[Part], vector: Floats, room: NDArray[np.int64]) -> Heaps:
    """The best rows of each group by cosine."""
    from disputatio.store.segments import kernels

    heaps = Heaps(room, -np.inf)
    for part in parts:
        vectors = part.segment.vectors
        if vectors is None:
            continue
        if part.segment.rows <= EXACT:
            rows = np.flatnonzero(part.allowed) if part.allowed.size else np.arange(part.segment.rows)
        else:
            rows = _shortlist(part, vector, room)
        kernels.nearest(
            vectors.numbers,
            vectors.scales,
            vector,
            rows,
            part.groups,
            heaps.places,
            heaps.scores,
            heaps.rows,
            heaps.filled,
            heaps.limits,
            part.first,
        )
    return heaps


def _shortlist(part: Part, vector: Floats, room: NDArray[np.int64]) -> Rows:
    """Rows of a large segment among which the best of each group are nearly sure to be."""
    from disputatio.store.segments.scan import shortlist

    vectors = part.segment.vectors
    assert vectors is not None
    if part.groups.size:
        starts = part.segment.source_starts
        own = room[part.numbers]
        wanted = np.where(own > 0, np.maximum(OVER * own, SHORTLIST_OF_SOURCE), 0)
    else:
        starts = np.array([0, part.segment.rows])
        wanted = np.maximum(OVER * room, SHORTLIST)
    wanted = np.minimum(wanted, np.diff(starts))
    found = np.empty(int(wanted.sum()), dtype=np.int64)
    size = shortlist(
        vectors.codes, vectors.order, vector, vectors.centre, part.allowed, starts, wanted, found
    )
    return found[:size] if part.groups.size else np.sort(found[:size])


def _terms(segment: Segment, query: Query, numbers: NDArray[np.int64]) -> tuple[Any, ...]:
    """What the sparse kernels take first: the query's terms, postings, lengths; checked against damage."""
    held = segment.postings
    known = numbers >= 0
    own = numbers[known]
    begins, ends, slots = held.starts[own], held.starts[own + 1], held.slots[own]
    if not _fits(begins, ends, slots, held.rows.size, len(held.common)):
        raise StoreError(f"{segment.where}: its postings are damaged; run: disputatio index check")
    terms = (query.weights[known], np.array(begins), np.array(ends), np.array(slots))
    return *terms, held.rows, held.counts, held.common, segment.lengths, *query.norm


def _fits(
    begins: NDArray[np.int64], ends: NDArray[np.int64], slots: NDArray[np.int32], rows: int, common: int
) -> bool:
    """Whether places read from a file lie within the arrays they point into."""
    if not begins.size:
        return True
    return bool(begins.min() >= 0 and (ends >= begins).all() and ends.max() <= rows and slots.max() < common)
