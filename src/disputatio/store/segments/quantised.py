"""Vectors of passages, small on disk: 16 bits a number to score by, one bit a number to look by.

A row is kept as integers times its own scale (its largest number over 32,767), so a cosine is off by about
1e-5 at most. `codes` holds the signs of each row less the centre of all rows (Charikar, STOC 2002), 64 to a
word, word by word and source by source, so that a scan reads each as one stream. A query keeps its numbers in
three bits and a sign: what differs is weighed by them, which finds as much with a third of the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 16384
_LARGEST = 32767


class Quantised(NamedTuple):
    """`numbers` (rows, dimension), `scales`, `codes` (words, rows; column c is row `order[c]`), `centre`."""

    numbers: NDArray[np.int16]
    scales: NDArray[np.float32]
    order: NDArray[np.int32]
    codes: NDArray[np.uint64]
    centre: NDArray[np.float32]


def quantise(vectors: NDArray[np.float32], sources: NDArray[np.int32]) -> Quantised:
    """Return vectors in 16 bits a number, with their codes; `sources` numbers each row's source."""
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    scales = (np.where(largest > 0, largest, 1.0) / _LARGEST).astype(np.float32)
    numbers = np.zeros(vectors.shape, dtype=np.int16)
    for first in range(0, len(vectors), BLOCK):
        block = slice(first, first + BLOCK)
        numbers[block] = np.rint(vectors[block] / scales[block, None])
    return _add_codes(numbers, scales, sources)


def cosines(
    vectors: Quantised, query: NDArray[np.float32], rows: NDArray[np.int64] | None
) -> NDArray[np.float32]:
    numbers = vectors.numbers if rows is None else vectors.numbers[rows]
    scales = vectors.scales if rows is None else vectors.scales[rows]
    result = np.zeros(len(numbers), dtype=np.float32)
    for first in range(0, len(numbers), BLOCK):
        block = slice(first, first + BLOCK)
        # einsum adds each row up in the same order whatever its neighbours are; a matrix product may not
        result[block] = np.einsum("ij,j->i", numbers[block].astype(np.float32), query)
    return np.asarray(result * scales, dtype=np.float32)


def code_of(centred: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Return signs of rows, 64 to a word: (words, rows); the last word is filled up with zeros."""
    rows, dimension = centred.shape
    bits = np.zeros((rows, -(-dimension // 64) * 64), dtype=np.bool_)
    bits[:, :dimension] = centred > 0
    packed = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
    return np.ascontiguousarray(packed.T)


def _add_codes(
    numbers: NDArray[np.int16], scales: NDArray[np.float32], sources: NDArray[np.int32]
) -> Quantised:
    rows, dimension = numbers.shape
    total = np.zeros(dimension, dtype=np.float64)
    for first in range(0, rows, BLOCK):
        block = slice(first, first + BLOCK)
        total += scales[block].astype(np.float64) @ numbers[block].astype(np.float64)
    centre = (total / max(rows, 1)).astype(np.float32)
    order = np.argsort(sources, kind="stable").astype(np.int32)
    codes = np.zeros((-(-dimension // 64), rows), dtype=np.uint64)
    for first in range(0, rows, BLOCK):
        some = order[first : first + BLOCK]
        codes[:, first : first + some.size] = code_of(numbers[some] * scales[some, None] - centre)
    return Quantised(numbers, scales, order, codes, centre)
