"""Weighted votes, and reliability estimated from the votes alone."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from disputatio.errors import InputError
from disputatio.reliability.weighted_vote import distinct, estimate, hold_vote, majority, weights_of


def in_order_met(votes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the same votes with the clusters of each question numbered from 0 in the order met."""
    out = np.full_like(votes, -1)
    for j, row in enumerate(votes):
        numbers: dict[int, int] = {}
        for i, label in enumerate(row):
            if label >= 0:
                out[j, i] = numbers.setdefault(int(label), len(numbers))
    return out


def slow_vote(row: Any, weights: list[Fraction]) -> int:
    """Return the weighted vote of one question, in exact arithmetic."""
    scores: dict[int, Fraction] = defaultdict(Fraction)
    for cluster, weight in zip(row, weights, strict=True):
        if cluster >= 0:
            scores[int(cluster)] += weight
    return min(scores, key=lambda u: (-scores[u], u)) if scores else -1


def slow_shares(row: Any, weights: list[Fraction]) -> list[Fraction]:
    """Return how much of a question's outcome each vote agrees with, in exact arithmetic; ties are shared."""
    scores: dict[int, Fraction] = defaultdict(Fraction)
    for cluster, weight in zip(row, weights, strict=True):
        if cluster >= 0:
            scores[int(cluster)] += weight
    tied = [cluster for cluster, score in scores.items() if score == max(scores.values())]
    return [Fraction(int(cluster) in tied, max(len(tied), 1)) for cluster in row]


def slow_estimate(votes: NDArray[np.int32], options: int, rounds: int) -> tuple[list[Fraction], list[int]]:
    """Return the paper's steps 0 to 2, one source and one question at a time, for so many rounds."""
    sources = votes.shape[1]
    weights = [Fraction(1)] * sources
    shares = [Fraction(1, 2)] * sources
    for _ in range(rounds):
        agreed = [slow_shares(row, weights) for row in votes]
        for i in range(sources):
            answered = [j for j in range(len(votes)) if votes[j, i] >= 0]
            if any((votes[j] >= 0).sum() > 1 for j in answered):
                shares[i] = sum((agreed[j][i] for j in answered), Fraction()) / len(answered)
        weights = [options * share - 1 for share in shares]
    return shares, [slow_vote(row, weights) for row in votes]


vote_arrays = st.integers(1, 7).flatmap(
    lambda sources: st.lists(
        st.lists(st.integers(-1, 3), min_size=sources, max_size=sources), min_size=1, max_size=12
    ).map(lambda rows: in_order_met(np.array(rows, dtype=np.int32)))
)


def test_a_majority_wins_and_on_a_tie_the_one_met_first() -> None:
    votes = np.array([[0, 1, 1, -1], [0, 1, 1, 0], [-1, -1, -1, 0], [-1, -1, -1, -1]])
    assert majority(votes).tolist() == [1, 0, 0, -1]


def test_one_reliable_source_outweighs_two_poor_ones() -> None:
    votes = np.array([[0, 1, 1]])
    assert hold_vote(votes, weights_of([0.9, 0.3, 0.3], 4)).tolist() == [0]  # 2.6 against 0.4
    assert hold_vote(votes, weights_of([0.5, 0.5, 0.5], 4)).tolist() == [1]


def test_of_two_clusters_with_negative_sums_the_greater_wins() -> None:
    assert hold_vote([[0, 1]], [-2.0, -1.0]).tolist() == [1]


def test_sums_that_differ_by_rounding_are_a_tie() -> None:
    assert hold_vote([[0, 1, 1, 1]], [0.3, 0.1, 0.1, 0.1]).tolist() == [0]
    assert hold_vote([[0, 0, 0, 1]], [0.1, 0.1, 0.1, 0.3]).tolist() == [0]


@pytest.mark.long
@given(vote_arrays, st.data())
def test_the_vote_equals_that_of_exact_arithmetic(votes: NDArray[np.int32], data: st.DataObject) -> None:
    sixteenths = data.draw(
        st.lists(st.integers(-16, 64), min_size=votes.shape[1], max_size=votes.shape[1]), label="weights"
    )
    exact = [Fraction(sixteenth, 16) for sixteenth in sixteenths]
    assert hold_vote(votes, [sixteenth / 16 for sixteenth in sixteenths]).tolist() == [
        slow_vote(row, exact) for row in votes
    ]


def test_an_estimate_computed_by_hand() -> None:
    """Three sources agree but for the third's two errors; L = 2, so v = 1, 1, 2/4 x 2 - 1 = 0."""
    votes = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=np.int32)
    estimated = estimate(votes)
    assert estimated.options == 2
    assert estimated.reliability.tolist() == [1.0, 1.0, 0.5]
    assert estimated.weights.tolist() == [1.0, 1.0, 0.0]
    assert estimated.answered.tolist() == [4, 4, 4]
    assert estimated.agreed.tolist() == [4, 4, 2]
    assert (estimated.winners.tolist(), estimated.rounds, estimated.converged) == ([0, 0, 0, 0], 1, True)
    assert estimated.low[0] == pytest.approx(0.025 ** (1 / 5))


