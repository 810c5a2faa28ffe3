"""The rows that compete in a search, each with its true score on both legs.

Few rows are scored one and all, in numpy. Of many, each leg gives its best in one pass (`onepass`), and
what the other leg found is scored as well. Both give the same, but for rows that the shortlist of the
dense leg has missed.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from disputatio.store.segments import search
from disputatio.store.segments.legs import all_bm25, all_cosines, some_cosines
from disputatio.store.segments.onepass import Heaps, Part, best_dense, best_sparse, bm25_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from disputatio.store.segments.legs import Query
    from disputatio.store.segments.segment import Segment

    Floats = NDArray[np.float32]
    Rows = NDArray[np.int64]
    Scored = tuple[Rows, Floats]

FEW = 4096  # rows that are searched without compiled code, whose loading costs more than the search
ALL_OF_SOURCES = 20_000  # rows of the sources that match: so many or fewer all compete
LARGE = 200_000  # rows from which the two legs run side by side
_MANY_TERMS = 64
_Kind = TypeVar("_Kind", bound=np.generic)
_NONE = np.zeros(0, dtype=np.int32)
_NONE.flags.writeable = False
_ANY = np.zeros(0, dtype=np.bool_)


class Scope(NamedTuple):
    """What is searched: segments with their first row's number, the rows allowed, the sources.

    `groups[i]` has the number of the source of each row of segment i and `numbers[i]` that of each of
    its own sources; `sizes` how many rows each source has; `named` which sources may be found (None:
    all), `masks[i]` which rows (None: all). With `everything`, rows that match nothing compete as well.
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
    """Rows, rising, with their BM25, their cosine (None without a dense leg) and their source."""

    rows: Rows
    bm25: Floats
    cosine: Floats | None
    groups: NDArray[np.int32]


def candidates(scope: Scope, query: Query, many: int, per_source: int | None) -> Candidates:
    """The rows that compete: the best `many` of each leg or, with `per_source`, those of each source.

    A source matches when one of its rows has a term of the query or is among the best `many` of the
    dense leg; of a source that matches, the best rows of each leg compete, or all where they are few.
    """
    if (
        scope.everything
        or scope.rows <= FEW
        or not compiled()
        or (per_source is not None and scope.rows <= ALL_OF_SOURCES)
    ):
        return _of_few(scope, query, many, per_source)
    if per_source is None:
        return _best(scope, query, many)
    return _best_of_sources(scope, query, many, per_source)


def allowed_rows(scope: Scope) -> Rows:
    """The rows of a scope that may be found, rising."""
    if not scope.rows:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(_allowed(scope, np.concatenate(scope.groups)))


@lru_cache(maxsize=1)
def compiled() -> bool:
    """Whether the compiled loops can be had; without them, the same is done in numpy."""
    return importlib.util.find_spec("numba") is not None


def _of_few(scope: Scope, query: Query, many: int, per_source: int | None) -> Candidates:
    """Every row scored, then chosen from."""
    fast = scope.rows > FEW and compiled()
    pairs = list(zip(scope.segments, query.numbers, strict=True))
    bm25 = np.concatenate([all_bm25(one, query, own) for one, own in pairs])
    cosine = None
    if query.vector is not None:
        cosine = np.concatenate([all_cosines(one, query, fast=fast) for one in scope.segments])
    groups = np.concatenate(scope.groups)
    allowed = _allowed(scope, groups)
    if scope.everything:
        rows = np.flatnonzero(allowed)
    else:
        rows = search.candidates(
            bm25, cosine, many=many, allowed=allowed, groups=None if per_source is None else groups
        )
    return Candidates(rows, bm25[rows], None if cosine is None else cosine[rows], groups[rows])


def _best(scope: Scope, query: Query, many: int) -> Candidates:
    """The union of the best `many` of each leg."""
    parts = []
    for at, segment in enumerate(scope.segments):
        mask = scope.masks[at]
        if scope.named is not None:
            named = scope.named[scope.groups[at]]
            mask = named if mask is None else mask & named
        parts.append(Part(segment, int(scope.firsts[at]), _NONE, _NONE, _ANY if mask is None else mask))
    room = np.array([min(many, scope.rows)], dtype=np.int64)
    (sparse, every), dense = _both_legs(
        scope, parts, query, room, room, every=query.weights.size > _MANY_TERMS
    )
    words, near = sparse.found(), None if dense is None else dense.found()
    rows = words[0] if near is None else _either(words[0], near[0])
    return _scored(scope, query, rows, every, words, near)


