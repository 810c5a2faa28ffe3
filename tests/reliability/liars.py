"""Simulated votes of honest sources and of liars, with the truth; no model is needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Votes (questions, sources), the right cluster of each question (-1: not given), and the liars."""

    votes: NDArray[np.int32]
    truth: NDArray[np.int32]
    liars: NDArray[np.int64]

    def known(self, anchors: int) -> NDArray[np.int32]:
        """Return the right clusters of the first `anchors` questions; the others are unknown (-2)."""
        return np.where(np.arange(len(self.truth)) < anchors, self.truth, -2).astype(np.int32)


def numbered_as_met(labels: NDArray[np.int64], right: int = 0) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Votes with clusters numbered in the order met, and the number of the right one."""
    votes = np.full(labels.shape, -1, dtype=np.int32)
    truth = np.full(len(labels), -1, dtype=np.int32)
    for j, row in enumerate(labels):
        numbers: dict[int, int] = {}
        for i, label in enumerate(row):
            if label >= 0:
                votes[j, i] = numbers.setdefault(int(label), len(numbers))
        truth[j] = numbers.get(right, -1)
    return votes, truth


def simulate(
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
    """Sources of which some lie, all alike or each differently, but never before question `honest_until`."""
    rng = np.random.default_rng(seed)
    who = np.sort(rng.permutation(sources)[:liars])
    wrong = rng.integers(1, 10, (questions, sources))
    labels = np.where(rng.random((questions, sources)) < honest, 0, wrong)
    lie_labels = rng.integers(1, 10, (questions, 1)) if same else rng.integers(1, 10, (questions, liars))
    lying = (rng.random((questions, 1)) < lies) & (np.arange(questions)[:, None] >= honest_until)
    labels[:, who] = np.where(lying, lie_labels, labels[:, who])
    labels = np.where(rng.random((questions, sources)) < coverage, labels, -1)
    votes, truth = numbered_as_met(labels)
    return World(votes=votes, truth=truth, liars=who)


def accuracy(winners: NDArray[np.int32], simulated: World, since: int = 0) -> float:
    """Return the share of questions whose winner is right."""
    return float((winners[since:] == simulated.truth[since:]).mean())
