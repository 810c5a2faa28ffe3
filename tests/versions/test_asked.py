"""Days and versions that a question asks about, in words that ask for something else as well."""

from __future__ import annotations

import pytest

from disputatio.versions.asked import Asked, asks_for_changes, find_asked


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
        ("Wie hoch war die Gebühr vor der Neuregelung?", Asked(previous=True)),
        ("Wie hoch war die Gebühr in der alten Fassung?", Asked(previous=True)),
        ("Quel était le tarif précédemment ?", Asked(previous=True)),
        ("Quel était le tarif dans l'ancienne version ?", Asked(previous=True)),
        ("What was the fee under the old rules of 2019?", Asked(day="2019")),
    ],
)
def test_a_question_is_about_another_day_only_where_it_says_so(question: str, asked: Asked) -> None:
    assert find_asked(question) == asked


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is new in version 2 of the rules?", True),
        ("What is no longer allowed in version 2 of the rules?", True),
        ("Was ist neu in Fassung 2 der Hausordnung?", True),
        ("Was gilt in der neuen Fassung der Hausordnung nicht mehr?", True),
        ("Quoi de neuf dans la version 2 du règlement ?", True),
        ("Qu'est-ce qui ne s'applique plus dans la version 2 du règlement ?", True),
        ("What changed in the crew handbook since 2020?", True),
        ("Was hat sich in der Preisliste geändert?", True),
        ("Qu'est-ce qui a changé dans le barème depuis 2020 ?", True),
        ("What changed in the harbour since 2020?", False),
        ("Which rules no longer apply to guests?", False),
        ("Quel est le nouveau tarif dans la version 2 du règlement ?", False),
        ("Was darf in Fassung 2 nicht mehr als 3 Euro kosten?", False),
    ],
)
def test_what_changed_in_a_document_or_a_version_is_a_question_for_changes(
    question: str, expected: bool
) -> None:
    assert asks_for_changes(question) is expected
