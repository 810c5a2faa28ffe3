"""The disputation with a trained reader: alone, beside a language model, and where there is none."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from disputatio.errors import MissingPart, MustAskAgain
from disputatio.kit import Kit
from disputatio.llm.scripted import NoModel, Scripted
from disputatio.pipeline import ask
from disputatio.store.in_memory import InMemory
from disputatio.strategies.disputation.reading import ANSWERS, HOPELESS, SURE
from disputatio.types import Answer, Extraction, Passage
from tests.strategies.disputation_agents import (
    EQUALS,
    GOATS,
    GUILD,
    HARBOUR,
    INN,
    LIE,
    QUESTION,
    TRUE,
    Agents,
    word,
)


@dataclass
class Spans:
    """A reader that finds a designer where one is named, as sure as `sure` says of the passage."""

    sure: Mapping[str, float] = field(default_factory=dict)
    read_ids: list[str] = field(default_factory=list)
    name: str = "spans"

    def read(self, question: str, passages: Sequence[Passage]) -> list[Extraction]:
        extractions = []
        for passage in passages:
            self.read_ids.append(passage.id)
            name = next((name for name in (TRUE, LIE) if name in passage.text), "")
            start = passage.text.find(name)
            probability = self.sure.get(passage.id, 0.97 if name else 0.02)
            extractions.append(
                Extraction(
                    answer=name,
                    start=start,
                    end=start + len(name),
                    probability=probability,
                    certainty=-0.25,
                )
            )
        return extractions


def answered(model: Any, spans: Spans | None, passages: Sequence[Passage], **options: object) -> Answer:
    judge = Scripted([], choices=lambda _: {"Yes": 0.9, "No": 0.1})
    roles = {} if isinstance(model, NoModel) else {"judge": judge}
    kit = Kit(model=model, roles=roles, reader=spans, retriever=InMemory(passages))
    return ask(QUESTION, kit=kit, options=options)


def test_the_encoder_reads_every_passage_and_no_model_does() -> None:
    model, reader = Agents(), Spans()
    answer = answered(model, reader, [GUILD, INN, HARBOUR, GOATS], reader="encoder", look=False, belief=False)
    assert model.roles() == []
    assert reader.read_ids == ["guild", "inn", "harbour", "goats"]
    replies = {reply.passages[0]: reply for reply in answer.replies}
    assert (replies["guild"].answer, replies["goats"].answer) == (TRUE, "")
    assert replies["guild"].certainty == -0.25
    assert replies["guild"].quote in GUILD.text
    assert TRUE in replies["guild"].quote
    assert answer.answers[0] == TRUE


def test_without_a_model_an_answer_comes_from_reading_alone() -> None:
    answer = answered(NoModel(), Spans(), [GUILD, INN, GOATS])
    assert (answer.answers, answer.model, answer.usage.calls) == ((TRUE,), "none", 0)
    assert [claim.verdict for claim in answer.claims] == ["unchecked"]
    assert answered(NoModel(), Spans(), [GOATS]).abstained == "no_evidence"


def test_without_a_model_and_a_reader_it_says_what_to_set() -> None:
    with pytest.raises(MissingPart, match="leave encoder at default"):
        answered(NoModel(), None, [GUILD])
    with pytest.raises(MissingPart, match="give one \\(model=, --model\\)"):
        answered(NoModel(), Spans(), [GUILD], reader="llm")


def test_both_ask_the_language_model_only_where_the_encoder_is_not_sure() -> None:
    sure = {"guild": SURE, "inn": SURE - 0.01, "harbour": HOPELESS, "goats": HOPELESS - 0.01}
    model = Agents()
    answered(model, Spans(sure), [GUILD, INN, HARBOUR, GOATS], reader="both", belief=False)
    assert ("reader", 2) in model.batches
    assert [INN.text in prompt or HARBOUR.text in prompt for prompt in model.prompts("reader")] == [True] * 2


@pytest.mark.parametrize(
    ("probability", "said", "read"),
    [
        (0.6, "unknown", TRUE),
        (0.4, "unknown", ""),
        (0.6, "an engineer", "an engineer"),
        (0.6, LIE, TRUE),
        (0.4, TRUE, TRUE),
    ],
)
def test_the_better_of_two_readings_stands(probability: float, said: str, read: str) -> None:
    model = Agents(reads=lambda *_: word(said))
    answer = answered(model, Spans({"guild": probability}), [GUILD], reader="both", complete=0)
    [reply] = answer.replies
    assert reply.answer == read
    assert ANSWERS == 0.5


def test_a_reply_that_breaks_its_contract_is_a_fault_and_not_the_encoders_answer() -> None:
    model = Agents(reads=lambda *_: "{")
    answer = answered(model, Spans({"guild": 0.6}), [GUILD], reader="both", complete=0)
    [reply] = answer.replies
    assert (reply.answer, bool(reply.fault), answer.abstained) == ("", True, "fault")


def test_what_was_read_without_a_model_is_decided_again_without_the_reader() -> None:
    options = {"reader": "encoder", "belief": False, "debate": 0}
    answer = answered(Agents(), Spans(), [*EQUALS, INN], **options)
    stored = Answer.from_dict(json.loads(answer.to_json()))
    assert stored == answer
    without = stored.without(sources=["inn"])
    fresh = answered(Agents(), Spans(), EQUALS, **options)
    assert (without.answers, without.conflict, without.replies) == (
        fresh.answers, fresh.conflict, fresh.replies,
    )  # fmt: skip
    assert answer.basis is not None
    unread = replace(answer, basis=replace(answer.basis, extractions={}))
    with pytest.raises(MustAskAgain, match="the reader would have to read something new"):
        unread.without(sources=["inn"])
