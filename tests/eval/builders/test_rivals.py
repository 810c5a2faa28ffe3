"""A wrong answer is of the right one's type, and a copy that tells it tells nothing of the truth."""

from __future__ import annotations

import re

import pytest

from disputatio.eval.builders.bearing import rarities
from disputatio.eval.builders.rivals import rivals, swap_answers


def test_the_answer_of_the_most_similar_question_comes_first() -> None:
    known = [
        ("Who painted the hall of Lund?", "Ada Fenn"),
        ("Who sailed first?", "Bo Holt"),
        ("Who painted the hall of Oslo?", "Cy Brim"),
    ]
    found = list(rivals("Who painted the hall of Riga?", "Di Tarn", known))
    assert set(found[:2]) == {"Ada Fenn", "Cy Brim"}
    assert found[2:] == ["Bo Holt"]


def test_answers_to_avoid_the_question_s_own_words_and_other_types_are_left_out() -> None:
    known = [
        ("Who built it?", "Ada Lund"),
        ("Who led it?", "Ola Riga"),
        ("Who won it?", "1921"),
        ("Who rules it?", "the Council"),
    ]
    assert list(rivals("Who built the Ola Riga hall?", "Bo Fenn", known, avoid=["Lund"])) == []


def test_an_answer_to_another_question_on_the_same_subject_might_be_right_and_is_left_out() -> None:
    questions = ["Who plays the beast in Alder Hall?", "Who is the beast of Alder Hall?", "Who plays Ada?"]
    known = list(zip(questions, ["Al Fenn", "Bo Holt", "Cy Brim"], strict=True))
    rarity = rarities([*questions, *(f"Who plays in part {n}?" for n in range(20))])
    assert "Bo Holt" in list(rivals(questions[0], "Al Fenn", known))
    assert list(rivals(questions[0], "Al Fenn", known, rarity=rarity)) == ["Cy Brim"]


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        ("1921", r"\d{4}"),
        ("May 7, 1975", r"[A-Z][a-z]+ \d{1,2}, \d{4}"),
        ("2015–16", r"(\d\d)(\d\d)–\d\d"),
        ("1918-1919", r"\d{4}-\d{4}"),
        ("54th", r"\d+(st|nd|rd|th)"),
        ("3,559", r"\d+,559"),
    ],
)
def test_figures_keep_their_form(answer: str, form: str) -> None:
    found = list(rivals("When?", answer, []))
    assert len(found) > 3
    assert all(re.fullmatch(form, one) for one in found), found
    assert answer not in found


def test_a_span_keeps_its_length_and_an_ordinal_its_ending() -> None:
    for rival in rivals("When?", "1918-1919", []):
        first, last = map(int, rival.split("-"))
        assert last - first == 1
    endings = {rival[-2:] for rival in rivals("Which?", "51st", []) if rival[-3] != "1" and rival[-3] == "2"}
    assert endings <= {"nd"}


def test_no_year_lies_ahead() -> None:
    assert all(int(rival) <= 2025 for rival in rivals("When?", "2024", []))


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        ("It opened on 10 April 1876.", ["1876"], "3 May 1858"),  # a date within a date
        ("He reigned 1934–1940.", ["1940"], "1925"),  # the other end of the span belies it
        ("Born 7 May 1868 (1868-05-07).", ["7 May 1868"], "8 May 1888"),  # the year stays
        ("A game of football, on the football field.", ["a game of football"], "a game of chess"),
        ("Designed by Carl A. Gregory.", ["Carl A"], "Frank Wright"),  # a longer name, cut in two
        ("The Vell University Hospital.", ["Vell"], "Tarn"),
        ("In 1876 and 1858.", ["1876"], "1858"),  # it has both already
        ("Nothing of the kind.", ["1876"], "1858"),
    ],
)
def test_a_copy_that_would_not_read_or_still_tells_the_truth_is_refused(
    text: str, right: list[str], wrong: str
) -> None:
    assert swap_answers(text, right, wrong) is None


@pytest.mark.parametrize(
    ("text", "right", "wrong", "copy"),
    [
        ("She is an engineer.", ["engineer"], "painter", "She is a painter."),
        ("Painters came. She is a painter .", ["painter"], "engineer", None),
        ("A novel by Bo. The novel won.", ["a novel", "novel"], "poem", "Poem by Bo. The poem won."),
        ("Ada Lund sang. Lund left.", ["Ada Lund"], "Bo Fenn", "Bo Fenn sang. Fenn left."),
        ("Either 1921 or May 1921.", ["1921"], "1930", "Either 1930 or May 1930."),
        ("By Ada Lund and Cy Brim.", ["Ada Lund", "Cy Brim"], "Bo Fenn", "By Bo Fenn."),
    ],
)
def test_every_name_of_the_right_answer_is_replaced_and_grammar_follows(
    text: str, right: list[str], wrong: str, copy: str | None
) -> None:
    assert swap_answers(text, right, wrong) == copy
