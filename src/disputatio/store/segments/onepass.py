"""The two scorers of a search over many rows: one pass of compiled loops keeps the best of every group.

A group is a source, or all rows. The sparse scorer is exact. The dense scorer takes the cosines of all
rows of a small segment, and in a large one of those whose signs differ least from the query's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from disputatio.store.segments.query import Heaps, Query, QueryPostings, SearchedSegment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from disputatio.store.segments.segment import Segment

    Floats = NDArray[np.float32]
    Rows = NDArray[np.int64]

EXACT = 4096  # rows; a smaller segment's vectors are all scored
SHORTLIST = 400  # rows of a large segment that are scored, at least, where all rows are one group
SHORTLIST_OF_SOURCE = 48  # and of a source, where each is a group
OVER = 4  # rows that are scored for each row that is kept, at least
_NO_FLOATS = np.zeros(0, dtype=np.float32)


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


def cosines_of(segment: Segment, query: Query, rows: NDArray[np.int64]) -> Floats:
    """Return the cosine of some rows with the query, by compiled code."""
    from disputatio.store.segments import kernels

    if query.vector is None or segment.vectors is None:
        return np.zeros(rows.size, dtype=np.float32)
    cosines_of_rows: Floats = kernels.cosines(segment.vectors, query.vector, rows)
    return cosines_of_rows


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
    from disputatio.store.segments.kernels import shortlist

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
