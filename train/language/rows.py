"""Branches as rows of one file: what a machine with a GPU needs of the data, without the data and their packages.

A row is the instruction with one branch and its leaves, as if it were a tree of its own; many rows of like length are
one batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from train.language.trees import Packed

WINDOW = 1_500  # rows that are sorted by length before they are cut into batches


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows one after the other: `starts` of rows in `tokens`, `leaves` as (row, start, target, end, kind) by tokens."""

    tokens: Any
    starts: Any
    leaves: Any
    kinds: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows side by side, filled up with zeros: each array is rows by places, `targets` are (row, place) of each token.

    `leaf_of` are the numbers of the leaves of `targets` among the leaves of the batch, `kind_of` the kinds of those.
    """

    tokens: Any
    positions: Any
    leaf: Any
    targets: Any
    leaf_of: Any
    kind_of: Any


def rows_of(trees: Iterable[Packed]) -> Rows:
    """Return trees of one branch each as rows."""
    tokens, starts, leaves = [], [0], []
    kinds: dict[str, int] = {}
    for row, tree in enumerate(trees):
        base = starts[-1]
        tokens.append(tree.tokens.astype(np.uint32))
        starts.append(base + len(tree.tokens))
        for number, leaf in enumerate(tree.leaves):
            own = np.flatnonzero(tree.leaf == number)
            target = tree.targets[np.isin(tree.targets, own)]
            kind = kinds.setdefault(leaf.kind, len(kinds))
            leaves.append((row, base + own[0], base + target[0], base + own[-1] + 1, kind))
    return Rows(np.concatenate(tokens), np.array(starts), np.array(leaves), tuple(kinds))


def save(rows: Rows, path: Path) -> None:
    """Write rows to a file."""
    np.savez_compressed(
        path, tokens=rows.tokens, starts=rows.starts, leaves=rows.leaves, kinds=np.array(rows.kinds)
    )


def load(path: Path) -> Rows:
    """Return the rows of a file."""
    with np.load(path) as file:
        return Rows(file["tokens"], file["starts"], file["leaves"], tuple(map(str, file["kinds"])))


def batches(rows: Rows, places: int, seed: int | None) -> Iterator[Sequence[int]]:
    """Yield the numbers of rows of each batch of at most so many places, in the order of the rows or by a seed.

    Rows of one length are drawn from a window, so that a batch is of what stands together in the file.
    """
    lengths = np.diff(rows.starts)
    chance = np.random.default_rng(seed)
    for first in range(0, len(rows), WINDOW):
        window = np.arange(first, min(first + WINDOW, len(rows)))
        order = window[np.argsort(lengths[window], kind="stable")]
        found: list[list[int]] = [[]]
        for row in order:
            if found[-1] and (len(found[-1]) + 1) * lengths[row] > places:
                found.append([])
            found[-1].append(int(row))
        if seed is not None:
            chance.shuffle(found)
        yield from found


def endless(rows: Rows, places: int, seed: int) -> Iterator[Sequence[int]]:
    """Yield batches over and over, in another order each time."""
    for epoch in count():
        yield from batches(rows, places, seed + epoch)


def batch_of(rows: Rows, numbers: Sequence[int]) -> Batch:
    """Return some rows as one batch."""
    lengths = np.diff(rows.starts)[list(numbers)]
    shape = (len(numbers), int(lengths.max()))
    tokens, positions = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    leaf = np.full(shape, -1, np.int64)
    targets: list[tuple[int, int]] = []
    leaf_of: list[int] = []
    kind_of: list[int] = []
    firsts = np.searchsorted(rows.leaves[:, 0], numbers)
    lasts = np.searchsorted(rows.leaves[:, 0], numbers, side="right")
    for place, number in enumerate(numbers):
        base, length = rows.starts[number], lengths[place]
        tokens[place, :length] = rows.tokens[base : base + length]
        positions[place, :length] = np.arange(length)
        own = rows.leaves[firsts[place] : lasts[place]]
        fork = int(own[0][1] - base)
        for start, target, end, kind in own[:, 1:] - [base, base, base, 0]:
            positions[place, start:end] = fork + np.arange(end - start)
            leaf[place, start:end] = len(kind_of)
            targets += [(place, each) for each in range(target, end)]
            leaf_of += [len(kind_of)] * (end - target)
            kind_of.append(int(kind))
    return Batch(tokens, positions, leaf, np.array(targets), np.array(leaf_of), np.array(kind_of))
