"""Judging by the encoder: the probability that a passage supports or contradicts a claim."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from disputatio.encoder.model import EncoderModel, Logits, probability

SUPPORTS, CONTRADICTS, SILENT = range(3)  # the classes of entailment


class EncoderJudge:
    """Judgements of an encoder on pairs of texts (`Entailment`, `Contradiction`).

    A long premise is judged in overlapping parts, of which the most decided counts, as in AlignScore (Zha et
    al. 2023). Pairs that were judged last are kept, since support and contradiction are asked in turn.
    """

    def __init__(self, model: EncoderModel) -> None:
        self.model = model
        self._judged: dict[tuple[str, str], tuple[float, float]] = {}

    @property
    def name(self) -> str:
        """The encoder's name."""
        return self.model.name

    def entails(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each (premise, hypothesis) the probability that the premise says what the hypothesis states."""
        return [supports for supports, _ in self._judge(pairs)]

    def contradicts(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each (premise, hypothesis) the probability that they cannot both be true."""
        return [contradicts for _, contradicts in self._judge(pairs)]

    def _judge(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, float]]:
        """Return the probabilities of support and of contradiction of each pair."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._judged]
        if new:
            known = {pair: self._judged[pair] for pair in pairs if pair in self._judged}
            best: dict[int, Logits] = {}
            claims = [(hypothesis, premise) for premise, hypothesis in new]
            for sequence, logits in self.model.logits(claims):
                before = best.get(sequence.pair)
                if before is None or _decided(logits) > _decided(before):
                    best[sequence.pair] = logits
            self._judged = known | {
                pair: (
                    probability(self.model.about.supports, against_rest(best[number].entail, SUPPORTS)),
                    probability(self.model.about.contradicts, against_rest(best[number].entail, CONTRADICTS)),
                )
                for number, pair in enumerate(new)
            }
        return [self._judged[pair] for pair in pairs]


def against_rest(logits: Sequence[float] | NDArray[np.float32], wanted: int) -> float:
    """Return the log-odds of a class against the others.

    >>> round(against_rest([0.0, -50.0, 0.0], 0), 6) + 0.0
    0.0
    """
    others = [logit for number, logit in enumerate(logits) if number != wanted]
    return float(logits[wanted] - np.logaddexp.reduce(others))


def _decided(logits: Logits) -> float:
    """Return how far a part of a premise is from silent."""
    return -against_rest(logits.entail, SILENT)
