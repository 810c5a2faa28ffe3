"""The same thing or namesakes: what titles, subjects and similar texts show of two sides."""

from __future__ import annotations

from disputatio.strategies.disputation.resolve import names_of, same_thing, subject_of
from tests.strategies.disputation.made_sides import reading, side

QUESTION = "What is the population of Tarnwick?"


def test_titles_that_each_name_something_else_are_of_different_things() -> None:
    one, other = side("7", title="Tarnwick, Vell"), side("9", title="Tarnwick, Sorrel")
    assert not same_thing(QUESTION, one, other)
    assert same_thing(QUESTION, one, other, expect="one")


def test_a_title_that_names_less_may_be_of_the_same_thing() -> None:
    assert same_thing(QUESTION, side("7", title="Tarnwick, Vell"), side("9", title="Tarnwick"))


def test_passages_without_a_title_are_of_namesakes_only_where_several_answers_are_expected() -> None:
    assert not same_thing(QUESTION, side("7", title=""), side("9"), expect="several")
    assert same_thing(QUESTION, side("7", title=""), side("9"), expect="one")
    assert same_thing(QUESTION, side("7", title=""), side("9"))


def test_subjects_that_each_name_something_else_tell_where_titles_do_not() -> None:
    one, other = (
        side("7", title="", subject="Tarnwick, Vell"),
        side("9", title="", subject="Tarnwick, Sorrel"),
    )
    assert not same_thing(QUESTION, one, other)
    assert same_thing(QUESTION, one, side("9", title="", subject="a port in Tarnwick"))


def test_alike_texts_are_of_the_same_thing_whatever_their_titles_name() -> None:
    original = side("7", title="Tarnwick, Vell")
    (copied,) = original.readings
    near, far = (
        side("9", title="Tarnwick, Crown", most_similar=copied, kinship=similarity)
        for similarity in (0.8, 0.7)
    )
    assert same_thing(QUESTION, original, near)
    assert same_thing(QUESTION, near, original)
    assert not same_thing(QUESTION, original, far)


def test_a_copy_of_a_third_side_shows_nothing_about_two_others() -> None:
    (third,) = side("8").readings
    one, other = (
        side("7", title="Tarnwick, Vell"),
        side("9", title="Tarnwick, Sorrel", most_similar=third, kinship=1.0),
    )
    assert not same_thing(QUESTION, one, other)


def test_a_headline_names_no_subject() -> None:
    headline = reading("9", "It has a population of 9.", title="You Will Not Believe This Town")
    assert names_of(QUESTION, headline) == frozenset()
    assert names_of(QUESTION, reading("9", "", title="Tarnwick in Vell")) == {"vell"}


def test_a_reading_names_its_subject_without_the_words_of_question_and_answer() -> None:
    read = reading("Ann Doyle", "", subject="Ann Doyle, painter of Corle, 1921")
    assert names_of("Who painted Night Harbour?", read) == {"corle", "1921"}


def test_what_kind_of_paper_it_is_tells_no_two_things_apart() -> None:
    question = "How long is the warranty of the X200?"
    sheet, page = (
        reading("1", "", title=title) for title in ("Data Sheet: Pump X200", "Web Page of Pump X200")
    )
    assert names_of(question, sheet) == names_of(question, page) == {"pump"}


def test_the_subject_is_the_commonest_title_or_else_the_longest_that_was_read() -> None:
    assert subject_of(side("7", title="Tarnwick", subject="Tarnwick, the port")) == "Tarnwick"
    assert subject_of(side("7", title="", subject="Tarnwick, the port")) == "Tarnwick, the port"
    assert subject_of(side("7", title="")) == ""
