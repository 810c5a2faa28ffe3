"""Truth and reliability where values entail one another, errors recur and sources copy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.lib.discovery import START, discover
from disputatio.errors import InputError
from disputatio.reliability.weighted_vote import estimate


def numbered(claimed: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Votes numbered in the order met, and the value of each cluster; -1 in `said` is no answer."""
    votes = np.full(claimed.shape, -1, np.int32)
    values = np.full(claimed.shape, -1, np.int64)
    for row, line in enumerate(claimed.tolist()):
        met: dict[int, int] = {}
        for source, value in enumerate(line):
            if value >= 0:
                votes[row, source] = met.setdefault(value, len(met))
                values[row, met[value]] = value
    return votes, values


def plain_beliefs(
    votes: list[int], general: set[tuple[int, int]], shares: tuple[float, float, float], options: int
) -> list[float]:
    """Return the posterior over the clusters of one question, written as the docstring's formula reads."""
    clusters = max(votes) + 1
    result = []
    for truth in range(clusters):
        above = [each for each in range(clusters) if (truth, each) in general]
        likelihood = 1.0
        for vote in votes:
            if vote == truth:
                likelihood *= shares[0] if above else shares[0] + shares[1]
            elif vote in above:
                likelihood *= shares[1] / len(above)
            else:
                likelihood *= shares[2] / max(max(options, clusters) - 1 - len(above), 1)
        result.append(likelihood)
    return [each / sum(result) for each in result]


@pytest.mark.parametrize("seed", range(20))
def test_a_step_gives_the_posterior_of_the_formula(seed: int) -> None:
    generator = np.random.default_rng(seed)
    votes, _ = numbered(generator.integers(0, 4, (1, 7)))
    clusters = int(votes.max()) + 1
    general = {(a, b) for a in range(clusters) for b in range(a) if generator.random() < 0.5}
    rows = np.array([(0, a, b) for a, b in sorted(general)]).reshape(-1, 3)
    solution = discover(votes, entails=rows, options=6, copies=False, iterations=1)
    expected = plain_beliefs(votes[0].tolist(), general, START, 6)
    assert solution.probability[0] == pytest.approx(max(expected))
    assert expected[solution.winners[0]] == pytest.approx(max(expected))


def test_reliability_is_found_where_values_are_only_right_or_wrong() -> None:
    generator = np.random.default_rng(0)
    accuracy = np.linspace(0.3, 0.9, 10)
    claimed = np.where(generator.random((800, 10)) < accuracy, 0, generator.integers(1, 10, (800, 10)))
    votes, values = numbered(claimed)
    solution = discover(votes)
    assert np.abs(solution.right - accuracy).max() < 0.06
    assert ((solution.low <= accuracy) & (accuracy <= solution.high)).sum() >= 8
    won = values[np.arange(800), solution.winners]
    plain = values[np.arange(800), estimate(votes).winners]
    assert (won == 0).mean() >= (plain == 0).mean()
    assert solution.converged


def test_who_says_less_is_not_taken_for_wrong_and_the_specific_value_wins() -> None:
    generator = np.random.default_rng(1)
    # Values of a question: 0 the truth, 1 what it entails, 2.. errors. Source 0 knows only the general.
    claimed = np.where(generator.random((400, 6)) < 0.8, 0, generator.integers(2, 9, (400, 6)))
    claimed[:, :4] = np.where(claimed[:, :4] == 0, 1, claimed[:, :4])  # four of six say the general
    votes, values = numbered(claimed)
    rows = [
        (row, line.tolist().index(0), line.tolist().index(1))
        for row, line in enumerate(values)
        if 0 in line and 1 in line
    ]
    solution = discover(votes, entails=rows)
    assert np.abs(solution.right - 0.8).max() < 0.07
    assert (solution.general[:4] > 0.6).all()
    assert (solution.exact[4:] > 0.6).all()
    both = [row for row, line in enumerate(values) if 0 in line and 1 in line]
    assert (values[both, solution.winners[both]] == 0).mean() > 0.95
    assert (values[both, estimate(votes).winners[both]] == 0).mean() < 0.3  # votes alone take the general


def test_a_mistake_that_one_source_often_makes_is_learned_from_its_meaning() -> None:
    generator = np.random.default_rng(2)
    truth = generator.integers(10, 60, 600)
    first = np.where(generator.random(600) < 0.9, truth, 7)  # a name read as a place: always the same
    second = np.where(generator.random(600) < 0.75, truth, generator.integers(10, 60, 600))
    votes, values = numbered(np.stack([first, second], axis=1))
    blind, seeing = discover(votes), discover(votes, values=values)
    mistaken = first == 7
    right = [
        (values[np.arange(600), solution.winners] == truth)[mistaken].mean() for solution in (blind, seeing)
    ]
    assert right[0] < 0.1
    assert right[1] > 0.6


