"""The rows that compete in a search, each with its exact score by both scorers.

Few rows are all scored, in numpy. Of many, each scorer gives its best in one pass, and what
the other scorer found is scored as well. Both ways give the same rows, but for rows that the shortlist of
the dense scorer has missed.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from disputatio import platforms
from disputatio.store.segments import search
from disputatio.store.segments.postings import entries_of
from disputatio.store.segments.quantised import cosines
from disputatio.store.segments.query import Heaps, Query, QueryPostings, RowFilter, SearchedSegment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from disputatio.store.segments.segment import Segment

    Floats = NDArray[np.float32]
    Rows = NDArray[np.int64]
    ScoredRows = tuple[Rows, Floats]

FEW = 4096  # rows that are searched without compiled code, whose loading costs more than the search
ALL_OF_SOURCES = 20_000  # rows of the sources that match: so many or fewer all compete
LARGE = 200_000  # rows from which the two scorers run side by side
_MANY_TERMS = 64
_Kind = TypeVar("_Kind", bound=np.generic)
_NONE = np.zeros(0, dtype=np.int32)
_NONE.flags.writeable = False
_ANY = np.zeros(0, dtype=np.bool_)


class Scope(NamedTuple):
    """The scope of a search: of each segment its first row's number, the source of each row (`groups`) and of
    each of its sources (`numbers`), which rows are allowed (`masks`, None: all); rows of each source, and
    which are `named`.
    """

    segments: Sequence[Segment]
    firsts: Rows
    groups: Sequence[NDArray[np.int32]]
    numbers: Sequence[NDArray[np.int32]]
    sizes: Rows
    named: NDArray[np.bool_] | None
    masks: Sequence[NDArray[np.bool_] | None]
    everything: bool

    @property
    def rows(self) -> int:
        return int(self.firsts[-1])


class Candidates(NamedTuple):
    """Rows, rising, with their BM25, their cosine (None without the dense scorer) and their source."""

    rows: Rows
    bm25: Floats
    cosine: Floats | None
    groups: NDArray[np.int32]


def candidates(scope: Scope, query: Query, many: int, per_source: int | None) -> Candidates:
    """Return the rows that compete: the best `many` of each scorer, or of every source that matches (by a
    term, or among the best `many` of the dense scorer) the best of each scorer, or all.
    """
    if (
        scope.everything
        or scope.rows <= FEW
        or not has_numba()
        or (per_source is not None and scope.rows <= ALL_OF_SOURCES)
    ):
        return _of_few(scope, query, many, per_source)
    if per_source is None:
        return _best(scope, query, many)
    return _best_of_sources(scope, query, many, per_source)


def find_allowed_rows(scope: Scope) -> Rows:
    if not scope.rows:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(_mark_allowed(scope, np.concatenate(scope.groups)))


@lru_cache(maxsize=1)
def has_numba() -> bool:
    """Return whether numba is installed; without it, the same is computed in numpy."""
    return importlib.util.find_spec("numba") is not None


def _of_few(scope: Scope, query: Query, many: int, per_source: int | None) -> Candidates:
    fast = scope.rows > FEW and has_numba()
    pairs = zip(scope.segments, query.numbers, strict=True)
    bm25 = np.concatenate([_all_bm25(segment, query, numbers) for segment, numbers in pairs])
    cosine = None
    if query.vector is not None:
        cosine = np.concatenate([_all_cosines(segment, query, fast=fast) for segment in scope.segments])
    groups = np.concatenate(scope.groups)
    allowed = _mark_allowed(scope, groups)
    if scope.everything:
        rows = np.flatnonzero(allowed)
    else:
        rows = search.candidates(
            bm25, cosine, many=many, allowed=allowed, groups=None if per_source is None else groups
        )
    return Candidates(rows, bm25[rows], None if cosine is None else cosine[rows], groups[rows])


def _all_bm25(segment: Segment, query: Query, numbers: NDArray[np.int64]) -> Floats:
    """Return the BM25 of every row, to the last bit as the kernels do; 0 where no term matches."""
    scores = np.zeros(segment.rows, dtype=np.float32)
    norms = query.norm[0] + query.norm[1] * segment.lengths.astype(np.float32)
    for weight, number in zip(query.weights, numbers.tolist(), strict=True):
        if number >= 0:
            rows, counts = entries_of(segment.postings, number)
            times = counts.astype(np.float32)
            scores[rows] += weight * times / (times + norms[rows])
    return scores


def _all_cosines(segment: Segment, query: Query, *, fast: bool) -> Floats:
    if query.vector is None or segment.vectors is None:
        return np.zeros(segment.rows, dtype=np.float32)
    if fast:
        return cosines_of(segment, query, np.arange(segment.rows))
    return cosines(segment.vectors, query.vector, None)


def _best(scope: Scope, query: Query, many: int) -> Candidates:
    searched = []
    for number, segment in enumerate(scope.segments):
        mask = scope.masks[number]
        if scope.named is not None:
            named = scope.named[scope.groups[number]]
            mask = named if mask is None else mask & named
        row_filter = RowFilter(_ANY if mask is None else mask, _NONE, int(scope.firsts[number]))
        searched.append(SearchedSegment(segment, row_filter, _NONE))
    room = np.array([min(many, scope.rows)], dtype=np.int64)
    every = query.weights.size > _MANY_TERMS
    (sparse, all_scores), dense = _by_both_scorers(scope, searched, query, room, every=every)
    by_bm25, by_cosine = sparse.kept(), None if dense is None else dense.kept()
    rows = by_bm25[0] if by_cosine is None else _union(by_bm25[0], by_cosine[0])
    return _score_rows(scope, query, rows, all_scores, by_bm25, by_cosine)


def _best_of_sources(scope: Scope, query: Query, many: int, per_source: int) -> Candidates:
    searched = [
        SearchedSegment(
            segment,
            RowFilter(_ANY if mask is None else mask, scope.groups[number], int(scope.firsts[number])),
            scope.numbers[number],
        )
        for number, (segment, mask) in enumerate(zip(scope.segments, scope.masks, strict=True))
    ]
    sizes = scope.sizes if scope.named is None else np.where(scope.named, scope.sizes, 0)
    if query.vector is None:
        sparse, all_scores = best_sparse(searched, query, np.minimum(sizes, per_source), every=False)
        by_bm25 = sparse.kept()
        return _score_rows(scope, query, by_bm25[0], all_scores, by_bm25, None)
    room = np.minimum(sizes, 2 * per_source + 2)
    (sparse, all_scores), dense = _by_both_scorers(scope, searched, query, room, every=True)
    assert dense is not None
    by_bm25, (near, cosine) = sparse.kept(), dense.kept()
    groups = _taken(scope, near, scope.groups)
    matched = sparse.filled > 0
    matched[groups[search.sort_falling(cosine)[:many]]] = True
    if int(sizes[matched].sum()) <= ALL_OF_SOURCES:
        rows = np.flatnonzero(_mark_allowed(scope, np.concatenate(scope.groups), matched))
    else:
        rows = _union(by_bm25[0], near[matched[groups]])
    return _score_rows(scope, query, rows, all_scores, by_bm25, (near, cosine))


def _by_both_scorers(
    scope: Scope, searched: Sequence[SearchedSegment], query: Query, room: Rows, *, every: bool
) -> tuple[tuple[Heaps, list[Floats]], Heaps | None]:
    """Run both scorers, in a large scope side by side: the kernels release the interpreter lock."""
    vector = query.vector
    if vector is None:
        return best_sparse(searched, query, room, every=every), None
    if scope.rows < LARGE or platforms.count_cores() < 2:
        return best_sparse(searched, query, room, every=every), best_dense(searched, vector, room)
    outcome: list[Heaps | BaseException] = []

    def dense() -> None:
        try:
            outcome.append(best_dense(searched, vector, room))
        except BaseException as error:  # noqa: BLE001 (raised again by the caller)
            outcome.append(error)

    beside = threading.Thread(target=dense, name="dense scorer")
    beside.start()
    try:
        sparse = best_sparse(searched, query, room, every=every)
    finally:
        beside.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return sparse, outcome[0]


def _score_rows(
    scope: Scope,
    query: Query,
    rows: Rows,
    all_scores: list[Floats],
    by_bm25: ScoredRows,
    by_cosine: ScoredRows | None,
) -> Candidates:
    """Return rows with their scores by both scorers: as one found them, or made now."""
    bm25 = np.zeros(rows.size, dtype=np.float32)
    cosine = None
    if all_scores and all_scores[0].size:
        bm25 = _taken(scope, rows, all_scores)
    else:
        missing = _fill_scores(bm25, rows, by_bm25)
        for number, segment, places, segment_rows in _by_segment(scope, rows, missing):
            bm25[places] = bm25_of(segment, query, query.numbers[number], segment_rows)
    if by_cosine is not None:
        cosine = np.zeros(rows.size, dtype=np.float32)
        missing = _fill_scores(cosine, rows, by_cosine)
        for _, segment, places, segment_rows in _by_segment(scope, rows, missing):
            cosine[places] = cosines_of(segment, query, segment_rows)
    return Candidates(rows, bm25, cosine, _taken(scope, rows, scope.groups))


def _union(rows: Rows, more_rows: Rows) -> Rows:
    both = np.concatenate([rows, more_rows])
    both.sort()
    fresh = np.ones(both.size, dtype=np.bool_)
    np.not_equal(both[1:], both[:-1], out=fresh[1:])
    return both[fresh]


def _fill_scores(scores: Floats, rows: Rows, scored: ScoredRows) -> Rows:
    """Fill in the scores that a scorer has given; return the positions in `rows` of the others."""
    scored_rows, given_scores = scored
    places = np.searchsorted(rows, scored_rows)
    has_score = places < 0
    if rows.size:
        has_score = (places < rows.size) & (rows[np.minimum(places, rows.size - 1)] == scored_rows)
    scores[places[has_score]] = given_scores[has_score]
    missing = np.ones(rows.size, dtype=np.bool_)
    missing[places[has_score]] = False
    return np.flatnonzero(missing)


def _by_segment(scope: Scope, rows: Rows, places: Rows) -> list[tuple[int, Segment, Rows, Rows]]:
    """Divide `rows[places]` by segment: its number, itself, the positions, the rows in it."""
    if len(scope.segments) == 1:
        return [(0, scope.segments[0], places, rows[places])] if places.size else []
    parts = []
    edges = np.searchsorted(rows[places], scope.firsts)
    for number, segment in enumerate(scope.segments):
        in_segment = places[edges[number] : edges[number + 1]]
        if in_segment.size:
            parts.append((number, segment, in_segment, rows[in_segment] - scope.firsts[number]))
    return parts


def _taken(scope: Scope, rows: Rows, arrays: Sequence[NDArray[_Kind]]) -> NDArray[_Kind]:
    values = np.empty(rows.size, dtype=arrays[0].dtype)
    for number, _, places, segment_rows in _by_segment(scope, rows, np.arange(rows.size)):
        values[places] = arrays[number][segment_rows]
    return values


def _mark_allowed(
    scope: Scope, groups: NDArray[np.int32], matched: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    allowed = np.ones(scope.rows, dtype=np.bool_)
    for first, mask in zip(scope.firsts, scope.masks, strict=False):
        if mask is not None:
            allowed[first : first + mask.size] = mask
    for sources in (scope.named, matched):
        if sources is not None:
            allowed &= sources[groups]
    return allowed


# --- one pass -------------------------------------------------------------------------------------
# The two scorers of a search over many rows: one pass of compiled loops keeps the best of every group.
#
# A group is a source, or all rows. The sparse scorer is exact. The dense scorer takes the cosines of all
# rows of a small segment, and in a large one of those whose signs differ least from the query's.

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
    from disputatio.store.segments import kernels

    if query.vector is None or segment.vectors is None:
        return np.zeros(rows.size, dtype=np.float32)
    cosines_of_rows: Floats = kernels.cosines(segment.vectors, query.vector, rows)
    return cosines_of_rows


def best_dense(searched: Sequence[SearchedSegment], vector: Floats, room: Rows) -> Heaps:
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
