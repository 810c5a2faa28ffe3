"""Facts that may be of one thing, paired without comparing all with all.

Blocking as in entity resolution: two facts are compared if they have one group (money, date, ...) and two of
their rarest words, or one very rare word, in common. Blocks are cut to a window, and of facts that say the
same only a few stay in a block, so that neither a common word nor a statement that is repeated makes the
number of pairs grow with the square of the facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

KEYS = 6  # words of a fact, the rarest, of which each two are a key
WIDTH = 12  # words of a fact that are compared here
RARE = 40  # facts that have a word, up to which it is a key by itself
ALIKE = 4  # facts of one block that say the same, at most
WINDOW = 24  # neighbours of a fact in its block
MOST_PAIRS = 400_000
_NEARLY = 0.8  # the same, from which two facts are counted as one attribute of two documents
AROUND = 1 << 30
_ALIKE_WORDS = 0.5  # share of the own words of the shorter fact that both have


@dataclass(slots=True)
class FactTable:
    """Facts as numbers: their words one after the other, how many each has, group, what they say, document.

    A word above `AROUND` is one of title and headings: it pairs facts, and makes them no more alike. Facts
    that stand `alone` are not paired with each other.
    """

    flat: NDArray[np.int32]
    lengths: NDArray[np.int64]
    groups: NDArray[np.int64]
    said: NDArray[np.int64]
    documents: NDArray[np.int32]
    alone: NDArray[np.bool_]


def pairs_of(table: FactTable) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return pairs of facts (rows of two), the most alike first, and how many more were left out.

    Beside them stands, for each pair, of how many others one of its facts says nearly the same with another
    value: what many documents have each its own of says by itself not what it is of.
    """
    count = len(table.lengths)
    if count < 2:
        return np.empty((0, 2), np.int64), np.empty(0, np.int64), 0
    words = table.flat & (AROUND - 1)
    frequency = np.bincount(words, minlength=1)
    order = _order(words, table.lengths, frequency)
    matrix = _fill(words[order], table.lengths)
    own = _fill(np.where(table.flat[order] < AROUND, words[order], -1), table.lengths)
    found = _find_pairs(matrix, frequency, table)
    if not len(found):
        return found, np.empty(0, np.int64), 0
    likeness = _likeness(matrix, own, found, frequency)
    kept = likeness >= _ALIKE_WORDS
    found, likeness = found[kept], likeness[kept]
    near = found[likeness >= _NEARLY]
    others = np.bincount(near.ravel(), minlength=count)
    order = np.argsort(-likeness, kind="stable")[:MOST_PAIRS]
    return found[order], others[found[order]].max(axis=1, initial=0), max(0, len(found) - MOST_PAIRS)


def _order(
    words: NDArray[np.int32], lengths: NDArray[np.int64], frequency: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the order that puts the rarest words of each fact first."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    return np.lexsort((words, frequency[words], rows))


def _fill(words: NDArray[np.int32], lengths: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the first words of each fact in a row, -1 where there are no more."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    places = np.arange(len(words)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    kept = places < WIDTH
    matrix = np.full((len(lengths), WIDTH), -1, np.int32)
    matrix[rows[kept], places[kept]] = words[kept]
    return matrix


def _find_pairs(
    matrix: NDArray[np.int32], frequency: NDArray[np.int64], table: FactTable
) -> NDArray[np.int64]:
    """Return the pairs of facts that a block has within its window, each once."""
    groups, said, documents = table.groups, table.said, table.documents
    rows, keys = [], []
    numbers = np.arange(len(matrix))
    single = matrix[:, 1] < 0
    for first, second in [*combinations(range(KEYS), 2), *((at, at) for at in range(3))]:
        left, right = matrix[:, first], matrix[:, second]
        usable = (left >= 0) & (right >= 0)
        if first == second:
            usable &= (frequency[np.maximum(left, 0)] <= RARE) | single
        chosen = numbers[usable]
        low, high = np.minimum(left, right)[usable], np.maximum(left, right)[usable]
        rows.append(chosen.astype(np.int32))
        keys.append(
            _mix(_mix(groups[chosen] + 1) + low.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
            ^ _mix(high.astype(np.uint64) + np.uint64(7))
        )
    row, key = np.concatenate(rows), np.concatenate(keys)
    order = np.lexsort((documents[row], said[row], key))
    row, key = row[order], key[order]
    row, key = _thin(row, key, said)
    found = []
    for step in range(1, WINDOW + 1):
        same = key[step:] == key[:-step]
        if not same.any():
            break
        left, right = row[:-step][same], row[step:][same]
        differ = (said[left] != said[right]) & (documents[left] != documents[right])
        differ &= ~(table.alone[left] & table.alone[right])
        low, high = np.minimum(left, right)[differ], np.maximum(left, right)[differ]
        found.append(np.unique(low.astype(np.int64) * len(matrix) + high))
    if not found:
        return np.empty((0, 2), np.int64)
    unique = np.unique(np.concatenate(found))
    return np.stack([unique // len(matrix), unique % len(matrix)], axis=1)


def _thin(
    row: NDArray[np.int32], key: NDArray[np.uint64], said: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """Drop keys that one fact alone has, and all but a few facts of a block that say the same."""
    starts = np.ones(len(key), bool)
    starts[1:] = (key[1:] != key[:-1]) | (said[row[1:]] != said[row[:-1]])
    run = np.arange(len(key)) - np.maximum.accumulate(np.where(starts, np.arange(len(key)), 0))
    few = run < ALIKE
    row, key = row[few], key[few]
    again = np.zeros(len(key), bool)
    if len(key) > 1:
        again[1:] = key[1:] == key[:-1]
        again[:-1] |= key[:-1] == key[1:]
    return row[again], key[again]


def _likeness(
    matrix: NDArray[np.int32], own: NDArray[np.int32], pairs: NDArray[np.int64], frequency: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return, for each pair, the share of the own words of one that the other has, the larger of both."""
    weights = np.log1p(len(matrix) / np.maximum(frequency, 1)).astype(np.float32)
    result = np.empty(len(pairs), np.float32)
    for start in range(0, len(pairs), 65_536):
        rows = pairs[start : start + 65_536]
        shares = [_share(own[rows[:, at]], matrix[rows[:, 1 - at]], weights) for at in (0, 1)]
        result[start : start + 65_536] = np.maximum(*shares)
    return result


def _share(
    own: NDArray[np.int32], others: NDArray[np.int32], weights: NDArray[np.float32]
) -> NDArray[np.float32]:
    met = (own[:, :, None] == others[:, None, :]).any(axis=2) & (own >= 0)
    weight = np.where(own >= 0, weights[np.maximum(own, 0)], 0)
    total = weight.sum(axis=1)
    return np.where(total > 0, (weight * met).sum(axis=1) / np.maximum(total, 1e-6), 1.0).astype(np.float32)


def _mix(value: NDArray[np.int64] | NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = value.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
