"""The compiled loops of a search: BM25 over postings, cosines of some rows (sign codes: `scan`).

Rows are taken block by block, so that what is added up stays in the cache. Each kernel keeps the best
rows of every group in a heap of the group's own size, in one pass whatever the number of groups; one
group of all rows gives a plain top-k. All of them let go of the interpreter's lock. Numbers read from
files are checked before they are used as places, so that a damaged file cannot end the process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 16384  # rows that are added up at a time
CHUNK = 64
_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(fast: bool = False) -> Callable[[_Function], _Function]:
    """Compile a function at its first call, or load what an earlier process compiled."""
    found: Callable[[_Function], _Function] = njit(
        nogil=True,
        cache=True,
        error_model="numpy",
        fastmath={"reassoc", "nsz", "contract"} if fast else False,
    )
    return found


@intrinsic  # type: ignore[untyped-decorator]
def ones(_context: Any, _word: Any) -> Any:
    """The number of set bits of a 64-bit word, as one instruction."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@compiled()
def _offer(
    scores: NDArray[np.float32],
    rows: NDArray[np.int64],
    low: int,
    size: int,
    filled: int,
    score: np.float32,
    row: int,
) -> int:
    """Put a row into the heap at `low` of `size` places, its worst row on top; how many it then holds.

    Rows come in rising order, so that among equals the last to come is the worst.
    """
    if filled < size:
        at = filled
        while at > 0:
            above = (at - 1) // 2
            if scores[low + above] < score:
                break
            scores[low + at] = scores[low + above]
            rows[low + at] = rows[low + above]
            at = above
        scores[low + at] = score
        rows[low + at] = row
        return filled + 1
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        other = below + 1
        if other < size and (
            scores[low + other] < scores[low + below]
            or (scores[low + other] == scores[low + below] and rows[low + other] > rows[low + below])
        ):
            below = other
        if scores[low + below] >= score:
            break
        scores[low + at] = scores[low + below]
        rows[low + at] = rows[low + below]
        at = below
    scores[low + at] = score
    rows[low + at] = row
    return filled


@compiled()
def sparse_leg(
    weights: NDArray[np.float32],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    slots: NDArray[np.int32],
    posting_rows: NDArray[np.int32],
    posting_counts: NDArray[np.uint8],
    common: NDArray[np.uint8],
    lengths: NDArray[np.int32],
    norm_base: np.float32,
    norm_slope: np.float32,
    allowed: NDArray[np.bool_],
    groups: NDArray[np.int32],
    places: NDArray[np.int64],
    best_scores: NDArray[np.float32],
    best_rows: NDArray[np.int64],
    filled: NDArray[np.int64],
    limits: NDArray[np.float32],
    first: int,
    every: NDArray[np.float32],
) -> None:
    """Add up the BM25 of every row and keep the best of each group.

    Term t has the postings `begins[t]:ends[t]`, or the row `slots[t]` of `common`. Empty `allowed` and
    `groups` mean all rows and one group. Group g keeps its best in `places[g]:places[g + 1]`, numbered
    from `first`; `limits[g]` is the score to be beaten. `every` takes the score of each row when it is
    not empty.
    """
    cursors = begins.copy()
    norms = np.empty(BLOCK, dtype=np.float32)
    scores = np.empty(BLOCK, dtype=np.float32)
    bars = np.empty(BLOCK, dtype=np.float32)
    for base in range(0, lengths.size, BLOCK):
        block = lengths[base : base + BLOCK]
        size = block.size
        for i in range(size):
            norms[i] = norm_base + norm_slope * np.float32(block[i])
        scores[:] = np.float32(0)
        for t in range(weights.size):
            if slots[t] >= 0:
                counts = common[slots[t], base : base + BLOCK]
                weight = weights[t]
                for i in range(counts.size):
                    times = np.float32(counts[i])
                    scores[i] += weight * times / (times + norms[i])
            else:
                cursors[t] = _add_postings(
                    weights[t], posting_rows, posting_counts, cursors[t], ends[t], base, size, norms, scores
                )
        if every.size:
            every[base : base + size] = scores[:size]
        _sift(
            scores[:size], base, bars, allowed, groups, places, best_scores, best_rows, filled, limits, first
        )


@compiled()
def _add_postings(
    weight: np.float32,
    rows: NDArray[np.int32],
    counts: NDArray[np.uint8],
    at: int,
    end: int,
    base: int,
    size: int,
    norms: NDArray[np.float32],
    scores: NDArray[np.float32],
) -> int:
    """Add a term's part to the scores of the rows `base:base + size`; where its next posting is."""
    while at < end and rows[at] < base + size:
        i = rows[at] - base
        if i >= 0:
            times = np.float32(counts[at])
            scores[i] += weight * times / (times + norms[i])
        at += 1
    return at


