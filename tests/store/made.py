"""Passages made at random from a seed: Zipf words, clustered vectors, skewed sources."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from disputatio.types import Passage

DIMENSION = 32
_LETTERS = "bdfgklmnprstvz"


def word(number: int) -> str:
    """Return a word for a number, that no stemmer changes."""
    return "".join(_LETTERS[digit] + "o" for digit in divmod(number, len(_LETTERS)))


def passages(
    count: int, seed: int = 0, sources: int = 7, words: int = 150
) -> tuple[list[Passage], NDArray[np.float32]]:
    """Return passages with ids p0, p1, ..., and a unit vector each; the same ones are made once."""
    made, vectors = _made(count, seed, sources, words)
    return list(made), vectors.copy()


@functools.cache
def _made(count: int, seed: int, sources: int, words: int) -> tuple[tuple[Passage, ...], NDArray[np.float32]]:
    draw = np.random.default_rng(seed)
    weights = 1 / np.arange(1, words + 1)
    made = []
    for row in range(count):
        size = int(draw.integers(3, 30))
        told = [word(number) for number in draw.choice(words, size, p=weights / weights.sum()).tolist()]
        made.append(
            Passage(
                id=f"p{row}",
                text=" ".join(told),
                source=f"s{int(draw.integers(0, sources) * draw.random())}",
                title=word(int(draw.integers(0, words))),
                date=f"20{draw.integers(10, 20)}-{draw.integers(1, 13):02d}-05" if row % 3 else "",
                document=f"d{row // 4}",
                metadata={"kind": f"k{row % 3}"},
            )
        )
    vectors = draw.normal(size=(8, DIMENSION))[draw.integers(0, 8, count)] + draw.normal(
        size=(count, DIMENSION)
    )
    unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return tuple(made), unit
