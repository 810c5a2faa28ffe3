"""A logistic regression with a ridge. Nothing is measured here; `bench.verdict.weights` does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RIDGE = 1.0  # on standardised features; the bias has none
STEPS = 40  # of Newton's method, which has settled after about ten


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A logistic model: log-odds = bias + weights . (features - means)."""

    bias: float
    weights: Floats
    means: Floats

    def log_odds(self, features: Floats) -> Floats:
        """Return the log-odds of rows of features; an unknown one counts as its mean."""
        return np.asarray(self.bias + _known(features, self.means) @ self.weights)


def fit(features: Floats, right: NDArray[np.bool_], *, ridge: float = RIDGE) -> Fit:
    """Return the logistic regression with this ridge on standardised features, by Newton's method.

    >>> even = fit(np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([True, False, True, False]))
    >>> abs(round(even.bias, 6)), abs(round(float(even.weights[0]), 6)), even.means.tolist()
    (0.0, 0.0, [0.5])
    """
    there = ~np.isnan(features)
    means = np.where(there, features, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    centred = _known(features, means)
    spread = centred.std(axis=0)
    spread[spread < 1e-9] = 1.0  # a feature that is always the same tells nothing
    design = np.hstack([np.ones((len(features), 1)), centred / spread])
    penalty = np.r_[1e-9, np.full(features.shape[1], ridge)]  # next to nothing for the bias: all may be right
    weights = np.zeros(design.shape[1])
    for _ in range(STEPS):
        likely = chance(design @ weights)
        slope = design.T @ (likely - right) + penalty * weights
        bend = (design * (likely * (1 - likely))[:, None]).T @ design + np.diag(penalty)
        weights = weights - np.linalg.solve(bend, slope)
    return Fit(bias=float(weights[0]), weights=weights[1:] / spread, means=means)


def _known(features: Floats, means: Floats) -> Floats:
    """Return the features about their means, unknown ones at them."""
    return np.asarray(np.where(np.isnan(features), 0.0, features - means))


def chance(log_odds: Floats) -> Floats:
    """Return the probability that log-odds stand for.

    >>> chance(np.array([0.0])).tolist()
    [0.5]
    """
    return np.asarray(1 / (1 + np.exp(-log_odds)))
