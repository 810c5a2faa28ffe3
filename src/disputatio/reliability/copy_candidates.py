"""Copy detection among many sources: candidate pairs are found without comparing all pairs.

Three steps, none of which goes with the square of the sources. Two sources are candidates if

- false values that few sources gave already show that they copy: such values are listed with the pairs of
  their sources, rarest first, as long as there are at most `PAIRS` pairs a wrong answer; or
- the sets of all their false values are alike, by MinHash (Broder 1997) with locality-sensitive hashing: the
  values that many sources gave are found in no other way.

Candidates are then judged by the exact formulas (`copy_evidence`) on all their votes. So a tie that is found
has its exact probability. If all shared values are listed, no tie is missed, because only shared values
count for copying. Else a pair that shares a small part of its common errors can be missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from disputatio.reliability.copy_evidence import (
    NEITHER,
    RIGHT,
    SharedValues,
    probability_of,
    shared_evidence,
    unshared_evidence,
)
from disputatio.reliability.weighted_vote import FlatVotes

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
PAIRS = 32  # listed pairs of sources for each wrong answer, at most
HASHES = 126  # of a MinHash
WINDOW = 8  # neighbours in a bucket that a source is a candidate with
_FEW = 20_000  # up to this many sources, two equal hashes make a bucket; of more, three
_CHUNK = 4_000_000  # pairs, or votes of pairs, handled at once


def copying_pairs(
    flat: FlatVotes,
    stands: NDArray[np.int8],
    right: Floats,
    *,
    false_values: int,
    prior: float,
    copied: float,
    sure: float,
    least: int,
) -> tuple[Ints, Floats]:
    """Return the pairs of sources (n, 2) that copy with a probability of at least `sure`, and the
    probabilities.

    `stands` is the status of each vote, `right` the accuracy of each source.
    """
    values = SharedValues.of(flat, stands, false_values)
    needed = np.log(sure / (1 - sure)) - np.log(prior / (1 - prior))
    largest = _largest_listed(values)
    everything = largest >= values.voters.max(initial=0)
    # Evidence of shared values is never negative and all other is never positive: it bounds the sum.
    keys = _listed_candidates(
        flat, values, right, copied, largest, needed if everything else needed / 2, least if everything else 1
    )
    if not everything:
        keys = np.union1d(keys, _hashed_candidates(flat, values))
    first, other = np.divmod(keys, flat.sources)
    shared, evidence = _judged(flat, stands, values, right, copied, first, other)
    probability = probability_of(evidence, prior)
    tied = (probability >= sure) & (shared >= least)
    return np.stack([first[tied], other[tied]], axis=1).astype(np.int64), probability[tied]


def _largest_listed(values: SharedValues) -> int:
    """Return the most sources that a value may have for its pairs to be listed."""
    counts = np.sort(values.voters[values.slots])
    pairs = np.cumsum(counts * (counts - 1) // 2)
    fitting = int(np.searchsorted(pairs, PAIRS * np.count_nonzero(values.wrong), side="right"))
    if fitting == len(counts):
        return int(counts.max(initial=0))
    return int(counts[fitting]) - 1  # all values with as many sources, or none of them


def _listed_candidates(
    flat: FlatVotes,
    values: SharedValues,
    right: Floats,
    copied: float,
    largest: int,
    needed: float,
    least: int,
) -> Ints:
    """Return pairs, as first * sources + other, whose listed values give the evidence that is needed."""
    is_listed = (values.voters > 1) & (values.voters <= largest)
    mine = np.flatnonzero(values.wrong & is_listed[flat.slot])
    slot, source = flat.slot[mine], flat.source[mine]
    order = np.argsort(slot * flat.sources + source)  # no source votes twice for a value
    slot, source = slot[order], source[order]
    count = values.voters[slot]
    begins = np.flatnonzero(np.diff(slot, prepend=-1))
    position = np.arange(len(slot)) - np.repeat(begins, np.diff(np.append(begins, len(slot))))
    later = count - 1 - position  # the voters of the same value that come after each one
    at = np.arange(len(slot))
    by_source = np.argsort(source * len(source) + at)
    level, found = values.level_of_slot, []
    for chunk in _chunks(later[by_source], source[by_source]):
        rows = by_source[chunk]
        reach = later[rows]
        one = np.repeat(at[rows], reach)
        step = np.arange(len(one)) - np.repeat(np.cumsum(reach) - reach, reach) + 1
        first, other = source[one], source[one + step]
        weight = shared_evidence(right[first], right[other], values.chances[level[slot[one]]], copied)
        keys, back, shared = np.unique(first * flat.sources + other, return_inverse=True, return_counts=True)
        evidence = np.bincount(back, weight, minlength=len(keys))
        found.append(keys[(evidence >= needed - 1e-9) & (shared >= least)])
    return np.concatenate([np.zeros(0, dtype=np.int64), *found])


def _hashed_candidates(flat: FlatVotes, values: SharedValues) -> Ints:
    """Return pairs whose sets of shared false values fall into one bucket of their MinHashes."""
    mine = np.flatnonzero(values.wrong & (values.voters[flat.slot] > 1))
    mine = mine[np.argsort(flat.source[mine], kind="stable")]
    begins = np.flatnonzero(np.diff(flat.source[mine], prepend=-1))
    sources = flat.source[mine][begins]
    slots = _mixed(flat.slot[mine].astype(np.uint64))
    rows = 2 if flat.sources <= _FEW else 3
    found = np.zeros(0, dtype=np.int64)
    for band in range(HASHES // rows):
        bucket = np.zeros(len(sources), dtype=np.uint64)
        for row in range(rows):
            seed = _mixed(np.full(1, band * rows + row + 1, dtype=np.uint64))
            bucket = _mixed(bucket ^ np.minimum.reduceat(_mixed(slots ^ seed), begins))
        order = np.argsort(bucket, kind="stable")
        keys = [found]
        for step in range(1, WINDOW + 1):
            same = np.flatnonzero(bucket[order[step:]] == bucket[order[:-step]])
            one, next_one = sources[order[same]], sources[order[same + step]]
            keys.append(np.minimum(one, next_one) * flat.sources + np.maximum(one, next_one))
        found = np.unique(np.concatenate(keys))
    return found


def _judged(
    flat: FlatVotes,
    stands: NDArray[np.int8],
    values: SharedValues,
    right: Floats,
    copied: float,
    first: Ints,
    other: Ints,
) -> tuple[Ints, Floats]:
    """For each pair: how many false values it shares, and its evidence, from all votes of both."""
    compared = np.zeros(flat.sources, dtype=np.bool_)
    compared[first] = compared[other] = True
    mine = np.flatnonzero((stands != NEITHER) & compared[flat.source])
    mine = mine[np.argsort(flat.source[mine], kind="stable")]  # by source, then question
    key = flat.source[mine] * flat.questions + flat.question[mine]
    bounds = np.searchsorted(flat.source[mine], np.arange(flat.sources + 1))
    held = np.diff(bounds)
    level = values.level_of_slot
    few, many = np.where(held[first] <= held[other], (first, other), (other, first))
    shared, evidence = np.zeros(len(first), dtype=np.int64), np.zeros(len(first))
    for chunk in _chunks(held[few]):
        reach = held[few[chunk]]
        pair = np.repeat(chunk, reach)
        row = np.repeat(bounds[few[chunk]] - np.cumsum(reach) + reach, reach) + np.arange(len(pair))
        wanted = many[pair] * flat.questions + flat.question[mine[row]]
        found = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        met = np.flatnonzero(key[found] == wanted)
        pair, one, two = pair[met], mine[row[met]], mine[found[met]]
        not_both_right = (stands[one] != RIGHT) | (stands[two] != RIGHT)
        same = not_both_right & (flat.slot[one] == flat.slot[two])
        of = pair[same]
        p = values.chances[level[flat.slot[one[same]]]]
        weight = shared_evidence(right[first[of]], right[other[of]], p, copied)
        begin, size = int(chunk[0]), len(chunk)
        counts = np.bincount(of - begin, minlength=size)
        differ = np.bincount(pair[not_both_right] - begin, minlength=size) - counts
        shared[chunk] = counts
        evidence[chunk] = np.bincount(of - begin, weight, minlength=size) + differ * unshared_evidence(
            right[first[chunk]], right[other[chunk]], values.usual, copied
        )
    return shared, evidence


def _chunks(work: Ints, together: Ints | None = None) -> Iterator[Ints]:
    """Runs of rows whose `work` sums to about `_CHUNK`; equal neighbours of `together` stay in one run."""
    total = np.cumsum(work)
    begin = 0
    while begin < len(work):
        base = int(total[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(total, base + _CHUNK, side="right")), begin + 1)
        if together is not None and end < len(work):
            end = int(np.searchsorted(together, together[end - 1], side="right"))
        yield np.arange(begin, end)
        begin = end


def _mixed(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of 64 bits (the finaliser of SplitMix64)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
