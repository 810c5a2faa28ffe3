"""Sources that speak with one voice: groups of them, their votes united, and ties by near-duplicate text.

Who is tied by what they say is found in `dependence`. Votes are the integer array (questions, sources) of
`weighing`; a group is a number a source, sources of one number are one voice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from disputatio.errors import InputError
from disputatio.reliability.weighted_vote import Ballots

Floats: TypeAlias = NDArray[np.float64]
SHARE = 0.5  # sources are tied by text when more than this share of one's passages are in the other


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """Which sources are tied. Over sources: the number of its `group`, from 0 in the order met, and the
    `origin` that its group copies, -1 where that cannot be told (a source alone is its own). `pairs` (n, 2)
    are the tied pairs, the lower number first, `probability` (n,) how surely.
    """

    group: NDArray[np.int32]
    origin: NDArray[np.int32]
    pairs: NDArray[np.int64]
    probability: Floats

    @property
    def independent(self) -> int:
        """How many voices there are: groups, sources alone among them."""
        return len(np.unique(self.group))

    @property
    def wording(self) -> str:
        """How it is shown, as "3 independent, 41 copies"."""
        return wording(self.group)


def wording(group: ArrayLike) -> str:
    """How many of these sources are voices of their own, and how many repeat one.

    >>> wording([0, 1, 1, 1]), wording([0, 1]), wording([5, 5])
    ('2 independent, 2 copies', '2 independent', '1 independent, 1 copy')
    """
    numbers = np.asarray(group)
    independent = len(np.unique(numbers))
    copies = numbers.size - independent
    tail = f", {copies} {'copy' if copies == 1 else 'copies'}" if copies else ""
    return f"{independent} independent{tail}"


def groups_of(sources: int, *pairs: ArrayLike) -> NDArray[np.int32]:
    """The group of each source when the sources of each pair are tied: connected components, numbered as met.

    >>> groups_of(5, [[1, 3]], [[3, 4]]).tolist()
    [0, 1, 2, 1, 1]
    """
    label = np.arange(sources, dtype=np.int64)
    edges = np.concatenate(
        [np.zeros((0, 2), np.int64), *(np.asarray(one, np.int64).reshape(-1, 2) for one in pairs)]
    )
    while edges.size:
        one, other = label[edges[:, 0]], label[edges[:, 1]]
        if np.array_equal(one, other):
            break
        low = np.minimum(one, other)
        np.minimum.at(label, one, low)  # the roots of both ends point to the lower
        np.minimum.at(label, other, low)
        while not np.array_equal(label, label[label]):
            label = label[label]
    return np.unique(label, return_inverse=True)[1].astype(np.int32)


def united(votes: ArrayLike, group: ArrayLike) -> NDArray[np.int32]:
    """Votes of groups, (questions, groups): each says what most of its members do.

    On a tie the cluster met first.

    >>> united([[0, 1, 1], [0, -1, -1]], [0, 1, 1]).tolist()
    [[0, 1], [0, -1]]
    """
    heard = Ballots.of(votes)
    numbers = np.asarray(group, dtype=np.int64)
    if numbers.shape != (heard.sources,) or (numbers.size and numbers.min() < 0):
        raise InputError(f"group must be {heard.sources} whole numbers of 0 or more, one a source")
    voices = int(numbers.max()) + 1 if numbers.size else 0
    result = np.full((heard.questions, voices), -1, dtype=np.int32)
    if not heard.slot.size:
        return result
    keys, count = np.unique(heard.slot * voices + numbers[heard.source], return_counts=True)
    slot, voice = keys // voices, keys % voices
    question = np.searchsorted(heard.start, slot, side="right") - 1
    order = np.lexsort((-slot, count))  # the last written stays: the most said, of equals the first met
    result[question[order], voice[order]] = (slot - heard.start[question])[order]
    return result


def shared_votes(group: ArrayLike, votes: ArrayLike) -> Floats:
    """What each vote counts, in the votes' shape: a group's votes for one cluster sum to 1.

    >>> shared_votes([0, 1, 1], [[0, 1, 1], [0, 0, -1]]).tolist()
    [[1.0, 0.5, 0.5], [1.0, 1.0, 0.0]]
    """
    heard = Ballots.of(votes)
    numbers = np.asarray(group, dtype=np.int64)
    keys = heard.slot * (int(numbers.max()) + 1 if numbers.size else 1) + numbers[heard.source]
    _, back, count = np.unique(keys, return_inverse=True, return_counts=True)
    result = np.zeros(np.asarray(votes).shape)
    result[heard.question, heard.source] = 1 / count[back] if keys.size else 1.0
    return result


def tied_by_text(
    pairs: ArrayLike, source: ArrayLike, sources: int, *, share: float = SHARE, dates: ArrayLike | None = None
) -> Dependence:
    """Tie the sources whose passages are near duplicates.

    Two are tied when more than `share` of one's passages are in the other. `pairs` (n, 2) are passages that
    nearly equal one another (the index finds them by MinHash: Broder 1997;
    `store.minhash.pairs`), `source` (passages,) the source of each passage. Of a group the source of
    the earliest `dates` (passages,) among its duplicates is the origin, unless two share it; NaN is no date.
    Raises `InputError`.
    """
    near = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    of = np.asarray(source, dtype=np.int64)
    if of.ndim != 1 or (of.size and not 0 <= of.min() <= of.max() < sources):
        raise InputError(f"source must be one number below {sources} for each passage")
    if near.size and not 0 <= near.min() <= near.max() < of.size:
        raise InputError("pairs must be rows of passages that are there")
    cluster = groups_of(of.size, near).astype(np.int64)
    held = np.bincount(of, minlength=sources)
    spread, each = np.unique(np.stack([cluster, of], axis=1), axis=0, return_counts=True)
    found: dict[tuple[int, int], list[int]] = {}
    begins = np.flatnonzero(np.diff(spread[:, 0], prepend=-1))
    for begin, end in zip(begins, [*begins[1:], len(spread)], strict=True):
        if end - begin < 2:
            continue
        members = list(zip(spread[begin:end, 1].tolist(), each[begin:end].tolist(), strict=True))
        for at, (one, mine) in enumerate(members):
            for other, theirs in members[at + 1 :]:
                total = found.setdefault((one, other), [0, 0])
                total[0] += mine
                total[1] += theirs
    rows = [
        (one, other, max(mine / held[one], theirs / held[other]))
        for (one, other), (mine, theirs) in sorted(found.items())
    ]
    kept = [row for row in rows if row[2] > share]
    tied = np.array([row[:2] for row in kept], dtype=np.int64).reshape(-1, 2)
    group = groups_of(sources, tied)
    origin = alone(group)
    if dates is not None and near.size:
        when = np.asarray(dates, dtype=np.float64)
        doubled = np.unique(near)
        first = np.full(sources, np.inf)
        np.fmin.at(first, of[doubled], when[doubled])
        for number in np.unique(group[tied.ravel()]):
            members_of = np.flatnonzero(group == number)
            best = first[members_of].min()
            earliest = members_of[first[members_of] == best]
            if np.isfinite(best) and len(earliest) == 1:
                origin[members_of] = earliest[0]
    return Dependence(
        group=group,
        origin=origin,
        pairs=tied,
        probability=np.array([row[2] for row in kept], dtype=np.float64),
    )


def alone(group: NDArray[np.int32]) -> NDArray[np.int32]:
    """A source alone in its group is its own origin; that of the others is not known."""
    members = np.bincount(group, minlength=1)
    return np.where(members[group] == 1, np.arange(len(group)), -1).astype(np.int32)
