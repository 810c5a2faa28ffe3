"""Reading by the encoder: the span of a passage that answers a question, and whether it answers at all.

The span is that with the highest sum of logits, as BERT reads SQuAD 2.0 (Devlin et al. 2019, 1810.04805).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from disputatio.encoder.model import Encoded, EncoderModel, Logits, head_of, probability
from disputatio.types import Extraction, Passage

MOST_TOKENS = 30  # of an answer
# What each further token of an answer costs, in logits. Chosen on kept examples: .05 to .2 are equally good,
# and better than 0 for exact matches on five sets of six.
LENGTH_COST = 0.1
NOTHING = -50.0  # the logit of what cannot be


class EncoderReader:
    """Reads passages with an encoder (`PassageReader`)."""

    def __init__(self, model: EncoderModel) -> None:
        self.model = model

    @property
    def name(self) -> str:
        """The encoder's name."""
        return self.model.name

    def read(self, question: str, passages: Sequence[Passage]) -> list[Extraction]:
        """Return what each passage answers to the question, in order."""
        return self.read_pairs([(question, passage) for passage in passages])

    def read_pairs(self, pairs: Sequence[tuple[str, Passage]]) -> list[Extraction]:
        """Return one extraction a question and passage, in order; a long passage is read in overlapping
        parts.
        """
        return [extraction for extraction, _ in self.scored(pairs)]

    def scored(self, pairs: Sequence[tuple[str, Passage]]) -> list[tuple[Extraction, float]]:
        """Return the same, each with the score that its probability was made of.

        That is how far the span's logits lie above those of "no answer", plus the logit of answering.
        """
        best: dict[int, tuple[Extraction, float]] = {}
        texts = [(question, head_of(passage.title) + passage.text) for question, passage in pairs]
        for sequence, logits in self.model.logits(texts):
            scored = self._extraction(sequence, logits, pairs[sequence.pair][1])
            known = best.get(sequence.pair)
            if known is None or scored[0].probability > known[0].probability:
                best[sequence.pair] = scored
        return [best[number] for number in range(len(pairs))]

    def _extraction(self, sequence: Encoded, logits: Logits, passage: Passage) -> tuple[Extraction, float]:
        shift = len(head_of(passage.title))
        legal = sequence.body[sequence.offsets[sequence.body, 0] >= shift]  # the title is no answer
        start = end = 0
        margin = certainty = NOTHING
        if len(legal):
            first, last, logit = best_span(logits.starts[legal], logits.ends[legal])
            start = int(sequence.offsets[legal[first], 0]) - shift
            end = int(sequence.offsets[legal[last], 1]) - shift
            margin = logit - float(logits.starts[0] + logits.ends[0])
            total = np.logaddexp.reduce(logits.starts[legal]) + np.logaddexp.reduce(logits.ends[legal])
            certainty = float(logit - total) / 2
        score = margin + logits.answers
        extraction = Extraction(
            answer=passage.text[start:end],
            start=start,
            end=end,
            probability=probability(self.model.about.read, score),
            certainty=certainty,
        )
        return extraction, score


def best_span(starts: Any, ends: Any, most_tokens: int = MOST_TOKENS) -> tuple[int, int, float]:
    """Return the first and last token with the highest sum of logits less the cost of length, and that value.

    >>> best_span(np.array([0.0, 5.0, 1.0]), np.array([4.0, 0.0, 2.0]))
    (1, 2, 6.9)
    """
    sums = starts[:, None] + ends[None, :]
    apart = np.arange(len(ends))[None, :] - np.arange(len(starts))[:, None]
    sums = np.where((apart >= 0) & (apart < most_tokens), sums - LENGTH_COST * apart, -np.inf)
    first, last = np.unravel_index(int(sums.argmax()), sums.shape)
    return int(first), int(last), float(sums[first, last])
