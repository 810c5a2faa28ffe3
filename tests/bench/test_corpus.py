"""The corpus of the search benchmark: the same every time, and what is planted is found."""

from __future__ import annotations

import hashlib
import re
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


def test_planted_passages_have_the_words_and_are_the_nearest_of_their_query(
    corpus: ModuleType, tmp_path: Path
) -> None:
    made = corpus.open_corpus(tmp_path, SIZE)
    queries = made.queries()
    planted = np.load(made.folder / "planted.npy")
    at = int(planted[0, 0])
    rows = set(planted[planted[:, 0] == at, 1].tolist())
    assert queries[at].kind == "planted"
    words = [set(re.findall(r"\w+", text.lower())) for text in made.texts(0, SIZE)]
    assert all(set(queries[at].text.split()) <= words[row] for row in rows)
    assert set(corpus.nearest(made, len(rows))[at].tolist()) == rows
