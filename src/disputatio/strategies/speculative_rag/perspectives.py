"""Passages in clusters by what they say, and subsets that take one passage from each cluster.

The first half of Speculative RAG (Wang et al. 2024, arXiv 2407.08223, algorithm 1): a subset that draws on
every cluster has every perspective and no perspective twice. Vectors are an array (passages, dimension)
of rows of length 1; clusters are lists of row numbers.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from disputatio.errors import InputError
from disputatio.text import bare_words, stem

Vectors: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
STARTS, ROUNDS = 10, 100  # of k-means: how often it begins anew, and how long one beginning may go on


def clustered(vectors: Vectors, k: int, seed: int = 0) -> list[list[int]]:
    """At most `k` clusters of rows by k-means, none of them empty, in the order of their first row.

    Centres are begun by k-means++ (Arthur and Vassilvitskii 2007), and of `STARTS` beginnings the one with
    the least sum of squared distances stands. There are never more clusters than different rows. Raises
    `InputError` for fewer than one cluster.

    >>> clustered(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.1, 1.0]]), 2)
    [[0, 2], [1, 3]]
    """
    if k < 1:
        raise InputError("there is at least one cluster")
    rows = len(vectors)
    points = np.asarray(vectors, dtype=np.float64)
    k = min(k, len(np.unique(points, axis=0)))
    if k < 2:
        return [list(range(rows))] if rows else []
    draw = np.random.default_rng(seed)
    starts = [_lloyd(points, _begun(points, k, draw)) for _ in range(STARTS)]
    # Sums that differ by rounding alone are equal: then the first beginning stands, on any machine.
    labels, _ = min(starts, key=lambda start: round(start[1], 9))
    groups = [np.flatnonzero(labels == label).tolist() for label in range(k)]
    return sorted((group for group in groups if group), key=lambda group: group[0])


def subsets(clusters: Sequence[Sequence[int]], most: int, seed: int = 0) -> list[tuple[int, ...]]:
    """At most `most` different subsets with one member of each cluster, drawn without replacement.

    Where there are no more than `most`, these are all of them. Members stand in rising order.

    >>> subsets([[0, 2], [1]], 5)
    [(0, 1), (1, 2)]
    >>> len(set(subsets([[0, 2, 4], [1, 3, 5]], 4)))
    4
    """
    if not clusters:
        return []
    possible = math.prod(map(len, clusters))
    numbers = range(possible)
    # A subset is a number in a system whose digits are the members of the clusters.
    drawn = list(numbers) if possible <= most else random.Random(seed).sample(numbers, most)
    clusters_ = []
    for number in drawn:
        members, rest = [], number
        for cluster in clusters:
            rest, digit = divmod(rest, len(cluster))
            members.append(cluster[digit])
        clusters_.append(tuple(sorted(members)))
    return clusters_


def word_vectors(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return unit rows by frequency times rarity of the stems, where there is no embedder.

    >>> one, other, third = word_vectors(["a red ferry", "the red ferries", "blue hills"])
    >>> bool(one @ other > one @ third)
    True
    """
    counts = [Counter(stem(word) for word in bare_words(text)) for text in texts]
    spread = Counter(word for words in counts for word in words)
    column = {word: at for at, word in enumerate(spread)}
    vectors = np.zeros((len(texts), max(len(column), 1)))
    for row, words in enumerate(counts):
        for word, times in words.items():
            vectors[row, column[word]] = (1 + math.log(times)) * math.log(1 + len(texts) / spread[word])
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-12))


def _begun(points: NDArray[np.float64], k: int, draw: np.random.Generator) -> NDArray[np.float64]:
    """k different rows as centres, each new one by the square of its distance from the others."""
    chosen = [int(draw.integers(len(points)))]
    for _ in range(k - 1):
        far = _distances(points, points[chosen]).min(axis=1)
        far[far < 1e-12] = 0.0  # a row that equals a centre
        if not far.any():
            break
        chosen.append(int(draw.choice(len(points), p=far / far.sum())))
    return points[chosen]


def _lloyd(points: NDArray[np.float64], centres: NDArray[np.float64]) -> tuple[NDArray[np.intp], float]:
    """Return the cluster of each row once the centres stay (Lloyd 1982), and the sum of squared distances.

    A centre to which no passage is nearest any more stays where it is, and its cluster is empty.
    """
    centres = centres.copy()
    distances = _distances(points, centres)
    labels = distances.argmin(axis=1)
    for _ in range(ROUNDS):
        for label in range(len(centres)):
            if (mine := labels == label).any():
                centres[label] = points[mine].mean(axis=0)
        distances = _distances(points, centres)
        moved = distances.argmin(axis=1)
        if np.array_equal(moved, labels):
            break
        labels = moved
    return labels, float(distances.min(axis=1).sum())


def _distances(points: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances, an array (points, centres)."""
    apart = points[:, None, :] - centres[None, :, :]
    return np.asarray(np.einsum("pcd,pcd->pc", apart, apart))
