"""The bench of served indexes fills the index in a folder of today, and asks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.scale.served_index import LEGS, Known, asked, filled
from bench.search.corpus import open_corpus
from disputatio.store.opening import open_index

pytestmark = pytest.mark.slow


def test_the_index_in_a_folder_finds_the_exact_ten(tmp_path: Path) -> None:
    corpus, known = open_corpus(tmp_path, 700), Known()
    index = open_index(tmp_path / "served.index", embedder=known)
    filled(index, corpus, known)
    figures = asked({"folder": index}, corpus, known, many=3)
    assert index.info().passages == 700
    assert figures.keys() == LEGS.keys()
    assert figures["meaning"]["folder"]["recall"] == 1.0
