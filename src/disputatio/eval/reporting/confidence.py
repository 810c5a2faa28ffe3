"""The worth of an answer's stated confidence: risk against coverage, and calibration.

Risk is one minus the score of the answers that are given, coverage the share of the questions they are
given to. An abstention is never covered. Questions are let in by falling confidence, those of equal
confidence together, so the order of the rows does not matter. Answers without a confidence have no place
in the order: then there is one point, where all that was answered is let in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from disputatio.eval.statistics import RESAMPLES, drawn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    _Measure = Callable[["NDArray[np.float64]", "_Pairs"], "NDArray[np.float64]"]

BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredAnswer:
    """One answer: its score in [0, 1] and its confidence in [0, 1], None where none was stated."""

    score: float
    confidence: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalFigure:
    """A value with its 95 % interval; without one where there are fewer than two answers."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """The answers whose confidence is above `low` and at most `high`: their means."""

    low: float
    high: float
    n: int
    confidence: float
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The risk by coverage, over `questions` questions of which `answered` got an answer.

    `points` are (coverage, risk, confidence of the last let in), by rising coverage. `area` is the mean over
    the answers of the risk at the coverage that lets them in (AURC, Geifman and El-Yaniv 2017); `ece` the
    expected calibration error over ten bins of equal width (Guo et al. 2017). None without a confidence.
    """

    questions: int
    answered: int
    unsure: int
    points: tuple[tuple[float, float, float | None], ...]
    area: IntervalFigure | None
    ece: IntervalFigure | None
    bins: tuple[Bin, ...]


def risk_coverage(
    scored: Sequence[ScoredAnswer], *, questions: int, resamples: int = RESAMPLES, seed: int = 0
) -> Curve:
    """Return the curve of the answers that were given to `questions` questions.

    >>> sure = [ScoredAnswer(score=1.0, confidence=0.9), ScoredAnswer(score=0.0, confidence=0.6)]
    >>> risk_coverage(sure, questions=4).points
    ((0.25, 0.0, 0.9), (0.5, 0.5, 0.6))
    """
    stated = [answer.confidence for answer in scored if answer.confidence is not None]
    unsure = len(scored) - len(stated)
    if unsure or not scored:
        end = (
            ((len(scored) / questions, 1 - sum(answer.score for answer in scored) / len(scored), None),)
            if scored
            else ()
        )
        return Curve(
            questions=questions, answered=len(scored), unsure=unsure, points=end, area=None, ece=None, bins=()
        )
    ordered = sorted(zip(stated, (answer.score for answer in scored), strict=True), reverse=True)
    ends = [len(list(group)) for _, group in groupby(ordered, key=lambda pair: pair[0])]
    points, seen, errors = [], 0, 0.0
    for size in ends:
        errors += sum(1 - score for _, score in ordered[seen : seen + size])
        seen += size
        points.append((seen / questions, errors / seen, ordered[seen - 1][0]))
    return Curve(
        questions=questions,
        answered=len(scored),
        unsure=0,
        points=tuple(points),
        area=_figure(_areas, ordered, resamples, seed),
        ece=_figure(_errors, ordered, resamples, seed),
        bins=_bins(ordered),
    )


# --- figures over weighted answers --------------------------------------------------------------
_Pairs = Sequence[tuple[float, float]]  # (confidence, score), by falling confidence


def _figure(measure: _Measure, pairs: _Pairs, resamples: int, seed: int) -> IntervalFigure:
    """Return a measure of the answers, with its interval over resamples of them."""
    import numpy as np

    value = float(measure(np.ones((1, len(pairs))), pairs)[0])
    if len(pairs) < 2:
        return IntervalFigure(value=value)
    values = [measure(block, pairs) for block in drawn(len(pairs), resamples=resamples, seed=seed)]
    low, high = np.quantile(np.concatenate(values), [0.025, 0.975])
    return IntervalFigure(value=value, low=float(low), high=float(high))


def _areas(weights: NDArray[np.float64], pairs: _Pairs) -> NDArray[np.float64]:
    """Return AURC for each row of weights (rows, answers)."""
    import numpy as np

    sizes = [len(list(group)) for _, group in groupby(pairs, key=lambda pair: pair[0])]
    starts = np.cumsum([0, *sizes[:-1]])
    risks = np.array([1 - score for _, score in pairs])
    counted = np.add.reduceat(weights, starts, axis=1)
    wrong = np.add.reduceat(weights * risks, starts, axis=1)
    let_in = np.cumsum(counted, axis=1)
    risk = np.cumsum(wrong, axis=1) / np.maximum(let_in, 1)
    return np.asarray((counted * risk).sum(axis=1) / counted.sum(axis=1))


def _errors(weights: NDArray[np.float64], pairs: _Pairs) -> NDArray[np.float64]:
    """Return ECE for each row of weights: the mean over the bins of |score - confidence|, by their sizes."""
    import numpy as np

    members = np.zeros((len(pairs), BINS))
    members[np.arange(len(pairs)), [_bin(confidence) for confidence, _ in pairs]] = 1
    gaps = np.array([score - confidence for confidence, score in pairs])
    return np.asarray(np.abs((weights * gaps) @ members).sum(axis=1) / weights.sum(axis=1))


def _bins(pairs: _Pairs) -> tuple[Bin, ...]:
    bins = []
    for number in range(BINS):
        members = [pair for pair in pairs if _bin(pair[0]) == number]
        if members:
            bins.append(
                Bin(
                    low=number / BINS,
                    high=(number + 1) / BINS,
                    n=len(members),
                    confidence=sum(confidence for confidence, _ in members) / len(members),
                    score=sum(score for _, score in members) / len(members),
                )
            )
    return tuple(bins)


def _bin(confidence: float) -> int:
    """Return the bin of a confidence, open below and closed above, as in the paper's definition.

    >>> _bin(0.0), _bin(0.1), _bin(0.11), _bin(1.0)
    (0, 0, 1, 9)
    """
    return min(BINS - 1, max(0, math.ceil(round(confidence * BINS, 9)) - 1))
