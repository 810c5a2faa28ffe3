"""Nouns as JSON values: whole, in the contract's names, and equal when they are read back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from disputatio.errors import InputError
from disputatio.eval.running.entrants import code_of
from disputatio.strategies.disputation import disputation
from disputatio.types import Answer, Hit, Passage, Source
from tests.rendering.answers import ANSWERS, FERRY

CONTRACT = (
    "question", "answers", "abstained", "text", "claims", "conflict", "confidence", "expect", "read", "usage",
    "strategy", "model", "passages",
)  # fmt: skip


@pytest.mark.long
@given(answer=ANSWERS)
def test_any_answer_is_the_same_after_it_was_written_and_read(answer: Answer) -> None:
    assert Answer.from_dict(answer.to_dict()) == answer
    assert Answer.from_dict(json.loads(answer.to_json())) == answer


@pytest.mark.long
@given(answer=ANSWERS)
def test_the_json_of_any_answer_is_utf_8_without_controls(answer: Answer) -> None:
    text = answer.to_json()
    text.encode()
    assert not any(char in text for char in "\x00\x1b\x7f\x9b\u061c\u202e\u2066\u2028")


def test_an_answer_has_the_names_that_users_rely_on() -> None:
    fields = FERRY.to_dict()
    assert [name for name in CONTRACT if name not in fields] == []
    citation = fields["claims"][0]["citations"][0]
    assert set(citation) >= {"n", "passage", "source", "quote", "start", "end", "verdict"}
    passage = fields["passages"][0]
    assert passage["text"][citation["start"] : citation["end"]] == citation["quote"]
    assert (passage["page"], passage["title"], passage["url"]) == (
        "4",
        "The ferry",
        "https://museum.example/ferry",
    )
    assert "page" not in fields["passages"][1]


def test_other_nouns_are_written_and_read_too() -> None:
    hit = Hit(passage=FERRY.passages[0], score=0.5, scores={"sparse": 0.25})
    assert Hit.from_dict(hit.to_dict()) == hit
    source = Source(name="a", reliability=0.5)
    assert Source.from_dict(json.loads(source.to_json(indent=2))) == source


def test_what_a_newer_version_added_is_left_out() -> None:
    assert Answer.from_dict({**FERRY.to_dict(), "mood": "fine"}) == FERRY


def test_an_answer_from_before_details_keeps_what_its_strategy_told() -> None:
    basis = {"beliefs": {"q": {"1887": 0.5}}, "judgements": {"j1": 0.7}}
    looked = {"searches": 3, "read": 8, "answered": 2, "changed": True}
    answer = Answer.from_dict({**FERRY.to_dict(), "looked": looked, "basis": basis})
    assert answer.details == {"looked": looked}
    assert answer.basis is not None
    assert answer.basis.details == {"beliefs": {"q": {"1887": 0.5}}, "similarities": {"j1": 0.7}}


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({}, "question"),
        ({"question": "q", "answers": "1887"}, "answers"),
        ({"question": "q", "abstained": "tired"}, "abstained"),
        ({"question": "q", "passages": [{"text": "t"}, {"id": "p"}]}, r"passages\.1\.text"),
    ],
)
def test_values_that_are_no_answer_are_refused_by_name(values: dict[str, object], named: str) -> None:
    with pytest.raises(InputError, match=f"Answer: {named}: "):
        Answer.from_dict(values)


def test_a_passage_reads_back_without_the_page_that_stood_beside_its_fields() -> None:
    assert Passage.from_dict(FERRY.passages[0].to_dict()) == FERRY.passages[0]


def test_presentation_is_no_part_of_the_code_that_an_evaluation_records() -> None:
    modules = code_of(disputation)
    assert "disputatio.types" in modules
    assert [name for name in modules if name.startswith("disputatio.rendering")] == []
