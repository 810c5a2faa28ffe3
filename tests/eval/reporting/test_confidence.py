"""Risk against coverage and calibration agree with figures worked out by hand."""

from __future__ import annotations

import itertools

import pytest

from disputatio.eval.reporting.confidence import ScoredAnswer, risk_coverage

# Four answers to five questions; the fifth was an abstention. Risks as they are let in: 0, 1/2, 1/3, 2/4.
FOUR = [
    ScoredAnswer(score=1.0, confidence=0.9),
    ScoredAnswer(score=0.0, confidence=0.8),
    ScoredAnswer(score=1.0, confidence=0.6),
    ScoredAnswer(score=0.0, confidence=0.3),
]


def test_answers_are_let_in_by_falling_confidence_and_an_abstention_never() -> None:
    curve = risk_coverage(FOUR, questions=5)
    assert [coverage for coverage, _, _ in curve.points] == pytest.approx([0.2, 0.4, 0.6, 0.8])
    assert [risk for _, risk, _ in curve.points] == pytest.approx([0, 1 / 2, 1 / 3, 1 / 2])
    assert [last for _, _, last in curve.points] == [0.9, 0.8, 0.6, 0.3]
    assert (curve.questions, curve.answered, curve.unsure) == (5, 4, 0)


def test_the_area_is_the_mean_risk_on_the_way() -> None:
    area = risk_coverage(FOUR, questions=5).area
    assert area is not None
    assert area.value == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)
    assert area.low is not None
    assert area.high is not None
    assert 0 <= area.low <= area.value <= area.high <= 1


def test_answers_of_one_confidence_are_let_in_together_whatever_their_order() -> None:
    tied = [
        ScoredAnswer(score=1.0, confidence=0.5),
        ScoredAnswer(score=0.0, confidence=0.5),
        ScoredAnswer(score=1.0, confidence=0.9),
    ]
    curves = [risk_coverage(order, questions=3, resamples=200) for order in itertools.permutations(tied)]
    assert all(curve == curves[0] for curve in curves)
    assert [value for point in curves[0].points for value in point[:2]] == pytest.approx([1 / 3, 0, 1, 1 / 3])
    assert curves[0].area is not None
    assert curves[0].area.value == pytest.approx((0 + 1 / 3 + 1 / 3) / 3)


def test_the_calibration_error_is_the_mean_gap_over_the_bins() -> None:
    # Bins (0.8, 0.9], (0.7, 0.8], (0.5, 0.6], (0.2, 0.3]: gaps 0.1, 0.8, 0.4, 0.3, one answer in each.
    ece = risk_coverage(FOUR, questions=5).ece
    assert ece is not None
    assert ece.value == pytest.approx((0.1 + 0.8 + 0.4 + 0.3) / 4)


def test_one_bin_with_several_answers_counts_their_means() -> None:
    curve = risk_coverage([ScoredAnswer(score=s, confidence=0.75) for s in (1.0, 1.0, 1.0, 0.0)], questions=4)
    assert curve.ece is not None
    assert curve.ece.value == pytest.approx(0.0)
    (held,) = curve.bins
    assert (held.low, held.high, held.n, held.confidence, held.score) == (0.7, 0.8, 4, 0.75, 0.75)


def test_without_a_confidence_there_is_one_point_and_no_figure() -> None:
    some = [*FOUR, ScoredAnswer(score=1.0, confidence=None)]
    curve = risk_coverage(some, questions=10)
    ((coverage, risk, last),) = curve.points
    assert [coverage, risk] == pytest.approx([0.5, 0.4])
    assert last is None
    assert (curve.unsure, curve.area, curve.ece, curve.bins) == (1, None, None, ())


def test_without_an_answer_there_is_nothing_to_draw() -> None:
    curve = risk_coverage([], questions=3)
    assert (curve.points, curve.area, curve.answered) == ((), None, 0)


def test_one_answer_has_figures_and_no_interval() -> None:
    curve = risk_coverage(FOUR[:1], questions=1)
    assert curve.area is not None
    assert (curve.area.value, curve.area.low) == (0.0, None)
