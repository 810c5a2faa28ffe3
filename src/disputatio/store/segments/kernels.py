"""The compiled loops of a search: BM25 over postings, cosines of some rows, and a scan of sign codes.

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

    from disputatio.store.segments.quantised import Quantised
    from disputatio.store.segments.query import Heaps, QueryPostings, RowFilter

BLOCK = 16384  # rows that are scored at a time
CHUNK = 64
AHEAD = 8  # rows that are asked for before they are scored
LINE = 64  # bytes
NARROW = 2048  # columns of codes that are compared at a time
_Function = TypeVar("_Function", bound=Callable[..., Any])


def compile_lazily(fast: bool = False) -> Callable[[_Function], _Function]:
    """Compile a function at its first call, or load what an earlier process compiled."""
    decorator: Callable[[_Function], _Function] = njit(
        nogil=True,
        cache=True,
        error_model="numpy",
        fastmath={"reassoc", "nsz", "contract"} if fast else False,
    )
    return decorator


@intrinsic  # type: ignore[untyped-decorator]
def count_bits(_context: Any, _word: Any) -> Any:
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


@compile_lazily()
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


@compile_lazily()
def keep_best_by_bm25(
    postings: QueryPostings, row_filter: RowFilter, heaps: Heaps, every: NDArray[np.float32]
) -> None:
    """Score a segment by BM25 and keep the best of each group; `every`, if not empty, gets all scores."""
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


@compile_lazily()
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


@compile_lazily()
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


@compile_lazily(fast=True)
def _product(row: NDArray[np.int16], query: NDArray[np.float32]) -> np.float32:
    total = np.float32(0)
    for i in range(query.size):
        total += np.float32(row[i]) * query[i]
    return total


@compile_lazily()
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


@compile_lazily()
def cosines(vectors: Quantised, query: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float32]:
    products = np.empty(rows.size, dtype=np.float32)
    for i in range(rows.size):
        products[i] = _product(vectors.numbers[rows[i]], query) * vectors.scales[rows[i]]
    return products


@compile_lazily()
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


# --- the rows whose sign codes (`quantised`) differ least from those of a query --------------------
@compile_lazily()
def shortlist(
    vectors: Quantised,
    query: NDArray[np.float32],
    allowed: NDArray[np.bool_],
    starts: NDArray[np.int64],
    wanted: NDArray[np.int64],
    rows: NDArray[np.int32],
) -> int:
    """Write into `rows` those `wanted` of each group whose signs differ least from the query's; how many.
    Column c of `vectors.codes` is row `vectors.order[c]`, group g the columns `starts[g]:starts[g + 1]`; a
    sign that differs costs the query's number there, in three bits. Columns within a limit are kept, which
    falls as better ones come.
    """
    codes, order = vectors.codes, vectors.order
    words, columns = codes.shape
    signs = np.zeros(words, dtype=np.uint64)
    planes = np.zeros((3, words), dtype=np.uint64)
    _signs_of_query(query, vectors.centre, signs, planes)
    most = 64 * words * 7
    distances = np.empty(NARROW, dtype=np.uint32)
    space = NARROW + 2 * wanted.max() if wanted.size else 0
    kept = np.empty(space, dtype=np.int64)
    kept_distances = np.empty(space, dtype=np.uint32)
    total = 0
    for group in range(wanted.size):
        want = wanted[group]
        begin, end = starts[group], starts[group + 1]
        if want <= 0 or begin < 0 or end > columns:
            continue
        limit = most
        size_kept = 0
        for base in range(begin, end, NARROW):
            size = min(NARROW, end - base)
            _measure(codes, base, size, signs, planes, distances)
            if base == begin and size > want and allowed.size == 0:
                limit = _cut_of(distances[:size], want, most)
            size_kept = _append(
                distances[:size], base, limit, order, allowed, kept, kept_distances, size_kept
            )
            if size_kept > space - NARROW:
                size_kept, limit = _best(kept, kept_distances, size_kept, want, limit)
        if size_kept > want:
            size_kept, limit = _best(kept, kept_distances, size_kept, want, limit)
        for i in range(size_kept):
            rows[total + i] = order[kept[i]]
        total += size_kept
    return total


@compile_lazily()
def _signs_of_query(
    query: NDArray[np.float32],
    centre: NDArray[np.float32],
    signs: NDArray[np.uint64],
    planes: NDArray[np.uint64],
) -> None:
    """Write down the signs of a query less the centre, and its numbers' sizes from 0 to 7 as bits.

    What differs from the signs within `planes[b]` is worth 2^b.
    """
    largest = np.float32(1e-12)
    for i in range(query.size):
        largest = max(largest, abs(query[i] - centre[i]))
    for i in range(query.size):
        number = query[i] - centre[i]
        bit = np.uint64(1) << np.uint64(i % 64)
        if number > 0:
            signs[i // 64] |= bit
        level = int(np.rint(abs(number) * np.float32(7) / largest))
        for plane in range(3):
            if (level >> plane) & 1:
                planes[plane, i // 64] |= bit


@compile_lazily()
def _cut_of(distances: NDArray[np.uint32], want: int, most: int) -> int:
    """Return the least distance, `most` at the utmost, within which `want` columns lie."""
    low, high = -1, most
    while high - low > 1:
        middle = (low + high) // 2
        limit = np.uint32(middle)
        within = 0
        for i in range(distances.size):  # by place: a loop over the values themselves is not vectorised
            within += distances[i] <= limit
        if within >= want:
            high = middle
        else:
            low = middle
    return high


@compile_lazily()
def _append(
    distances: NDArray[np.uint32],
    base: int,
    limit: int,
    order: NDArray[np.int32],
    allowed: NDArray[np.bool_],
    kept: NDArray[np.int64],
    kept_distances: NDArray[np.uint32],
    size: int,
) -> int:
    """Write down the allowed columns from `base` on that lie within the limit; how many are then kept."""
    bound = np.uint32(max(limit, 0))
    if limit < 0:
        return size
    for low in range(0, distances.size, CHUNK):
        chunk = distances[low : low + CHUNK]
        near = 0
        for i in range(chunk.size):
            near += chunk[i] <= bound
        if near == 0:
            continue
        # Written whether it is near or not: a branch here is guessed wrong too often.
        for i in range(chunk.size):
            kept[size] = base + low + i
            kept_distances[size] = chunk[i]
            size += chunk[i] <= bound and (allowed.size == 0 or allowed[order[base + low + i]])
    return size


@compile_lazily()
def _best(
    kept: NDArray[np.int64], distances: NDArray[np.uint32], size: int, want: int, limit: int
) -> tuple[int, int]:
    """Move the nearest `want` columns to the front; their number, and what a better one is within."""
    if size < want:
        return size, limit
    cut = _cut_of(distances[:size], want, limit + 1)  # what was kept before may lie one past the limit
    spare = want
    for i in range(size):
        spare -= distances[i] < cut
    left = 0
    for i in range(size):
        if distances[i] < cut or (distances[i] == cut and spare > 0):
            spare -= distances[i] == cut
            kept[left] = kept[i]
            distances[left] = distances[i]
            left += 1
    return left, cut - 1


@compile_lazily()
def _measure(
    codes: NDArray[np.uint64],
    base: int,
    size: int,
    signs: NDArray[np.uint64],
    planes: NDArray[np.uint64],
    distances: NDArray[np.uint32],
) -> None:
    """Measure how far the columns `base:base + size` are from the query (see `shortlist`)."""
    distances[:size] = np.uint32(0)
    words = codes.shape[0]
    threes = words - words % 3
    for word in range(0, threes, 3):  # three streams side by side wait for memory less than one
        first = codes[word, base : base + size]
        second = codes[word + 1, base : base + size]
        third = codes[word + 2, base : base + size]
        sign, next_sign, last_sign = signs[word], signs[word + 1], signs[word + 2]
        ones_of, twos_of, fours_of = planes[0, word], planes[1, word], planes[2, word]
        next_ones, next_twos, next_fours = planes[0, word + 1], planes[1, word + 1], planes[2, word + 1]
        last_ones, last_twos, last_fours = planes[0, word + 2], planes[1, word + 2], planes[2, word + 2]
        for i in range(first.size):
            distances[i] += np.uint32(
                _cost(first[i] ^ sign, ones_of, twos_of, fours_of)
                + _cost(second[i] ^ next_sign, next_ones, next_twos, next_fours)
                + _cost(third[i] ^ last_sign, last_ones, last_twos, last_fours)
            )
    for word in range(threes, words):
        code = codes[word, base : base + size]
        sign = signs[word]
        ones_of, twos_of, fours_of = planes[0, word], planes[1, word], planes[2, word]
        for i in range(code.size):
            distances[i] += np.uint32(_cost(code[i] ^ sign, ones_of, twos_of, fours_of))


@compile_lazily()
def _cost(differing: np.uint64, ones_of: np.uint64, twos_of: np.uint64, fours_of: np.uint64) -> np.uint64:
    """Return the cost of the bits in which a code differs (see `_signs_of_query`)."""
    twos: np.uint64 = count_bits(differing & twos_of) + (count_bits(differing & fours_of) << np.uint64(1))
    cost: np.uint64 = count_bits(differing & ones_of) + (twos << np.uint64(1))
    return cost
