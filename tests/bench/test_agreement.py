"""Agreement and discrimination agree with their definitions, worked by hand or by another way."""

from __future__ import annotations

import random

import pytest

from bench.lib.agreement import calibration, calibration_error, resampled, roc_auc


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


def test_samples_in_which_the_statistic_is_undefined_are_left_out() -> None:
    rare = [(0.9, True), (0.2, False), (0.3, False)]
    assert resampled(rare, lambda some: roc_auc([a for a, _ in some], [b for _, b in some])).low == 1.0
