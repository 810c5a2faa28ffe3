"""Reading by the encoder: the span of a passage that answers a question, and whether it answers at all.

The span is that with the highest sum of logits, as BERT reads SQuAD 2.0 (Devlin et al. 2019, 1810.04805).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disputatio.encoder.model import Encoded, EncoderModel, Logits, head_of, probability
from disputatio.text import add_headings
from disputatio.types import Extraction, Passage

_BLANK = re.compile(r"\n[ \t]*\n\s*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_MOST_PARAGRAPHS = 40
_WORDS = 4  # from which a paragraph is read by itself
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
        return self.model.name

    def read(self, question: str, passages: Sequence[Passage]) -> list[Extraction]:
        return self.read_pairs([(question, passage) for passage in passages])

    def read_pairs(self, pairs: Sequence[tuple[str, Passage]]) -> list[Extraction]:
        """Return one extraction for each pair, in order; long passages are read in overlapping parts."""
        return [extraction for extraction, _ in self.extract_with_scores(pairs)]

    def extract_with_scores(self, pairs: Sequence[tuple[str, Passage]]) -> list[tuple[Extraction, float]]:
        """Return the same, each with its score: the span against "no answer", and the logit of answering."""
        best: dict[int, tuple[Extraction, float]] = {}
        parts = [
            (number, first, replace(passage, text=passage.text[first:last]))
            for number, (_, passage) in enumerate(pairs)
            for first, last in _parts(passage.text)
        ]
        texts = [(pairs[number][0], head_of(_title(part)) + part.text) for number, _, part in parts]
        for sequence, logits in self.model.logits(texts):
            number, first, part = parts[sequence.pair]
            extraction, score = self._extraction(sequence, logits, part)
            known = best.get(number)
            if known is None or extraction.probability > known[0].probability:
                moved = replace(extraction, start=extraction.start + first, end=extraction.end + first)
                best[number] = moved, score
        return [best[number] for number in range(len(pairs))]

    def _extraction(self, sequence: Encoded, logits: Logits, passage: Passage) -> tuple[Extraction, float]:
        shift = len(head_of(_title(passage)))
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


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a text that are read apart: all of it, and its paragraphs, for an answer in one of
    several is easily missed. A heading is read with what follows it.

    >>> list(_parts("Fees\\n\\nIt costs 3 euros a day.\\n\\nIt is paid at once."))
    [(0, 50), (0, 29), (31, 50)]
    """
    yield 0, len(text)
    ends = [*(match.span() for match in _BLANK.finditer(text)), (len(text), len(text))]
    if not 1 < len(ends) <= _MOST_PARAGRAPHS:
        return
    first = 0
    for end, following in ends:
        if text[first:end].count(" ") >= _WORDS or _CJK.search(text, first, end):
            yield first, end
            first = following


def _title(passage: Passage) -> str:
    return add_headings(passage.title, passage.metadata.get("heading", ""), passage.text)


def best_span(starts: Any, ends: Any) -> tuple[int, int, float]:
    """Return the first and last token with the highest sum of logits less the cost of length, and that value.

    >>> best_span(np.array([0.0, 5.0, 1.0]), np.array([4.0, 0.0, 2.0]))
    (1, 2, 6.9)
    """
    sums = starts[:, None] + ends[None, :]
    apart = np.arange(len(ends))[None, :] - np.arange(len(starts))[:, None]
    sums = np.where((apart >= 0) & (apart < MOST_TOKENS), sums - LENGTH_COST * apart, -np.inf)
    first, last = np.unravel_index(int(sums.argmax()), sums.shape)
    return int(first), int(last), float(sums[first, last])


# --- the judge of claims ------------------------------------------------------------------------------
SUPPORTS, CONTRADICTS, SILENT = range(3)  # the classes of entailment


class EncoderJudge:
    """Judgements of an encoder on pairs of texts (`Entailment`, `Contradiction`), the last ones kept. Of a
    long premise's parts the most decided counts, as in AlignScore (Zha et al. 2023).
    """

    def __init__(self, model: EncoderModel) -> None:
        self.model = model
        self._judged: dict[tuple[str, str], tuple[float, float]] = {}

    @property
    def name(self) -> str:
        return self.model.name

    def entails(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return, for each (premise, hypothesis), the probability that the first states the second."""
        return [supports for supports, _ in self._judge(pairs)]

    def contradicts(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return, for each (premise, hypothesis), the probability that they cannot both be true."""
        return [contradicts for _, contradicts in self._judge(pairs)]

    def _judge(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, float]]:
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._judged]
        if new:
            known = {pair: self._judged[pair] for pair in pairs if pair in self._judged}
            best: dict[int, Logits] = {}
            claims = [(hypothesis, premise) for premise, hypothesis in new]
            for sequence, logits in self.model.logits(claims):
                before = best.get(sequence.pair)
                if before is None or _score_decision(logits) > _score_decision(before):
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


def _score_decision(logits: Logits) -> float:
    return -against_rest(logits.entail, SILENT)
