"""Measures of scores against truth: area under the ROC curve, calibration in bins, bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from disputatio.eval.statistics import RESAMPLES, MeanEstimate

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Scores of one stretch: how many, their mean, and the share of them that are so."""

    low: float
    high: float
    n: int
    score: float
    share: float


def roc_auc(scores: Sequence[float], so: Sequence[bool]) -> float | None:
    """Return the chance that one that is so scores above one that is not; None where there are not both.

    >>> roc_auc([0.9, 0.8, 0.3, 0.1], [True, False, True, False]), roc_auc([0.5, 0.5], [True, False])
    (0.75, 0.5)
    >>> roc_auc([0.5], [True]) is None
    True
    """
    import numpy as np

    values, truth = np.asarray(scores, dtype=np.float64), np.asarray(so, dtype=bool)
    if len(values) != len(truth):
        raise ValueError(f"{len(values)} scores for {len(truth)} truths")
    good, bad = np.sort(values[truth]), np.sort(values[~truth])
    if not len(good) or not len(bad):
        return None
    below = np.searchsorted(bad, good, side="left").sum()
    tied = np.searchsorted(bad, good, side="right").sum() - below
    return float((below + tied / 2) / (len(good) * len(bad)))


def kappa(pairs: Sequence[tuple[object, object]]) -> float | None:
    """Return Cohen's kappa of what two judges say; None where chance alone would always agree.

    >>> kappa([("a", "a"), ("b", "b")]), kappa([("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")])
    (1.0, 0.0)
    >>> kappa([("a", "a")]) is None
    True
    """
    count, words = len(pairs), {word for pair in pairs for word in pair}
    chance = sum(sum(a == w for a, _ in pairs) * sum(b == w for _, b in pairs) for w in words) / count**2
    return None if chance == 1 else (sum(a == b for a, b in pairs) / count - chance) / (1 - chance)


def calibration(scores: Sequence[float], so: Sequence[bool], bins: int = 10) -> list[Bin]:
    """Scores in [0, 1] in stretches of equal width, the empty ones left out.

    >>> [(one.n, one.share) for one in calibration([0.05, 0.95, 1.0], [False, True, False], bins=2)]
    [(1, 0.0), (2, 0.5)]
    """
    members: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for score, truth in zip(scores, so, strict=True):
        if not 0 <= score <= 1:
            raise ValueError(f"{score} is no probability")
        members[min(int(score * bins), bins - 1)].append((score, truth))
    return [
        Bin(
            low=at / bins,
            high=(at + 1) / bins,
            n=len(inside),
            score=sum(score for score, _ in inside) / len(inside),
            share=sum(truth for _, truth in inside) / len(inside),
        )
        for at, inside in enumerate(members)
        if inside
    ]


def calibration_error(scores: Sequence[float], so: Sequence[bool], bins: int = 10) -> float | None:
    """Return the mean distance of score and share over the bins, weighed by their sizes (ECE); None without
    scores.

    >>> calibration_error([0.25, 0.25, 0.25, 0.25], [True, False, False, False])
    0.0
    """
    bars = calibration(scores, so, bins)
    n = sum(bar.n for bar in bars)
    return sum(bar.n * abs(bar.score - bar.share) for bar in bars) / n if n else None


def resampled(
    items: Sequence[_Item],
    statistic: Callable[[Sequence[_Item]], float | None],
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES // 10,
    seed: int = 0,
) -> MeanEstimate:
    """Return a statistic of the items with its bootstrap percentile interval, resampling the items.

    Samples in which the statistic is not defined are left out.

    >>> resampled([1.0, 1.0], lambda some: sum(some) / len(some))
    MeanEstimate(n=2, mean=1.0, low=1.0, high=1.0)
    """
    import numpy as np

    whole = statistic(items)
    if whole is None or len(items) < 2:
        return MeanEstimate(n=len(items), mean=whole)
    generator = np.random.default_rng(seed)
    drawn = (
        statistic([items[at] for at in generator.integers(0, len(items), size=len(items)).tolist()])
        for _ in range(resamples)
    )
    values = [value for value in drawn if value is not None]
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return MeanEstimate(n=len(items), mean=whole, low=float(low), high=float(high))
