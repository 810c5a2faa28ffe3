"""Groups of sources that count as one, their united votes, and ties by near-duplicate text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from disputatio.errors import InputError
from disputatio.reliability.weighted_vote import FlatVotes

Floats: TypeAlias = NDArray[np.float64]
Split = Literal["first", "none"]
"""What an evenly divided group votes for: the cluster met first, or none."""
SHARE = 0.5  # sources are tied by text when more than this share of one's passages are in the other


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """Sources that are tied.

    For each source: the number of its `group`, from 0 in the order met. `pairs` (n, 2) are the tied pairs,
    the lower number first, `probability` (n,) their probabilities.
    """

    group: NDArray[np.int32]
    pairs: NDArray[np.int64]
    probability: Floats


def describe_groups(group: ArrayLike) -> str:
    """Return how many of these sources are independent, and how many copy one of them.

    >>> describe_groups([0, 1, 1, 1]), describe_groups([0, 1]), describe_groups([5, 5])
    ('2 independent, 2 copies', '2 independent', '1 independent, 1 copy')
    """
    numbers = np.asarray(group)
    independent = len(np.unique(numbers))
    copies = numbers.size - independent
    tail = f", {copies} {'copy' if copies == 1 else 'copies'}" if copies else ""
    return f"{independent} independent{tail}"


def groups_of(sources: int, *pairs: ArrayLike) -> NDArray[np.int32]:
    """Return the group of each source, given tied pairs: connected components, numbered in the order met.

    >>> groups_of(5, [[1, 3]], [[3, 4]]).tolist()
    [0, 1, 2, 1, 1]
    """
    label = np.arange(sources, dtype=np.int64)
    edges = np.concatenate(
        [np.zeros((0, 2), np.int64), *(np.asarray(ties, np.int64).reshape(-1, 2) for ties in pairs)]
    )
    while edges.size:
        first, other = label[edges[:, 0]], label[edges[:, 1]]
        if np.array_equal(first, other):
            break
        low = np.minimum(first, other)
        np.minimum.at(label, first, low)  # the roots of both ends point to the lower
        np.minimum.at(label, other, low)
        while not np.array_equal(label, label[label]):
            label = label[label]
    return np.unique(label, return_inverse=True)[1].astype(np.int32)


def unite_votes(votes: FlatVotes, group: ArrayLike, *, split: Split = "first") -> FlatVotes:
    """Return the votes of groups: each group votes like most of its members.

    `split` is the vote of a group that is evenly divided: `first` for the cluster met first, `none` for no
    vote, so that the order of its sources changes no estimate. Raises `InputError`.
    """
    flat, numbers = votes, np.asarray(group, dtype=np.int64)
    if numbers.shape != (flat.sources,) or (numbers.size and numbers.min() < 0):
        raise InputError(f"group must be {flat.sources} whole numbers of 0 or more, one a source")
    groups = int(numbers.max()) + 1 if numbers.size else 0
    if groups == flat.sources and np.array_equal(numbers, np.arange(groups)):
        return flat  # each source is a group of its own
    together = (np.bincount(numbers, minlength=groups) > 1)[numbers][flat.source]
    alone_rows, rows = np.flatnonzero(~together), np.flatnonzero(together)
    keys, count = np.unique(flat.slot[rows] * groups + numbers[flat.source[rows]], return_counts=True)
    slot, number = keys // max(groups, 1), keys % max(groups, 1)
    question = np.searchsorted(flat.start, slot, side="right") - 1
    # The last of a group on a question is kept: the most frequent, of equals the first met.
    order = np.lexsort((-slot, count, number, question))
    question, number = question[order], number[order]
    last = np.ones(len(order), dtype=np.bool_)
    last[:-1] = (np.diff(question) != 0) | (np.diff(number) != 0)
    if split == "none":
        count = count[order]
        last[1:] &= last[:-1] | (count[1:] != count[:-1])  # within a group the one before has as many votes
    question, number, slot = question[last], number[last], slot[order[last]]

    def in_order(column: NDArray[np.int64], united_column: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([column[alone_rows], united_column])[by_group]

    # One column after the other, so that few copies of a long list are there at the same time.
    keys = np.concatenate(
        [flat.question[alone_rows] * groups + numbers[flat.source[alone_rows]], question * groups + number]
    )
    by_group = find_order(keys, np.arange(len(keys)) >= len(alone_rows))
    del keys, together
    return FlatVotes(
        question=in_order(flat.question, question),
        source=in_order(numbers[flat.source], number),
        slot=in_order(flat.slot, slot),
        start=flat.start,
        sources=groups,
    )


def find_order(key: NDArray[np.int64], moved: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the order that sorts keys, which rise but for those that have `moved`."""
    still, rows = key[~moved], np.flatnonzero(moved)
    if not np.all(still[1:] >= still[:-1]):
        return np.argsort(key, kind="stable")
    rows = rows[np.argsort(key[rows], kind="stable")]
    places = np.searchsorted(still, key[rows])
    del still
    return np.insert(np.flatnonzero(~moved), places, rows)


def tie_by_text(pairs: ArrayLike, source: ArrayLike, sources: int) -> Dependence:
    """Tie the sources whose passages are near duplicates.

    Two sources are tied if more than `SHARE` of the passages of one are in the other. `pairs` (n, 2) are
    nearly equal passages (the index finds them by MinHash, Broder 1997), `source` (passages,) is the source
    of each passage. Raises `InputError`.
    """
    near = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    of = np.asarray(source, dtype=np.int64)
    if of.ndim != 1 or (of.size and not 0 <= of.min() <= of.max() < sources):
        raise InputError(f"source must be one number below {sources} for each passage")
    if near.size and not 0 <= near.min() <= near.max() < of.size:
        raise InputError("pairs must be rows of two passage numbers, each of a passage in source")
    cluster = groups_of(of.size, near).astype(np.int64)
    passages_of = np.bincount(of, minlength=sources)
    spread, counts = np.unique(np.stack([cluster, of], axis=1), axis=0, return_counts=True)
    shared: dict[tuple[int, int], list[int]] = {}
    begins = np.flatnonzero(np.diff(spread[:, 0], prepend=-1))
    for begin, end in zip(begins, [*begins[1:], len(spread)], strict=True):
        if end - begin < 2:
            continue
        members = list(zip(spread[begin:end, 1].tolist(), counts[begin:end].tolist(), strict=True))
        for at, (left, left_count) in enumerate(members):
            for right, right_count in members[at + 1 :]:
                total = shared.setdefault((left, right), [0, 0])
                total[0] += left_count
                total[1] += right_count
    rows = [
        (left, right, max(left_count / passages_of[left], right_count / passages_of[right]))
        for (left, right), (left_count, right_count) in sorted(shared.items())
    ]
    tied_rows = [row for row in rows if row[2] > SHARE]
    tied = np.array([row[:2] for row in tied_rows], dtype=np.int64).reshape(-1, 2)
    return Dependence(
        group=groups_of(sources, tied),
        pairs=tied,
        probability=np.array([row[2] for row in tied_rows], dtype=np.float64),
    )
