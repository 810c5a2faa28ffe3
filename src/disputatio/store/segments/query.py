"""A query over segments, as the scorers take it: its terms, which rows may be found, and the best of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from disputatio.errors import StoreError
from disputatio.store.segments.postings import find_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from disputatio.store.segments.segment import Segment

    Floats = NDArray[np.float32]
    Rows = NDArray[np.int64]

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
    """Return a query's terms (hash -> multiplicity) looked up in all segments, with BM25's idf as Lucene has
    it (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009).
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


class RowFilter(NamedTuple):
    """The rows that may be found (empty: all) and their groups (empty: one), numbered from `first` on."""

    allowed: NDArray[np.bool_]
    groups: NDArray[np.int32]
    first: int


class SearchedSegment(NamedTuple):
    """A segment in a search; `numbers` has the group of each of its sources, empty for one group."""

    segment: Segment
    row_filter: RowFilter
    numbers: NDArray[np.int32]


class QueryPostings(NamedTuple):
    """The postings of a query's terms in one segment: of term t `begins[t]:ends[t]`, or the row `slots[t]` of
    `common`; the norm of n words is `norm_base` + `norm_slope` n.
    """

    weights: Floats
    begins: Rows
    ends: Rows
    slots: NDArray[np.int32]
    rows: NDArray[np.int32]
    counts: NDArray[np.uint8]
    common: NDArray[np.uint8]
    lengths: NDArray[np.int32]
    norm_base: np.float32
    norm_slope: np.float32

    @classmethod
    def of(cls, segment: Segment, query: Query, numbers: Rows) -> QueryPostings:
        """Return those of the terms that have these numbers in a segment; raises `StoreError` for damage."""
        postings = segment.postings
        known = numbers >= 0
        terms = numbers[known]
        begins, ends = np.array(postings.starts[terms]), np.array(postings.starts[terms + 1])
        slots = np.array(postings.slots[terms])
        if not _lie_within(begins, ends, slots, postings.rows.size, len(postings.common)):
            raise StoreError(f"{segment.where}: its postings are damaged; run: disputatio index check")
        return cls(
            query.weights[known],
            begins,
            ends,
            slots,
            postings.rows,
            postings.counts,
            postings.common,
            segment.lengths,
            *query.norm,
        )


class Heaps(NamedTuple):
    """The best rows of every group; `limits` are the scores to exceed, `filled` how many there are."""

    places: Rows
    scores: Floats
    rows: Rows
    filled: Rows
    limits: Floats

    @classmethod
    def empty(cls, room: Rows, limit: float) -> Heaps:
        """Return heaps of `room` rows a group; a group without room takes none."""
        places = np.r_[0, np.cumsum(room)].astype(np.int64)
        return cls(
            places=places,
            scores=np.zeros(int(places[-1]), dtype=np.float32),
            rows=np.zeros(int(places[-1]), dtype=np.int64),
            filled=np.zeros(room.size, dtype=np.int64),
            limits=np.where(room > 0, np.float32(limit), np.float32(np.inf)).astype(np.float32),
        )

    def kept(self) -> tuple[Rows, Floats]:
        if self.filled.size == 1:
            rows, scores = self.rows[: int(self.filled[0])], self.scores[: int(self.filled[0])]
        else:
            room = np.diff(self.places)
            within = np.arange(self.rows.size) - np.repeat(self.places[:-1], room)
            used = within < np.repeat(self.filled, room)
            rows, scores = self.rows[used], self.scores[used]
        order = np.argsort(rows)
        return rows[order], scores[order]


def _lie_within(begins: Rows, ends: Rows, slots: NDArray[np.int32], rows: int, common: int) -> bool:
    """Return whether positions read from a file lie within the arrays they point into."""
    if not begins.size:
        return True
    return bool(begins.min() >= 0 and (ends >= begins).all() and ends.max() <= rows and slots.max() < common)
