"""An embedder that waits: opened at its first use, once, whoever asks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from disputatio.errors import InputError
from disputatio.protocols import Embedder
from disputatio.store.embed import LazyEmbedder
from tests.store.hashing import HashEmbedder


def test_nothing_is_opened_before_it_is_used_and_then_once() -> None:
    opened: list[HashEmbedder] = []

    def made() -> Embedder:
        opened.append(HashEmbedder())
        return opened[-1]

    late = LazyEmbedder(made)
    assert isinstance(late, Embedder)  # which looks at its members
    assert len(opened) <= 1
    with ThreadPoolExecutor(4) as pool:
        names = set(pool.map(lambda _: late.name, range(8)))
    assert (names, len(opened)) == ({"hash-32"}, 1)
    assert late.embed(["a red ferry"]).shape == (1, late.dimension)


def test_what_opening_raises_is_raised_at_each_use() -> None:
    def absent() -> Embedder:
        raise InputError("small: is not here")

    late = LazyEmbedder(absent)
    for _ in range(2):
        with pytest.raises(InputError, match="not here"):
            late.embed(["text"])
