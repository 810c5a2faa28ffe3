"""Clusters by k-means and subsets across them: the same every time, none empty, none twice."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disputatio.errors import InputError
from disputatio.strategies.speculative_rag import cluster_rows, subsets, word_vectors


def _around(
    *centres: tuple[float, float], each: int = 5
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Points near each centre, one centre after the other."""
    noise = np.random.default_rng(1).normal(scale=0.05, size=(len(centres) * each, 2))
    return np.asarray(np.repeat(np.array(centres), each, axis=0) + noise)


def test_points_that_lie_together_are_one_cluster_in_the_order_met() -> None:
    points = _around((0, 0), (5, 5), (0, 5))
    assert cluster_rows(points, 3) == [list(range(5)), list(range(5, 10)), list(range(10, 15))]


@pytest.mark.long
def test_the_best_of_several_beginnings_stands_whatever_the_seed() -> None:
    points = _around((0, 0), (5, 5), (0, 5), (5, 0))
    assert all(cluster_rows(points, 4, seed) == cluster_rows(points, 4, 0) for seed in range(20))


def test_the_sum_of_squares_is_the_least_of_all_partitions() -> None:
    points = np.random.default_rng(3).normal(size=(8, 2))

    def spread(groups: list[list[int]]) -> float:
        return sum(float(((points[group] - points[group].mean(axis=0)) ** 2).sum()) for group in groups)

    halves = [
        [list(part), [n for n in range(8) if n not in part]]
        for size in range(1, 5)
        for part in itertools.combinations(range(8), size)
    ]
    assert spread(cluster_rows(points, 2)) == pytest.approx(min(map(spread, halves)))


def test_copies_make_no_cluster_of_their_own() -> None:
    assert cluster_rows(np.ones((4, 3)), 3) == [[0, 1, 2, 3]]
    assert cluster_rows(np.array([[1.0, 0], [0, 1], [1, 0], [1, 0]]), 3) == [[0, 2, 3], [1]]


def test_few_rows_and_none() -> None:
    assert cluster_rows(np.zeros((0, 3)), 2) == []
    assert cluster_rows(np.ones((1, 3)), 2) == [[0]]
    assert cluster_rows(np.eye(2), 5) == [[0], [1]]
    with pytest.raises(InputError, match="at least one cluster"):
        cluster_rows(np.eye(2), 0)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(*[st.sampled_from([-1.0, 0.0, 0.5, 1.0])] * 3), min_size=1, max_size=12),
    st.integers(1, 6),
    st.integers(0, 3),
)
def test_clusters_hold_every_row_once_and_copies_together(
    rows: list[tuple[float, ...]], k: int, seed: int
) -> None:
    groups = cluster_rows(np.array(rows), k, seed)
    assert sorted(n for group in groups for n in group) == list(range(len(rows)))
    assert 1 <= len(groups) <= min(k, len(set(rows)))
    group_of = {n: at for at, group in enumerate(groups) for n in group}
    assert all(group_of[a] == group_of[b] for a in group_of for b in group_of if rows[a] == rows[b])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(1, 9), st.integers(0, 5))
def test_subsets_are_different_take_one_of_each_cluster_and_are_as_many_as_can_be(
    sizes: list[int], most: int, seed: int
) -> None:
    ends = list(itertools.accumulate(sizes))
    groups = [list(range(end - size, end)) for end, size in zip(ends, sizes, strict=True)]
    drawn = subsets(groups, most, seed)
    assert len(set(drawn)) == len(drawn) == min(most, int(np.prod(sizes)))
    assert all(sum(n in group for n in subset) == 1 for subset in drawn for group in groups)
    assert drawn == subsets(groups, most, seed)


def test_another_seed_draws_other_subsets() -> None:
    groups = [list(range(10)), list(range(10, 20))]
    assert subsets(groups, 5, 0) != subsets(groups, 5, 1)


def test_a_great_many_subsets_are_drawn_from_without_making_them() -> None:
    assert len(subsets([list(range(n * 50, n * 50 + 50)) for n in range(10)], 5)) == 5


def test_words_tell_texts_apart_and_an_empty_text_is_near_nothing() -> None:
    vectors = word_vectors(["A ferry crosses the sound.", "The ferry crossed a sound", "Sheep graze.", ""])
    near = vectors @ vectors.T
    assert near[0, 1] > 0.9 > 0.1 > near[0, 2]
    assert near[3, 3] == 0.0
    assert np.allclose(np.linalg.norm(vectors[:3], axis=1), 1.0)
