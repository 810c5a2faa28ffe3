"""The two scorers of a search over many rows: one pass of compiled loops keeps the best of every group.

A group is a source, or all rows. The sparse scorer is exact. The dense scorer takes the cosines of all
rows of a small segment, and in a large one of those whose signs differ least from the query's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from disputatio.errors import StoreError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from disputatio.store.segments.scorers import Query
    from disputatio.store.segments.segment import Segment

    Floats = NDArray[np.float32]
    Rows = NDArray[np.int64]

EXACT = 4096  # rows; a smaller segment's vectors are all scored
SHORTLIST = 400  # rows of a large segment that are scored, at least, where all rows are one group
SHORTLIST_OF_SOURCE = 48  # and of a source, where each is a group
OVER = 4  # rows that are scored for each row that is kept, at least
_NO_FLOATS = np.zeros(0, dtype=np.float32)
_NO_MASK = np.zeros(0, dtype=np.bool_)


class RowFilter(NamedTuple):
    """Which rows of a segment may be found, and their groups; rows are numbered from `first` on.

    Empty `allowed` allows all rows; empty `groups` makes all rows one group.
    """

    allowed: NDArray[np.bool_]
    groups: NDArray[np.int32]
    first: int


class SearchedSegment(NamedTuple):
    """A segment in a search; `numbers` has the group of each of its sources, empty for one group."""

    segment: Segment
    row_filter: RowFilter
    numbers: NDArray[np.int32]


class QueryPostings(NamedTuple):
    """The postings of a query's terms in one segment, as the sparse kernels take them.

    Term t has the weight `weights[t]` and the postings `begins[t]:ends[t]` of `rows` and `counts`, or the
    row `slots[t]` of `common`. A row of n words has the norm `norm_base` + `norm_slope` n.
    """

    weights: Floats
    begins: Rows
    ends: Rows
    slots: NDArray[np.int32]
    rows: NDArray[np.int32]
    counts: NDArray[np.uint8]
    common: NDArray[np.uint8]
    lengths: NDArray[np.int32]
    norm_base: np.float32
    norm_slope: np.float32

    @classmethod
    def of(cls, segment: Segment, query: Query, numbers: Rows) -> QueryPostings:
        """Return those of the terms that have these numbers in a segment; raises `StoreError` for damage."""
        postings = segment.postings
        known = numbers >= 0
        terms = numbers[known]
        begins, ends = np.array(postings.starts[terms]), np.array(postings.starts[terms + 1])
        slots = np.array(postings.slots[terms])
        if not _lie_within(begins, ends, slots, postings.rows.size, len(postings.common)):
            raise StoreError(f"{segment.where}: its postings are damaged; run: disputatio index check")
        return cls(
            query.weights[known],
            begins,
            ends,
            slots,
            postings.rows,
            postings.counts,
            postings.common,
            segment.lengths,
            *query.norm,
        )


class Heaps(NamedTuple):
    """The best rows of every group: group g has `places[g]:places[g + 1]`, `filled[g]` of them used.

    `limits[g]` is the score that a row must exceed to be kept.
    """

    places: Rows
    scores: Floats
    rows: Rows
    filled: Rows
    limits: Floats

    @classmethod
    def empty(cls, room: Rows, limit: float) -> Heaps:
        """Heaps of `room` rows a group; a group without room takes none."""
        places = np.r_[0, np.cumsum(room)].astype(np.int64)
        return cls(
            places=places,
            scores=np.zeros(int(places[-1]), dtype=np.float32),
            rows=np.zeros(int(places[-1]), dtype=np.int64),
            filled=np.zeros(room.size, dtype=np.int64),
            limits=np.where(room > 0, np.float32(limit), np.float32(np.inf)).astype(np.float32),
        )

    def kept(self) -> tuple[Rows, Floats]:
        """Return the rows kept, rising, with their scores."""
        if self.filled.size == 1:
            rows, scores = self.rows[: int(self.filled[0])], self.scores[: int(self.filled[0])]
        else:
            room = np.diff(self.places)
            within = np.arange(self.rows.size) - np.repeat(self.places[:-1], room)
            used = within < np.repeat(self.filled, room)
            rows, scores = self.rows[used], self.scores[used]
        order = np.argsort(rows)
        return rows[order], scores[order]


def best_sparse(
    searched: Sequence[SearchedSegment], query: Query, room: Rows, *, every: bool
) -> tuple[Heaps, list[Floats]]:
    """Return the best rows of each group by BM25 and, if `every`, the score of every row of each segment."""
    from disputatio.store.segments import kernels

    heaps = Heaps.empty(room, 0.0)
    scores = []
    for (segment, row_filter, _), numbers in zip(searched, query.numbers, strict=True):
        scores.append(np.empty(segment.rows, dtype=np.float32) if every else _NO_FLOATS)
        postings = QueryPostings.of(segment, query, numbers)
        kernels.keep_best_by_bm25(postings, row_filter, heaps, scores[-1])
    return heaps, scores


def bm25_of(segment: Segment, query: Query, numbers: Rows, rows: Rows) -> Floats:
    """Return the BM25 of some rows of a segment, in which the query's terms have these numbers."""
    from disputatio.store.segments import kernels

    scores: Floats = kernels.bm25_of(QueryPostings.of(segment, query, numbers), rows)
    return scores


def best_dense(searched: Sequence[SearchedSegment], vector: Floats, room: Rows) -> Heaps:
    """Return the best rows of each group by cosine."""
    from disputatio.store.segments import kernels

    heaps = Heaps.empty(room, -np.inf)
    for part in searched:
        segment, row_filter, _ = part
        if segment.vectors is None:
            continue
        if segment.rows > EXACT:
            rows = _shortlist(part, vector, room)
        elif row_filter.allowed.size:
            rows = np.flatnonzero(row_filter.allowed)
        else:
            rows = np.arange(segment.rows)
        kernels.keep_best_by_cosine(segment.vectors, vector, rows, row_filter, heaps)
    return heaps


def _shortlist(searched: SearchedSegment, vector: Floats, room: Rows) -> Rows:
    """Return rows of a large segment among which the best of each group are nearly sure to be."""
    from disputatio.store.segments.scan import shortlist

    segment, row_filter, numbers = searched
    vectors = segment.vectors
    assert vectors is not None
    if row_filter.groups.size:
        starts = segment.source_starts
        room_of_source = room[numbers]
        wanted = np.where(room_of_source > 0, np.maximum(OVER * room_of_source, SHORTLIST_OF_SOURCE), 0)
    else:
        starts = np.array([0, segment.rows])
        wanted = np.maximum(OVER * room, SHORTLIST)
    wanted = np.minimum(wanted, np.diff(starts))
    rows = np.empty(int(wanted.sum()), dtype=np.int32)
    size = shortlist(vectors, vector, row_filter.allowed, starts, wanted, rows)
    return np.sort(rows[:size]).astype(np.int64)  # rising over all groups: memory is read in one sweep


def _lie_within(begins: Rows, ends: Rows, slots: NDArray[np.int32], rows: int, common: int) -> bool:
    """Return whether places read from a file lie within the arrays they point into."""
    if not begins.size:
        return True
    return bool(begins.min() >= 0 and (ends >= begins).all() and ends.max() <= rows and slots.max() < common)
