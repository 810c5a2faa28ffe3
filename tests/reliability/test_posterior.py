"""The Beta posterior of a probability."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disputatio.errors import InputError
from disputatio.reliability.posterior import below, posterior, quantile


@pytest.mark.parametrize("right", [0, 3, 10])
def test_the_mean_is_laplaces_rule_of_succession(right: int) -> None:
    mean, low, high = posterior(right, 10)
    assert float(mean) == pytest.approx((right + 1) / 12)
    assert 0 < low < mean < high < 1


def test_without_counts_the_interval_is_the_priors() -> None:
    mean, low, high = posterior(0, 0)
    assert (float(mean), float(low), float(high)) == pytest.approx((0.5, 0.025, 0.975))


def test_all_of_ten_right_has_the_closed_form_of_its_lower_end() -> None:
    """Beta(11, 1) has the distribution function x ** 11."""
    _, low, high = posterior(10, 10)
    assert float(low) == pytest.approx(0.025 ** (1 / 11), abs=1e-9)
    assert float(high) == pytest.approx(0.975 ** (1 / 11), abs=1e-9)


def test_fractional_counts_are_accepted_and_more_counts_narrow_the_interval() -> None:
    _, low, high = posterior(np.array([4.5, 45.0, 450.0]), np.array([5.0, 50.0, 500.0]))
    assert np.all(np.diff(high - low) < 0)


@pytest.mark.parametrize(("right", "all_"), [(-1, 3), (4, 3), (1, math.nan)])
def test_impossible_counts_are_refused(right: float, all_: float) -> None:
    with pytest.raises(InputError, match="between 0 and answered"):
        posterior(right, all_)


def test_an_invalid_prior_is_refused() -> None:
    with pytest.raises(InputError, match="prior"):
        posterior(1, 2, mean=1.0)


def binomial_tail(x: float, a: int, b: int) -> float:
    """Return the share below x of Beta(a, b) for whole a and b: at least a successes of a + b - 1."""
    n = a + b - 1
    return sum(math.comb(n, j) * x**j * (1 - x) ** (n - j) for j in range(a, n + 1))


@given(st.integers(1, 60), st.integers(1, 60), st.floats(0.0, 1.0))
def test_the_share_below_is_the_binomial_tail(a: int, b: int, x: float) -> None:
    assert float(below(x, a, b)) == pytest.approx(binomial_tail(x, a, b), abs=1e-9)


@pytest.mark.long
@given(st.floats(0.05, 1e5), st.floats(0.05, 1e5), st.sampled_from([0.025, 0.5, 0.975]))
def test_a_quantile_has_its_share_below(a: float, b: float, share: float) -> None:
    x = float(quantile(share, a, b))
    assert 0 <= x <= 1
    if 1e-6 < x < 1 - 1e-6:
        assert float(below(x, a, b)) == pytest.approx(share, abs=1e-5)


def test_empty_arrays_give_empty_figures() -> None:
    assert [part.shape for part in posterior(np.zeros(0), np.zeros(0))] == [(0,)] * 3
