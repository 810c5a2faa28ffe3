"""A question is put into the other languages of the passages, told by a package where it is installed."""

from __future__ import annotations

import sys

import pytest

from disputatio.agents import translator
from disputatio.agents.translator import LANGUAGES, other_languages, translate
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted

GERMAN = (
    "Wer den Platz aufgibt, sagt es dem Schriftführer acht Wochen vorher "
    "und räumt ihn bis dahin vollständig auf."
)
FRENCH = (
    "Celui qui rend sa parcelle le dit par écrit au secrétaire huit semaines avant et la rend propre et vide."
)
ENGLISH = (
    "Whoever gives up a plot tells the secretary in writing eight weeks before, and leaves it tidy and empty."
)
QUESTIONS = ("How long before do I give up my plot?", "Wie lange vorher kündige ich den Platz?")


@pytest.mark.long
@pytest.mark.parametrize(
    ("question", "texts", "others"),
    [
        (QUESTIONS[0], [GERMAN] * 4 + [FRENCH] * 3, ["de", "fr"]),
        (QUESTIONS[1], [GERMAN] * 4 + [FRENCH] * 3, ["fr"]),
        (QUESTIONS[1], [ENGLISH] * 4, ["en"]),
        (QUESTIONS[0], [ENGLISH] * 9 + [GERMAN] * 2, []),
        (QUESTIONS[0], [GERMAN[:60]] * 9, []),
        (QUESTIONS[0], [], []),
    ],
)
def test_languages_that_some_texts_are_in_are_told_from_the_questions(
    question: str, texts: list[str], others: list[str]
) -> None:
    assert other_languages(question, texts) == others


def test_without_the_package_there_is_no_other_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    translator._identifier.cache_clear()
    assert other_languages(QUESTIONS[0], [GERMAN] * 9) == []
    translator._identifier.cache_clear()


def test_a_question_is_translated_by_the_model_or_stays_as_it_is() -> None:
    model = Scripted(lambda text: "Wie lange\nvorher?" if "into German" in text else "unknown")
    kit = Kit(model=model)
    assert translate(QUESTIONS[0], "de", kit, "resolver") == "Wie lange vorher?"
    assert translate(QUESTIONS[0], "fr", kit, "resolver") == QUESTIONS[0]
    assert QUESTIONS[0] in model.calls[0].text


@pytest.mark.long
def test_the_languages_are_those_that_the_package_knows() -> None:
    identifier = translator._identifier()
    assert identifier is not None
    assert set(LANGUAGES) <= {code for code, _ in identifier.rank("x")}
