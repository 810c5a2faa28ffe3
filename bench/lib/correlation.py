"""Rank and product-moment correlation, for the benchmarks of source reliability."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
TINY = 1e-12  # less variation than this is rounding


def ranks(values: Floats) -> Floats:
    """Ranks, equal values the mean of theirs (values are compared to ten digits)."""
    _, back, count = np.unique(np.round(values, 10), return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray(((last - count + 1 + last) / 2)[back], dtype=np.float64)


def spearman(first: Floats, other: Floats) -> float:
    """Pearson's correlation of the ranks; NaN where either side is constant."""
    a, b = ranks(first) - (len(first) + 1) / 2, ranks(other) - (len(other) + 1) / 2
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > TINY else float("nan")


def pearson(first: Floats, other: Floats) -> float:
    """Pearson's correlation; NaN where either side is constant."""
    a, b = first - first.mean(), other - other.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > TINY else float("nan")
