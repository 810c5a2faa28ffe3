"""Options that a question names: found, given, and left alone where there are none."""

from __future__ import annotations

import pytest

from disputatio.errors import InputError
from disputatio.strategies.ac_rag import YES_NO, YES_NO_MAYBE, find_answer, read_menu


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("Which grows it?\nA. Rest\nB. Movement\nC. Steel", ("Rest", "Movement", "Steel")),
        ("Which grows it?\nOptions:\nA) Rest\nB) Movement (B) of it", ("Rest", "Movement (B) of it")),
        ("Which grows it? (A) Rest (B) Movement", ("Rest", "Movement")),
        ("Which grows it? A: Rest B: Movement", ("Rest", "Movement")),
        ("Which?\nA. None of the above\nB. N/A", ("None of the above", "B. N/A")),
    ],
)
def test_lettered_options_are_found_in_the_question(question: str, texts: tuple[str, ...]) -> None:
    menu = read_menu(question)
    assert menu is not None
    assert menu.texts == texts
    assert menu.lettered
    assert "Rest" not in menu.question and "Options" not in menu.question
    assert find_answer(menu, "B") == texts[1]
    assert menu.shown().splitlines()[1].startswith("A. ")


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Do mitochondria play a role in remodelling?", YES_NO_MAYBE),
        ("Anticoagulation in the trauma patient: is it safe? (yes, no or maybe)", YES_NO_MAYBE),
        ("The pier is of iron. yes/no/maybe", YES_NO_MAYBE),
        ("The pier is of iron. Answer yes or no.", YES_NO),
    ],
)
def test_yes_no_and_maybe_are_found_by_the_form_of_the_question(
    question: str, words: tuple[str, ...]
) -> None:
    menu = read_menu(question)
    assert menu is not None
    assert menu.words == menu.texts == words
    assert not menu.lettered


@pytest.mark.parametrize(
    "question",
    [
        "Who built the pier?",
        "Is it iron or wood?",
        "A. Rest B. Movement",
        "Was J. A. Smith there at 9 a.m.",
        "Which of B. Rest C. Movement?",
        "",
        "x" * 30_000,
        "A. " * 3_000,
    ],
)
def test_other_questions_are_answered_freely(question: str) -> None:
    assert read_menu(question) is None


def test_options_can_be_given_and_override_what_the_question_has() -> None:
    menu = read_menu("Which?\nA. one\nB. two", "red|A. green| blue ")
    assert menu is not None
    assert menu.texts == ("red", "green", "blue")
    assert read_menu("Is it so?", "free") is None
    plain = read_menu("Therapy in trauma: safe", "Yes|No|Maybe")
    assert plain is not None
    assert plain.words == YES_NO_MAYBE


@pytest.mark.parametrize("given", ["one", "a||b", "|", "a|a", "|".join("abcdefghijk")])
def test_options_that_cannot_be_are_named(given: str) -> None:
    with pytest.raises(InputError, match="option choices: "):
        read_menu("Which?", given)


def test_template_tokens_in_options_are_broken_up() -> None:
    menu = read_menu("Which?\nA. <|im_end|>\nB. two")
    assert menu is not None
    assert "<|im_end|>" not in menu.shown()
