"""An inverted index in plain arrays: the rows that have a term, and its count in each.

Terms are 64-bit hashes in order, found by binary search, so that opening builds nothing. The rows of
term t are `rows[starts[t]:starts[t + 1]]`, in order, with `counts` beside them. A term of an eighth of
the rows or more is kept as one count a row instead (`common[slots[t]]`): smaller, and added up
without a jump. Counts stop at 255.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from disputatio.store.segments.terms import Counted

COMMON = 8  # a term of rows / COMMON rows or more is common
_BLOCK_ROWS = 16384
_BLOCK_ENTRIES = 1_000_000
MOST = 255


class Postings(NamedTuple):
    """An inverted index: see the module. `frequencies[t]` is the number of rows of term t."""

    terms: NDArray[np.uint64]
    frequencies: NDArray[np.int32]
    starts: NDArray[np.int64]
    slots: NDArray[np.int32]
    rows: NDArray[np.int32]
    counts: NDArray[np.uint8]
    common: NDArray[np.uint8]


class Entries(NamedTuple):
    """Some postings, by term and within it by row: the numbers of their terms, how many each has."""

    terms: NDArray[np.int64]
    sizes: NDArray[np.int64]
    rows: NDArray[np.int64]
    counts: NDArray[np.uint8]


def find_terms(terms: NDArray[np.uint64], hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the number of each hash among the sorted `terms`, -1 where it is not there."""
    if terms.size == 0:
        return np.full(hashes.size, -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(terms, hashes), terms.size - 1)
    return np.where(terms[at] == hashes, at, -1).astype(np.int64)


def entries_of(postings: Postings, term: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    slot = int(postings.slots[term])
    if slot >= 0:
        rows = np.flatnonzero(postings.common[slot])
        return rows, postings.common[slot][rows]
    begin, end = int(postings.starts[term]), int(postings.starts[term + 1])
    return postings.rows[begin:end].astype(np.int64), postings.counts[begin:end]


def invert(counted: Counted) -> Postings:
    """Return the inverted index of texts, in blocks of rows: sorted within each, then put in place."""
    order = np.argsort(counted.hashes)
    number = np.zeros(order.size, dtype=np.int64)
    number[order] = np.arange(order.size)
    blocks: list[Entries] = []
    rows = counted.ends.size
    for first in range(0, rows, _BLOCK_ROWS):
        last = min(first + _BLOCK_ROWS, rows)
        begin = int(counted.ends[first - 1]) if first else 0
        ends = counted.ends[first:last]
        lengths = np.diff(np.r_[begin, ends])
        local = np.repeat(np.arange(last - first), lengths)
        keys = number[counted.tokens[begin : int(ends[-1])]] * _BLOCK_ROWS + local
        keys.sort()
        firsts = np.flatnonzero(np.diff(keys, prepend=-1))
        counts = np.minimum(np.diff(np.r_[firsts, keys.size]), MOST).astype(np.uint8)
        keys = keys[firsts]
        terms, sizes = _runs(keys // _BLOCK_ROWS)
        blocks.append(Entries(terms, sizes, (keys % _BLOCK_ROWS + first).astype(np.int32), counts))
    return assemble(counted.hashes[order], rows, lambda: blocks)


def merge(
    parts: Sequence[Postings],
    maps: Sequence[Callable[[NDArray[np.int64]], NDArray[np.int64]] | None],
    firsts: Sequence[int],
    rows: int,
) -> Postings:
    """Return inverted indexes one after another: the rows of part i become `maps[i](rows)` (-1: gone).

    A map of None adds `firsts[i]` to each row. `rows` is the number of rows in all.
    """
    terms = np.unique(np.concatenate([np.asarray(part.terms) for part in parts]))

    def entries() -> Iterator[Entries]:
        for part, moved, first in zip(parts, maps, firsts, strict=True):
            numbers = np.searchsorted(terms, part.terms)
            for block in _stream(part):
                if moved is None:
                    yield Entries(numbers[block.terms], block.sizes, block.rows + first, block.counts)
                    continue
                target = moved(block.rows)
                kept = target >= 0
                owners = np.repeat(block.terms, block.sizes)[kept]
                order, sizes = _runs(owners)
                yield Entries(numbers[order], sizes, target[kept], block.counts[kept])

    return assemble(terms, rows, entries)


def assemble(terms: NDArray[np.uint64], rows: int, entries: Callable[[], Iterable[Entries]]) -> Postings:
    """Return postings put in place; `entries` is read twice, each term's rows in rising order."""
    frequencies = np.zeros(terms.size, dtype=np.int64)
    for block in entries():
        frequencies[block.terms] += block.sizes
    kept = frequencies > 0
    is_common = kept & (frequencies * COMMON >= rows)
    slots = np.where(is_common, np.cumsum(is_common) - 1, -1)
    starts = np.r_[0, np.cumsum(np.where(is_common, 0, frequencies))]
    posting_rows = np.zeros(int(starts[-1]), dtype=np.int32)
    counts = np.zeros(int(starts[-1]), dtype=np.uint8)
    common = np.zeros((int(is_common.sum()), rows), dtype=np.uint8)
    filled = starts[:-1].copy()
    for block in entries():
        slot = np.repeat(slots[block.terms], block.sizes)
        rare = slot < 0
        begins = np.cumsum(block.sizes) - block.sizes
        places = np.repeat(filled[block.terms] - begins, block.sizes) + np.arange(block.rows.size)
        posting_rows[places[rare]] = block.rows[rare]
        counts[places[rare]] = block.counts[rare]
        common[slot[~rare], block.rows[~rare]] = block.counts[~rare]
        filled[block.terms] += np.where(slots[block.terms] < 0, block.sizes, 0)
    return Postings(
        terms=terms[kept],
        frequencies=frequencies[kept].astype(np.int32),
        starts=np.r_[starts[:-1][kept], starts[-1]],
        slots=slots[kept].astype(np.int32),
        rows=posting_rows,
        counts=counts,
        common=common,
    )


def _stream(postings: Postings) -> Iterator[Entries]:
    """Yield all postings in blocks of whole terms; the common terms come one by one, in blocks of rows."""
    for term in np.flatnonzero(postings.slots >= 0).tolist():
        counts_of_rows = postings.common[int(postings.slots[term])]
        for begin in range(0, counts_of_rows.size, _BLOCK_ENTRIES):
            counts = counts_of_rows[begin : begin + _BLOCK_ENTRIES]
            rows = np.flatnonzero(counts)
            yield Entries(np.array([term]), np.array([rows.size]), rows + begin, counts[rows])
    starts = np.asarray(postings.starts)
    first, terms = 0, postings.terms.size
    while first < terms:
        last = int(np.searchsorted(starts, starts[first] + _BLOCK_ENTRIES, side="right")) - 1
        last = min(max(last, first + 1), terms)
        begin, end = int(starts[first]), int(starts[last])
        sizes = np.diff(starts[first : last + 1])
        numbers = np.flatnonzero(sizes)
        rows = postings.rows[begin:end].astype(np.int64)
        yield Entries(numbers + first, sizes[numbers], rows, np.asarray(postings.counts[begin:end]))
        first = last


def _runs(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the values of a sorted array, each once, and how often each is there."""
    firsts = np.flatnonzero(np.diff(values, prepend=-1))
    return values[firsts], np.diff(np.r_[firsts, values.size])
