"""A trained encoder at work: its file, its tokenizer, and the logits of its heads for pairs of texts.

`train/` makes it: BERT's architecture (Devlin et al. 2019, arXiv 1810.04805) in the size of MiniLM-L6, with
heads for reading, entailment and sameness. It is a zip file or a folder with the same files in it.
"""

from __future__ import annotations

import hashlib
import json
import threading
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from disputatio.errors import InputError, require_package
from disputatio.platforms import block_usage_reports

if TYPE_CHECKING:
    from tokenizers import Tokenizer

GRAPH, WEIGHTS, ABOUT, TOKENIZER = "encoder.xml", "encoder.bin", "encoder.json", "tokenizer.json"
FILES = (GRAPH, WEIGHTS, ABOUT, TOKENIZER)
BATCH_TOKENS = 3072  # of a batch, padding included
SHIPPED = Path(__file__).with_name("encoder-1.zip")

Numbers = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The calibration of an encoder: most tokens of a sequence, and each head's weights of its logit and of
    1.
    """

    length: int
    read: Numbers
    supports: Numbers
    contradicts: Numbers
    same: Numbers


@dataclass(frozen=True, slots=True)
class Encoded:
    """Two texts as one sequence of tokens; a long pair has several, each with the number of the `pair`.

    `body` are the places of tokens of the second text, `offsets` their characters in it.
    """

    pair: int
    tokens: NDArray[np.int64]
    segments: NDArray[np.int64]
    body: NDArray[np.intp]
    offsets: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Logits:
    """The outputs for a sequence: each token as first and last of an answer, and the other heads' rows."""

    starts: NDArray[np.float32]
    ends: NDArray[np.float32]
    answers: float
    entail: NDArray[np.float32]
    same: float


