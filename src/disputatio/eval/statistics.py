"""Intervals by bootstrap over questions, and tests, for one strategy and for pairs of strategies.

Percentile intervals (Efron and Tibshirani 1993, chapters 13 and 16), seeded: the same values give the
same figures. Values that are None (a score that could not be computed) are left out. McNemar's test
is exact, and Holm's correction is for several comparisons at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES = 10_000
_BLOCK = 1 << 21  # draws held at once: 16 MiB of indices
_KEPT = 1 << 26  # the most draws that are kept for the next figure on as many questions: 64 MiB
_TOGETHER = 128  # columns that are resampled at once: their means take 10 MiB
_ZERO = 1e-12  # means nearer to zero are zero: sums of thirds miss it by a rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanEstimate:
    """A mean over `n` questions with its interval; both None where there is nothing to average.

    With fewer than two values there is a mean but no interval.
    """

    n: int
    mean: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The mean of `first - second` over the `n` questions that both have, with its interval.

    `p` is two-sided: twice the smaller share of resampled means on either side of zero, counting
    the observed one, so it is never 0. `ratio` is the sum of the first over the sum of the second.
    """

    n: int
    mean: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    ratio: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Discordance:
    """On how many of `n` questions only the first, or only the second, was right; `p` is two-sided."""

    n: int
    one_only: int
    other_only: int
    p: float


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are there.

    >>> mean([1.0, None, 0.0]), mean([None])
    (0.5, None)
    """
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None


def estimate(values: Sequence[float | None], *, resamples: int = RESAMPLES, seed: int = 0) -> MeanEstimate:
    """Return the mean of the values and its bootstrap percentile interval.

    >>> estimate([1.0, 1.0, None, 1.0])
    MeanEstimate(n=3, mean=1.0, low=1.0, high=1.0)
    >>> estimate([0.5]), estimate([])
    (MeanEstimate(n=1, mean=0.5, low=None, high=None), MeanEstimate(n=0, mean=None, low=None, high=None))
    """
    return estimates([values], resamples=resamples, seed=seed)[0]


def estimates(
    columns: Sequence[Sequence[float | None]],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[MeanEstimate]:
    """Estimate the mean of each of several columns, in far less time than one by one."""
    columns_present = [[value for value in values if value is not None] for values in columns]
    spans = _spans(columns_present, resamples=resamples, seed=seed)
    return [
        MeanEstimate(n=len(values), mean=mean(values), low=span and span[0], high=span and span[1])
        for values, (span, _) in zip(columns_present, spans, strict=True)
    ]


def estimate_difference(
    first: Sequence[float | None],
    other: Sequence[float | None],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Difference:
    """Estimate the mean of `first` minus `other` on the same questions, by resampling the questions.

    Both sequences are in the same order of questions; a pair with a None is left out. Raises
    `ValueError` when their lengths differ.

    >>> estimate_difference([1.0, 1.0, 1.0], [0.0, 0.0, None]).mean
    1.0
    """
    return estimate_differences([(first, other)], resamples=resamples, seed=seed)[0]


def estimate_differences(
    columns: Sequence[tuple[Sequence[float | None], Sequence[float | None]]],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Difference]:
    """Estimate the difference of each of several pairs of columns, in far less time than one by one."""
    pairs = [
        [(a, b) for a, b in zip(first, other, strict=True) if a is not None and b is not None]
        for first, other in columns
    ]
    gaps = [[a - b for a, b in pair] for pair in pairs]
    differences = []
    for pair, gap, (span, tail) in zip(
        pairs, gaps, _spans(gaps, resamples=resamples, seed=seed), strict=True
    ):
        below = sum(b for _, b in pair)
        differences.append(
            Difference(
                n=len(gap),
                mean=mean(gap),
                low=span and span[0],
                high=span and span[1],
                p=None if span is None else min(1.0, 2 * (tail + 1) / (resamples + 1)),
                ratio=sum(a for a, _ in pair) / below if below else None,
            )
        )
    return differences


def mcnemar(first: Sequence[float | None], second: Sequence[float | None]) -> Discordance | None:
    """Return McNemar's test (1947) of two strategies on the same questions: exact, on those that differ.

    None where some score is neither right (1) nor wrong (0): the test is not for it. A pair with a None
    is left out. Raises `ValueError` when the lengths differ.

    >>> mcnemar([1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0])
    Discordance(n=6, one_only=5, other_only=0, p=0.0625)
    >>> mcnemar([0.5], [1.0]) is None
    True
    """
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    if any(score not in (0, 1) for pair in pairs for score in pair):
        return None
    first_only, second_only = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    differing = first_only + second_only
    tail = sum(math.comb(differing, k) for k in range(min(first_only, second_only) + 1))
    p = min(1.0, 2 * tail / 2**differing)
    return Discordance(n=len(pairs), one_only=first_only, other_only=second_only, p=p)


def holm(values: Sequence[float]) -> list[float]:
    """Return the p values of several comparisons, adjusted so that all may be read together (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    adjusted = [0.0] * len(values)
    highest = 0.0
    for rank, at in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - rank) * values[at]))
        adjusted[at] = highest
    return adjusted


