"""Dates: found in their usual notations, and an answer given as its passage writes it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disputatio.strategies.disputation.form import Date, as_written, dates

BORN = "When was he born?"
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def read(text: str) -> list[tuple[int, int | None, int | None]]:
    return [(one.year, one.month, one.day) for one in dates(text)]


@pytest.mark.parametrize(
    "text",
    [
        "18 December 1868",
        "18th of December, 1868",
        "December 18, 1868",
        "dec. 18th 1868",
        "1868-12-18",
        "18 DEC 1868",
    ],
)
def test_a_day_is_read_in_every_notation(text: str) -> None:
    assert read(text) == [(1868, 12, 18)]


def test_a_date_is_read_once_and_not_again_as_its_month_or_year() -> None:
    assert read("on 4 May 1921, in June 1922 and in 1923") == [
        (1921, 5, 4),
        (1922, 6, None),
        (1923, None, None),
    ]


@pytest.mark.parametrize(
    "text", ["12,650 people", "room 19054", "model A1901", "the year 3021", "18 December"]
)
def test_other_figures_are_no_dates(text: str) -> None:
    assert read(text) == []


@given(st.integers(1000, 2999), st.integers(1, 12), st.integers(1, 28), st.text(alphabet="x. (", max_size=5))
def test_a_date_stands_where_it_says(year: int, month: int, day: int, before: str) -> None:
    written = f"{day} {MONTHS[month - 1]} {year}"
    (one,) = dates(f"{before} {written}.")
    assert f"{before} {written}."[one.start : one.end] == written
    assert (one.year, one.month, one.day) == (year, month, day)


def test_a_date_is_within_another_as_far_as_it_goes() -> None:
    whole = Date(0, 0, 1868, 12, 18)
    assert Date(0, 0, 1868).within(whole)
    assert Date(0, 0, 1868, 12).within(whole)
    assert not Date(0, 0, 1869).within(whole)
    assert not Date(0, 0, 1868, 11).within(whole)
    assert not Date(0, 0, 1868, 12, 17).within(whole)
    assert not whole.within(Date(0, 0, 1868))


def test_a_year_becomes_the_whole_date_of_its_passage() -> None:
    assert as_written(BORN, "1868", "Lamb was born on 18 December 1868 in Oban.") == "18 December 1868"


def test_a_year_becomes_its_month_where_no_day_is_written() -> None:
    assert as_written(BORN, "1868", "Born (1868). Lamb came in December 1868.") == "December 1868"


def test_a_date_turned_round_is_given_in_the_words_of_the_passage() -> None:
    assert as_written(BORN, "1868-12-18", "Born December 18, 1868.") == "December 18, 1868"


def test_a_year_stays_one_where_the_question_asks_for_a_year() -> None:
    assert as_written("In which year was he born?", "1868", "Born 18 December 1868.") == "1868"


def test_the_date_of_another_year_is_not_taken() -> None:
    assert as_written(BORN, "1868", "Born in 1868, died on 3 May 1901.") == "1868"


@pytest.mark.parametrize("answer", ["1868 to 1901", "about 1868", "Oban", "", "Lamb, 1868"])
def test_an_answer_that_is_not_one_bare_date_stays_as_it_is(answer: str) -> None:
    assert as_written(BORN, answer, "Lamb: 18 December 1868 to 3 May 1901") == answer


@given(st.text(max_size=60), st.text(max_size=60))
def test_what_is_given_is_the_answer_or_words_of_the_passage(answer: str, text: str) -> None:
    given_back = as_written(BORN, answer, text)
    assert given_back == answer or given_back in text


@pytest.mark.parametrize(
    "question",
    ["How many people lived there?", "How much did it cost?", "how  large is Corle?", "How tall is it?"],
)
def test_a_count_is_not_taken_for_a_year(question: str) -> None:
    text = "Of 1868 in all, it was written on 3 May 1868."
    assert as_written(question, "1868", text) == "1868"
    assert as_written(BORN, "1868", text) == "3 May 1868"


def test_a_month_becomes_the_day_of_its_passage() -> None:
    assert as_written("When did it open?", "May 1901", "It opened on 12 May 1901.") == "12 May 1901"
    assert (
        as_written("When did it open?", "May 1901", "Built in May 1901, opened 12 June 1901.") == "May 1901"
    )


def test_a_whole_date_is_never_shortened() -> None:
    assert as_written(BORN, "12 May 1901", "He was born in May 1901, in 1901.") == "12 May 1901"


@pytest.mark.parametrize("question", ["What is the population of Corle?", "What was the price?"])
def test_a_bare_figure_is_no_year_where_no_date_is_asked_for(question: str) -> None:
    assert as_written(question, "1868", "It was 1868, as was written on 3 May 1868.") == "1868"
