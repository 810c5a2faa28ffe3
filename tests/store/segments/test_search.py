"""Fusion against figures worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from disputatio.store.segments.search import (
    CANDIDATES,
    Ranking,
    best,
    candidates,
    cut,
    first_of_groups,
    fuse,
    normalise,
    sort_falling,
)

Floats = NDArray[np.float32]


def _floats(*values: float) -> Floats:
    return np.array(values, dtype=np.float32)


def rank(
    sparse: Floats,
    dense: Floats | None,
    *,
    k: int,
    alpha: float,
    allowed: NDArray[np.bool_],
    groups: NDArray[np.int64] | None = None,
    per_group: int | None = None,
) -> Ranking:
    """Candidates chosen, fused and cut, as a search does."""
    rows = candidates(sparse, dense, many=max(k, CANDIDATES), allowed=allowed, groups=groups)
    return cut(fuse(sparse, dense, rows, alpha), k, groups, per_group)


def test_both_scores_are_stretched_over_the_candidates_and_weighed_by_alpha() -> None:
    sparse = _floats(0, 4, 2, 9)
    dense = _floats(0.9, 0.5, 0.1, 0.99)
    ranking = fuse(sparse, dense, np.array([0, 1, 2]), alpha=0.35)
    # sparse 0, 1, .5; dense 1, .5, 0: S = .65, .35 + .325, .175
    assert ranking.rows.tolist() == [1, 0, 2]
    assert ranking.scores.tolist() == pytest.approx([0.675, 0.65, 0.175])
    assert ranking.sparse.tolist() == pytest.approx([1.0, 0.0, 0.5])
    assert ranking.dense is not None
    assert ranking.dense.tolist() == pytest.approx([0.5, 1.0, 0.0])


def test_without_a_dense_scorer_the_keyword_score_stands_alone() -> None:
    ranking = fuse(_floats(1, 3, 2), None, np.array([0, 1, 2]), alpha=0.35)
    assert ranking.rows.tolist() == [1, 2, 0]
    assert ranking.scores.tolist() == pytest.approx([1.0, 0.5, 0.0])
    assert ranking.dense is None


def test_equal_scores_do_not_divide_by_zero() -> None:
    assert normalise(_floats(2, 2)).tolist() == [1, 1]
    assert normalise(_floats(0, 0)).tolist() == [0, 0]
    assert normalise(_floats()).size == 0


def test_many_scores_fall_as_few_do() -> None:
    draw = np.random.default_rng(0)
    levels = np.array([-2.5, -1, -0.0, 0.0, 0.5, 1, np.inf], dtype=np.float32)
    for scores in (draw.normal(size=3000).astype(np.float32), draw.choice(levels, 3000)):
        assert sort_falling(scores).tolist() == np.argsort(-scores, kind="stable").tolist()


def test_best_breaks_ties_by_row() -> None:
    assert best(_floats(1, 1, 1, 2), 3, np.ones(4, dtype=bool)).tolist() == [3, 0, 1]


def test_every_group_gives_its_best() -> None:
    assert first_of_groups(np.array([0, 0, 0, 1, 2]), 2).tolist() == [0, 1, 3, 4]
    assert first_of_groups(np.zeros(0, dtype=int), 2).tolist() == []


def test_per_group_is_not_bounded_by_k_and_leaves_out_groups_without_a_match() -> None:
    sparse = _floats(3, 2, 1, 0, 4)
    groups = np.array([0, 0, 1, 2, 3])
    every = np.ones(5, dtype=bool)
    ranking = rank(sparse, None, k=1, alpha=0.35, allowed=every, groups=groups, per_group=1)
    assert ranking.rows.tolist() == [4, 0, 2]


def test_rows_that_are_not_allowed_are_neither_returned_nor_measured_against() -> None:
    ranking = rank(
        _floats(9, 2, 1), _floats(1, 0.5, 0), k=5, alpha=0.5, allowed=np.array([False, True, True])
    )
    assert ranking.rows.tolist() == [1, 2]
    assert ranking.scores.tolist() == [1.0, 0.0]


def test_a_candidate_of_one_scorer_gets_its_true_score_by_the_other() -> None:
    n = 300
    sparse, dense = np.zeros(n, dtype=np.float32), np.zeros(n, dtype=np.float32)
    sparse[:150] = np.arange(150, 0, -1)  # rows 100..149 match, but are no candidates of this scorer
    dense[149] = 1.0
    ranking = rank(sparse, dense, k=2, alpha=0.5, allowed=np.ones(n, dtype=bool))
    place = ranking.rows.tolist().index(149)
    # candidates: rows 0..99 by keyword; by meaning 149 and the 99 first rows. sparse(149) = 1, the least
    assert ranking.dense is not None
    assert ranking.dense[place] == 1.0
    assert ranking.scores[place] == pytest.approx(0.5)
