"""The Beta posterior of a probability, from counts: its mean and 95 % interval.

`agreed` of `answered` answers (fractions if older evidence counts less) update a prior with mean `mean` that
counts as `strength` answers: Beta(strength mean + agreed, strength (1 - mean) + answered - agreed). The
defaults give the uniform prior of Bayes and Laplace.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from disputatio.errors import InputError

Floats: TypeAlias = NDArray[np.float64]
LEVEL = 0.95
_STRENGTH = 2.0  # of the prior, in answers
LOG_ODDS = 36.0  # beyond this a probability is 0 or 1 in double precision
_TINY = 1e-300
_log_gamma = np.frompyfunc(math.lgamma, 1, 1)


def posterior(agreed: ArrayLike, answered: ArrayLike, *, mean: float = 0.5) -> tuple[Floats, Floats, Floats]:
    """Return the posterior's mean and the lower and upper end of its central interval, in the arrays' shape.

    Raises `InputError` if `agreed` is negative or more than `answered`, or the prior is invalid.

    >>> mean, low, high = posterior(9, 10)
    >>> f"{mean:.3f} {low:.3f} {high:.3f}"
    '0.833 0.587 0.977'
    """
    if not 0 < mean < 1:
        raise InputError("a Beta prior needs 0 < mean < 1")
    right, all_ = np.broadcast_arrays(
        np.asarray(agreed, dtype=np.float64), np.asarray(answered, dtype=np.float64)
    )
    if not np.all(np.isfinite(all_)) or np.any(right < 0) or np.any(right > all_ * (1 + 1e-9) + 1e-9):
        raise InputError("agreed must lie between 0 and answered")
    a = _STRENGTH * mean + right
    b = _STRENGTH * (1 - mean) + np.maximum(all_ - right, 0.0)
    tail = np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2]).reshape((2,) + (1,) * a.ndim)
    low, high = quantile(tail, a, b)
    return a / (a + b), low, high


def quantile(share: ArrayLike, a: ArrayLike, b: ArrayLike) -> Floats:
    """Return the quantile of Beta(a, b): `share` of its mass is below, to about 1e-10.

    Newton's method on the log-odds, where the distribution is nearly normal, kept between bounds.

    >>> float(np.round(quantile(0.25, 1, 1), 9))
    0.25
    """
    arguments = np.broadcast_arrays(*(np.asarray(argument, dtype=np.float64) for argument in (share, a, b)))
    part, first, second, back = _distinct(*(argument.ravel() for argument in arguments))
    log_beta = _log_beta(first, second)
    # Start from the quantile of a normal distribution of the log-odds.
    deviates = np.array(
        [NormalDist().inv_cdf(min(max(float(level), 1e-12), 1 - 1e-12)) for level in np.unique(part)]
    )
    deviates = deviates[np.searchsorted(np.unique(part), part)]
    odds = np.clip(
        np.log(first / second) + deviates * np.sqrt(1 / first + 1 / second), -LOG_ODDS + 1, LOG_ODDS - 1
    )
    low, high = np.full(odds.shape, -LOG_ODDS), np.full(odds.shape, LOG_ODDS)
    open_ = np.arange(len(odds))
    for _ in range(100):
        if not open_.size:
            break
        p, q, at = first[open_], second[open_], odds[open_]
        x = 1 / (1 + np.exp(-at))
        error = _below(x, p, q, log_beta[open_]) - part[open_]
        low[open_] = np.where(error < 0, at, low[open_])
        high[open_] = np.where(error < 0, high[open_], at)
        slope = np.exp(p * np.log(x) + q * np.log1p(-x) - log_beta[open_])  # of the mass, per log-odds
        step = at - error / np.maximum(slope, _TINY)
        middle = (low[open_] + high[open_]) / 2
        new = np.where((step > low[open_]) & (step < high[open_]), step, middle)
        odds[open_] = new
        moved = (np.abs(new - at) * x * (1 - x) > 1e-11) | (np.abs(error) > 1e-9)
        open_ = open_[moved & (high[open_] - low[open_] > 1e-13)]
    return np.asarray((1 / (1 + np.exp(-odds)))[back].reshape(arguments[0].shape), dtype=np.float64)


def _distinct(
    first: Floats, second: Floats, third: Floats
) -> tuple[Floats, Floats, Floats, NDArray[np.int64]]:
    """Return the distinct triples, and for each triple which of them it is."""
    order = np.lexsort((third, second, first))
    columns = [column[order] for column in (first, second, third)]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = False
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.cumsum(new) - 1
    return columns[0][new], columns[1][new], columns[2][new], back


def below(x: ArrayLike, a: ArrayLike, b: ArrayLike) -> Floats:
    """Return the share of Beta(a, b) below x: the regularised incomplete beta function.

    Computed by its continued fraction (Press et al., Numerical Recipes, 6.4), mirrored past the mean, where
    it converges slowly.
    """
    where, first, second = np.broadcast_arrays(
        np.asarray(x, dtype=np.float64), np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    )
    return _below(where, first, second, _log_beta(first, second))


def _below(where: Floats, first: Floats, second: Floats, log_beta: Floats) -> Floats:
    turned = where > (first + 1) / (first + second + 2)
    point = np.where(turned, 1 - where, where)
    p, q = np.where(turned, second, first), np.where(turned, first, second)
    inside = np.clip(point, _TINY, 1 - 1e-16)
    front = np.exp(p * np.log(inside) + q * np.log1p(-inside) - log_beta) / p
    share = np.where(point <= 0, 0.0, front * _fraction(inside, p, q))
    return np.asarray(np.clip(np.where(turned, 1 - share, share), 0, 1), dtype=np.float64)


def _fraction(x: Floats, a: Floats, b: Floats) -> Floats:
    """Return Lentz's evaluation of the continued fraction; about sqrt(max(a, b)) terms are needed."""
    c = np.ones_like(x)
    d = 1 / _apart(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 100_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / _apart(1 + even * d)
        c = _apart(1 + even / c)
        value = value * d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / _apart(1 + odd * d)
        c = _apart(1 + odd / c)
        change = d * c
        value = value * change
        if np.all(np.abs(change - 1) < 1e-15):
            break
    return np.asarray(value, dtype=np.float64)


def _apart(value: Floats) -> Floats:
    """Return the value, or a tiny one for zero, so that it can divide."""
    return np.where(np.abs(value) < _TINY, _TINY, value)


def _log_beta(a: Floats, b: Floats) -> Floats:
    return np.asarray(_log_gamma(a) + _log_gamma(b) - _log_gamma(a + b), dtype=np.float64)
