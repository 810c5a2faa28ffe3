"""The number of right answers is one, unless something tells that the answers belong to different things."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from disputatio.llm.scripted import Line
from disputatio.types import Answer, Passage
from tests.strategies.disputation_agents import Agents, answered, passage, verdicts, word

TOLD = {
    "a": ("The Severin bridge was opened in 1931, after four years of work.", "1931"),
    "b": ("In 1931 the Severin bridge opened to traffic.", "1931"),
    "c": ("The Severin bridge was opened in 1934 by the mayor.", "1934"),
    "d": ("The toll on the Severin bridge was abolished in 1950.", "1950"),
}
WORDINGS = (
    "In what year was the Severin bridge opened?",
    "When was the Severin bridge opened?",
    "when did the severin bridge open",
    "Severin bridge: year of opening?",
)


def reads(_: str, told: str) -> Line:
    """Return a reader that takes whatever year there is, also that of the toll."""
    return word(next(year for text, year in TOLD.values() if text in told), "Severin bridge")


def bridge(*, title: str = "", sourced: bool = True) -> list[Passage]:
    return [
        passage(name, text, title=title, source=name if sourced else "") for name, (text, _) in TOLD.items()
    ]


def asked(question: str, passages: list[Passage], **options: Any) -> Answer:
    return answered(Agents(reads=reads), passages, question, belief=False, debate=0, **options)


@pytest.mark.long
@pytest.mark.parametrize("question", WORDINGS)
@pytest.mark.parametrize("title", ["", "Severin bridge"])
@pytest.mark.parametrize("sourced", [True, False])
def test_the_year_that_most_say_is_the_answer_and_no_other_is_right(
    question: str, title: str, sourced: bool
) -> None:
    for order in itertools.islice(itertools.permutations(bridge(title=title, sourced=sourced)), 0, 24, 5):
        answer = asked(question, list(order))
        assert answer.answers == ("1931",)
        assert verdicts(answer) == {"1931": "accepted", "1934": "rejected", "1950": "rejected"}
        assert answer.conflict.kind == "misinformation"


def test_several_are_right_where_the_user_says_so() -> None:
    answer = asked(WORDINGS[0], bridge(), expect="several")
    assert set(answer.answers) == {"1931", "1934", "1950"}
    assert answer.expect == "several"


def test_a_question_for_a_list_has_several_answers() -> None:
    answer = asked("What were the years of work on the Severin bridge?", bridge())
    assert set(answer.answers) >= {"1931", "1950"}  # 1934, told once in other words, reads worse than both
    assert answer.expect == "several"


def test_a_question_for_a_list_expects_several_also_where_one_answer_is_found() -> None:
    answer = asked("What were the years of work on the Severin bridge?", bridge()[:1])
    assert (answer.answers, answer.expect) == (("1931",), "several")


def test_titles_of_two_bridges_keep_an_answer_each_and_one_expected_answer_does_not() -> None:
    towns = [
        passage("x", TOLD["a"][0], title="Severin bridge, Norfolk"),
        passage("y", TOLD["c"][0], title="Severin bridge, Maine"),
    ]
    assert set(asked(WORDINGS[0], towns).answers) == {"1931", "1934"}
    assert asked(WORDINGS[0], towns).conflict.kind == "ambiguity"
    assert asked(WORDINGS[0], towns).expect == "several"
    one = asked(WORDINGS[0], towns, expect="one")
    assert verdicts(one) == {"1931": "unresolved", "1934": "unresolved"}
    assert one.expect == "one"


def test_one_is_right_where_it_won_against_others_or_none_did() -> None:
    assert asked(WORDINGS[0], bridge()).expect == "one"
    equals = asked(WORDINGS[0], [bridge()[0], bridge()[2]])
    assert (set(equals.answers), equals.expect) == ({"1931", "1934"}, "one")