class EncoderModel:
    """The encoder of a zip file or folder, loaded at first use; threads may share it. Raises `InputError`."""

    def __init__(self, path: Path, *, threads: int = 0) -> None:
        self.path, self._threads = path, threads
        self._files = _contents(path, (GRAPH, ABOUT, TOKENIZER))
        self.about = _about(path, self._files[ABOUT])
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Tokenizer] | None = None

    @property
    def name(self) -> str:
        """`encoder:` and 8 hex digits of the SHA-256 of its graph, weights and calibration."""
        digest = hashlib.sha256()
        files = _contents(self.path, FILES)
        for name in (GRAPH, WEIGHTS, ABOUT):
            digest.update(files[name])
        return f"encoder:{digest.hexdigest()[:8]}"

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[Encoded, Logits]]:
        """Yield sequences of pairs, a long second text in overlapping parts, with outputs, in any order."""
        with self._lock:
            request, tokenizer = self._load()
            sequences = sorted(self._encode(tokenizer, pairs), key=lambda sequence: len(sequence.tokens))
            for batch in _batches(sequences, BATCH_TOKENS):
                yield from zip(batch, _run(request, batch), strict=True)

    def _load(self) -> tuple[Any, Tokenizer]:
        if self._loaded is None:
            with require_package("openvino", "local"):
                block_usage_reports()
                import openvino
            tokenizer = tokenizer_of(
                self._files[TOKENIZER], self.about.length, overlap=self.about.length // 4
            )
            settings: dict[str, Any] = {"INFERENCE_PRECISION_HINT": "f32"}
            if self._threads:
                settings["INFERENCE_NUM_THREADS"] = self._threads
            core = openvino.Core()
            weights = np.frombuffer(_contents(self.path, (WEIGHTS,))[WEIGHTS], dtype=np.uint8)
            graph = core.read_model(self._files[GRAPH], openvino.Tensor(weights))
            compiled = core.compile_model(graph, "CPU", settings)
            self._loaded = compiled.create_infer_request(), tokenizer
        return self._loaded

    def _encode(self, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> Iterator[Encoded]:
        firsts = _shorten_texts(tokenizer, [first for first, _ in pairs], self.about.length // 2)
        texts = [(first, second) for first, (_, second) in zip(firsts, pairs, strict=True)]
        for pair, encoding in enumerate(tokenizer.encode_batch(texts)):
            for part in (encoding, *encoding.overflowing):
                segments = np.array(part.type_ids, dtype=np.int64)
                special = np.array(part.special_tokens_mask, dtype=bool)
                body = np.flatnonzero((segments == 1) & ~special)
                offsets = np.array(part.offsets, dtype=np.int64).reshape(-1, 2)
                yield Encoded(pair, np.array(part.ids, dtype=np.int64), segments, body, offsets)


def probability(weights: Numbers, *logits: float) -> float:
    """Return the probability of weighted logits and a level, the last of `weights`.

    >>> probability((1.0, 0.0), 0.0)
    0.5
    """
    log_odds = sum(weight * value for weight, value in zip(weights, (*logits, 1.0), strict=True))
    return float(1 / (1 + np.exp(-np.clip(log_odds, -50, 50))))


def head_of(title: str) -> str:
    """Return what stands before a passage's text: its title, as language models are shown it.

    >>> head_of("Normans"), head_of("")
    ('Title: Normans\\n', '')
    """
    return f"Title: {title}\n" if title else ""


def tokenizer_of(content: bytes, length: int, *, overlap: int = 0) -> Tokenizer:
    """Return a tokenizer that cuts only the second text, and keeps the rest in parts that overlap."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(content)
    tokenizer.no_padding()
    tokenizer.enable_truncation(length, stride=overlap, strategy="only_second")
    return tokenizer


def _shorten_texts(tokenizer: Tokenizer, texts: Sequence[str], most_tokens: int) -> list[str]:
    different = list(dict.fromkeys(texts))
    cut = {}
    # As second texts, since only these may be longer than a sequence.
    encodings = tokenizer.encode_batch([("", text) for text in different])
    for text, encoding in zip(different, encodings, strict=True):
        parts = zip(encoding.offsets, encoding.type_ids, encoding.special_tokens_mask, strict=True)
        ends = [end for (_, end), segment, special in parts if segment == 1 and not special]
        cut[text] = text[: ends[most_tokens - 1]] if len(ends) > most_tokens else text
    return [cut[text] for text in texts]


def _run(request: Any, batch: Sequence[Encoded]) -> Iterator[Logits]:
    shape = (len(batch), max(len(sequence.tokens) for sequence in batch))
    tokens, segments = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    attended = np.zeros(shape, dtype=bool)
    for row, sequence in enumerate(batch):
        size = len(sequence.tokens)
        tokens[row, :size], segments[row, :size] = sequence.tokens, sequence.segments
        attended[row, :size] = True
    outputs = request.infer([tokens, segments, attended])
    starts, ends, answers, entail, same = (outputs[number] for number in range(5))
    for row in range(len(batch)):
        # The arrays are the engine's own and change with the next batch.
        yield Logits(
            starts[row].copy(), ends[row].copy(), float(answers[row]), entail[row].copy(), float(same[row])
        )


def _batches(sequences: Sequence[Encoded], most_tokens: int) -> Iterator[list[Encoded]]:
    """Yield neighbours in batches of at most so many tokens, padding counted; a longer one stands alone."""
    batch: list[Encoded] = []
    for sequence in sequences:
        if batch and len(sequence.tokens) * (len(batch) + 1) > most_tokens:
            yield batch
            batch = []
        batch.append(sequence)
    if batch:
        yield batch


def _contents(path: Path, names: Sequence[str]) -> dict[str, bytes]:
    """Return the named files of a folder or zip file; raises `InputError` where one is missing."""
    try:
        if path.is_dir():
            return {name: (path / name).read_bytes() for name in names}
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in names}
    except (KeyError, FileNotFoundError) as missing:
        name = next((name for name in names if name in str(missing)), path.name)
        raise InputError(f"{path}: an encoder needs {name} there (make train makes one)") from missing
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: is no encoder ({error})") from error


def _about(path: Path, content: bytes) -> About:
    """Return the calibration and the length of sequences by which an encoder was trained."""
    try:
        about = json.loads(content)
        numbers = {
            name: tuple(float(value) for value in about[name])
            for name in ("read", "supports", "contradicts", "same")
        }
        if [len(numbers[name]) for name in numbers] != [2, 2, 2, 2]:
            raise ValueError("calibration")
        return About(length=int(about["length"]), **numbers)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: {ABOUT} describes no encoder ({type(error).__name__})") from error
