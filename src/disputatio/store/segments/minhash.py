"""Near duplicates: one-permutation MinHash of three-word shingles, compared among the hits of a search.

Li, Owen and Zhang, One Permutation Hashing (NIPS 2012): one hash of each shingle picks a bin and a
value, the least value of each bin is kept. Li and König, b-Bit Minwise Hashing (WWW 2010): its low
bits are enough to compare; two bins of unequal sets agree by chance once in 255.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from disputatio.store.segments.terms import Counted

BINS = 64
NEAR = 0.8  # estimated Jaccard similarity from which two texts are near duplicates
SHORTEST = 8  # words; a shorter text is never a duplicate
_SHINGLE = 3
_BLOCK = 16384
_FEW = 48
_EMPTY = np.uint32(0xFFFFFFFF)


def sketch(counted: Counted) -> NDArray[np.uint8]:
    """Return one row of 64 bins a text (without its title); 0 is an empty bin, short texts are all empty."""
    texts = counted.ends.size
    result = np.zeros((texts, BINS), dtype=np.uint8)
    with np.errstate(over="ignore"):
        mixed = _mix(counted.hashes)
        for first in range(0, texts, _BLOCK):
            last = min(first + _BLOCK, texts)
            begins, ends = counted.bodies[first:last], counted.ends[first:last]
            shingles = np.where(ends - begins >= SHORTEST, ends - begins - _SHINGLE + 1, 0)
            if not shingles.any():
                continue
            row = np.repeat(np.arange(last - first), shingles)
            at = np.repeat(begins - (np.cumsum(shingles) - shingles), shingles) + np.arange(row.size)
            value = mixed[counted.tokens[at]]
            for step in range(1, _SHINGLE):
                value = value * np.uint64(0x9E3779B97F4A7C15) + mixed[counted.tokens[at + step]]
            value = _mix(value)
            bins = (value >> np.uint64(58)).astype(np.int64)
            least = np.full((last - first) * BINS, _EMPTY, dtype=np.uint32)
            low = (value & np.uint64(0x7FFFFFFF)).astype(np.uint32)
            np.minimum.at(least, row * BINS + bins, low)
            kept = np.where(least == _EMPTY, 0, least % np.uint32(255) + np.uint32(1))
            result[first:last] = kept.astype(np.uint8).reshape(-1, BINS)
    return result


def repeats(sketches: NDArray[np.uint8]) -> list[int]:
    """Return, for each row, best first, the first row that it nearly equals and that repeats none; else -1.

    >>> row = np.arange(1, 65, dtype=np.uint8)
    >>> repeats(np.stack([row, row[::-1], row]))
    [-1, -1, 0]
    """
    rows = len(sketches)
    near: dict[int, list[int]] = {}
    for better, row in pairs(sketches):
        near.setdefault(row, []).append(better)
    result = [-1] * rows
    for row in sorted(near):
        result[row] = next((better for better in sorted(set(near[row])) if result[better] < 0), -1)
    return result


def pairs(sketches: NDArray[np.uint8]) -> list[tuple[int, int]]:
    """Return pairs of rows (earlier, later) that are near duplicates; many rows are paired by bands."""
    if len(sketches) <= _FEW:
        # Bins that are empty in both count here: more than enough pairs pass, and are looked at below.
        same = np.count_nonzero(sketches[:, None] == sketches[None], axis=2)
        first, second = np.nonzero(np.triu(same >= int(NEAR * BINS), 1))
    else:
        bands = np.ascontiguousarray(np.ascontiguousarray(sketches).view(np.uint32).T)
        keys = (bands.astype(np.uint64) << np.uint64(32)) | np.arange(len(sketches), dtype=np.uint64)
        keys.sort(axis=1)  # whole numbers sort faster than places do
        values, order = keys >> np.uint64(32), (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
        firsts, seconds = [], []
        for step in range(1, _FEW + 1):  # neighbours at a distance of one, two, ... while any are equal
            same = (values[:, step:] == values[:, :-step]) & (values[:, step:] != 0)
            if not same.any():
                break
            firsts.append(order[:, :-step][same])
            seconds.append(order[:, step:][same])
        if not firsts:
            return []
        pairs = np.unique(np.concatenate(firsts) * len(sketches) + np.concatenate(seconds))
        first, second = pairs // len(sketches), pairs % len(sketches)
    if first.size == 0:
        return []
    sketch, other_sketch = sketches[first], sketches[second]
    either = ((sketch > 0) | (other_sketch > 0)).sum(axis=1)
    same_bins = ((sketch == other_sketch) & (sketch > 0)).sum(axis=1)
    close = (either > 0) & (same_bins >= NEAR * either)
    return list(zip(first[close].tolist(), second[close].tolist(), strict=True))


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the finaliser of SplitMix64: each bit of the input moves half of the output's."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