def test_a_second_round_overturns_a_majority_of_the_unreliable() -> None:
    """Sources 3 and 4 lie apart on four questions and together on the fifth, where only 0 is right."""
    votes = np.array(
        [[0, 0, 0, 1, 2], [0, 0, 0, 1, 2], [0, 0, 0, 1, 2], [0, 0, 0, 1, 2], [0, -1, -1, 1, 1]],
        dtype=np.int32,
    )
    estimated = estimate(votes)
    assert majority(votes)[4] == 1
    assert estimated.winners.tolist() == [0, 0, 0, 0, 0]
    assert estimated.reliability.tolist() == [1, 1, 1, 0, 0]
    assert estimated.rounds == 2


@pytest.mark.long
@settings(deadline=None)
@given(vote_arrays, st.integers(2, 10), st.integers(1, 4))
def test_the_estimate_equals_that_of_the_papers_steps(
    votes: NDArray[np.int32], options: int, rounds: int
) -> None:
    estimated = estimate(votes, options=options, iterations=rounds)
    if estimated.converged or estimated.rounds == rounds:
        shares, winners = slow_estimate(votes, options, rounds)
        assert estimated.reliability == pytest.approx([float(share) for share in shares])
        assert estimated.winners.tolist() == winners


def simulate(
    seed: int, questions: int = 300, sources: int = 9
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Votes of sources of known reliability; cluster 0 is right, nine are wrong."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.3, 0.95, sources)
    right = rng.random((questions, sources)) < p
    votes = np.where(right, 0, rng.integers(1, 10, (questions, sources)))
    return np.where(rng.random(votes.shape) < 0.6, votes, -1).astype(np.int32), p


@pytest.mark.parametrize("seed", range(5))
def test_reliability_is_found_without_labels(seed: int) -> None:
    votes, p = simulate(seed)
    estimated = estimate(votes)
    assert np.abs(estimated.reliability - p).max() < 0.12
    assert np.corrcoef(estimated.reliability, p)[0, 1] > 0.95
    inside = (estimated.low <= p) & (p <= estimated.high)
    assert inside.sum() >= 6


@pytest.mark.long
@settings(deadline=None)
@given(vote_arrays, st.data())
def test_renaming_and_reordering_sources_changes_no_estimate(
    votes: NDArray[np.int32], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(votes.shape[1])), label="order")
    estimated, moved = estimate(votes, options=4), estimate(in_order_met(votes[:, order]), options=4)
    assert moved.reliability == pytest.approx(estimated.reliability[order])
    assert moved.weights == pytest.approx(estimated.weights[order])
    assert moved.agreed == pytest.approx(estimated.agreed[order])
    assert moved.low == pytest.approx(estimated.low[order])


def test_two_sources_that_only_contradict_each_other_are_right_half_the_time() -> None:
    votes = np.tile(np.array([[0, 1]], dtype=np.int32), (10, 1))
    assert estimate(votes).reliability.tolist() == [0.5, 0.5]
    assert estimate(votes).agreed.tolist() == [5, 5]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_of_equal_sources_none_is_favoured_for_its_place(seed: int) -> None:
    """Nine sources that are right one time in ten: the first used to get .95, the others at most .40."""
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random((200, 9)) < 0.1, 0, rng.integers(1, 10, (200, 9)))
    by_place = [estimate(in_order_met(np.roll(labels, turn, axis=1))) for turn in range(9)]
    means = np.mean([estimated.reliability for estimated in by_place], axis=0)
    assert means == pytest.approx(np.full(9, means.mean()))


@pytest.mark.long
@given(st.integers(0, 20), st.permutations(range(10)), st.data())
def test_the_names_of_clusters_change_nothing_where_there_is_no_tie(
    seed: int, names: list[int], data: st.DataObject
) -> None:
    votes, _ = simulate(seed)
    powers = data.draw(st.permutations([2.0**n for n in range(votes.shape[1])]), label="weights, never tied")
    named = np.array([*names, -1])
    assert named[hold_vote(votes, powers)].tolist() == hold_vote(named[votes], powers).tolist()


@pytest.mark.long
@settings(max_examples=20, deadline=None)
@given(st.permutations(range(40)), st.integers(0, 5))
def test_the_order_of_questions_changes_nothing(order: list[int], seed: int) -> None:
    votes, _ = simulate(seed, questions=40)
    assert estimate(votes[order]).reliability == pytest.approx(estimate(votes).reliability)


