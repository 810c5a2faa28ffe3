"""The rows of each group whose signs differ least from a query's: a compiled scan of sign codes.

See `quantised` for the codes. One group of all rows gives the nearest of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from disputatio.store.segments.kernels import CHUNK, compiled, ones

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from disputatio.store.segments.quantised import Quantised

NARROW = 2048  # columns of codes that are compared at a time


@compiled()
def shortlist(
    vectors: Quantised,
    query: NDArray[np.float32],
    allowed: NDArray[np.bool_],
    starts: NDArray[np.int64],
    wanted: NDArray[np.int64],
    rows: NDArray[np.int32],
) -> int:
    """Write into `rows` the rows of each group whose signs differ least from the query's; how many.

    Column c of `vectors.codes` is row `vectors.order[c]`, group g the columns `starts[g]:starts[g + 1]`,
    of which `wanted[g]` are taken, each group's in rising order. A sign that differs costs the query's
    number there, in three bits (`_signs_of_query`).

    Only columns within a limit are written down; it falls as better columns come, so that they are few.
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


@compiled()
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


@compiled()
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


@compiled()
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


@compiled()
def _best(
    kept: NDArray[np.int64], distances: NDArray[np.uint32], size: int, want: int, limit: int
) -> tuple[int, int]:
    """Move the nearest `want` columns to the front, the first ones where equals are too many.

    Returns how many there are, and the distance within which a later column is better than one of them.
    """
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


@compiled()
def _measure(
    codes: NDArray[np.uint64],
    base: int,
    size: int,
    signs: NDArray[np.uint64],
    planes: NDArray[np.uint64],
    distances: NDArray[np.uint32],
) -> None:
    """How far the columns `base:base + size` are from the query (see `shortlist`)."""
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


@compiled()
def _cost(differing: np.uint64, ones_of: np.uint64, twos_of: np.uint64, fours_of: np.uint64) -> np.uint64:
    """Return what the bits in which a code differs are worth (see `_signs_of_query`)."""
    twos: np.uint64 = ones(differing & twos_of) + (ones(differing & fours_of) << np.uint64(1))
    cost: np.uint64 = ones(differing & ones_of) + (twos << np.uint64(1))
    return cost
