"""Namesakes without titles: a trained reader tells two things of one name from a contradiction."""

from __future__ import annotations

from typing import Any

import pytest

from disputatio.errors import NoLogprobs
from disputatio.kit import TRAINED_READER, Kit
from disputatio.llm.scripted import Scripted
from disputatio.pipeline import ask
from disputatio.store.in_memory import InMemory
from disputatio.types import Answer, Passage

QUESTION = "Who is the artist of the album Holy Smoke?"
TEXTS = {
    "Peter Murphy": "Holy Smoke is the third solo album by Peter Murphy, released in 1992.",
    "Gin Wigmore": "Holy Smoke came out in 2009 as the debut album of Gin Wigmore, from New Zealand.",
}


def read(prompt: str) -> str:
    return next((f"{name}\nHoly Smoke" for name, text in TEXTS.items() if text in prompt), "unknown")


def reader(odds_of_same: float | Exception) -> Scripted:
    """Return a trained reader that reads every passage and gives these odds that two are about one thing."""

    def choose(prompt: str) -> Any:
        if isinstance(odds_of_same, Exception):
            return odds_of_same
        return {"same": odds_of_same, "different": 1 - odds_of_same}

    return Scripted(read, name="reader", choices=choose)


def asked(trained: Scripted, *, title: str = "", **options: Any) -> Answer:
    passages = [
        Passage(id=f"p{n}", text=text, title=f"{title} {n}" if title else "")
        for n, text in enumerate(TEXTS.values())
    ]
    model = Scripted(lambda _: "unknown", name="model")
    kit = Kit(model=model, trained=trained, roles={TRAINED_READER: trained}, retriever=InMemory(passages))
    return ask(QUESTION, kit=kit, strategy="disputation", options=options, verify=False, min_confidence=0.0)


def comparisons(trained: Scripted) -> list[str]:
    return [call.text for call in trained.calls if "same" in call.options]


def test_two_things_of_one_name_have_their_own_answers() -> None:
    trained = reader(0.02)
    answer = asked(trained)
    assert sorted(answer.answers) == sorted(TEXTS)
    assert answer.conflict.kind == "ambiguity"
    first, second = comparisons(trained)  # in both orders, once
    murphy, wigmore = (text[:40] for text in TEXTS.values())
    assert (first.index(murphy) < first.index(wigmore)) != (second.index(murphy) < second.index(wigmore))
    assert QUESTION in first and QUESTION in second


@pytest.mark.parametrize(
    ("odds", "asks"), [(0.2, 2), (0.9, 1), (NoLogprobs("no log-probabilities"), 1)], ids=str
)
def test_what_is_not_surely_of_two_things_contradicts_each_other(odds: float | Exception, asks: int) -> None:
    trained = reader(odds)
    answer = asked(trained)
    assert len(answer.answers) == 1
    assert answer.conflict.kind != "ambiguity"
    assert len(comparisons(trained)) == asks  # the other order only where the first says that they are two


def test_two_things_are_told_by_both_orders() -> None:
    first = next(iter(TEXTS.values()))

    def choose(prompt: str) -> dict[str, float]:
        same = 0.001 if prompt.index(first) < prompt.index(TEXTS["Gin Wigmore"]) else 0.999
        return {"same": same, "different": 1 - same}

    assert len(asked(Scripted(read, name="reader", choices=choose)).answers) == 1


@pytest.mark.parametrize(
    "options", [{"expect": "one"}, {"expect": "several"}, {"title": "Albums"}, {"namesakes": False}]
)
def test_where_something_else_tells_the_reader_is_not_asked(options: dict[str, Any]) -> None:
    trained = reader(0.02)
    asked(trained, **options)
    assert not comparisons(trained)


def test_an_answer_is_decided_again_by_what_the_reader_told() -> None:
    answer = asked(reader(0.02))
    again = answer.without(passages=[])
    assert sorted(again.answers) == sorted(TEXTS)
