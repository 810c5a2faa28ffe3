"""The audit: every strategy's answer gets cited claims, verdicts and positions in the same way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from disputatio.attribution.audit import audit
from disputatio.errors import BatchFault, NoLogprobs, ServerFault
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.pipeline import ask
from disputatio.store.in_memory import InMemory
from disputatio.types import Answer, Passage, Reply, Source

MUSEUM = Passage(
    id="m",
    source="museum.example",
    title="Drawings",
    text="One wall shows drawings. Ingrid Vasmer designed the lighthouse [3]. The door was moved.",
)
TIMES = Passage(
    id="h", source="times.example", text="A plaque honours 🚢 Ingrid Vasmer, who drew the design."
)
BUZZ = Passage(id="c", source="buzz.example", text="The lighthouse was designed by Barnaby Croll, a pirate!")
REPLIES = (
    Reply(passages=("m",), answer="Ingrid Vasmer", explanation="Ingrid Vasmer designed it [3]."),
    Reply(passages=("h",), answer="Ingrid Vasmer", quote="ingrid vasmer, who drew"),
    Reply(passages=("c",), answer="Barnaby Croll", explanation="Barnaby Croll designed it."),
)
ANSWER = Answer(
    question="Who designed the lighthouse?",
    answers=("Ingrid Vasmer",),
    replies=REPLIES,
    passages=(MUSEUM, TIMES, BUZZ),
    strategy="test",
)


@dataclass
class Judge:
    """An entailment judge that records the pairs it is asked about."""

    scores: Sequence[float] = (0.9, 0.3)
    asked: list[list[tuple[str, str]]] = field(default_factory=list)

    def entails(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.asked.append(list(pairs))
        return list(self.scores)


def audited(answer: Answer = ANSWER, judge: Judge | None = None) -> Answer:
    return audit(answer, Kit(model=Scripted([]), entailment=judge or Judge()))


def test_an_answer_tells_how_many_are_right_unless_its_strategy_has_told() -> None:
    both = replace(ANSWER, answers=("Ingrid Vasmer", "Barnaby Croll"))
    judge = Judge(scores=(0.9, 0.9, 0.9))
    assert (audited().expect, audited(both, judge).expect) == ("one", "several")
    assert audited(replace(both, expect="one"), judge).expect == "one"
    assert audit(replace(both, replies=(), passages=()), Kit(model=Scripted([]))).expect == "several"


# --- claims and citations -----------------------------------------------------------------------
def test_every_quote_is_verbatim_at_its_offsets() -> None:
    [claim] = audited().claims
    texts = {passage.id: passage.text for passage in ANSWER.passages}
    assert [citation.passage for citation in claim.citations] == ["m", "h"]
    for citation in claim.citations:
        assert citation.quote == texts[citation.passage][citation.start : citation.end]
    assert [citation.quote for citation in claim.citations] == [
        "Ingrid Vasmer designed the lighthouse [3].",
        "Ingrid Vasmer, who drew",
    ]


def test_only_accepted_positions_become_claims() -> None:
    answer = audited()
    assert [claim.text for claim in answer.claims] == ["Ingrid Vasmer designed it [3]."]
    assert {position.answer: position.verdict for position in answer.conflict.positions} == {
        "Ingrid Vasmer": "accepted",
        "Barnaby Croll": "rejected",
    }
    assert answer.conflict.kind == "misinformation"


def test_the_numbers_in_the_text_are_ours_and_a_documents_own_are_escaped() -> None:
    assert audited().text == "Ingrid Vasmer designed it (3) [1][2]."


def test_one_span_has_one_number_in_all_claims() -> None:
    passage = Passage(id="p", text="Open from 1887 to 1901.")
    answer = Answer(question="When?", answers=("1887", "1901"), passages=(passage,))
    result = audited(answer)
    assert [[citation.n for citation in claim.citations] for claim in result.claims] == [[1], [1]]
    assert result.text == "When? 1887 [1]. When? 1901 [1]."


def test_a_claim_takes_the_shortest_sentence_that_states_its_answer() -> None:
    answer = replace(ANSWER, explanation="It is old. By all accounts it was Ingrid Vasmer. Nobody knows.")
    assert audited(answer).claims[0].text == "Ingrid Vasmer designed it [3]."
    silent = tuple(replace(reply, explanation="") for reply in REPLIES)
    assert audited(replace(answer, replies=silent)).claims[0].text == "By all accounts it was Ingrid Vasmer."


def test_an_answer_that_no_passage_states_is_a_claim_without_citations() -> None:
    result = audited(replace(ANSWER, answers=("Davy Jones",), replies=()), Judge(scores=()))
    assert [claim.citations for claim in result.claims] == [()]
    assert result.text == "Who designed the lighthouse? Davy Jones."


def test_claims_and_positions_of_the_strategy_are_kept() -> None:
    answer = audited()
    assert (answer.answers, answer.abstained, answer.replies) == (ANSWER.answers, None, REPLIES)
    assert answer.passages == ANSWER.passages


def test_an_abstention_has_no_claims_and_keeps_its_positions() -> None:
    answer = audited(replace(ANSWER, answers=(), abstained="conflict"), Judge(scores=()))
    assert (answer.claims, answer.text, answer.conflict.kind) == ((), "", "unresolved")
    assert len(answer.conflict.positions) == 2


def test_a_reply_about_a_passage_that_does_not_exist_changes_nothing() -> None:
    stray = Reply(
        passages=("nowhere",), answer="Barnaby Croll", explanation="Ingrid Vasmer", quote="Ingrid Vasmer"
    )
    without_rejected = replace(ANSWER, replies=REPLIES[:2])
    assert audited(replace(without_rejected, replies=(*REPLIES[:2], stray))) == replace(
        audited(without_rejected), replies=(*REPLIES[:2], stray)
    )


# --- confidence ---------------------------------------------------------------------------------
def test_confidence_is_the_share_of_the_votes_unless_the_strategy_sets_it() -> None:
    assert audited().confidence == pytest.approx(2 / 3, abs=1e-4)
    assert audited(replace(ANSWER, confidence=0.4)).confidence == 0.4
    assert audited(replace(ANSWER, confidence=0.0)).confidence == 0.0


def test_without_votes_there_is_no_confidence() -> None:
    nothing = Answer(question="?", abstained="no_evidence")
    assert audited(nothing).confidence is None


def test_confidence_weighs_sources_by_their_reliability() -> None:
    kit = Kit(model=Scripted([]), sources={"buzz.example": Source(name="buzz.example", reliability=0.0)})
    assert audit(ANSWER, kit, verify=False).confidence == 1.0


# --- verdicts -----------------------------------------------------------------------------------
def test_each_citation_is_judged_with_the_sentence_before_and_its_title_in_one_batch() -> None:
    judge = Judge()
    [claim] = audited(judge=judge).claims
    assert judge.asked == [
        [
            ("Drawings. One wall shows drawings. Ingrid Vasmer designed the lighthouse [3].", claim.text),
            (TIMES.text, claim.text),
        ]
    ]
    assert [(citation.verdict, citation.score) for citation in claim.citations] == [
        ("supported", 0.9),
        ("partly", 0.3),
    ]


def test_verdicts_of_several_claims_stay_with_their_citations() -> None:
    answer = replace(ANSWER, answers=("Ingrid Vasmer", "Barnaby Croll"))
    result = audited(answer, Judge(scores=(0.9, 0.3, 0.4)))
    assert [[citation.verdict for citation in claim.citations] for claim in result.claims] == [
        ["supported", "partly"],
        ["partly"],
    ]


def test_what_its_citations_do_not_support_is_no_answer_and_its_position_says_why() -> None:
    answer = replace(ANSWER, answers=("Ingrid Vasmer", "Barnaby Croll"))
    result = audited(answer, Judge(scores=(0.9, 0.3, 0.1)))
    assert (result.answers, result.abstained, len(result.claims)) == (("Ingrid Vasmer",), None, 2)
    assert "Croll" not in result.text
    causes = {position.answer: position.cause.kind for position in result.conflict.positions}
    assert causes["Barnaby Croll"] == "unsupported"
    one = replace(ANSWER, passages=ANSWER.passages[:1])
    nothing = audited(one, Judge(scores=(0.1,)))
    assert (nothing.answers, nothing.abstained, nothing.text) == ((), "no_evidence", "")
    assert "this came nearest" in str(nothing)


def test_without_verification_nothing_is_asked_and_nothing_is_checked() -> None:
    judge, model = Judge(), Scripted([])
    kit = Kit(model=model, entailment=judge)
    [claim] = audit(ANSWER, kit, verify=False).claims
    assert {(citation.verdict, citation.score) for citation in claim.citations} == {("unchecked", None)}
    assert judge.asked == []
    assert model.calls == []
    assert kit.trace.records() == []


def test_without_citations_no_judge_is_called() -> None:
    judge = Judge()
    audited(Answer(question="?", answers=("42",)), judge)
    assert judge.asked == []


def test_without_a_judge_the_model_is_asked_for_one_word() -> None:
    model = Scripted([], choices=lambda text: {"Yes": 0.8, "No": 0.2})
    [claim] = audit(ANSWER, Kit(model=model)).claims
    assert [citation.score for citation in claim.citations] == [0.8, 0.8]
    assert [call.options for call in model.calls] == [("Yes", "No")] * 2


def test_a_model_without_log_probabilities_leaves_citations_unchecked_and_notes_it() -> None:
    kit = Kit(model=Scripted([], choices=lambda _: NoLogprobs("none to be had")))
    [claim] = audit(ANSWER, kit).claims
    assert {citation.verdict for citation in claim.citations} == {"unchecked"}
    assert [event["event"] for event in kit.trace.records()] == ["unchecked"]


def test_another_fault_of_the_judge_is_not_hidden() -> None:
    class Half(Judge):
        def entails(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            raise BatchFault([None, None], [NoLogprobs("none"), ServerFault("down", 500)])

    with pytest.raises(ServerFault):
        audit(ANSWER, Kit(model=Scripted([], choices=lambda _: ServerFault("down", 500))))
    with pytest.raises(BatchFault):
        audited(judge=Half())


# --- the whole walk -----------------------------------------------------------------------------
def test_a_baseline_gets_the_same_report_as_a_debate() -> None:
    def answer(text: str) -> str:
        fields = {"answer": "Barnaby Croll", "explanation": "Barnaby Croll designed it.", "quote": ""}
        if "Vasmer" in text:
            fields = {"answer": "Ingrid Vasmer", "explanation": "Ingrid Vasmer designed it.", "quote": ""}
        if "Aggregat" in text or "aggregate" in text or "every correct answer" in text:
            return json.dumps({"answers": ["Ingrid Vasmer"], "explanation": "Ingrid Vasmer designed it."})
        return json.dumps(fields)

    outcomes = []
    for strategy, options in (("concat", {}), ("majority_vote", {}), ("madam_rag", {"bound": True})):
        kit = Kit(model=Scripted(answer), retriever=InMemory(ANSWER.passages), entailment=Judge())
        result = ask(ANSWER.question, kit=kit, strategy=strategy, options=options)
        outcomes.append((result.text, [claim.citations for claim in result.claims]))
    text, citations = outcomes[0]
    assert text == "Ingrid Vasmer designed it [1][2]."
    assert all(other == text for other, _ in outcomes)
    assert all(
        [citation.quote for citation in cited[0]] == [citation.quote for citation in citations[0]]
        for _, cited in outcomes
    )
