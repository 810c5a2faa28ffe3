"""Intervals by bootstrap over questions, for one strategy and for pairs of strategies.

Percentile intervals (Efron and Tibshirani 1993, chapters 13 and 16), seeded: the same values give the
same figures. Values that are None (a score that could not be computed) are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES = 10_000
_BLOCK = 1 << 21  # draws held at once: 16 MiB of indices


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over `n` questions with its interval; both None where there is nothing to average.

    With fewer than two values there is a mean but no interval.
    """

    n: int
    mean: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The mean of `one - other` over the `n` questions that both have, with its interval.

    `p` is two-sided: twice the smaller share of resampled means on either side of zero, counting
    the observed one, so it is never 0. `ratio` is the sum of one over the sum of the other.
    """

    n: int
    mean: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    ratio: float | None = None


def mean(values: Sequence[float | None]) -> float | None:
    """The mean of the values that are there.

    >>> mean([1.0, None, 0.0]), mean([None])
    (0.5, None)
    """
    kept = [value for value in values if value is not None]
    return sum(kept) / len(kept) if kept else None


def estimate(
    values: Sequence[float | None], *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> Estimate:
    """The mean of the values and its bootstrap percentile interval.

    >>> estimate([1.0, 1.0, None, 1.0])
    Estimate(n=3, mean=1.0, low=1.0, high=1.0)
    >>> estimate([0.5]), estimate([])
    (Estimate(n=1, mean=0.5, low=None, high=None), Estimate(n=0, mean=None, low=None, high=None))
    """
    kept = [value for value in values if value is not None]
    if len(kept) < 2:
        return Estimate(n=len(kept), mean=mean(kept))
    low, high = _percentiles(resampled_means(kept, resamples=resamples, seed=seed), level)
    return Estimate(n=len(kept), mean=mean(kept), low=low, high=high)


def paired_difference(
    one: Sequence[float | None],
    other: Sequence[float | None],
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Difference:
    """How `one` differs from `other` on the same questions, resampling the questions.

    Both sequences are in the same order of questions; a pair with a None is left out. Raises
    `ValueError` when their lengths differ.

    >>> paired_difference([1.0, 1.0, 1.0], [0.0, 0.0, None]).mean
    1.0
    """
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    gaps = [a - b for a, b in pairs]
    below = sum(b for _, b in pairs)
    ratio = sum(a for a, _ in pairs) / below if below else None
    if len(gaps) < 2:
        return Difference(n=len(gaps), mean=mean(gaps), ratio=ratio)
    means = resampled_means(gaps, resamples=resamples, seed=seed)
    low, high = _percentiles(means, level)
    tail = min(int((means <= 0).sum()), int((means >= 0).sum()))
    p = min(1.0, 2 * (tail + 1) / (resamples + 1))
    return Difference(n=len(gaps), mean=mean(gaps), low=low, high=high, p=p, ratio=ratio)


def resampled_means(values: Sequence[float], *, resamples: int, seed: int) -> NDArray[np.float64]:
    """The means of `resamples` samples with replacement: an array (resamples,)."""
    import numpy as np

    array = np.asarray(values, dtype=np.float64)
    generator = np.random.default_rng(seed)
    step = max(1, _BLOCK // len(array))
    blocks = []
    for start in range(0, resamples, step):
        size = (min(step, resamples - start), len(array))
        blocks.append(array[generator.integers(0, len(array), size=size)].mean(axis=1))
    return np.concatenate(blocks)


def _percentiles(means: NDArray[np.float64], level: float) -> tuple[float, float]:
    import numpy as np

    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
