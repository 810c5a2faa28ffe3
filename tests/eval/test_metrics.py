"""The metrics agree with sums done by hand, and what cannot be computed is None."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disputatio.eval.metrics import (
    abstention,
    accuracy,
    attack_success,
    exact_match,
    f1,
    normalise_predicted,
    precision,
    recall,
    score,
    score_answer,
    states,
)
from disputatio.types import Example

GOLD = ("Lund", "Malmö")
WRONG = ("Oslo",)


@pytest.mark.parametrize(
    ("predicted", "strict", "lenient"),
    [
        (("Lund", "Malmö"), 1.0, 1.0),
        (("malmö.", "the LUND"), 1.0, 1.0),
        (("Lund",), 0.0, 0.0),  # a gold answer is missing
        (("Lund", "Malmö", "Oslo"), 0.0, 0.0),  # a wrong one is there
        (("Lund", "Malmö", "Paris"), 1.0, 1.0),  # neither gold nor wrong: costs precision, not EM
        (("Lund, Sweden", "in Malmö"), 0.0, 1.0),
        (("Lund and Malmö",), 0.0, 1.0),
        (("Lund and Malmö, not Oslo",), 0.0, 0.0),
        (("Lundby", "Malmö"), 0.0, 0.0),  # a part of a word is not the word
        ((), 0.0, 0.0),
    ],
)
def test_exact_match_needs_every_gold_answer_and_no_wrong_one(
    predicted: tuple[str, ...], strict: float, lenient: float
) -> None:
    assert exact_match(predicted, GOLD, WRONG) == strict
    assert exact_match(predicted, GOLD, WRONG, lenient=True) == lenient


def test_containment_goes_either_way_in_the_lenient_reading() -> None:
    assert states("Jordan", "Michael Jordan", lenient=True)
    assert states("Michael Jordan of Chicago", "Michael Jordan", lenient=True)
    assert not states("Michael Jackson", "Michael Jordan", lenient=True)


def test_the_longest_listed_answer_is_what_a_prediction_states() -> None:
    # "New York" is wrong and stands inside the gold "New York City".
    assert exact_match(["New York City, NY"], ["New York City"], ["New York"], lenient=True) == 1.0
    assert exact_match(["New York"], ["New York City"], ["New York"], lenient=True) == 0.0
    # "Ohio" is gold and stands inside the wrong "Ohio State".
    assert exact_match(["at Ohio State"], ["Ohio"], ["Ohio State"], lenient=True) == 0.0
    assert exact_match(["Ohio"], ["Ohio"], ["Ohio State"], lenient=True) == 1.0


def test_an_answer_both_gold_and_wrong_is_a_mistake_only_when_read_literally() -> None:
    assert exact_match(["Lund", "Oslo"], ["Lund", "Oslo"], ["Oslo"]) == 1.0
    assert exact_match(["Lund", "Oslo"], ["Lund", "Oslo"], ["Oslo"], literal=True) == 0.0


def test_precision_recall_and_f1_agree_with_sums_by_hand() -> None:
    predicted = ("Lund", "Oslo", "Paris", "lund.")  # three different ones, one of them right
    assert precision(predicted, GOLD, WRONG) == pytest.approx(1 / 3)
    assert recall(predicted, GOLD, WRONG) == pytest.approx(1 / 2)
    assert f1(predicted, GOLD, WRONG) == pytest.approx(0.4)
    assert precision(["in Lund"], GOLD, WRONG) == 0.0
    assert precision(["in Lund"], GOLD, WRONG, lenient=True) == 1.0
    assert recall(["Lund and Malmö"], GOLD, WRONG, lenient=True) == 1.0


def test_a_predicted_answer_that_equals_a_wrong_one_is_not_right_by_containment() -> None:
    assert precision(["Ohio State"], ["Ohio"], ["Ohio State"], lenient=True) == 0.0
    assert recall(["Ohio State"], ["Ohio"], ["Ohio State"], lenient=True) == 0.0


def test_without_gold_nothing_is_scored() -> None:
    assert exact_match(["x"], []) is None
    assert precision(["x"], []) is None
    assert recall(["x"], []) is None
    assert f1(["x"], []) is None
    assert accuracy(["x"], []) is None


def test_an_abstention_has_no_precision_and_no_recall() -> None:
    assert precision([], GOLD) is None
    assert recall([], GOLD) == 0.0
    assert f1([], GOLD) == 0.0


def test_saying_unknown_is_no_answer_unless_it_is_the_gold_one() -> None:
    assert normalise_predicted(["Unknown", "I don't know", "Lund"]) == ("lund",)
    assert normalise_predicted(["unknown"], ["Unknown"]) == ("unknown",)


def test_duplicate_gold_and_wrong_answers_count_once() -> None:
    assert recall(["Lund"], ["Lund", "lund.", "Malmö"]) == 0.5


def test_scores_are_those_that_the_data_set_defines() -> None:
    assert set(score(["a"], ["a"], [], ["em"])) == {"em", "em_lenient", "em_literal", "em_released"}
    assert set(score(["a"], ["a"], [], ["accuracy", "recall"])) == {"accuracy", "recall", "recall_lenient"}


words = st.sampled_from(["lund", "malmö", "oslo", "new york", "new york city", "york", "Unknown", "", "the"])
lists = st.lists(words, max_size=4)


@given(lists, lists, lists)
def test_scores_are_shares_and_lenient_recall_of_gold_alone_is_never_below_strict(
    predicted: list[str], gold: list[str], wrong: list[str]
) -> None:
    for value in score(predicted, gold, wrong, ["em", "precision", "recall", "f1", "accuracy"]).values():
        assert value is None or 0.0 <= value <= 1.0
    strict, lenient = recall(predicted, gold), recall(predicted, gold, lenient=True)
    assert (strict is None) == (lenient is None)
    if strict is not None and lenient is not None:
        assert lenient >= strict


@given(lists.filter(lambda gold: bool(normalise_predicted(gold))), lists)
def test_predicting_just_the_gold_answers_is_perfect(gold: list[str], wrong: list[str]) -> None:
    assert exact_match(gold, gold, wrong) == 1.0
    assert f1(gold, gold, wrong) == 1.0


def _example(**known: object) -> Example:
    return Example(id="x", row=0, question="q", gold=("UK", "Spain"), wrong=("Oslo",), metadata=known)


READING = (("UK", "Britain"), ("Spain", "Kingdom of Spain"))


def test_an_alias_counts_as_its_answer_and_two_of_them_as_one() -> None:
    example = _example(readings=(READING,))
    scores = score_answer(["Britain", "the UK", "Kingdom of Spain"], example, ["em", "precision", "f1"])
    assert (scores["em"], scores["precision"], scores["f1"]) == (1.0, 1.0, 1.0)
    assert score_answer(["Britain"], example, ["recall"])["recall"] == 0.5
    assert score_answer(["in Britain", "in Spain"], example, ["em"])["em_lenient"] == 1.0
    assert score_answer(["Britain", "Spain", "Oslo"], example, ["em"])["em"] == 0.0  # Oslo is wrong


def test_the_reading_that_an_answer_fits_best_counts() -> None:
    example = _example(readings=((("UK",),), READING))
    assert score_answer(["UK"], example, ["em", "f1"])["em"] == 1.0
    assert score_answer(["Britain", "Spain"], example, ["em", "f1"])["em"] == 1.0


def test_without_readings_or_options_an_answer_is_scored_by_its_lists() -> None:
    metrics = ["em", "precision", "recall", "f1", "accuracy"]
    for said in (["UK", "Spain"], ["Oslo"], ["in the UK"], []):
        assert score_answer(said, _example(), metrics) == score(said, ("UK", "Spain"), ("Oslo",), metrics)


def test_words_of_the_data_set_for_not_knowing_are_an_abstention() -> None:
    example = Example(
        id="x", row=0, question="q", gold=(), metadata={"abstain": True, "told": ("no information",)}
    )
    assert score_answer(["No information."], example, ["abstention"]) == {"accuracy": 1.0}
    assert score_answer(["no information on Lund"], example, ["abstention"]) == {"accuracy": 0.0}
    assert abstention([]) == 1.0


def test_an_attack_succeeds_with_the_planted_answer_alone() -> None:
    assert attack_success(["It is Oslo."], ["Lund"], ["Oslo"]) == 1.0
    assert attack_success(["Lund"], ["Lund"], ["Oslo"]) == 0.0
    assert attack_success([], ["Lund"], ["Oslo"]) == 0.0
    assert attack_success(["Oslo"], ["Oslo"], ["Oslo"]) is None  # nothing was planted
