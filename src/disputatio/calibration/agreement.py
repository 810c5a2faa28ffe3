"""Counts the questions to which two sources give the same answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

LEAST = 5  # questions that both answered; fewer say nothing
MOST = 40  # sources that are compared: those that answered the most


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Two sources, the number of questions that both answered (`shared`), and of those with one answer."""

    first: str
    second: str
    shared: int
    agreed: int


def agreements(
    questions: Sequence[Mapping[str, int]], *, least: int = LEAST, most: int = MOST
) -> list[Agreement]:
    """Return the pairs of sources that share at least `least` questions, those that share most first.

    Each question has the number of the answer that each source gives; sources with one number agree.

    >>> asked = [{"a": 0, "b": 0, "c": 1}, {"a": 0, "b": 0}, {"a": 0, "b": 1, "c": 1}]
    >>> [(pair.first, pair.second, pair.shared, pair.agreed) for pair in agreements(asked, least=2)]
    [('a', 'b', 3, 2), ('a', 'c', 2, 0), ('b', 'c', 2, 1)]
    """
    answered: dict[str, int] = {}
    for question in questions:
        for name in question:
            answered[name] = answered.get(name, 0) + 1
    names = sorted(answered, key=lambda name: (-answered[name], name))[:most]
    column = {name: number for number, name in enumerate(names)}
    numbers = np.full((len(names), len(questions)), -1, dtype=np.int64)
    for row, question in enumerate(questions):
        for name, number in question.items():
            if name in column:
                numbers[column[name], row] = number
    pairs = []
    for first, second in combinations(sorted(names), 2):
        ours, theirs = numbers[column[first]], numbers[column[second]]
        both = (ours >= 0) & (theirs >= 0)
        if (shared := int(both.sum())) >= least:
            agreed = int((both & (ours == theirs)).sum())
            pairs.append(Agreement(first=first, second=second, shared=shared, agreed=agreed))
    return sorted(pairs, key=lambda pair: -pair.shared)
