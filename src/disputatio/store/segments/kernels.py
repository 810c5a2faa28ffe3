"""The compiled loops of a search: BM25 over postings, cosines of some rows (sign codes: `scan`).

Rows are scored block by block, so that partial sums stay in the cache. A kernel keeps the best rows of
every group in a heap of the group's size, in one pass whatever the number of groups; one group of all
rows gives a plain top-k. All kernels release the interpreter's lock. Numbers read from files are checked
before they are used as places, so that a damaged file cannot end the process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from disputatio.store.segments.onepass import Heaps, QueryPostings, RowFilter
    from disputatio.store.segments.quantised import Quantised

BLOCK = 16384  # rows that are scored at a time
CHUNK = 64
AHEAD = 8  # rows that are asked for before they are scored
LINE = 64  # bytes
_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(fast: bool = False) -> Callable[[_Function], _Function]:
    """Compile a function at its first call, or load what an earlier process compiled."""
    decorator: Callable[[_Function], _Function] = njit(
        nogil=True,
        cache=True,
        error_model="numpy",
        fastmath={"reassoc", "nsz", "contract"} if fast else False,
    )
    return decorator


@intrinsic  # type: ignore[untyped-decorator]
def ones(_context: Any, _word: Any) -> Any:
    """Return the number of set bits of a 64-bit word, as one instruction."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic  # type: ignore[untyped-decorator]  # as above
def _fetch(_context: Any, _address: Any) -> Any:
    """Ask for the memory at an address, which need not be one, before it is read."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", (pointer,), kind)
        how = [ir.Constant(number, value) for value in (0, 3, 1)]  # to read; into all caches; data
        builder.call(prefetch, [builder.inttoptr(arguments[0], pointer), *how])
        return None

    return types.void(types.uintp), generate


@compiled()
def _offer(
    scores: NDArray[np.float32],
    rows: NDArray[np.int64],
    first: int,
    size: int,
    filled: int,
    score: np.float32,
    row: int,
) -> int:
    """Put a row into the heap of `size` places from `first` on, its worst row on top; how many it then has.

    Rows come in rising order, so that among equals the last to come is the worst.
    """
    if filled < size:
        place = filled
        while place > 0:
            above = (place - 1) // 2
            if scores[first + above] < score:
                break
            scores[first + place] = scores[first + above]
            rows[first + place] = rows[first + above]
            place = above
        scores[first + place] = score
        rows[first + place] = row
        return filled + 1
    place = 0
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        other = below + 1
        if other < size and (
            scores[first + other] < scores[first + below]
            or (scores[first + other] == scores[first + below] and rows[first + other] > rows[first + below])
        ):
            below = other
        if scores[first + below] >= score:
            break
        scores[first + place] = scores[first + below]
        rows[first + place] = rows[first + below]
        place = below
    scores[first + place] = score
    rows[first + place] = row
    return filled


@compiled()
def keep_best_by_bm25(
    postings: QueryPostings, row_filter: RowFilter, heaps: Heaps, every: NDArray[np.float32]
) -> None:
    """Score all rows of a segment by BM25 and keep the best of each group.

    `every` receives the score of each row when it is not empty.
    """
    cursors = postings.begins.copy()
    norms = np.empty(BLOCK, dtype=np.float32)
    scores = np.empty(BLOCK, dtype=np.float32)
    limits = np.empty(BLOCK, dtype=np.float32)
    for base in range(0, postings.lengths.size, BLOCK):
        lengths = postings.lengths[base : base + BLOCK]
        size = lengths.size
        for i in range(size):
            norms[i] = postings.norm_base + postings.norm_slope * np.float32(lengths[i])
        scores[:] = np.float32(0)
        for term in range(postings.weights.size):
            weight, slot = postings.weights[term], postings.slots[term]
            if slot >= 0:
                counts = postings.common[slot, base : base + BLOCK]
                for i in range(counts.size):
                    count = np.float32(counts[i])
                    scores[i] += weight * count / (count + norms[i])
            else:
                cursors[term] = _add_postings(postings, term, cursors[term], base, size, norms, scores)
        if every.size:
            every[base : base + size] = scores[:size]
        _keep_best(scores[:size], base, limits, row_filter, heaps)


@compiled()
def _add_postings(
    postings: QueryPostings,
    term: int,
    cursor: int,
    base: int,
    size: int,
    norms: NDArray[np.float32],
    scores: NDArray[np.float32],
) -> int:
    """Add a term's part to the scores of the rows `base:base + size`; the place of its next posting."""
    weight, end = postings.weights[term], postings.ends[term]
    rows, counts = postings.rows, postings.counts
    while cursor < end and rows[cursor] < base + size:
        i = rows[cursor] - base
        if i >= 0:
            count = np.float32(counts[cursor])
            scores[i] += weight * count / (count + norms[i])
        cursor += 1
    return cursor


