"""The corpus of the search benchmark: the same every time, and its truth is true."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.bench.scripts import script

pytestmark = pytest.mark.slow
SIZE = 700


@pytest.fixture(scope="module")
def corpus() -> ModuleType:
    return script("corpus")


def hashes(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


def test_a_size_and_a_seed_give_the_same_files(corpus: ModuleType, tmp_path: Path) -> None:
    first, same = (corpus.open_corpus(tmp_path / name, SIZE).folder for name in ("one", "same"))
    other = corpus.open_corpus(tmp_path / "other", SIZE, seed=8).folder
    assert hashes(first) == hashes(same)
    assert hashes(first)["texts.bin"] != hashes(other)["texts.bin"]


def test_scores_from_the_postings_are_those_counted_in_the_texts(corpus: ModuleType, tmp_path: Path) -> None:
    made = corpus.open_corpus(tmp_path, SIZE)
    truth = corpus.Truth(made)
    texts = [Counter(re.findall(r"\w+", text.lower())) for text in made.texts(0, SIZE)]
    mean = sum(text.total() for text in texts) / SIZE
    for query in made.queries()[:10]:
        expected = np.zeros(SIZE)
        for term in query.text.split():
            count = sum(1 for text in texts if term in text)
            idf = math.log(1 + (SIZE - count + 0.5) / (count + 0.5))
            for row, text in enumerate(texts):
                norm = 1.2 * (0.25 + 0.75 * text.total() / mean)
                expected[row] += idf * text[term] / (text[term] + norm)
        assert np.allclose(truth.sparse(query), expected)


def test_planted_passages_are_the_best_of_their_query_on_both_legs(
    corpus: ModuleType, tmp_path: Path
) -> None:
    made = corpus.open_corpus(tmp_path, SIZE)
    truth, queries = corpus.Truth(made), made.queries()
    planted = np.load(made.folder / "planted.npy")
    at = int(planted[0, 0])
    rows = set(planted[planted[:, 0] == at, 1].tolist())
    assert queries[at].kind == "planted"
    assert set(np.argsort(-truth.sparse(queries[at]))[: len(rows)].tolist()) == rows
    assert set(truth.nearest(len(rows))[at].tolist()) == rows
