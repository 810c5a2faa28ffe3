"""Examples as numbers: answers keep their characters, titles bear none, padding counts for nothing."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disputatio.encoder.model import TOKENIZER, tokenizer_of
from tests.train.material import example, write_tokenizer
from train.features import Features, batches_by_length, features_of, padded, store, stored


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tokenizer(tmp_path)


def _one(folder: Path, text: str, *answers: str, length: int = 64, title: str = "") -> Features | None:
    [features] = features_of(
        tokenizer_of((folder / TOKENIZER).read_bytes(), length), [example(text, *answers, title=title)]
    )
    return features


def _texts(features: Features, text: str) -> list[str]:
    return [text[features.offsets[first][0] : features.offsets[last][1]] for first, last in features.spans]


def test_a_span_of_tokens_covers_the_answer_as_it_is_written(folder: Path) -> None:
    text = "In Paris, Anna  Gold sang."
    features = _one(folder, text, "Anna  Gold", "Paris")
    assert features is not None
    assert _texts(features, text) == ["Anna  Gold", "Paris"]


def test_a_title_shifts_no_answer_and_is_no_place_for_one(folder: Path) -> None:
    text = "Paris: Anna sang."
    features = _one(folder, text, "Paris", title="Paris")
    assert features is not None
    assert _texts(features, text) == ["Paris"]
    legal = features.offsets[features.legal]
    assert [text[start:end] for start, end in legal] == ["Paris", ":", "Anna", "sang", "."]


def test_an_answer_that_the_cut_takes_away_leaves_no_example(folder: Path) -> None:
    assert _one(folder, "silver " * 40 + "Anna", "Anna", length=20) is None
    assert _one(folder, "silver " * 40, length=20) is not None


def test_the_question_is_never_what_is_cut(folder: Path) -> None:
    features = _one(folder, "gold " * 40, length=12)
    assert features is not None
    assert len(features.tokens) == 12
    assert (features.segments == 0).sum() == 5  # [CLS] who sang ? [SEP]


def test_a_batch_is_as_long_as_its_longest_and_says_what_is_padding(folder: Path) -> None:
    tokenizer = tokenizer_of((folder / TOKENIZER).read_bytes(), 64)
    some = features_of(tokenizer, [example("Anna sang .", "Anna"), example("rome won gold in paris .")])
    kept = [one for one in some if one is not None]
    batch = padded(kept)
    lengths = [len(one.tokens) for one in kept]
    assert batch["tokens"].shape == (2, max(lengths))
    assert batch["attended"].sum(axis=1).tolist() == lengths
    assert not batch["legal"][~batch["attended"]].any()
    assert batch["answerable"].tolist() == [1.0, 0.0]
    assert batch["spans"][1, 0].tolist() == [0, 0]
    assert batch["span_mask"].sum(axis=1).tolist() == [1, 1]


@given(st.lists(st.integers(1, 300), max_size=200), st.integers(1, 9), st.integers(0, 3))
def test_every_example_is_in_one_batch_of_like_lengths(lengths: list[int], size: int, epoch: int) -> None:
    batches = batches_by_length(lengths, size, seed=1, epoch=epoch)
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    assert all(len(batch) <= size for batch in batches)
    assert batches == batches_by_length(lengths, size, seed=1, epoch=epoch)


def test_batches_of_one_stretch_do_not_overlap_in_length() -> None:
    lengths = np.random.default_rng(0).integers(10, 200, 64).tolist()
    ranges = sorted(
        (min(lengths[place] for place in batch), max(lengths[place] for place in batch))
        for batch in batches_by_length(lengths, 8, seed=1, epoch=0)
    )
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(ranges))


def test_stored_features_are_read_back_as_they_were(folder: Path, tmp_path: Path) -> None:
    some = [
        example("Anna sang in paris.", "Anna", "paris"),
        example("rome", title="gold"),
        example("silver won .", "silver"),
    ]
    features = [
        one
        for one in features_of(tokenizer_of((folder / TOKENIZER).read_bytes(), 64), some)
        if one is not None
    ]
    store(tmp_path / "epoch.npz", features)
    back = stored(tmp_path / "epoch.npz")
    assert [one.spans for one in back] == [one.spans for one in features]
    for before, after in zip(features, back, strict=True):
        for name in ("tokens", "segments", "legal", "offsets"):
            assert np.array_equal(getattr(before, name), getattr(after, name))
