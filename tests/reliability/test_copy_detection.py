"""Copiers are found by the false values that they share; honest sources that agree on the truth are not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from disputatio.errors import InputError
from disputatio.reliability.copy_detection import (
    NEITHER,
    RIGHT,
    WRONG,
    estimate_copying,
    statuses,
    tie_by_votes,
)
from disputatio.reliability.grouping import describe_groups, groups_of
from disputatio.reliability.weighted_vote import FlatVotes, majority
from tests.reliability.united import united

Votes = NDArray[np.int32]
FALSE_VALUES = 9


def spoken(
    accuracy: list[float],
    questions: int,
    *,
    copies: dict[int, int] | None = None,
    seed: int = 0,
    coverage: float = 0.8,
) -> tuple[Votes, Votes]:
    """Votes of sources with these accuracies; cluster 0 is right. Sources in `copies` copy 0.8 of another."""
    generator = np.random.default_rng(seed)
    shape = (questions, len(accuracy))
    wrong = generator.integers(1, FALSE_VALUES + 1, shape)
    votes = np.where(generator.random(shape) < accuracy, 0, wrong)
    votes[generator.random(shape) >= coverage] = -1
    for copier, original in (copies or {}).items():
        taken = (generator.random(questions) < 0.8) & (votes[:, original] >= 0)
        votes[taken, copier] = votes[taken, original]
    return votes.astype(np.int32), np.zeros(questions, np.int32)


def together(group: NDArray[np.int32]) -> set[tuple[int, int]]:
    first, other = np.nonzero(np.triu(group[:, None] == group[None, :], 1))
    return set(zip(first.tolist(), other.tolist(), strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_constructed_copiers_are_found_and_nobody_else(seed: int) -> None:
    accuracy = np.random.default_rng(seed).uniform(0.5, 0.9, 40).tolist()
    copies = {30: 0, 31: 0, 32: 0, 33: 5, 34: 5, 35: 12}
    votes, truth = spoken(accuracy, 300, copies=copies, seed=seed)
    reliability = (votes == 0).sum(axis=0) / (votes >= 0).sum(axis=0)
    expected = together(groups_of(40, list(copies.items())))
    tied_pairs = together(tie_by_votes(votes, truth, reliability).group)
    assert len(tied_pairs & expected) / len(tied_pairs) >= 0.99  # precision
    assert len(tied_pairs & expected) / len(expected) >= 0.99  # recall


@pytest.mark.long
@pytest.mark.parametrize("questions", [20, 300, 5000])
@pytest.mark.parametrize("accuracy", [0.9, 0.99, 1.0])
def test_honest_sources_that_agree_on_the_truth_are_not_tied(accuracy: float, questions: int) -> None:
    votes, truth = spoken([accuracy] * 12, questions, coverage=1.0)
    assert not together(tie_by_votes(votes, truth, [accuracy] * 12).group)


def test_a_common_mistake_ties_nobody_though_a_rare_one_would() -> None:
    votes, truth = spoken([0.7] * 20, 300, seed=4)
    common = np.where(votes > 0, 1, votes)  # whoever errs, errs alike
    assert not together(tie_by_votes(common, truth, [0.7] * 20, options=10).group)


@pytest.mark.slow
def test_a_thousand_copies_count_as_one_on_anchors() -> None:
    votes, _ = spoken([0.6, 0.9, 0.9, 0.8], 60, coverage=1.0)
    crowd = np.concatenate([votes, np.repeat(votes[:, :1], 996, axis=1)], axis=1)
    known = np.zeros(60, np.int32)
    accuracy = (crowd == 0).mean(axis=0)
    dependence = tie_by_votes(crowd, known, accuracy)
    assert describe_groups(dependence.group) == "4 independent, 996 copies"
    assert majority(united(crowd, dependence.group)).tolist() == majority(votes).tolist()


def test_a_vote_is_right_wrong_or_without_a_winner_neither() -> None:
    votes = np.array([[0, 1, 2, -1], [1, 1, 0, 0]], dtype=np.int32)
    flat = FlatVotes.of(votes)
    stand = statuses(flat, [0, 1])
    assert stand.tolist() == [RIGHT, WRONG, WRONG, RIGHT, RIGHT, WRONG, WRONG]
    assert (statuses(flat, [-1, -2]) == NEITHER).all()


def test_sources_without_a_shared_false_value_are_tied_at_the_prior_at_most() -> None:
    votes = np.array([[0, 0, -1]] * 50, dtype=np.int32)
    probability, shared = estimate_copying(votes, [0] * 50, [0.9] * 3, prior=0.1)
    assert not shared.any()
    assert probability[0, 1] == pytest.approx(0.1)
    assert probability[0, 2] == pytest.approx(0.1)
    assert (np.diag(probability) == 0).all()


def test_the_probability_is_bayes_rule_of_the_two_explanations() -> None:
    """Compute the formula of the docstring step by step for one pair."""
    votes = np.array([[1, 1, -1]] * 3 + [[0, 2, -1]] * 2 + [[0, 0, -1]] * 9, dtype=np.int32)
    probability, shared = estimate_copying(votes, [0] * 14, [0.8, 0.6, 0.5], options=6, prior=0.2)
    assert shared[0, 1] == 3
    p = (2 - 1) / (2 - 2 + 5)
    apart, tied = 1 - 0.8 * 0.6, 1 - 0.8 * 0.7 - 0.2 * 0.8 * 0.6
    same0, same1 = 0.2 * 0.4 * p / apart, (0.8 * 0.3 + 0.2 * 0.2 * 0.4 * p) / tied
    odds = 0.2 / 0.8 * (same1 / same0) ** 3 * ((1 - same1) / (1 - same0)) ** 2
    assert probability[0, 1] == pytest.approx(odds / (1 + odds))
    assert probability[1, 0] == pytest.approx(odds / (1 + odds))


@pytest.mark.slow
def test_copiers_are_found_among_a_thousand_sources() -> None:
    copies = {900 + k: k // 5 for k in range(100)}
    accuracy = np.random.default_rng(1).uniform(0.5, 0.9, 1000).tolist()
    votes, truth = spoken(accuracy, 1500, copies=copies, coverage=0.1, seed=1)
    reliability = ((votes == 0).sum(axis=0) + 1) / ((votes >= 0).sum(axis=0) + 2)
    expected = together(groups_of(1000, list(copies.items())))
    tied_pairs = together(tie_by_votes(votes, truth, reliability).group)
    assert len(tied_pairs & expected) / len(tied_pairs) >= 0.99
    assert len(tied_pairs & expected) / len(expected) >= 0.9


def test_what_does_not_fit_is_refused() -> None:
    votes = np.zeros((2, 2), np.int32)
    with pytest.raises(InputError, match="one a question"):
        statuses(FlatVotes.of(votes), [0])
    with pytest.raises(InputError, match="one a source"):
        estimate_copying(votes, [0, 0], [0.5])
    with pytest.raises(InputError, match="between 0 and 1"):
        estimate_copying(votes, [0, 0], [0.5, 0.5], prior=1.0)
