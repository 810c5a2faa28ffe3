"""The head *same*: whether two passages are about one thing. Only training and its measurement use it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from disputatio.encoder.model import EncoderModel, head_of, probability
from disputatio.types import Passage


def about(question: str, text: str) -> str:
    """Return the first text of a pair: what both are asked about, and the first passage.

    >>> about("Paris", "Paris is old.")
    'About: Paris\\nParis is old.'
    """
    return f"About: {question}\n{text}"


def sameness(model: EncoderModel, question: str, pairs: Sequence[tuple[Passage, Passage]]) -> list[float]:
    """Return for each pair the probability that both passages are about the same thing.

    Both orders are asked and their log-odds averaged.
    """
    texts = [(head_of(passage.title) + passage.text) for pair in pairs for passage in pair]
    asked = []
    for number in range(len(pairs)):
        first, second = texts[2 * number], texts[2 * number + 1]
        asked += [(about(question, first), second), (about(question, second), first)]
    logits: dict[int, list[float]] = {}
    for sequence, outputs in model.logits(asked):
        logits.setdefault(sequence.pair // 2, []).append(outputs.same)
    weights = model.about.same
    return [probability(weights, float(np.mean(logits[number]))) for number in range(len(pairs))]
