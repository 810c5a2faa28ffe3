"""Triplets: what an agent adds to its passage is left out, and the judge's threshold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disputatio.agents.passage_judge import Triplet, borne_out, judge, keep, predict, threshold
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.types import Passage, Reply
from tests.strategies.desk import found

PASSAGE = Passage(
    id="p",
    title="Tarnwick, Vell County",
    text="The census counted 12,650 people. The town has a harbour. It was founded in 1311 by monks.",
)


def scored(*scores: float | None) -> list[Triplet]:
    return [
        Triplet(
            question="?", passage=Passage(id=f"p{n}", text="x"), reply=Reply(passages=(f"p{n}",)), score=one
        )
        for n, one in enumerate(scores)
    ]


def told(answer: str, question: str = "?") -> list[tuple[str, list[str]]]:
    borne = borne_out(question, PASSAGE, answer)
    return [(one.text, [cited.quote for cited in one.citations]) for one in borne]


# --- what a passage bears out -------------------------------------------------------------------
@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("The census counted 12,650 people in Tarnwick.", "The census counted 12,650 people."),
        ("Founded in 1311 by monks.", "It was founded in 1311 by monks."),
    ],
)
def test_a_statement_rests_on_the_sentence_that_says_it(statement: str, sentence: str) -> None:
    assert told(statement) == [(statement, [sentence])]


@pytest.mark.parametrize(
    "invented",
    [
        "The population of Tarnwick is 1,200.",
        "Vell County is far away.",
        "Tarnwick is a lovely place for pirates.",
        "yes",
    ],
)
def test_what_no_sentence_says_is_left_out_even_under_the_right_title(invented: str) -> None:
    assert told(invented) == []


def test_of_sentences_that_bear_a_statement_out_the_one_with_most_of_its_words_is_cited() -> None:
    passage = Passage(id="p", text="The town has a large harbour. The town has a small stone harbour.")
    [one] = borne_out("?", passage, "The town has a small stone harbour.")
    assert [cited.quote for cited in one.citations] == ["The town has a small stone harbour."]


def test_a_true_statement_stays_when_an_invented_one_stands_beside_it() -> None:
    assert [one for one, _ in told("The town has a harbour. It was built by John Smith in 1887.")] == [
        "The town has a harbour."
    ]


def test_two_neighbours_bear_out_together_what_neither_does_alone() -> None:
    assert told("The census counted 12,650 people in the town with a harbour.")[0][1] == [
        "The census counted 12,650 people."
    ]
    assert told("A town that has a harbour and 12,650 inhabitants.")[0][1] == [
        "The census counted 12,650 people. The town has a harbour."
    ]


def test_a_bare_yes_rests_on_the_sentence_that_has_the_words_of_the_question() -> None:
    assert told("Yes", "Has the town a harbour?") == [("Yes.", ["The town has a harbour."])]
    assert told("Yes", "Is Tarnwick pretty in spring?") == []


@given(st.text(max_size=80), st.text(max_size=20))
def test_every_place_is_verbatim(answer: str, question: str) -> None:
    for one in borne_out(question, PASSAGE, answer):
        for cited in one.citations:
            assert cited.quote == PASSAGE.text[cited.start : cited.end] != ""


# --- the judge ----------------------------------------------------------------------------------
def test_a_score_is_the_difference_of_the_two_log_probabilities() -> None:
    model = Scripted([found("The town has a harbour.")], choices=lambda _: {"Yes": 0.8, "No": 0.2})
    [one] = judge(predict([("?", PASSAGE)], Kit(model=model)), Kit(model=model))
    assert one.score == pytest.approx(1.3863, abs=1e-4)


def test_nobody_is_asked_where_all_agents_failed() -> None:
    model = Scripted(["no"])
    [one] = judge(predict([("?", PASSAGE)], Kit(model=model)), Kit(model=model))
    assert (one.score, len(model.calls)) == (None, 1)
    assert one.reply.fault == "it is prose, not one JSON object: it begins 'no'"


def test_the_threshold_is_mean_less_n_deviations_and_order_is_by_score() -> None:
    kept = keep(scored(1.0, None, 3.0, -2.0, 2.0), 0.5)
    assert [one.score for one in kept] == [3.0, 2.0, 1.0]
    assert threshold([1.0, 3.0, -2.0, 2.0], 0.5) == pytest.approx(1.0 - 0.5 * 1.8708, abs=1e-4)
    assert keep(scored(None, None), 0.5) == keep([], 0.5) == []


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=30), st.floats(-3, 3))
def test_the_threshold_always_keeps_the_best(scores: list[float], n: float) -> None:
    kept = keep(scored(*scores), n)
    assert kept[0].score == max(scores)
