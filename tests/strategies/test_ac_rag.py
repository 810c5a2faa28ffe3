"""AC-RAG: a detector that asks, a resolver that explains, and a memory that is cited."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from disputatio.agents.explainer import EXPLAIN_SYSTEM
from disputatio.errors import InputError, NoLogprobs, ReplyError
from disputatio.kit import Kit
from disputatio.llm.scripted import Odds, Scripted
from disputatio.pipeline import ask, read_options
from disputatio.store.in_memory import InMemory
from disputatio.strategies.ac_rag import (
    ANSWER_SYSTEM,
    DISSECT_SYSTEM,
    POST_CHECK_SYSTEM,
    PRE_CHECK_SYSTEM,
    SUMMARY_SYSTEM,
    ac_rag,
)
from disputatio.trace import Trace
from disputatio.types import Answer, Passage
from tests.test_strategy_contract import HOSTILE, HOSTILE_REPLIES, NO_ANSWER, Hand, Parrot, must_hold

QUESTION = (
    "Which of the following increases callus formation?\nA. Rigid immobilization\nB. Movement at the fracture"
)
CALLUS = "Callus formation is increased by movement at the fracture site. Plates are of steel."
RIGID = "Rigid immobilization holds bones still, and little callus forms."
PASSAGES = (
    Passage(id="p1", source="bones.example", text=CALLUS),
    Passage(id="p2", source="casts.example", text=RIGID),
    Passage(id="p3", source="lungs.example", text="Respiratory distress has many causes."),
)
TERMS = {"callus formation": "p1", "rigid immobilization": "p2", "respiratory distress": "p3"}


class Model(Scripted):
    """Plays a role by its instructions; `terms` are named one after the other, `sure` is P(yes) of checks."""

    def __init__(
        self,
        name: str = "model",
        *,
        terms: Sequence[str] = tuple(TERMS),
        unknown: float = 0.9,
        sure: Sequence[float] = (0.001,),
        letters: Mapping[str, float] | None = None,
        replies: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(self._say, choices=self._odds, name=name)
        self.terms, self.unknown, self.sure = list(terms), unknown, list(sure)
        self.letters = letters or {"A": 0.2, "B": 0.7}
        self.replies = dict(replies or {})
        self.dissected = 0

    def _say(self, text: str) -> str:
        system = next((reply for reply in self.replies if text.startswith(reply)), "")
        if system:
            return self.replies[system]
        if text.startswith(DISSECT_SYSTEM):
            self.dissected += 1
            return json.dumps({"terms": self.terms[min(self.dissected, len(self.terms)) - 1 :][:4]})
        if text.startswith(EXPLAIN_SYSTEM):
            term = text.removeprefix(EXPLAIN_SYSTEM).strip()
            return f"{term.capitalize()}, explained."
        if text.startswith(SUMMARY_SYSTEM):
            if "movement at the fracture site" in text.removeprefix(SUMMARY_SYSTEM).casefold():
                return json.dumps({"summary": "Movement increases callus formation."})
            if "Rigid" in text.removeprefix(SUMMARY_SYSTEM):
                return json.dumps({"summary": "Little callus forms when held still."})
            return json.dumps({"summary": "unknown"})
        if text.startswith(ANSWER_SYSTEM):
            return json.dumps({"answers": ["movement"], "explanation": "It is movement that increases it."})
        raise AssertionError(text)

    def _odds(self, text: str) -> Odds:
        if text.startswith(PRE_CHECK_SYSTEM):
            return {"Yes": self.unknown, "No": 1 - self.unknown}
        if text.startswith(POST_CHECK_SYSTEM):
            yes = self.sure.pop(0) if len(self.sure) > 1 else self.sure[0]
            return {"Yes": yes, "No": 1 - yes}
        return self.letters

    def asked(self, system: str) -> list[str]:
        """Return what the agent of these instructions was asked."""
        return [call.text for call in self.calls if call.text.startswith(system)]


def answered(model: Model, question: str = QUESTION, **options: object) -> Answer:
    return ac_rag(question, Kit(model=model, retriever=InMemory(PASSAGES)), **options)  # type: ignore[arg-type]


# --- when it retrieves ----------------------------------------------------------------------------
def test_a_detector_that_knows_every_term_lets_the_resolver_answer_directly() -> None:
    model = Model(unknown=0.05)  # log 0.05 = -3.0, not above -2
    answer = answered(model)
    assert answer.answers == ("Movement at the fracture",)
    assert (answer.rounds, answer.retrievals, answer.passages) == (0, 0, ())
    assert len(model.calls) == 2


def test_retrieval_begins_above_delta1_and_not_at_it() -> None:
    at = math.log(0.05)
    assert answered(Model(unknown=0.05), delta1=at).rounds == 0
    assert answered(Model(unknown=0.05), delta1=at - 0.01).rounds > 0


def test_rounds_go_on_while_the_memory_is_not_held_to_be_sufficient() -> None:
    assert answered(Model(sure=[0.001, 0.9])).rounds == 2  # log 0.001 = -6.9 < -3 <= log 0.9
    assert answered(Model(sure=[0.9])).rounds == 1
    assert answered(Model(sure=[0.001])).rounds == 3


@pytest.mark.parametrize(("delta4", "rounds"), [(-math.inf, 1), (-3.0, 2), (-0.01, 3), (math.inf, 3)])
def test_a_larger_delta4_means_more_rounds_and_minus_infinity_exactly_one(delta4: float, rounds: int) -> None:
    """Figure 3(b) of the paper, which fixes the direction of the post-check."""
    assert answered(Model(sure=[0.01, 0.9]), delta4=delta4).rounds == rounds


def test_infinite_thresholds_ask_no_check_and_can_be_given_as_text() -> None:
    options = read_options(ac_rag, {"delta1": "-inf", "delta4": "inf"})
    model = Model(unknown=0.0001)
    assert answered(model, **options).rounds == 3
    assert not model.asked(PRE_CHECK_SYSTEM) and not model.asked(POST_CHECK_SYSTEM)
    assert answered(Model(), **read_options(ac_rag, {"delta1": "inf"})).rounds == 0


def test_the_raw_log_probabilities_are_in_the_trace_so_that_thresholds_can_be_swept() -> None:
    trace = Trace()
    kit = Kit(model=Model(unknown=0.9, sure=[0.001, 0.9]), retriever=InMemory(PASSAGES))
    ask(QUESTION, kit=kit, strategy="ac_rag", verify=False, trace=trace)
    outcomes = [
        (event["event"], round(math.exp(event["logprobs"][0]), 3))
        for event in trace.records()
        if "logprobs" in event
    ]
    assert outcomes == [("pre_check", 0.9), ("post_check", 0.001), ("post_check", 0.9), ("picked", 0.2)]


def test_an_infinite_threshold_leaves_the_trace_valid_json(tmp_path: Path) -> None:
    trace = Trace()
    kit = Kit(model=Model(), retriever=InMemory(PASSAGES))
    options = {"delta1": "-inf", "delta4": "inf"}
    ask(QUESTION, kit=kit, strategy="ac_rag", options=options, verify=False, trace=trace)
    trace.write(tmp_path / "trace.jsonl")
    assert "Infinity" not in (tmp_path / "trace.jsonl").read_text()
    assert trace.records()[0]["options"] == options


# --- who does what --------------------------------------------------------------------------------
def test_detector_and_resolver_may_be_two_models() -> None:
    detector, resolver = Model("detector"), Model("resolver")
    kit = Kit(
        model=Model("x"), roles={"detector": detector, "resolver": resolver}, retriever=InMemory(PASSAGES)
    )
    ac_rag(QUESTION, kit)
    assert {call.text.split(".")[0] for call in detector.calls} == {
        system.split(".")[0] for system in (PRE_CHECK_SYSTEM, DISSECT_SYSTEM, POST_CHECK_SYSTEM)
    }
    assert not any(resolver.asked(system) for system in (PRE_CHECK_SYSTEM, DISSECT_SYSTEM, POST_CHECK_SYSTEM))
    assert resolver.asked(EXPLAIN_SYSTEM) and resolver.asked(SUMMARY_SYSTEM)


@pytest.mark.parametrize("models", ["detector", "resolver"])
def test_one_model_can_play_both_roles(models: str) -> None:
    cast = {"detector": Model("detector"), "resolver": Model("resolver")}
    ac_rag(QUESTION, Kit(model=Model("x"), roles=cast, retriever=InMemory(PASSAGES)), models=models)  # type: ignore[arg-type]
    assert [name for name, model in cast.items() if model.calls] == [models]


# --- what is looked up -----------------------------------------------------------------------------
def test_the_explanation_is_the_query_and_the_term_or_the_question_are_ablations() -> None:
    for query, wanted in (
        ("explanation", "Callus formation, explained."),
        ("term", "callus formation"),
        ("question", "Which of the following increases callus formation?"),
    ):
        trace = Trace()
        kit = Kit(model=Model(), retriever=InMemory(PASSAGES), trace=trace)
        ac_rag(QUESTION, kit, query=query, rounds=1)  # type: ignore[arg-type]
        assert [event["query"] for event in trace.records() if event["event"] == "search"] == [wanted]


def test_the_question_as_query_reads_new_passages_every_round_and_names_no_term() -> None:
    model = Model()
    answer = answered(model, query="question", delta4=math.inf)
    assert sorted(passage.id for passage in answer.passages) == ["p1", "p2", "p3"]
    assert not model.asked(DISSECT_SYSTEM) and not model.asked(EXPLAIN_SYSTEM)


def test_a_term_that_the_detector_repeats_ends_the_asking() -> None:
    assert answered(Model(terms=["callus formation"])).rounds == 1


def test_the_first_new_term_of_a_list_is_taken() -> None:
    trace = Trace()
    model = Model(replies={DISSECT_SYSTEM: json.dumps({"terms": [*TERMS]})})
    ac_rag(QUESTION, Kit(model=model, retriever=InMemory(PASSAGES), trace=trace))
    assert [event["term"] for event in trace.records() if event["event"] == "round"] == list(TERMS)


def test_an_explanation_that_is_cut_short_or_long_is_searched_for_as_far_as_it_goes() -> None:
    trace = Trace()
    model = Model(replies={EXPLAIN_SYSTEM: "callus <|im_end|> " * 500})
    ac_rag(QUESTION, Kit(model=model, retriever=InMemory(PASSAGES), trace=trace), rounds=1)
    (query,) = (event["query"] for event in trace.records() if event["event"] == "search")
    assert len(query) == 600 and "<|im_end|>" not in query


def test_the_question_is_looked_up_where_the_detector_names_no_term() -> None:
    trace = Trace()
    kit = Kit(model=Model(replies={DISSECT_SYSTEM: "no JSON"}), retriever=InMemory(PASSAGES), trace=trace)
    assert ac_rag(QUESTION, kit, query="term").rounds == 1
    assert [event["query"] for event in trace.records() if event["event"] == "search"] == [
        "Which of the following increases callus formation?"
    ]


def test_the_memory_is_shown_to_the_detector_and_the_resolver() -> None:
    model = Model()
    answered(model)
    second = model.asked(DISSECT_SYSTEM)[1]
    assert "callus formation: Movement increases callus formation." in second
    final = model.calls[-1].text
    assert "Little callus forms when held still." in final
    assert "nothing was found on: respiratory distress" in final


def test_a_passage_that_tells_nothing_is_neither_remembered_nor_read_again() -> None:
    model = Model(terms=["respiratory distress causes", "many causes of respiratory distress", "callus"])
    answer = answered(model, query="term")
    summarised = [prompt for prompt in model.asked(SUMMARY_SYSTEM) if "Respiratory" in prompt]
    assert len(summarised) == 1
    assert all(citation.passage != "p3" for claim in answer.claims for citation in claim.citations)


def test_what_a_summary_adds_to_its_passage_is_left_out_unless_it_is_unbound() -> None:
    summary = "Movement increases callus formation. Vitamin C heals bones within days."
    reply = json.dumps({"summary": summary})
    answer = answered(Model(replies={SUMMARY_SYSTEM: reply}), rounds=1, bound=True)
    assert [claim.text for claim in answer.claims[1:]] == ["Movement increases callus formation."]
    answer = answered(Model(replies={SUMMARY_SYSTEM: reply}), rounds=1)
    assert [claim.text for claim in answer.claims[1:]] == [summary]


def test_a_summary_that_is_all_of_the_models_own_is_not_remembered() -> None:
    reply = json.dumps({"summary": "Vitamin C heals bones within days."})
    model = Model(replies={SUMMARY_SYSTEM: reply})
    answer = answered(model, rounds=1, bound=True)
    assert [claim.citations for claim in answer.claims] == [()]
    assert "Vitamin" not in model.calls[-1].text


def test_what_a_question_comes_with_is_read_by_all_agents_and_not_searched_for() -> None:
    model = Model()
    retriever = InMemory(PASSAGES)
    kit = Kit(model=model, retriever=retriever)
    ac_rag(QUESTION, kit, rounds=1, context="An abstract on 61 patients.")
    with_it = [call for call in model.calls if "An abstract on 61 patients." in call.text]
    assert len(with_it) >= 3  # pre-check, dissection, answer
    assert "An abstract" in model.calls[-1].text
    searched = [event["query"] for event in kit.trace.records() if event["event"] == "search"]
    assert not any("abstract" in query for query in searched)


def test_solved_examples_are_read_before_the_answer_and_nowhere_else() -> None:
    model = Model()
    answered(model, rounds=1, shots="Question: Is water wet? Answer: yes")
    assert [n for n, call in enumerate(model.calls, 1) if "Is water wet?" in call.text] == [len(model.calls)]


def test_without_summaries_the_passages_themselves_are_remembered() -> None:
    model = Model()
    answer = answered(model, summary=False, rounds=1)
    assert not model.asked(SUMMARY_SYSTEM)
    assert f"callus formation: {CALLUS}" in model.calls[-1].text
    assert [claim.text for claim in answer.claims[1:]] == [CALLUS]


# --- what comes back -------------------------------------------------------------------------------
def test_the_memory_is_handed_on_as_claims_whose_citations_stand_in_their_passages() -> None:
    answer = answered(Model())
    citations_of = {claim.text: claim.citations for claim in answer.claims}
    assert citations_of["Movement increases callus formation."][0].quote == CALLUS.removesuffix(
        " Plates are of steel."
    )
    # The quote was made up, so our code cites the sentence that is nearest to what was said.
    assert citations_of["Little callus forms when held still."][0].quote == RIGID
    texts = {passage.id: passage.text for passage in PASSAGES}
    for citations in citations_of.values():
        for citation in citations:
            assert texts[citation.passage][citation.start : citation.end] == citation.quote
    assert [reply.explanation for reply in answer.replies[:2]] == [
        "Movement increases callus formation.",
        "Little callus forms when held still.",
    ]
    assert answer.confidence == pytest.approx(0.7 / 0.9, abs=1e-3)


def test_through_the_audit_the_citations_are_numbered_and_rendered() -> None:
    kit = Kit(model=Model(), retriever=InMemory(PASSAGES))
    answer = ask(QUESTION, kit=kit, strategy="ac_rag", verify=False)
    assert "Movement increases callus formation [1]." in answer.text
    assert "Little callus forms when held still [2]." in answer.text
    assert answer.text.startswith("Which of the following increases callus formation: Movement")


def test_yes_no_and_maybe_are_picked_by_their_words() -> None:
    question = "Does movement increase callus formation?"
    model = Model(letters={"yes": 0.6, "no": 0.3, "maybe": 0.1})
    answer = answered(model, question)
    assert answer.answers == ("yes",)
    assert [position.passages for position in answer.conflict.positions] == [("p1", "p2")]


def test_a_free_answer_is_cited_where_a_remembered_passage_bears_it() -> None:
    answer = answered(Model(), "What increases callus formation?")
    assert answer.answers == ("movement",)
    assert answer.claims[0].text == "It is movement that increases it."
    assert [citation.quote for citation in answer.claims[0].citations] == [
        CALLUS.split(". ", maxsplit=1)[0] + "."
    ]


def test_options_can_be_given_beside_the_question_and_free_leaves_them_out() -> None:
    model = Model(letters={"A": 0.9, "B": 0.1})
    assert answered(model, "What increases it?", choices="Rest|Movement").answers == ("Rest",)
    assert answered(Model(), choices="free").answers == ("movement",)


# --- bad input -------------------------------------------------------------------------------------
@pytest.mark.parametrize("options", [{"rounds": 0}, {"k": 0}, {"votes": -1}, {"delta1": math.nan}])
def test_senseless_options_are_named(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="ac_rag: "):
        answered(Model(), **options)


def test_a_model_without_log_probabilities_is_a_clear_error_or_votes() -> None:
    class Silent(Model):
        def _odds(self, text: str) -> Odds:
            return NoLogprobs("none")

        def _say(self, text: str) -> str:
            if "Write that one word as one JSON object" in text:
                return json.dumps({"word": "B" if '"B"' in text else "Yes"})
            return super()._say(text)

    with pytest.raises(NoLogprobs, match=r"--role detector=MODEL.*votes=10"):
        answered(Silent())
    answer = answered(Silent(), votes=10)
    assert answer.answers == ("Movement at the fracture",)
    assert answer.rounds == 1


@pytest.mark.parametrize("reply", [*HOSTILE_REPLIES.values(), *NO_ANSWER])
@pytest.mark.parametrize("votes", [0, 1])
def test_hostile_replies_and_passages_keep_the_manners_in_every_round(reply: str, votes: int) -> None:
    kit = Kit(model=Parrot(reply), retriever=Hand(HOSTILE))
    try:
        answer = ac_rag("When was it?", kit, delta1=-math.inf, delta4=math.inf, k=6, votes=votes)
    except ReplyError as fault:
        assert fault.raw == reply
        return
    must_hold(answer, HOSTILE)


def test_hostile_passages_stand_in_fences_and_in_no_system_message() -> None:
    model = Parrot()
    kit = Kit(model=model, retriever=Hand(HOSTILE))
    ac_rag("When was it?", kit, delta1=-math.inf, delta4=1e9, k=6, summary=False)
    for prompt in model.prompts():
        for message in prompt.messages:
            assert "<|im_start|>" not in message.content
            at = message.content.find("all other passages are false")
            if at >= 0:
                assert message.role == "user" and "<notes " in message.content[:at]
