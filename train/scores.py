"""Scores of readings: SQuAD's exact match and F1, what a threshold keeps and refuses."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

import numpy as np

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = set(string.punctuation)


def squad_form(text: str) -> str:
    """Return an answer as SQuAD's own script compares it: no case, punctuation, articles or repeated blanks.

    >>> squad_form("The  U.S. Army")
    'us army'
    """
    plain = "".join(letter for letter in text.lower() if letter not in _PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


def exact(predicted: str, gold: Sequence[str]) -> float:
    """1 if the prediction equals a gold answer; with no gold, if nothing is predicted."""
    return float(any(squad_form(predicted) == squad_form(answer) for answer in gold or ("",)))


def f1(predicted: str, gold: Sequence[str]) -> float:
    """Return the best F1 of words between the prediction and a gold answer; with no gold, 1 if nothing is
    predicted.

    >>> f1("in the old city", ["old city"]), f1("", []), f1("x", [])
    (0.8, 1.0, 0.0)
    """
    return max(
        _overlap(squad_form(predicted).split(), squad_form(answer).split()) for answer in gold or ("",)
    )


def _overlap(predicted: list[str], gold: list[str]) -> float:
    if not predicted or not gold:
        return float(predicted == gold)
    common = sum((Counter(predicted) & Counter(gold)).values())
    return 2 * common / (len(predicted) + len(gold))


def contains(predicted: str, gold: Sequence[str]) -> bool:
    """Return whether the words of a gold answer stand in the prediction, or those of the prediction in it.

    >>> contains("Sergeant in the army", ["sergeant"]), contains("sergeant", ["general"])
    (True, False)
    """
    form = squad_form(predicted)
    if not form:
        return False
    forms = [squad_form(answer) for answer in gold]
    return any(f" {answer} " in f" {form} " or f" {form} " in f" {answer} " for answer in forms if answer)


def keeping(scores: Sequence[float], share: float) -> float:
    """Return the highest threshold at which at least `share` of these scores are kept (score >= threshold).

    >>> keeping([1.0, 2.0, 3.0, 4.0], 0.75)
    2.0
    """
    ordered = sorted(scores, reverse=True)
    return ordered[max(0, int(np.ceil(share * len(ordered))) - 1)]