@compiled()
def _sift(
    scores: NDArray[np.float32],
    base: int,
    bars: NDArray[np.float32],
    allowed: NDArray[np.bool_],
    groups: NDArray[np.int32],
    places: NDArray[np.int64],
    best_scores: NDArray[np.float32],
    best_rows: NDArray[np.int64],
    filled: NDArray[np.int64],
    limits: NDArray[np.float32],
    first: int,
) -> None:
    """Offer the rows from `base` on to the heaps of their groups; most chunks have none above the bar."""
    if groups.size:
        own = groups[base : base + scores.size]
        for i in range(own.size):
            bars[i] = limits[np.uint64(own[i])]
    for low in range(0, scores.size, CHUNK):
        chunk = scores[low : low + CHUNK]
        chunk_bars = bars[low : low + CHUNK]
        hopeful = 0
        if groups.size:
            for i in range(chunk.size):
                hopeful += chunk[i] > chunk_bars[i]
        else:
            bar = limits[0]
            for score in chunk:
                hopeful += score > bar
        if hopeful == 0:
            continue
        for i in range(chunk.size):
            row = base + low + i
            group = groups[row] if groups.size else 0
            if chunk[i] > limits[group] and (allowed.size == 0 or allowed[row]):
                start = places[group]
                room = places[group + 1] - start
                held = _offer(best_scores, best_rows, start, room, filled[group], chunk[i], first + row)
                filled[group] = held
                if held == room:
                    limits[group] = best_scores[start]


@compiled(fast=True)
def _product(row: NDArray[np.int16], query: NDArray[np.float32]) -> np.float32:
    total = np.float32(0)
    for i in range(query.size):
        total += np.float32(row[i]) * query[i]
    return total


@compiled()
def nearest(
    numbers: NDArray[np.int16],
    scales: NDArray[np.float32],
    query: NDArray[np.float32],
    rows: NDArray[np.int64],
    groups: NDArray[np.int32],
    places: NDArray[np.int64],
    best_scores: NDArray[np.float32],
    best_rows: NDArray[np.int64],
    filled: NDArray[np.int64],
    limits: NDArray[np.float32],
    first: int,
) -> None:
    """Score some rows, rising, by their cosines and keep the best of each group, as `sparse_leg` does."""
    one_group = groups.size == 0
    for row in rows:
        score = _product(numbers[row], query) * scales[row]
        group = 0 if one_group else groups[row]
        if score > limits[group]:
            start = places[group]
            room = places[group + 1] - start
            held = _offer(best_scores, best_rows, start, room, filled[group], score, first + row)
            filled[group] = held
            if held == room:
                limits[group] = best_scores[start]


@compiled()
def cosines(
    numbers: NDArray[np.int16],
    scales: NDArray[np.float32],
    query: NDArray[np.float32],
    rows: NDArray[np.int64],
) -> NDArray[np.float32]:
    """The product of `query` with some rows."""
    found = np.empty(rows.size, dtype=np.float32)
    for at in range(rows.size):
        found[at] = _product(numbers[rows[at]], query) * scales[rows[at]]
    return found


@compiled()
def bm25_of(
    weights: NDArray[np.float32],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    slots: NDArray[np.int32],
    posting_rows: NDArray[np.int32],
    posting_counts: NDArray[np.uint8],
    common: NDArray[np.uint8],
    lengths: NDArray[np.int32],
    norm_base: np.float32,
    norm_slope: np.float32,
    rows: NDArray[np.int64],
) -> NDArray[np.float32]:
    """The BM25 of some rows: what `sparse_leg` gives them, each term looked up by halving."""
    found = np.zeros(rows.size, dtype=np.float32)
    for t in range(weights.size):
        for at in range(rows.size):
            row = rows[at]
            times = np.float32(0)
            if slots[t] >= 0:
                times = np.float32(common[slots[t], row])
            else:
                low, high = begins[t], ends[t]
                while low < high:
                    middle = (low + high) // 2
                    if posting_rows[middle] < row:
                        low = middle + 1
                    else:
                        high = middle
                if low < ends[t] and posting_rows[low] == row:
                    times = np.float32(posting_counts[low])
            if times > 0:
                norm = norm_base + norm_slope * np.float32(lengths[row])
                found[at] += weights[t] * times / (times + norm)
    return found
