"""Intervals agree with figures known by hand, and the same values give the same figures."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from disputatio.eval.statistics import _means, estimate, estimate_difference, mean


def test_values_that_are_none_are_left_out() -> None:
    estimated = estimate([1.0, None, 0.0, None])
    assert (estimated.n, estimated.mean) == (2, 0.5)


def test_one_value_has_a_mean_and_no_interval_and_none_has_neither() -> None:
    one, none = estimate([0.3]), estimate([None])
    assert (one.n, one.mean, one.low, one.high) == (1, 0.3, None, None)
    assert (none.n, none.mean, none.low) == (0, None, None)
    assert mean([]) is None


def test_the_interval_agrees_with_every_possible_resample_of_a_small_sample() -> None:
    values = [0.0, 0.0, 1.0, 1.0, 1.0]
    every = [sum(draw) / 5 for draw in itertools.product(values, repeat=5)]
    low, high = np.quantile(every, [0.025, 0.975])
    estimated = estimate(values, resamples=20_000)
    assert estimated.low == pytest.approx(low)
    assert estimated.high == pytest.approx(high)


@pytest.mark.long
def test_the_interval_of_a_large_sample_is_near_the_normal_one() -> None:
    values = [1.0] * 300 + [0.0] * 700
    estimated = estimate(values)
    half = 1.96 * (0.3 * 0.7 / 1000) ** 0.5
    assert estimated.low == pytest.approx(0.3 - half, abs=0.003)
    assert estimated.high == pytest.approx(0.3 + half, abs=0.003)


def test_the_same_seed_gives_the_same_interval_and_another_seed_another() -> None:
    values = [float(i % 7) for i in range(50)]
    assert estimate(values, seed=3) == estimate(values, seed=3)
    assert estimate(values, seed=3) != estimate(values, seed=4)


@pytest.mark.long
def test_many_values_are_resampled_in_blocks_that_add_up() -> None:
    means = _means([[1.0] * 300_000], resamples=15, seed=0)
    assert means.shape == (15, 1)
    assert set(means[:, 0]) == {1.0}


def test_a_paired_difference_is_taken_question_by_question() -> None:
    first, other = [1.0, 0.0, 1.0, None, 1.0], [0.0, 0.0, 1.0, 1.0, None]
    difference = estimate_difference(first, other)
    assert difference.n == 3
    assert difference.mean == pytest.approx(1 / 3)
    assert difference.ratio == pytest.approx(2.0)


def test_strategies_that_never_differ_have_a_p_of_one() -> None:
    difference = estimate_difference([1.0, 0.0, 1.0], [1.0, 0.0, 1.0])
    assert (difference.mean, difference.low, difference.high, difference.p) == (0.0, 0.0, 0.0, 1.0)


def test_a_difference_on_every_question_has_the_least_p_and_it_is_not_zero() -> None:
    difference = estimate_difference([1.0] * 20, [0.0] * 20, resamples=999)
    assert (difference.low, difference.high) == (1.0, 1.0)
    assert difference.p == pytest.approx(2 / 1000)
    assert difference.ratio is None


def test_p_agrees_with_every_possible_resample_of_a_small_sample() -> None:
    gaps = [1.0, 1.0, 1.0, -1.0, 0.0]
    every = [sum(draw) for draw in itertools.product(gaps, repeat=5)]
    exact = 2 * min(sum(total <= 0 for total in every), sum(total >= 0 for total in every)) / len(every)
    assert estimate_difference(gaps, [0.0] * 5, resamples=20_000).p == pytest.approx(exact, abs=0.01)


def test_swapping_the_strategies_turns_the_difference_round() -> None:
    first, other = [1.0, 0.5, 0.0, 1.0, 1.0], [0.0, 0.5, 0.5, 0.0, 1.0]
    there, back = estimate_difference(first, other), estimate_difference(other, first)
    assert there.mean == pytest.approx(-(back.mean or 0.0))
    assert there.p == back.p


def test_sequences_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        estimate_difference([1.0], [1.0, 0.0])
