"""The disputation: isolated readers, decided between in code, whatever they say."""

from __future__ import annotations

import json

from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.pipeline import ask
from disputatio.store.in_hand import InHand
from disputatio.types import Answer, Passage

QUESTION = "Who designed the Quillhaven lighthouse?"
TRUE = "Ingrid Vasmer"
LIE = "Barnaby Croll"


def said(answer: str) -> str:
    told = f"The Quillhaven lighthouse was designed by {answer}."
    return json.dumps({"answer": answer, "explanation": told, "quote": f"designed by {answer}"})


def answered(model: Scripted, passages: list[Passage], **options: object) -> Answer:
    kit = Kit(model=model, retriever=InHand(passages))
    return ask(QUESTION, kit=kit, strategy="disputation", options=options, verify=False)


def passages(*names: str) -> list[Passage]:
    ways = (
        "It was {} who designed it, the log says.",
        "designed by {}",
        "The plans: by {}, in ink.",
        "{} drew it.",
    )
    return [
        Passage(text=ways[n % 4].format(name) + f" Entry {n}.", source=f"s{n}")
        for n, name in enumerate(names)
    ]


def test_the_better_told_answer_stands_and_the_other_is_rejected_with_a_reason() -> None:
    model = Scripted({TRUE: said(TRUE), LIE: said(LIE)})
    answer = answered(model, passages(TRUE, TRUE, LIE))
    assert answer.answers == (TRUE,)
    assert answer.conflict.kind == "misinformation"
    assert [one.verdict for one in answer.conflict.positions] == ["accepted", "rejected"]
    assert "against 2 passages" in answer.conflict.positions[1].reason


def test_every_passage_is_read_in_one_batch_and_alone() -> None:
    model = Scripted({TRUE: said(TRUE), LIE: said(LIE)})
    answered(model, passages(TRUE, LIE))
    assert len(model.calls) == 2
    assert all((TRUE in call.text) != (LIE in call.text) for call in model.calls)


def test_an_answer_that_is_not_in_its_passage_has_no_voice() -> None:
    answer = answered(Scripted(lambda _: said("Somebody Else")), passages(TRUE, TRUE))
    assert answer.answers == ()
    assert answer.abstained == "no_evidence"


def test_only_broken_replies_are_a_fault_and_not_a_lack_of_evidence() -> None:
    answer = answered(Scripted(lambda _: "no JSON"), passages(TRUE, TRUE))
    assert answer.abstained == "fault"


def test_citations_are_verbatim() -> None:
    given = passages(TRUE, TRUE)
    answer = answered(Scripted(lambda _: said(TRUE)), given)
    by_id = {one.id: one for one in answer.passages}
    cited = [one for claim in answer.claims for one in claim.citations]
    assert len(cited) == 2
    assert all(by_id[one.passage].text[one.start : one.end] == one.quote for one in cited)
