"""Without retrieval: one call, nothing searched, nothing cited."""

from __future__ import annotations

import pytest

from disputatio.errors import ReplyError
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.pipeline import ask
from disputatio.strategies.closed_book import closed_book
from disputatio.types import Passage
from tests.strategies.panel import concluded, kit


def test_the_model_is_asked_the_question_alone() -> None:
    model = Scripted([concluded("1921", explanation="It was 1921.")])
    answer = closed_book("When?\nNow.", kit(model, [Passage(id="a", text="It was 1948.")]))
    assert (answer.answers, answer.explanation) == (("1921",), "It was 1921.")
    [call] = model.calls
    assert call.prompt.messages[-1].content == "Question: When? Now."
    assert answer.passages == ()
    assert answer.replies == ()


def test_it_needs_nothing_to_search() -> None:
    assert closed_book("When?", Kit(model=Scripted([concluded("1921")]))).answers == ("1921",)


def test_what_it_remembers_is_not_cited() -> None:
    answer = ask("When?", kit=Kit(model=Scripted([concluded("1921")])), strategy="closed_book")
    assert [claim.citations for claim in answer.claims] == [()]
    assert answer.conflict.kind == "none"
    assert answer.confidence is None
    assert answer.usage.calls == 1, "there is nothing to verify"


def test_a_model_that_does_not_know_abstains() -> None:
    assert closed_book("When?", Kit(model=Scripted([concluded("unknown")]))).abstained == "no_evidence"


def test_a_reply_that_stays_broken_is_an_error() -> None:
    with pytest.raises(ReplyError):
        closed_book("When?", Kit(model=Scripted(["In 1921.", "1921"])))