def test_copies_of_a_bad_source_do_not_outvote_good_ones() -> None:
    generator = np.random.default_rng(3)
    honest = np.where(generator.random((400, 6)) < 0.75, 0, generator.integers(1, 10, (400, 6)))
    bad = np.where(generator.random((400, 1)) < 0.55, 0, generator.integers(1, 10, (400, 1)))
    votes, values = numbered(np.concatenate([honest, np.repeat(bad, 4, axis=1)], axis=1))
    solution = discover(votes)
    assert solution.dependence.wording == "7 independent, 3 copies"
    right = (values[np.arange(400), solution.winners] == 0).mean()
    assert right > (values[np.arange(400), discover(votes, copies=False).winners] == 0).mean()
    assert solution.answered[6:].max() < 400 > solution.answered[6:].min()


def test_anchors_pin_questions_and_turn_a_lying_majority() -> None:
    generator = np.random.default_rng(4)
    honest = np.where(generator.random((200, 3)) < 0.9, 0, generator.integers(1, 10, (200, 3)))
    liars = np.where(generator.random((200, 4)) < 0.9, 5, generator.integers(1, 10, (200, 4)))
    votes, values = numbered(np.concatenate([honest, liars], axis=1))
    known = np.full(200, -2, np.int32)
    for row in range(40):
        line = values[row].tolist()
        known[row] = line.index(0) if 0 in line else -1
    solution = discover(votes, known=known)
    assert solution.winners[:40].tolist() == known[:40].tolist()
    assert (values[np.arange(40, 200), solution.winners[40:]] == 0).mean() > 0.9
    assert solution.right[:3].min() > 0.7 > 0.3 > solution.right[3:].max()


@pytest.mark.parametrize("liars", [2, 4, 5])
def test_a_lying_crowd_is_tied_and_outvoted_by_few_anchors(liars: int) -> None:
    generator = np.random.default_rng(liars)
    honest = np.where(generator.random((230, 9)) < 0.9, 0, generator.integers(1, 10, (230, 9)))
    lying = np.where(generator.random((230, 9)) < 0.9, 5, 0)
    said = np.where(np.arange(9) < liars, lying, honest)
    votes, values = numbered(np.where(generator.random((230, 9)) < 0.6, said, -1))
    known = np.full(230, -2, np.int32)
    for row in range(30):
        line = values[row].tolist()
        known[row] = line.index(0) if 0 in line else -1
    solution = discover(votes, known=known)
    assert (
        solution.dependence.wording
        == f"{10 - liars} independent, {liars - 1} {'copy' if liars == 2 else 'copies'}"
    )
    assert (values[np.arange(30, 230), solution.winners[30:]] == 0).mean() >= 0.9


def test_what_only_one_source_answers_tells_nothing_of_it() -> None:
    votes = np.array([[0, 0, -1]] * 10 + [[-1, -1, 0]] * 10, dtype=np.int32)
    solution = discover(votes)
    assert solution.answered.tolist() == [10, 10, 0]
    assert solution.right[2] == pytest.approx(
        solution.right[0], abs=0.05
    )  # the prior: the mean of the others
    assert solution.high[2] - solution.low[2] > solution.high[0] - solution.low[0]
    assert solution.winners[10:].tolist() == [0] * 10


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (4, 2)])
def test_no_questions_sources_or_answers_are_no_error(shape: tuple[int, int]) -> None:
    solution = discover(np.full(shape, -1, np.int32))
    assert solution.winners.tolist() == [-1] * shape[0]
    assert solution.probability.tolist() == [0] * shape[0]
    assert solution.right.shape == (shape[1],)
    assert solution.answered.tolist() == [0] * shape[1]


def test_two_clusters_at_equal_weight_fall_to_the_one_met_first() -> None:
    assert discover(np.array([[0, 1]], dtype=np.int32)).winners.tolist() == [0]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"entails": [[0, 0, 5]]}, "do not have"),
        ({"entails": [[0, 1, 1]]}, "entails itself"),
        ({"entails": [[0, 1]]}, "rows of question"),
        ({"values": [[0]]}, "shape"),
        ({"values": [[0, -1]]}, "no number"),
        ({"strength": 0}, "strength"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        discover(np.array([[0, 1]], dtype=np.int32), **options)  # type: ignore[arg-type]