@compiled()
def _keep_best(
    scores: NDArray[np.float32],
    base: int,
    limits: NDArray[np.float32],
    row_filter: RowFilter,
    heaps: Heaps,
) -> None:
    """Offer the rows from `base` on to the heaps of their groups; most chunks have no row above its limit."""
    allowed, groups, first_row = row_filter.allowed, row_filter.groups, row_filter.first
    places, best_scores, best_rows, group_limits = heaps.places, heaps.scores, heaps.rows, heaps.limits
    if groups.size:
        block_groups = groups[base : base + scores.size]
        for i in range(block_groups.size):
            limits[i] = group_limits[np.uint64(block_groups[i])]
    for low in range(0, scores.size, CHUNK):
        chunk = scores[low : low + CHUNK]
        chunk_limits = limits[low : low + CHUNK]
        above = 0
        if groups.size:
            for i in range(chunk.size):
                above += chunk[i] > chunk_limits[i]
        else:
            limit = group_limits[0]
            for i in range(chunk.size):  # by place: a loop over the values themselves is not vectorised
                above += chunk[i] > limit
        if above == 0:
            continue
        for i in range(chunk.size):
            row = base + low + i
            group = groups[row] if groups.size else 0
            if chunk[i] > group_limits[group] and (allowed.size == 0 or allowed[row]):
                first = places[group]
                size = places[group + 1] - first
                filled = _offer(
                    best_scores, best_rows, first, size, heaps.filled[group], chunk[i], first_row + row
                )
                heaps.filled[group] = filled
                if filled == size:
                    group_limits[group] = best_scores[first]


@compiled(fast=True)
def _product(row: NDArray[np.int16], query: NDArray[np.float32]) -> np.float32:
    total = np.float32(0)
    for i in range(query.size):
        total += np.float32(row[i]) * query[i]
    return total


@compiled()
def keep_best_by_cosine(
    vectors: Quantised,
    query: NDArray[np.float32],
    rows: NDArray[np.int64],
    row_filter: RowFilter,
    heaps: Heaps,
) -> None:
    """Score some rows, rising, by their cosines and keep the best of each group."""
    groups = row_filter.groups
    one_group = groups.size == 0
    begin, width = vectors.numbers.ctypes.data, 2 * query.size
    for place in range(rows.size):
        row = rows[place]
        if place + AHEAD < rows.size:  # rows lie far apart: else each is waited for
            following = begin + np.uint64(rows[place + AHEAD] * width)
            for line in range(0, width, LINE):
                _fetch(following + np.uint64(line))
        score = _product(vectors.numbers[row], query) * vectors.scales[row]
        group = 0 if one_group else groups[row]
        if score > heaps.limits[group]:
            first = heaps.places[group]
            size = heaps.places[group + 1] - first
            filled = _offer(
                heaps.scores, heaps.rows, first, size, heaps.filled[group], score, row_filter.first + row
            )
            heaps.filled[group] = filled
            if filled == size:
                heaps.limits[group] = heaps.scores[first]


@compiled()
def cosines(vectors: Quantised, query: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the product of `query` with some rows."""
    products = np.empty(rows.size, dtype=np.float32)
    for i in range(rows.size):
        products[i] = _product(vectors.numbers[rows[i]], query) * vectors.scales[rows[i]]
    return products


@compiled()
def bm25_of(postings: QueryPostings, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the BM25 of some rows: what `keep_best_by_bm25` gives them, each term looked up by halving."""
    scores = np.zeros(rows.size, dtype=np.float32)
    for term in range(postings.weights.size):
        weight, slot = postings.weights[term], postings.slots[term]
        for i in range(rows.size):
            row = rows[i]
            count = np.float32(0)
            if slot >= 0:
                count = np.float32(postings.common[slot, row])
            else:
                low, high = postings.begins[term], postings.ends[term]
                while low < high:
                    middle = (low + high) // 2
                    if postings.rows[middle] < row:
                        low = middle + 1
                    else:
                        high = middle
                if low < postings.ends[term] and postings.rows[low] == row:
                    count = np.float32(postings.counts[low])
            if count > 0:
                norm = postings.norm_base + postings.norm_slope * np.float32(postings.lengths[row])
                scores[i] += weight * count / (count + norm)
    return scores
