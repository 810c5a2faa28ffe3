"""Votes of honest sources and of liars, with the truth: a small world without a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Votes (questions, sources), the right cluster of each question (-1: none gave it), and the liars."""

    votes: NDArray[np.int32]
    truth: NDArray[np.int32]
    liars: NDArray[np.int64]

    def known(self, anchors: int) -> NDArray[np.int32]:
        """The first so many questions are verified."""
        return np.where(np.arange(len(self.truth)) < anchors, self.truth, -2).astype(np.int32)


def met(said: NDArray[np.int64], right: int = 0) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Clusters numbered in the order met, and the number that the right one has."""
    votes = np.full(said.shape, -1, dtype=np.int32)
    truth = np.full(len(said), -1, dtype=np.int32)
    for j, row in enumerate(said):
        numbers: dict[int, int] = {}
        for i, one in enumerate(row):
            if one >= 0:
                votes[j, i] = numbers.setdefault(int(one), len(numbers))
        truth[j] = numbers.get(right, -1)
    return votes, truth


def world(
    seed: int,
    *,
    liars: int,
    sources: int = 9,
    questions: int = 400,
    coverage: float = 0.6,
    honest: float = 0.9,
    lies: float = 1.0,
    same: bool = True,
    honest_until: int = 0,
) -> World:
    """Sources of whom some lie: all the same lie or each its own; never before question `honest_until`."""
    rng = np.random.default_rng(seed)
    who = np.sort(rng.permutation(sources)[:liars])
    wrong = rng.integers(1, 10, (questions, sources))
    said = np.where(rng.random((questions, sources)) < honest, 0, wrong)
    told = rng.integers(1, 10, (questions, 1)) if same else rng.integers(1, 10, (questions, liars))
    lying = (rng.random((questions, 1)) < lies) & (np.arange(questions)[:, None] >= honest_until)
    said[:, who] = np.where(lying, told, said[:, who])
    said = np.where(rng.random((questions, sources)) < coverage, said, -1)
    votes, truth = met(said)
    return World(votes=votes, truth=truth, liars=who)


def accuracy(winners: NDArray[np.int32], one: World, since: int = 0) -> float:
    """The share of questions whose winner is right."""
    return float((winners[since:] == one.truth[since:]).mean())
