"""Days and versions that a question asks about, in words that ask for something else as well."""

from __future__ import annotations

import pytest

from disputatio.versions.asked import Asked, asked_of


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Wie lange vorher muss ich Bescheid geben?", Asked()),
        ("Muss man zwei Tage vorher anrufen?", Asked()),
        ("Was kostete es vorher?", Asked(previous=True)),
        ("Wie hoch war die Gebühr früher?", Asked(previous=True)),
        ("Sous l'ancien règlement de 2023, quel supplément payait-on ?", Asked(day="2023")),
        ("Quel supplément payait-on sous l’ancien règlement ?", Asked(previous=True)),
        ("Was galt nach der alten Satzung?", Asked(previous=True)),
        ("What was the fee under the old rules of 2019?", Asked(day="2019")),
    ],
)
def test_a_question_is_about_another_day_only_where_it_says_so(question: str, asked: Asked) -> None:
    assert asked_of(question) == asked
