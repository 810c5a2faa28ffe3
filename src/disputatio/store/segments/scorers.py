"""The two scorers of a search over one segment, in numpy: BM25 and cosine of every row, exact.

Small corpora are searched by these, and the compiled kernels are tested against them: both add the same
32-bit numbers in the same order, so their scores are equal to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from disputatio.store.segments.postings import entries_of, find_terms
from disputatio.store.segments.quantised import cosines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from disputatio.store.segments.segment import Segment

    Floats = NDArray[np.float32]

_LEAST = 1e-30  # so that no word and no length give 0 / 0


class Query(NamedTuple):
    """A query over some segments.

    `weights` has idf times multiplicity for each of its terms, the rarest first; `numbers[i]` the
    terms' numbers in segment i, -1 where it has none. A row of `n` words has the norm
    k1 (1 - b + b n / mean) = `norm[0]` + `norm[1]` n. `vector` is a unit vector, or None.
    """

    weights: Floats
    numbers: tuple[NDArray[np.int64], ...]
    norm: tuple[np.float32, np.float32]
    vector: Floats | None


def plan(
    segments: Sequence[Segment], terms: Mapping[int, int], vector: Floats | None, k1: float, b: float
) -> Query:
    """Return a query's terms (hash -> multiplicity) looked up in all segments.

    idf = ln(1 + (N - df + 1/2) / (df + 1/2)) with N and df over all segments, as Lucene has it
    (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009).
    """
    hashes = np.array(sorted(terms), dtype=np.uint64)
    times = np.array([terms[term] for term in sorted(terms)], dtype=np.float64)
    numbers = [find_terms(segment.postings.terms, hashes) for segment in segments]
    frequencies = np.zeros(hashes.size, dtype=np.int64)
    for segment, numbers_here in zip(segments, numbers, strict=True):
        known = numbers_here >= 0
        frequencies[known] += segment.postings.frequencies[numbers_here[known]]
    rows = sum(segment.rows for segment in segments)
    tokens = sum(segment.tokens for segment in segments)
    order = np.argsort(frequencies, kind="stable")  # equal ones by hash: the same in any division
    order = order[frequencies[order] > 0]
    df = frequencies[order]
    weights = times[order] * np.log1p((rows - df + 0.5) / (df + 0.5))
    norm = (np.float32(max(k1 * (1 - b), _LEAST)), np.float32(k1 * b * rows / tokens if tokens else 0.0))
    if vector is not None:
        vector = np.ascontiguousarray(vector, dtype=np.float32)
        vector = vector / np.float32(max(math.sqrt(float(vector @ vector)), 1e-12))
    return Query(weights.astype(np.float32), tuple(array[order] for array in numbers), norm, vector)


def all_bm25(segment: Segment, query: Query, numbers: NDArray[np.int64]) -> Floats:
    """Return the BM25 score of every row: the sum of idf tf / (tf + norm); 0 where no term matches."""
    scores = np.zeros(segment.rows, dtype=np.float32)
    norms = query.norm[0] + query.norm[1] * segment.lengths.astype(np.float32)
    for weight, number in zip(query.weights, numbers.tolist(), strict=True):
        if number >= 0:
            rows, counts = entries_of(segment.postings, number)
            times = counts.astype(np.float32)
            scores[rows] += weight * times / (times + norms[rows])
    return scores


def all_cosines(segment: Segment, query: Query, *, fast: bool = False) -> Floats:
    """Return the cosine of every row with the query; `fast` for compiled code."""
    if query.vector is None or segment.vectors is None:
        return np.zeros(segment.rows, dtype=np.float32)
    if fast:
        return some_cosines(segment, query, np.arange(segment.rows))
    return cosines(segment.vectors, query.vector, None)


def some_cosines(segment: Segment, query: Query, rows: NDArray[np.int64]) -> Floats:
    """Return the cosine of some rows with the query, by compiled code."""
    from disputatio.store.segments import kernels

    if query.vector is None or segment.vectors is None:
        return np.zeros(rows.size, dtype=np.float32)
    cosines_of_rows: Floats = kernels.cosines(segment.vectors, query.vector, rows)
    return cosines_of_rows
