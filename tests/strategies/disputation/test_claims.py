"""Claims are sentences with subject, value and unit; what repeats the question is not read for its answer."""

from __future__ import annotations

import pytest

from disputatio.strategies.disputation.answering import value_sentence
from disputatio.strategies.disputation.reading import _repeats


@pytest.mark.parametrize(
    ("question", "answer", "sentence"),
    [
        ("What is the smallest load?", "40 kg", "The smallest load is 40 kg."),
        ("What were their fees in May?", "12 EUR", "Their fees in May were 12 EUR."),
        ("How much do day tickets cost?", "EUR 9", "Day tickets cost EUR 9."),
        ("What is the capital?", "Oslo", None),
        ("When does it open?", "at 9", None),
    ],
)
def test_a_question_for_a_value_becomes_a_sentence(question: str, answer: str, sentence: str | None) -> None:
    assert value_sentence(question, answer) == sentence


def test_a_question_that_a_text_repeats_is_told() -> None:
    assert _repeats("What does it cost?", "What does it cost? 9 EUR. " * 40)
    assert not _repeats("What does it cost?", "What does it cost? It costs 9 EUR.")
