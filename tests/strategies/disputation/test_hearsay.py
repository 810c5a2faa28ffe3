"""Hearsay answers nothing where nothing else does, and stands beside what a document itself says."""

from __future__ import annotations

import pytest

from disputatio.strategies.disputation.hearsay import is_hearsay
from disputatio.strategies.disputation.reading import PassageReading
from disputatio.strategies.disputation.sides import unfit, weigh
from disputatio.types import Passage, Reply

QUESTION = "What does a session cost?"


@pytest.mark.parametrize(
    "sentence",
    [
        "the pool is coming, my sister-in-law says £30 a go",
        "I heard it will be £30.",
        "Somebody told me that it is 30.",
        "It is said in the village that it will be £30.",
        "Im Herbst sollen es 30 Euro sein, hört man im Dorf.",
        "Ce sera 30 euros, dit-on au marché.",
        "der bus soll 2028 kommen, sagt mein schwager",
        "Angeblich kostet es 30 Euro.",
        "Er hat mir am Tresen gesagt, es sind 30.",
        "anybody know about the cool rooms? mate says 190 a month",
        "It starts in March, says my neighbour.",
        "ce serait 5 euros d'après le chauffeur",
        "Il paraît que c'est 5 euros.",
    ],
)
def test_what_somebody_was_told_is_hearsay(sentence: str) -> None:
    assert is_hearsay(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The ministry says that it costs £30.",
        "Laut Satzung kostet es 30 Euro.",
        "D'après le règlement, c'est 5 euros.",
        "Selon le tarif, 5 euros.",
        "The mayor told reporters that it costs £30.",
        "In section 4 it is stated that it costs £30.",
        "Dort hört man Musik für 30 Euro.",
        "A friend of the club pays £30.",
        "Whoever has told us ten days before pays nothing.",
    ],
)
def test_what_a_paper_or_an_office_says_is_none(sentence: str) -> None:
    assert not is_hearsay(sentence)


def read(answer: str, text: str, source: str) -> PassageReading:
    passage = Passage(id=source, text=text, source=source)
    return PassageReading(passage=passage, reply=Reply(passages=(source,), answer=answer, quote=text))


def test_an_answer_from_hearsay_alone_is_none_and_one_that_a_paper_gives_too_is() -> None:
    forum = read("£30", "A session is £30, my cousin says.", "forum")
    paper = read("£30", "A session costs £30.", "terms")
    [alone] = weigh(QUESTION, [forum], {})
    [both] = weigh(QUESTION, [forum, paper], {})
    assert (unfit(alone.features), unfit(both.features)) == ("hearsay", None)
