"""Examples as token numbers: question and passage in one sequence, answers as ranges of tokens, batches by length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disputatio.encoder.model import head_of
from train.examples import Example, seeded
from train.pairs import Pair

PAD = 0
MOST_SPANS = 8
QUESTION_WORDS = 60  # of a question that are read


@dataclass(frozen=True, slots=True)
class Features:
    """One sequence. `segments` is 1 for the passage, `legal` marks the tokens of its text (not its title).

    `offsets` are character ranges in the passage's text, (0, 0) outside it; `spans` are token ranges, both
    ends inclusive, none where the passage does not answer.
    """

    tokens: NDArray[np.int32]
    segments: NDArray[np.int32]
    legal: NDArray[np.bool_]
    offsets: NDArray[np.int32]
    spans: tuple[tuple[int, int], ...]
    label: int = 0  # of a pair


def pair_features(tokenizer: Any, pairs: Sequence[Pair]) -> list[Features]:
    """Return the features of each pair; of two long texts each keeps the half of its sequence."""
    made = []
    texts = [(pair.first, pair.second) for pair in pairs]
    for pair, encoding in zip(pairs, tokenizer.encode_batch(texts), strict=True):
        tokens, segments = (np.array(some, dtype=np.int32) for some in (encoding.ids, encoding.type_ids))
        nowhere = np.zeros(len(tokens), dtype=bool)
        offsets = np.zeros((len(tokens), 2), dtype=np.int32)
        made.append(Features(tokens, segments, nowhere, offsets, (), pair.label))
    return made


def features_of(
    tokenizer: Any, examples: Sequence[Example], *, question_words: int = QUESTION_WORDS
) -> list[Features | None]:
    """Return the features of each example; None where it has answers and the cut left none of them whole."""
    pairs = []
    for example in examples:
        question = " ".join(example.question.split()[:question_words])
        pairs.append((question, head_of(example.title) + example.text))
    made: list[Features | None] = []
    for example, encoding in zip(examples, tokenizer.encode_batch(pairs), strict=True):
        segments = np.array(encoding.type_ids, dtype=np.int32)
        offsets = np.array(encoding.offsets, dtype=np.int32).reshape(-1, 2)
        shift = len(head_of(example.title))
        special = np.array(encoding.special_tokens_mask, dtype=bool)
        legal = (segments == 1) & ~special & (offsets[:, 0] >= shift)
        offsets = np.where(legal[:, None], offsets - shift, 0).astype(np.int32)
        spans = token_spans(offsets, legal, example.spans)
        if example.spans and not spans:
            made.append(None)
            continue
        tokens = np.array(encoding.ids, dtype=np.int32)
        made.append(Features(tokens, segments, legal, offsets, spans))
    return made


def token_spans(
    offsets: NDArray[np.int32], legal: NDArray[np.bool_], spans: Sequence[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    """Return the token ranges that cover character ranges, those that the sequence holds whole."""
    places = np.flatnonzero(legal)
    if not len(places):
        return ()
    starts, ends = offsets[places, 0], offsets[places, 1]
    ranges = []
    for start, end in spans:
        if end > ends[-1] or start < starts[0]:
            continue
        first = int(np.searchsorted(ends, start, side="right"))
        last = int(np.searchsorted(starts, end, side="left")) - 1
        if first <= last:
            ranges.append((int(places[first]), int(places[last])))
    return tuple(dict.fromkeys(ranges))[:MOST_SPANS]


def store(path: Path, features: Sequence[Features]) -> None:
    """Write features to a file (npz), their arrays joined."""
    sizes = [len(one.tokens) for one in features]
    spans = [(place, *span) for place, one in enumerate(features) for span in one.spans]
    partial = path.with_name(f"partial-{path.name}")
    np.savez(
        partial,
        sizes=np.array(sizes, dtype=np.int64),
        tokens=np.concatenate([one.tokens for one in features]),
        segments=np.concatenate([one.segments for one in features]),
        legal=np.concatenate([one.legal for one in features]),
        offsets=np.concatenate([one.offsets for one in features]),
        spans=np.array(spans, dtype=np.int64).reshape(-1, 3),
        labels=np.array([one.label for one in features], dtype=np.int64),
    )
    partial.replace(path)


def stored(path: Path) -> list[Features]:
    """Return the features of a file that `store` wrote."""
    with np.load(path) as arrays:
        ends = np.cumsum(arrays["sizes"])[:-1]
        columns = [np.split(arrays[name], ends) for name in ("tokens", "segments", "legal", "offsets")]
        spans: list[list[tuple[int, int]]] = [[] for _ in arrays["sizes"]]
        for place, first, last in arrays["spans"].tolist():
            spans[place].append((first, last))
        labels = arrays["labels"]
    return [
        Features(tokens, segments, legal, offsets, tuple(some), int(label))
        for tokens, segments, legal, offsets, some, label in zip(*columns, spans, labels, strict=True)
    ]


def padded(features: Sequence[Features]) -> dict[str, NDArray[Any]]:
    """Return a batch as arrays of shape (examples, longest): tokens, segments, attended, legal; spans and
    their mask; labels.

    An unanswerable example has the one span (0, 0): the first token stands for "no answer here".
    """
    rows, longest = len(features), max(len(one.tokens) for one in features)
    batch: dict[str, NDArray[Any]] = {
        "tokens": np.full((rows, longest), PAD, dtype=np.int64),
        "segments": np.zeros((rows, longest), dtype=np.int64),
        "attended": np.zeros((rows, longest), dtype=bool),
        "legal": np.zeros((rows, longest), dtype=bool),
        "spans": np.zeros((rows, MOST_SPANS, 2), dtype=np.int64),
        "span_mask": np.zeros((rows, MOST_SPANS), dtype=bool),
        "answerable": np.zeros(rows, dtype=np.float32),
        "labels": np.array([one.label for one in features], dtype=np.int64),
    }
    for row, one in enumerate(features):
        size = len(one.tokens)
        batch["tokens"][row, :size] = one.tokens
        batch["segments"][row, :size] = one.segments
        batch["attended"][row, :size] = True
        batch["legal"][row, :size] = one.legal
        spans = one.spans or ((0, 0),)
        batch["spans"][row, : len(spans)] = spans
        batch["span_mask"][row, : len(spans)] = True
        batch["answerable"][row] = float(bool(one.spans))
    return batch


def batches_by_length(lengths: Sequence[int], size: int, *, seed: int, epoch: int) -> list[list[int]]:
    """Batches of like lengths in a random order, every example once; the order depends on seed and epoch.

    >>> batches_by_length([5, 9, 5, 9], 2, seed=1, epoch=0) in ([[0, 2], [1, 3]], [[1, 3], [0, 2]])
    True
    """
    reach = size * 50
    batches = []
    for first in range(0, len(lengths), reach):
        chunk = sorted(
            range(first, min(first + reach, len(lengths))), key=lambda place: (lengths[place], place)
        )
        batches += [chunk[start : start + size] for start in range(0, len(chunk), size)]
    seeded(seed, epoch, "batches").shuffle(batches)
    return batches
