"""The form of an answer: as much of what a passage says as the question asks for."""

from __future__ import annotations

import pytest

from disputatio.strategies.disputation import reading
from disputatio.strategies.disputation.form import to_asked_form, trim
from disputatio.strategies.disputation.sides import sides_of
from disputatio.types import Passage, Reply

PAGE = "Ada Berg (born 1868). Ada Berg, 18 December 1868, Oban."


@pytest.mark.parametrize(
    ("question", "read", "given"),
    [
        ("When was Ada Berg born?", "1868", "18 December 1868"),
        ("When was Ada Berg born?", "12 May 1901 – 3 June 1980", "12 May 1901"),
        ("When did Ada Berg die?", "12 May 1901 – 3 June 1980", "3 June 1980"),
        ("When was she born, and when did she die?", "1 May 1901 – 3 June 1980", "1 May 1901 – 3 June 1980"),
        ("Which year was it built?", "1848, and rebuilt", "1848"),
        ("In which year was it built?", "3 June 1848", "3 June 1848"),
        ("What is the population of Dell?", "7,094 people", "7,094 people"),
        ("How many boats are there?", "40 as of last spring", "40"),
        ("Which city is it in?", "Brookline, Massachusetts", "Brookline"),
        ("Which country is it in?", "Cheras, Selangor, Malaysia", "Malaysia"),
        ("In which state is it?", "Dell, Iowa, United States", "Iowa"),
        ("Who are the parents?", "Ada, Berg, Oban", "Ada, Berg, Oban"),
        ("Who sang it?", "Anna Berg\nSongs of the year", "Anna Berg"),
        ("Who sang it?", "(", "("),
        ("Who sang it?", "", ""),
    ],
)  # fmt: skip
def test_an_answer_has_the_form_that_is_asked_for(question: str, read: str, given: str) -> None:
    assert to_asked_form(question, read, PAGE) == given


def test_a_year_with_several_days_in_the_passage_stays_a_year() -> None:
    page = "Begun on 3 June 1848, opened on 9 August 1848."
    assert to_asked_form("When was it opened?", "1848", page) == "1848"


def test_a_table_s_filled_in_date_is_no_fuller_one() -> None:
    assert to_asked_form("When was it founded?", "1862", "inception: 1862-01-01") == "1862"


@pytest.mark.parametrize("answer", ["Anna", "x (y) z", "a b a c", "12 (of 40) boats", ""])
def test_what_is_tidy_stays_as_it_is(answer: str) -> None:
    assert trim(answer) == answer


def test_the_other_forms_of_an_answer_are_kept_as_aliases() -> None:
    answers = ["1962", "12 May 1962", "May 1962", "12 May 1962", "in 1962"]
    [side] = sides_of(
        [
            reading.PassageReading(passage=Passage(text=text), reply=Reply(passages=(), answer=text))
            for text in answers
        ]
    )
    assert side.answer == "12 May 1962"
    assert side.aliases == ("1962", "May 1962", "in 1962")
