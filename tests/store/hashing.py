"""A tiny deterministic embedder: a vector of hashed words. No model, no download."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class HashEmbedder:
    """Unit vectors with one of 32 dimensions a word."""

    def __init__(self, name: str = "hash-32") -> None:
        self.calls = 0
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimension(self) -> int:
        return 32

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        self.calls += 1
        vectors = np.zeros((len(texts), 32), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                vectors[row, hashlib.sha256(word.encode()).digest()[0] % 32] += 1
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: NDArray[np.float32] = vectors / np.maximum(norms, 1e-9)
        return unit
