"""Agreement and discrimination agree with their definitions, worked by hand or by another way."""

from __future__ import annotations

import random

import pytest

from bench.lib.agreement import calibration, calibration_error, confusion, kappa, resampled, roc_auc

# Two raters on 50 items: (20 both yes, 15 both no, 5 yes-no, 10 no-yes); kappa 0.4 (a textbook example).
ONE = [1] * 25 + [0] * 25
OTHER = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15


def test_kappa_of_two_raters_is_the_textbooks() -> None:
    assert confusion(ONE, OTHER, [0, 1]) == [[15, 10], [5, 20]]
    for weights in ("none", "linear", "quadratic"):
        assert kappa(ONE, OTHER, [0, 1], weights) == pytest.approx(0.4)


def test_weights_price_a_disagreement_by_its_distance() -> None:
    exact, near, far = [-1, 0, 1, 2] * 5, [0, 0, 1, 2] * 5, [2, 0, 1, 2] * 5
    labels = [-1, 0, 1, 2]
    for weights in ("linear", "quadratic"):
        a, b = kappa(exact, near, labels, weights), kappa(exact, far, labels, weights)
        assert a is not None
        assert b is not None
        assert a > b
    # 15 agree and 5 are 3 grades apart, at a mean chance cost (by hand) of 1.25 a pair.
    assert kappa(exact, far, labels, "linear") == pytest.approx(1 - (5 * 3 / 20) / 1.25)


def test_kappa_is_below_zero_where_judges_contradict() -> None:
    assert kappa([0, 1, 0, 1], [1, 0, 1, 0], [0, 1]) == pytest.approx(-1.0)


def test_kappa_of_no_rows_or_one_grade_is_not_defined() -> None:
    assert kappa([], [], [0, 1]) is None
    assert kappa([1, 1], [1, 1], [0, 1]) is None
    with pytest.raises(ValueError, match="is none of"):
        kappa([3], [1], [0, 1])


def test_the_area_is_the_share_of_pairs_in_order() -> None:
    chance = random.Random(3)
    scores = [chance.randrange(8) / 8 for _ in range(60)]
    so = [chance.random() < 0.2 + 0.6 * score for score in scores]
    pairs = [
        (1.0 if a > b else 0.5 if a == b else 0.0)
        for a, x in zip(scores, so, strict=True)
        for b, y in zip(scores, so, strict=True)
        if x and not y
    ]
    assert roc_auc(scores, so) == pytest.approx(sum(pairs) / len(pairs))
    assert roc_auc([-s for s in scores], so) == pytest.approx(1 - sum(pairs) / len(pairs))
    with pytest.raises(ValueError, match="1 scores for 2"):
        roc_auc([0.1], [True, False])


def test_bins_hold_every_score_and_their_error_is_weighed_by_size() -> None:
    scores, so = [0.1, 0.1, 0.9, 0.9, 1.0, 0.0], [False, True, True, True, True, False]
    bins = calibration(scores, so, bins=2)
    assert [(bar.low, bar.high, bar.n) for bar in bins] == [(0.0, 0.5, 3), (0.5, 1.0, 3)]
    by_hand = (3 * abs(0.2 / 3 - 1 / 3) + 3 * abs(2.8 / 3 - 1)) / 6
    assert calibration_error(scores, so, bins=2) == pytest.approx(by_hand)
    assert calibration_error([], []) is None
    with pytest.raises(ValueError, match="is no probability"):
        calibration([1.2], [True])


def test_an_interval_holds_the_statistic_and_leaves_undefined_samples_out() -> None:
    pairs = list(zip(ONE, OTHER, strict=True))
    estimate = resampled(pairs, lambda some: kappa([a for a, _ in some], [b for _, b in some], [0, 1]))
    assert estimate.mean == pytest.approx(0.4)
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low < 0.4 < estimate.high
    assert estimate == resampled(
        pairs, lambda some: kappa([a for a, _ in some], [b for _, b in some], [0, 1])
    )
    rare = [(0.9, True), (0.2, False), (0.3, False)]
    assert resampled(rare, lambda some: roc_auc([a for a, _ in some], [b for _, b in some])).low == 1.0
