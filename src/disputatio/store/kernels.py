"""The compiled loops of a search: BM25 over postings, a scan of sign codes, cosines of some rows.

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
NARROW = 2048  # columns of codes that are compared at a time
CHUNK = 64
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _compiled(fast: bool = False) -> Callable[[_Function], _Function]:
    found: Callable[[_Function], _Function] = njit(
        nogil=True,
        cache=True,
        error_model="numpy",
        fastmath={"reassoc", "nsz", "contract"} if fast else False,
    )
    return found


@intrinsic  # type: ignore[untyped-decorator]
def _ones(_context: Any, _word: Any) -> Any:
    """The number of set bits of a 64-bit word, as one instruction."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@_compiled()
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


@_compiled()
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


@_compiled()
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


@_compiled()
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


@_compiled()
def shortlist(
    codes: NDArray[np.uint64],
    order: NDArray[np.int32],
    signs: NDArray[np.uint64],
    planes: NDArray[np.uint64],
    allowed: NDArray[np.bool_],
    starts: NDArray[np.int64],
    wanted: NDArray[np.int64],
    found: NDArray[np.int64],
) -> int:
    """Write into `found` the rows of each group whose signs differ least from the query's; how many.

    Column c of `codes` (words, rows) is row `order[c]`, group g the columns `starts[g]:starts[g + 1]`,
    of which `wanted[g]` are taken, each group's in rising order. A sign that differs costs the query's
    number there, in three bits: the sum over b of 2^b times the bits that differ within `planes[b]`.

    What is kept is what lies below a cut that falls as better columns come, so that few columns are
    ever written down.
    """
    words, columns = codes.shape
    away = np.empty(NARROW, dtype=np.uint64)
    most = 64 * words * 7
    tally = np.zeros(most + 2, dtype=np.int64)
    kept = np.empty(1024, dtype=np.int64)
    kept_away = np.empty(1024, dtype=np.int64)
    total = 0
    for group in range(wanted.size):
        want = wanted[group]
        begin, end = starts[group], starts[group + 1]
        if want <= 0 or begin < 0 or end > columns:
            continue
        cut = most
        within = 0
        held = 0
        for base in range(begin, end, NARROW):
            size = min(NARROW, end - base)
            _measure(codes, base, size, signs, planes, away)
            for low in range(0, size, CHUNK):
                chunk = away[low : min(low + CHUNK, size)]
                bar = np.uint64(cut)
                hopeful = 0
                for one_away in chunk:
                    hopeful += one_away <= bar
                if hopeful == 0:
                    continue
                if held + CHUNK > kept.size:
                    held = _packed(kept, kept_away, held, cut, tally)
                    if held + CHUNK > kept.size // 2:
                        kept = _longer(kept)
                        kept_away = _longer(kept_away)
                for i in range(chunk.size):
                    row = order[base + low + i]
                    distance = np.int64(chunk[i])
                    if distance > cut or not (allowed.size == 0 or allowed[row]):
                        continue
                    kept[held] = row
                    kept_away[held] = distance
                    held += 1
                    tally[distance] += 1
                    within += 1
                    while within - tally[cut] >= want:
                        within -= tally[cut]
                        cut -= 1
        spare = want - (within - tally[cut])  # of those at the cut, the first ones
        total = _take(kept, kept_away, held, cut, spare, tally, found, total)
    return total


@_compiled()
def _take(
    kept: NDArray[np.int64],
    away: NDArray[np.int64],
    held: int,
    cut: int,
    spare: int,
    tally: NDArray[np.int64],
    found: NDArray[np.int64],
    total: int,
) -> int:
    """Write down what lies below the cut, and the first `spare` at it; clear the tally."""
    for i in range(held):
        tally[away[i]] = 0
        if away[i] < cut or (away[i] == cut and spare > 0):
            spare -= away[i] == cut
            found[total] = kept[i]
            total += 1
    return total


@_compiled()
def _measure(
    codes: NDArray[np.uint64],
    base: int,
    size: int,
    signs: NDArray[np.uint64],
    planes: NDArray[np.uint64],
    away: NDArray[np.uint64],
) -> None:
    """How far the columns `base:base + size` are from the query (see `shortlist`)."""
    away[:size] = np.uint64(0)
    for word in range(codes.shape[0]):
        code = codes[word, base : base + size]
        sign = signs[word]
        one, two, four = planes[0, word], planes[1, word], planes[2, word]
        for i in range(code.size):
            other = code[i] ^ sign
            twos = _ones(other & two) << np.uint64(1)
            away[i] += _ones(other & one) + twos + (_ones(other & four) << np.uint64(2))


@_compiled()
def _packed(
    kept: NDArray[np.int64], away: NDArray[np.int64], held: int, cut: int, tally: NDArray[np.int64]
) -> int:
    """Move what still lies within the cut to the front and forget the rest; how many are left."""
    left = 0
    for i in range(held):
        if away[i] <= cut:
            kept[left] = kept[i]
            away[left] = away[i]
            left += 1
        else:
            tally[away[i]] = 0
    return left


@_compiled()
def _longer(array: NDArray[np.int64]) -> NDArray[np.int64]:
    """A copy of twice the length."""
    longer = np.empty(2 * array.size, dtype=np.int64)
    longer[: array.size] = array
    return longer


@_compiled(fast=True)
def _product(row: NDArray[np.int16], query: NDArray[np.float32]) -> np.float32:
    total = np.float32(0)
    for i in range(query.size):
        total += np.float32(row[i]) * query[i]
    return total


@_compiled()
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


@_compiled()
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
