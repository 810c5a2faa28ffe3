"""A trained reader: the span of a passage that answers a question, and whether the passage answers at all.

`train/` makes such a reader. Its model gives logits of the first and last token of an answer, as BERT
does for SQuAD 2.0 (Devlin et al. 2019, arXiv 1810.04805), and a logit of whether the passage answers.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from disputatio.errors import InputError, MissingDependency
from disputatio.types import Extraction, Passage

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MODEL, ABOUT, TOKENIZER = "reader.xml", "reader.json", "tokenizer.json"
MOST_TOKENS = 30  # of an answer
QUESTION_WORDS = 60  # of a question that are read
BATCH_TOKENS = 3072  # of a batch, padding included
NOTHING = -50.0  # the logit of what cannot be


@dataclass(frozen=True, slots=True)
class _Sequence:
    """One question and passage as token numbers; `legal` are the places of the passage's own text."""

    pair: int
    tokens: NDArray[np.int64]
    segments: NDArray[np.int64]
    legal: NDArray[np.intp]
    offsets: NDArray[np.int64]


class EncoderReader:
    """The reader of a folder (`PassageReader`): model, weights, tokenizer, and its calibration.

    It is loaded at the first use; threads may share it. Raises `InputError` for a folder that lacks a file,
    and then `MissingDependency` without OpenVINO.
    """

    def __init__(self, folder: Path, *, threads: int = 0, model: str = MODEL) -> None:
        for name in (model, TOKENIZER, ABOUT):
            if not (folder / name).is_file():
                raise InputError(f"{folder}: a reader needs {name} there (make train makes one)")
        self.calibration, self.length = _about(folder / ABOUT)
        self._folder, self._threads, self._model = folder, threads, model
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Tokenizer] | None = None

    @property
    def name(self) -> str:
        """`encoder:` and 8 hex digits of the SHA-256 of model, weights and calibration."""
        digest = hashlib.sha256()
        for name in (self._model, Path(self._model).with_suffix(".bin").name, ABOUT):
            digest.update((self._folder / name).read_bytes())
        return f"encoder:{digest.hexdigest()[:8]}"

    def read(self, question: str, passages: Sequence[Passage]) -> list[Extraction]:
        """What each passage answers to the question, in order."""
        return self.read_pairs([(question, passage) for passage in passages])

    def read_pairs(self, pairs: Sequence[tuple[str, Passage]]) -> list[Extraction]:
        """One extraction a question and passage, in order; a long passage is read in overlapping parts."""
        best: list[Extraction | None] = [None] * len(pairs)
        with self._lock:
            request, tokenizer = self._load()
            sequences = sorted(self._sequences(tokenizer, pairs), key=lambda sequence: len(sequence.tokens))
            for batch in _batches(sequences, BATCH_TOKENS):
                for sequence, extraction in zip(batch, self._run(request, batch, pairs), strict=True):
                    best[sequence.pair] = _likelier(best[sequence.pair], extraction)
        return [extraction or self._extraction("", 0, 0, NOTHING, NOTHING) for extraction in best]

    def _load(self) -> tuple[Any, Tokenizer]:
        """The compiled model and the tokenizer, loaded at the first use."""
        if self._loaded is None:
            try:
                # Else it reports usage.
                cast("dict[str, Any]", sys.modules).setdefault("openvino_telemetry", None)
                import openvino

                tokenizer = tokenizer_of(self._folder, self.length, overlap=self.length // 4)
            except ImportError as absent:
                raise MissingDependency(absent.name or "openvino", "local") from absent
            settings: dict[str, Any] = {"INFERENCE_PRECISION_HINT": "f32"}
            if self._threads:
                settings["INFERENCE_NUM_THREADS"] = self._threads
            compiled = openvino.Core().compile_model(str(self._folder / self._model), "CPU", settings)
            self._loaded = compiled.create_infer_request(), tokenizer
        return self._loaded

    def _sequences(self, tokenizer: Tokenizer, pairs: Sequence[tuple[str, Passage]]) -> Iterator[_Sequence]:
        texts = [
            (" ".join(question.split()[:QUESTION_WORDS]), head_of(passage.title) + passage.text)
            for question, passage in pairs
        ]
        for pair, encoding in enumerate(tokenizer.encode_batch(texts)):
            shift = len(head_of(pairs[pair][1].title))
            for part in (encoding, *encoding.overflowing):
                segments = np.array(part.type_ids, dtype=np.int64)
                offsets = np.array(part.offsets, dtype=np.int64).reshape(-1, 2)
                special = np.array(part.special_tokens_mask, dtype=bool)
                legal = np.flatnonzero((segments == 1) & ~special & (offsets[:, 0] >= shift))
                tokens = np.array(part.ids, dtype=np.int64)
                yield _Sequence(pair, tokens, segments, legal, offsets - shift)

    def _run(
        self, request: Any, batch: Sequence[_Sequence], pairs: Sequence[tuple[str, Passage]]
    ) -> Iterator[Extraction]:
        shape = (len(batch), max(len(sequence.tokens) for sequence in batch))
        tokens, segments = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        attended = np.zeros(shape, dtype=bool)
        for row, sequence in enumerate(batch):
            size = len(sequence.tokens)
            tokens[row, :size], segments[row, :size] = sequence.tokens, sequence.segments
            attended[row, :size] = True
        outputs = request.infer([tokens, segments, attended])
        starts, ends, answers = (outputs[place] for place in range(3))
        for row, sequence in enumerate(batch):
            logit = float(answers[row])
            if not len(sequence.legal):
                yield self._extraction("", 0, 0, NOTHING, logit)
                continue
            first, last, score = best_span(starts[row, sequence.legal], ends[row, sequence.legal])
            start = int(sequence.offsets[sequence.legal[first], 0])
            end = int(sequence.offsets[sequence.legal[last], 1])
            margin = score - float(starts[row, 0] + ends[row, 0])
            yield self._extraction(pairs[sequence.pair][1].text[start:end], start, end, margin, logit)

    def _extraction(self, answer: str, start: int, end: int, margin: float, logit: float) -> Extraction:
        by_margin, by_logit, level = self.calibration
        log_odds = np.clip(by_margin * margin + by_logit * logit + level, NOTHING, -NOTHING)
        probability = float(1 / (1 + np.exp(-log_odds)))
        return Extraction(
            answer=answer, start=start, end=end, probability=probability, margin=margin, logit=logit
        )


def head_of(title: str) -> str:
    """What stands before a passage's text: its title, as language models are shown it.

    >>> head_of("Normans"), head_of("")
    ('Title: Normans\\n', '')
    """
    return f"Title: {title}\n" if title else ""


def tokenizer_of(folder: Path, length: int, *, overlap: int = 0) -> Tokenizer:
    """The tokenizer of a folder, which cuts the passage (never the question) at `length` tokens.

    The rest of a longer passage stands in the encoding's `overflowing`, each part `overlap` tokens back.
    """
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(length, stride=overlap, strategy="only_second")
    return tokenizer


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


def _about(path: Path) -> tuple[tuple[float, float, float], int]:
    """The calibration and the length of sequences, by which a reader was trained."""
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        by_margin, by_logit, level = (float(value) for value in about["calibration"])
        return (by_margin, by_logit, level), int(about["length"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: is no description of a reader ({type(error).__name__})") from error


def _likelier(first: Extraction | None, second: Extraction) -> Extraction:
    return second if first is None or second.probability > first.probability else first


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
