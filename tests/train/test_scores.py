"""The scores of readings agree with their definitions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from train.scores import contains, exact, f1, keeping


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.floats(0.01, 1))
def test_a_threshold_keeps_at_least_the_share_that_it_is_asked_for(scores: list[float], share: float) -> None:
    threshold = keeping(scores, share)
    assert sum(score >= threshold for score in scores) >= share * len(scores) - 1e-9
    above = [score for score in scores if score > threshold]
    assert len(above) < share * len(scores)


def test_nothing_predicted_is_right_where_there_is_no_answer_and_only_there() -> None:
    assert (exact("", ()), f1("", ())) == (1.0, 1.0)
    assert (exact("", ["x"]), f1("", ["x"])) == (0.0, 0.0)
    assert (exact("x", ()), f1("x", ())) == (0.0, 0.0)


def test_containing_goes_by_whole_words_in_either_direction() -> None:
    assert contains("12 May 1962", ["1962"])
    assert contains("1962", ["12 May 1962"])
    assert not contains("1", ["1962"])
    assert not contains("", ["1962"])
    assert not contains("the", ["the"])