def _means(columns: Sequence[Sequence[float]], *, resamples: int, seed: int) -> NDArray[np.float64]:
    """Return the means of the same resamples of columns of one length: an array (resamples, columns)."""
    import numpy as np

    values = np.asarray(columns, dtype=np.float64).T
    blocks = [block @ values for block in drawn(len(values), resamples=resamples, seed=seed)]
    return np.concatenate(blocks) / len(values)


def _spans(
    columns: Sequence[Sequence[float]], *, resamples: int, seed: int
) -> list[tuple[tuple[float, float] | None, int]]:
    """Return the interval of each column's resampled means, and how many are on zero's rarer side.

    Without an interval where there are fewer than two values. Columns of one length are resampled
    together, some at a time.
    """
    import numpy as np

    spans: list[tuple[tuple[float, float] | None, int]] = [(None, 0)] * len(columns)
    by_length: dict[int, list[int]] = {}
    for at, values in enumerate(columns):
        if len(values) > 1:
            by_length.setdefault(len(values), []).append(at)
    for places in by_length.values():
        for start in range(0, len(places), _TOGETHER):
            some = places[start : start + _TOGETHER]
            means = _means([columns[at] for at in some], resamples=resamples, seed=seed)
            lows, highs = np.quantile(means, [0.025, 0.975], axis=0)
            tails = np.minimum((means <= _ZERO).sum(axis=0), (means >= -_ZERO).sum(axis=0))
            for at, low, high, tail in zip(some, lows, highs, tails, strict=True):
                spans[at] = ((float(low), float(high)), int(tail))
    return spans


def drawn(n: int, *, resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield how often each of n questions is in each resample, in blocks of shape (some resamples, n)."""
    import numpy as np

    make = _counts if n * resamples <= _KEPT else _counts.__wrapped__
    counts = make(n, resamples, seed)
    step = max(1, _BLOCK // n)
    for start in range(0, resamples, step):
        yield counts[start : start + step].astype(np.float64)


@lru_cache(maxsize=2)
def _counts(n: int, resamples: int, seed: int) -> NDArray[np.uint8]:
    """Return all draws of `drawn`: the same questions are drawn for every figure on as many of them.

    A question is drawn about once a resample; 255 times is out of reach.
    """
    import numpy as np

    generator = np.random.default_rng(seed)
    step = max(1, _BLOCK // n)
    counts = np.empty((resamples, n), dtype=np.uint8)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        draws = generator.integers(0, n, size=(rows, n)) + n * np.arange(rows)[:, None]
        counts[start : start + rows] = np.bincount(draws.ravel(), minlength=rows * n).reshape(rows, n)
    return counts
