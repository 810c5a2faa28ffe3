"""The trained reader at work, in numpy and OpenVINO alone: spans, and whether a passage answers at all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from train.features import head_of, tokenizer_of

MODEL, ABOUT = "reader.xml", "reader.json"
MOST_TOKENS = 30  # of an answer
_QUESTION_WORDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What is read: a question, and a passage under its title."""

    question: str
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The likeliest answer, `text[start:end]` of the passage, and the probability that the passage answers.

    `margin` is how far the span's logits lie above those of "no answer", `logit` that of the second head.
    """

    text: str
    start: int
    end: int
    margin: float
    logit: float
    probability: float


@dataclass(frozen=True, slots=True)
class _Sequence:
    passage: int
    tokens: NDArray[np.int64]
    segments: NDArray[np.int64]
    legal: NDArray[np.intp]
    offsets: NDArray[np.int64]


class Reader:
    """A folder's reader: `reader.xml`, `reader.bin`, `tokenizer.json`, and `reader.json` with its calibration."""

    def __init__(self, folder: Path, *, threads: int = 0, model: str = MODEL) -> None:
        import openvino

        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        self.weights: tuple[float, float, float] = tuple(about["calibration"])
        self.length: int = about["length"]
        self._tokenizer = tokenizer_of(folder, self.length, overlap=self.length // 4)
        settings: dict[str, Any] = {"INFERENCE_PRECISION_HINT": "f32"}
        if threads:
            settings["INFERENCE_NUM_THREADS"] = threads
        self._request = (
            openvino.Core().compile_model(str(folder / model), "CPU", settings).create_infer_request()
        )

    def read(self, passages: Sequence[Passage], *, batch_tokens: int = 3072) -> list[Reading]:
        """One reading a passage, in order; a passage longer than a sequence is read in overlapping parts."""
        best: list[Reading | None] = [None] * len(passages)
        sequences = sorted(self._sequences(passages), key=lambda sequence: len(sequence.tokens))
        for batch in _batches(sequences, batch_tokens):
            for sequence, reading in zip(batch, self._run(batch, passages), strict=True):
                best[sequence.passage] = _better(best[sequence.passage], reading)
        return [reading or self._reading("", 0, 0, -50.0, -50.0) for reading in best]

    def _sequences(self, passages: Sequence[Passage]) -> Iterator[_Sequence]:
        pairs = [
            (" ".join(one.question.split()[:_QUESTION_WORDS]), head_of(one.title) + one.text)
            for one in passages
        ]
        for place, encoding in enumerate(self._tokenizer.encode_batch(pairs)):
            shift = len(head_of(passages[place].title))
            for part in (encoding, *encoding.overflowing):
                segments = np.array(part.type_ids, dtype=np.int64)
                offsets = np.array(part.offsets, dtype=np.int64).reshape(-1, 2)
                special = np.array(part.special_tokens_mask, dtype=bool)
                legal = np.flatnonzero((segments == 1) & ~special & (offsets[:, 0] >= shift))
                tokens = np.array(part.ids, dtype=np.int64)
                yield _Sequence(place, tokens, segments, legal, offsets - shift)

    def _run(self, batch: Sequence[_Sequence], passages: Sequence[Passage]) -> Iterator[Reading]:
        shape = (len(batch), max(len(one.tokens) for one in batch))
        tokens, segments = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        attended = np.zeros(shape, dtype=bool)
        for row, one in enumerate(batch):
            size = len(one.tokens)
            tokens[row, :size], segments[row, :size], attended[row, :size] = one.tokens, one.segments, True
        outputs = self._request.infer([tokens, segments, attended])
        starts, ends, answers = (outputs[place] for place in range(3))
        for row, one in enumerate(batch):
            if not len(one.legal):
                yield self._reading("", 0, 0, -50.0, float(answers[row]))
                continue
            first, last, score = best_span(starts[row, one.legal], ends[row, one.legal])
            begin, end = int(one.offsets[one.legal[first], 0]), int(one.offsets[one.legal[last], 1])
            margin = score - float(starts[row, 0] + ends[row, 0])
            text = passages[one.passage].text[begin:end]
            yield self._reading(text, begin, end, margin, float(answers[row]))

    def _reading(self, text: str, start: int, end: int, margin: float, logit: float) -> Reading:
        by_margin, by_logit, level = self.weights
        value = np.clip(by_margin * margin + by_logit * logit + level, -50, 50)
        probability = float(1 / (1 + np.exp(-value)))
        return Reading(text=text, start=start, end=end, margin=margin, logit=logit, probability=probability)


def best_span(starts: Any, ends: Any, most_tokens: int = MOST_TOKENS) -> tuple[int, int, float]:
    """The first and last token with the highest sum of logits, no longer than allowed, and that sum.

    >>> best_span(np.array([0.0, 5.0, 1.0]), np.array([4.0, 0.0, 2.0]))
    (1, 2, 7.0)
    """
    sums = starts[:, None] + ends[None, :]
    apart = np.arange(len(ends))[None, :] - np.arange(len(starts))[:, None]
    sums = np.where((apart >= 0) & (apart < most_tokens), sums, -np.inf)
    first, last = np.unravel_index(int(sums.argmax()), sums.shape)
    return int(first), int(last), float(sums[first, last])


def _better(one: Reading | None, other: Reading) -> Reading:
    return other if one is None or other.probability > one.probability else one


def _batches(sequences: Sequence[_Sequence], most_tokens: int) -> Iterator[list[_Sequence]]:
    """Neighbours in batches of at most so many tokens, padding counted; a longer one stands alone."""
    batch: list[_Sequence] = []
    for sequence in sequences:
        if batch and len(sequence.tokens) * (len(batch) + 1) > most_tokens:
            yield batch
            batch = []
        batch.append(sequence)
    if batch:
        yield batch
