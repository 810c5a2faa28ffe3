"""What the benchmarks share on confidence: how right the surest answers are, and what leaving out the others gains.

Nothing is measured here. The curve of risk against coverage and the expected calibration error are those of
`disputatio.eval.reporting.confidence`; here are its points at given shares, and intervals where one question
was answered in several settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.lib.asking import table
from disputatio.eval.reporting.confidence import ScoredAnswer, risk_coverage
from disputatio.eval.statistics import RESAMPLES, drawn

SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
KEPT = 0.8  # of the answers, where the least confident fifth is left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """An answer that was given: to which question, how right it is, and how sure it is said to be, in [0, 1]."""

    question: int
    right: float
    confidence: float | None


def surest(stated: Sequence[Stated], share: float) -> float | None:
    """Return how right the surest `share` of the answers are; of equally sure ones each counts in part.

    None where nothing was answered, or an answer states no confidence.

    >>> told = [Stated(question=n, right=float(n < 2), confidence=0.9 - n / 10) for n in range(4)]
    >>> surest(told, 1.0), surest(told, 0.5)
    (0.5, 1.0)
    >>> even = [Stated(question=n, right=float(n < 1), confidence=0.7) for n in range(4)]
    >>> surest(even, 0.5)
    0.25
    """
    if not stated or any(answer.confidence is None for answer in stated):
        return None
    return float(_surest(np.ones((1, len(stated))), stated, share)[0])


def _surest(weights: NDArray[np.float64], stated: Sequence[Stated], share: float) -> NDArray[np.float64]:
    """`surest` for each row of weights (rows, answers); NaN for a row without any."""
    sure = np.array([float(answer.confidence or 0.0) for answer in stated])
    right = np.array([answer.right for answer in stated])
    order = np.argsort(-sure, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(sure[order]) != 0])
    mass = np.add.reduceat(weights[:, order], starts, axis=1)
    good = np.add.reduceat((weights * right)[:, order], starts, axis=1)
    wanted = share * mass.sum(axis=1, keepdims=True)
    taken = np.clip(wanted - (np.cumsum(mass, axis=1) - mass), 0, mass)
    means = np.divide(good, mass, out=np.zeros_like(good), where=mass > 0)
    risks = np.full(len(weights), np.nan)
    np.divide((taken * means).sum(axis=1), wanted[:, 0], out=risks, where=wanted[:, 0] > 0)
    return risks


def gain(stated: Sequence[Stated], *, kept: float = KEPT, seed: int = 0) -> dict[str, float | None]:
    """Return what leaving out the least confident answers adds to how right they are, with its 95 % interval.

    Questions are resampled, each with all answers that it got, so that asking one in several settings makes
    no interval narrower. `p` is two-sided, as in `paired_difference`.
    """
    every, sure = surest(stated, 1.0), surest(stated, kept)
    if every is None or sure is None:
        return {"mean": None, "low": None, "high": None, "p": None}
    names = sorted({answer.question for answer in stated})
    at = np.array([names.index(answer.question) for answer in stated])
    gaps = np.concatenate(
        [
            _surest(some := counts[:, at], stated, kept) - _surest(some, stated, 1.0)
            for counts in drawn(len(names), resamples=RESAMPLES, seed=seed)
        ]
    )
    gaps = np.round(gaps[~np.isnan(gaps)], 12)
    low, high = np.quantile(gaps, [0.025, 0.975])
    tail = min(int((gaps <= 0).sum()), int((gaps >= 0).sum()))
    return {
        "mean": sure - every,
        "low": float(low),
        "high": float(high),
        "p": min(1.0, 2 * (tail + 1) / (len(gaps) + 1)),
    }


def worth(stated: Sequence[Stated], *, asked: int) -> dict[str, Any]:
    """Return all that the confidence of some answers to `asked` questions is worth; figures of those that
    state one.

    `single` is whether each question was answered once: only then has the calibration error an interval.
    """
    sure = [answer for answer in stated if answer.confidence is not None]
    curve = risk_coverage(
        [ScoredAnswer(score=answer.right, confidence=answer.confidence) for answer in sure], questions=asked
    )
    single = len({answer.question for answer in sure}) == len(sure)
    ece = curve.ece
    return {
        "asked": asked,
        "answered": len(stated),
        "without confidence": len(stated) - len(sure),
        "single": single,
        "ece": None
        if ece is None
        else {
            "value": ece.value,
            "low": ece.low if single else None,
            "high": ece.high if single else None,
        },
        "aurc": None if curve.area is None else curve.area.value,
        "bins": [
            {
                "low": bar.low,
                "high": bar.high,
                "n": bar.n,
                "confidence": bar.confidence,
                "right": bar.score,
            }
            for bar in curve.bins
        ],
        "points": [list(point) for point in curve.points],
        "risk": {f"{share:.0%}": _less(surest(sure, share)) for share in SHARES},
        "precision": surest(sure, 1.0),
        "precision of the surest": surest(sure, KEPT),
        "gain": gain(sure),
    }


def _less(right: float | None) -> float | None:
    return None if right is None else 1 - right


def calibration(parts: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """Two tables of `worth` by label: calibration with what abstaining gains, and the points of the curve."""
    first = [
        [
            label,
            figures["asked"],
            figures["answered"],
            figures["without confidence"],
            _spanned(figures["ece"] and figures["ece"]["value"], figures["ece"] or {}),
            _figure(figures["aurc"]),
            _figure(figures["precision"]),
            _figure(figures["precision of the surest"]),
            _spanned(figures["gain"]["mean"], figures["gain"], sign="+"),
        ]
        for label, figures in parts
    ]
    second = [[label, *(_figure(risk) for risk in figures["risk"].values())] for label, figures in parts]
    head = ["", "asked", "answered", "without confidence", "ECE", "AURC", "precision, all answers"]
    head += ["precision, without the least confident 20 %", "gain [95 %]"]
    return "\n\n".join(
        (table(head, first), table(["risk at coverage", *(f"{share:.0%}" for share in SHARES)], second))
    )


def _figure(value: float | None, sign: str = "") -> str:
    return "–" if value is None else f"{value:{sign}.3f}"


def _spanned(value: float | None, ends: dict[str, float | None], sign: str = "") -> str:
    figure = _figure(value, sign)
    if value is None or ends.get("low") is None:
        return figure
    return f"{figure} [{_figure(ends['low'], sign)}, {_figure(ends['high'], sign)}]"