def _best_of_sources(scope: Scope, query: Query, many: int, per_source: int) -> Candidates:
    """For every source that matches, the best rows of each leg."""
    parts = [
        Part(
            segment,
            int(scope.firsts[at]),
            scope.groups[at],
            scope.numbers[at],
            _ANY if mask is None else mask,
        )
        for at, (segment, mask) in enumerate(zip(scope.segments, scope.masks, strict=True))
    ]
    sizes = scope.sizes if scope.named is None else np.where(scope.named, scope.sizes, 0)
    if query.vector is None:
        sparse, every = best_sparse(parts, query, np.minimum(sizes, per_source), every=False)
        words = sparse.found()
        return _scored(scope, query, words[0], every, words, None)
    room = np.minimum(sizes, 2 * per_source + 2)
    (sparse, every), dense = _both_legs(scope, parts, query, room, room, every=True)
    assert dense is not None
    words, (near, cosine) = sparse.found(), dense.found()
    groups = _at(scope, near, scope.groups)
    matched = sparse.filled > 0
    matched[groups[search.falling(cosine)[:many]]] = True
    if int(sizes[matched].sum()) <= ALL_OF_SOURCES:
        rows = np.flatnonzero(_allowed(scope, np.concatenate(scope.groups), matched))
    else:
        rows = _either(words[0], near[matched[groups]])
    return _scored(scope, query, rows, every, words, (near, cosine))


def _both_legs(
    scope: Scope, parts: Sequence[Part], query: Query, sparse_room: Rows, dense_room: Rows, *, every: bool
) -> tuple[tuple[Heaps, list[Floats]], Heaps | None]:
    """Both legs, side by side in a large scope: the compiled loops let go of the interpreter's lock."""
    vector = query.vector
    if vector is None:
        return best_sparse(parts, query, sparse_room, every=every), None
    if scope.rows < LARGE or _cores() < 2:
        return best_sparse(parts, query, sparse_room, every=every), best_dense(parts, vector, dense_room)
    told: list[Heaps | BaseException] = []

    def dense() -> None:
        try:
            told.append(best_dense(parts, vector, dense_room))
        except BaseException as error:  # noqa: BLE001 (raised again by the caller)
            told.append(error)

    beside = threading.Thread(target=dense, name="dense leg")
    beside.start()
    try:
        sparse = best_sparse(parts, query, sparse_room, every=every)
    finally:
        beside.join()
    if isinstance(told[0], BaseException):
        raise told[0]
    return sparse, told[0]


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _scored(
    scope: Scope, query: Query, rows: Rows, every: list[Floats], words: Scored, near: Scored | None
) -> Candidates:
    """Rows with their scores on both legs: as a leg found them (`words`, `near`), or made now."""
    bm25 = np.zeros(rows.size, dtype=np.float32)
    cosine = None
    if every and every[0].size:
        bm25 = _at(scope, rows, every)
    else:
        missing = _filled(bm25, rows, words)
        for at, segment, here, local in _by_segment(scope, rows, missing):
            bm25[here] = bm25_of(segment, query, query.numbers[at], local)
    if near is not None:
        cosine = np.zeros(rows.size, dtype=np.float32)
        missing = _filled(cosine, rows, near)
        for _, segment, here, local in _by_segment(scope, rows, missing):
            cosine[here] = some_cosines(segment, query, local)
    return Candidates(rows, bm25, cosine, _at(scope, rows, scope.groups))


def _either(one: Rows, other: Rows) -> Rows:
    """The rows of two arrays, each once, rising."""
    both = np.concatenate([one, other])
    both.sort()
    fresh = np.ones(both.size, dtype=np.bool_)
    np.not_equal(both[1:], both[:-1], out=fresh[1:])
    return both[fresh]


def _filled(scores: Floats, rows: Rows, leg: Scored) -> Rows:
    """Fill in the scores that a leg has found; the places in `rows` of the others."""
    found, known = leg
    at = np.searchsorted(rows, found)
    here = (at < rows.size) & (rows[np.minimum(at, rows.size - 1)] == found) if rows.size else at < 0
    scores[at[here]] = known[here]
    missing = np.ones(rows.size, dtype=np.bool_)
    missing[at[here]] = False
    return np.flatnonzero(missing)


def _by_segment(scope: Scope, rows: Rows, places: Rows) -> list[tuple[int, Segment, Rows, Rows]]:
    """For each segment that holds some of `rows[places]`: its number, itself, places and own rows."""
    if len(scope.segments) == 1:
        return [(0, scope.segments[0], places, rows[places])] if places.size else []
    found = []
    edges = np.searchsorted(rows[places], scope.firsts)
    for at, segment in enumerate(scope.segments):
        here = places[edges[at] : edges[at + 1]]
        if here.size:
            found.append((at, segment, here, rows[here] - scope.firsts[at]))
    return found


def _at(scope: Scope, rows: Rows, arrays: Sequence[NDArray[_Kind]]) -> NDArray[_Kind]:
    """What the segments' arrays say of some rows, rising."""
    found = np.empty(rows.size, dtype=arrays[0].dtype)
    for at, _, here, local in _by_segment(scope, rows, np.arange(rows.size)):
        found[here] = arrays[at][local]
    return found


def _allowed(
    scope: Scope, groups: NDArray[np.int32], matched: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """Which of all rows may be found, of the sources that match."""
    allowed = np.ones(scope.rows, dtype=np.bool_)
    for first, mask in zip(scope.firsts, scope.masks, strict=False):
        if mask is not None:
            allowed[first : first + mask.size] = mask
    for some in (scope.named, matched):
        if some is not None:
            allowed &= some[groups]
    return allowed