def test_a_source_that_never_answered_gets_the_prior_and_is_not_checked() -> None:
    votes = np.array([[0, 0, -1], [0, 0, -1]], dtype=np.int32)
    estimated = estimate(votes, prior=0.6)
    assert estimated.reliability.tolist() == [1.0, 1.0, 0.6]
    assert estimated.answered.tolist() == [2, 2, 0]
    assert estimated.checked.tolist() == [True, True, False]
    assert estimated.cross_checked


def test_without_overlap_nothing_is_cross_checked_and_all_have_the_prior() -> None:
    votes = np.array([[0, -1, -1], [-1, 0, -1], [-1, -1, 0]], dtype=np.int32)
    estimated = estimate(votes)
    assert not estimated.cross_checked
    assert estimated.reliability.tolist() == [0.5, 0.5, 0.5]
    assert estimated.answered.tolist() == [0, 0, 0]
    assert estimated.winners.tolist() == [0, 0, 0]


def test_questions_that_nobody_answered_have_no_winner_and_count_for_nothing() -> None:
    votes = np.array([[-1, -1], [0, 0], [-1, -1]], dtype=np.int32)
    estimated = estimate(votes)
    assert estimated.winners.tolist() == [-1, 0, -1]
    assert estimated.answered.tolist() == [1, 1]


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (4, 3)])
def test_no_questions_no_sources_or_no_answers_give_the_prior(shape: tuple[int, int]) -> None:
    estimated = estimate(np.full(shape, -1, dtype=np.int32))
    assert estimated.winners.tolist() == [-1] * shape[0]
    assert estimated.reliability.tolist() == [0.5] * shape[1]
    assert not estimated.cross_checked
    assert estimated.converged


def test_answers_that_no_other_gave_can_be_left_out() -> None:
    """Source 0 answers two questions alone and is wrong on the third, which the paper's count hides."""
    votes = np.array([[0, -1, -1], [0, -1, -1], [0, 1, 1]], dtype=np.int32)
    assert estimate(votes).reliability[0] == pytest.approx(2 / 3)
    without = estimate(votes, lone=False)
    assert without.reliability[0] == 0
    assert without.answered.tolist() == [1, 1, 1]


def test_known_questions_fix_the_winner_and_check_lone_sources() -> None:
    votes = np.array([[0, 1, 1], [-1, -1, 0]], dtype=np.int32)
    estimated = estimate(votes, known=np.array([0, -1], dtype=np.int32))
    assert estimated.winners.tolist() == [0, -1]
    assert estimated.reliability.tolist() == [1, 0, 0]


def test_the_number_of_options_is_capped_and_never_below_two() -> None:
    votes = np.arange(30, dtype=np.int32).reshape(1, 30)
    assert distinct(votes) == 10
    assert distinct(votes, cap=40) == 30
    assert estimate(np.zeros((2, 2), dtype=np.int32)).options == 2


@pytest.mark.slow
@settings(deadline=None)
@given(vote_arrays, st.integers(2, 10))
def test_every_round_raises_the_objective_so_that_the_estimate_ends(
    votes: NDArray[np.int32], options: int
) -> None:
    estimated, heights = estimate(votes, options=options), []
    for rounds in range(1, estimated.rounds + 1):
        estimated = estimate(votes, options=options, iterations=rounds)
        counted = estimated.answered > 0
        share = estimated.agreed[counted] / estimated.answered[counted]
        heights.append(float(np.sum(estimated.agreed[counted] * (options * share / 2 - 1))))
    assert estimated.converged
    assert all(low < high + 1e-9 for low, high in pairwise(heights))


def test_an_estimate_whose_rounds_run_out_has_not_converged() -> None:
    votes = np.array([[0, 0, 0, 1, 2], [0, 0, 0, 1, 2], [0, 0, 0, 1, 2], [0, -1, -1, 1, 1]], dtype=np.int32)
    assert not estimate(votes, iterations=1).converged
    assert estimate(votes).converged


@pytest.mark.parametrize(
    ("votes", "words"),
    [([0, 1], "shape"), ([[0.5, 1.0]], "integer"), ([[10**9, 0]], "numbered|number")],
)
def test_votes_of_another_kind_are_refused(votes: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        majority(np.array(votes))


def test_weights_and_options_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="2 finite numbers"):
        hold_vote([[0, 1]], [1.0])
    with pytest.raises(InputError, match="2 finite numbers"):
        hold_vote([[0, 1]], [1.0, float("nan")])
    with pytest.raises(InputError, match="at least 2"):
        weights_of([0.5], 1)
    with pytest.raises(InputError, match="known"):
        estimate(np.zeros((2, 2), dtype=np.int32), known=np.array([0], dtype=np.int32))
    with pytest.raises(InputError, match="prior"):
        estimate(np.zeros((2, 2), dtype=np.int32), prior=1.0)
