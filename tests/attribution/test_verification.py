"""Verification: each statement is checked against its quotes; strict answers drop what fails."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disputatio.attribution.audit import audit, split_claims
from disputatio.attribution.entailment import DENIAL_SYSTEM, JUDGE_SYSTEM, ModelJudge
from disputatio.attribution.verification import resolve_citations, strictly, verify_claims, withdraw_failed
from disputatio.causes import Cause
from disputatio.errors import ConfigError, InputError, NoLogprobs
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.pipeline import ask
from disputatio.store.in_memory import InMemory
from disputatio.types import Answer, Citation, CitationVerdict, Claim, Conflict, Passage, Position

HEIGHT = Passage(id="h", source="maps.example", text="Everest is 8,849 m high. Snow falls there.")
LAND = Passage(id="n", source="nepal.example", text="Everest lies in Nepal. It is cold.")
PASSAGES = (HEIGHT, LAND)


def quote(passage: Passage, text: str) -> Citation:
    at = passage.text.index(text)
    return Citation(n=0, passage=passage.id, source=passage.source, quote=text, start=at, end=at + len(text))


def _answer(question: str, answer: str) -> str:
    return f"{question.rstrip('?')}: {answer}."


HIGH, LIES = quote(HEIGHT, "Everest is 8,849 m high."), quote(LAND, "Everest lies in Nepal.")


@dataclass
class Judge:
    """A judge that scores pairs by words of hypothesis and premise; other pairs score `other`."""

    supports: Mapping[tuple[str, str], float] = field(default_factory=dict)
    denies: Mapping[tuple[str, str], float] = field(default_factory=dict)
    other: float = 0.1
    asked: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)

    def entails(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.asked.append(("entails", list(pairs)))
        return [self._score(self.supports, pair, self.other) for pair in pairs]

    def contradicts(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.asked.append(("contradicts", list(pairs)))
        return [self._score(self.denies, pair, 0.0) for pair in pairs]

    @staticmethod
    def _score(table: Mapping[tuple[str, str], float], pair: tuple[str, str], other: float) -> float:
        return next((s for (a, b), s in table.items() if a in pair[0] and b in pair[1]), other)


def kit(judge: Any = None, **named: Any) -> Kit:
    return Kit(model=named.pop("model", Scripted([])), entailment=judge, **named)


# --- every citation resolves --------------------------------------------------------------------
@pytest.mark.parametrize(
    ("cited", "span"),
    [
        (replace(HIGH, start=3, end=9), (0, 23)),
        (replace(HIGH, start=-5, end=900), (0, 23)),
        (replace(HIGH, quote="everest is  8,849 m HIGH", start=0, end=4), (0, 23)),
        (replace(HIGH, quote="Everest is 9,000 m high."), None),
        (replace(HIGH, passage="nowhere"), None),
        (replace(HIGH, quote=" ", start=7, end=8), None),
        (replace(HIGH, quote="", start=0, end=0), None),
    ],
)
def test_a_citation_gets_the_offsets_of_its_quote_or_is_dropped(
    cited: Citation, span: tuple[int, int] | None
) -> None:
    own_kit = kit()
    [claim] = resolve_citations([Claim(text="x", citations=(cited,))], PASSAGES, own_kit)
    assert [(citation.start, citation.end) for citation in claim.citations] == ([span] if span else [])
    for citation in claim.citations:
        assert HEIGHT.text[citation.start : citation.end] == citation.quote
    assert [event["event"] for event in own_kit.trace.records()] == ([] if span else ["unresolved"])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["h", "n", "?"]),
            st.sampled_from(["Everest", "in Nepal.", "m", "", "[1]"]),
            st.integers(-9, 99),
            st.integers(-9, 99),
        ),
        max_size=4,
    )
)
def test_whatever_a_strategy_cites_every_citation_of_its_answer_resolves(
    places: list[tuple[str, str, int, int]],
) -> None:
    cited = tuple(
        Citation(n=7, passage=name, source="", quote=text, start=start, end=end)
        for name, text, start, end in places
    )
    claims = (Claim(text="Everest is high.", citations=cited),)
    answer = Answer(question="?", answers=("high",), claims=claims, passages=PASSAGES)
    texts = {passage.id: passage.text for passage in PASSAGES}
    for citation in (
        cited for claim in audit(answer, kit(), verify=False).claims for cited in claim.citations
    ):
        assert texts[citation.passage][citation.start : citation.end] == citation.quote != ""


# --- one statement a claim ----------------------------------------------------------------------
def test_claims_are_divided_into_statements_that_share_the_citations() -> None:
    claim = Claim(text="Everest is 8,849 m high, and it lies in Nepal.", citations=(HIGH, LIES))
    assert [(part.text, len(part.citations)) for part in split_claims([claim])] == [
        ("Everest is 8,849 m high.", 2),
        ("It lies in Nepal.", 2),
    ]


def test_each_statement_keeps_the_quote_that_supports_it_and_its_own_number() -> None:
    claim = Claim(text="Everest is 8,849 m high, and it lies in Nepal.", citations=(HIGH, LIES))
    answer = Answer(question="?", answers=("Nepal",), claims=(claim,), passages=PASSAGES)
    judge = Judge({("8,849", "Everest is 8,849"): 0.9, ("Nepal", "Everest lies"): 0.8})
    result = audit(answer, kit(judge))
    assert result.text == "Everest is 8,849 m high [1]. It lies in Nepal [2]."
    assert [(claim.verdict, claim.score) for claim in result.claims] == [
        ("supported", 0.9),
        ("supported", 0.8),
    ]


def test_a_statement_that_begins_with_a_pronoun_is_judged_with_its_subject() -> None:
    judge = Judge()
    claims = [Claim(text="Everest is high.", citations=(HIGH,)), Claim(text="It is cold.", citations=(LIES,))]
    verify_claims(claims, PASSAGES, kit(judge))
    assert [pair[1] for pair in judge.asked[0][1]] == [
        "Everest is high.",
        "Everest is cold.",
    ]


# --- verdicts -----------------------------------------------------------------------------------
def test_a_claim_is_as_well_supported_as_its_best_quote() -> None:
    judge = Judge({("8,849", ""): 0.9, ("Nepal", ""): 0.3})
    [claim] = verify_claims([Claim(text="It is high.", citations=(HIGH, LIES))], PASSAGES, kit(judge))
    assert (claim.verdict, claim.score) == ("supported", 0.9)
    assert [citation.verdict for citation in claim.citations] == ["supported", "partly"]
    assert [kind for kind, _ in judge.asked] == ["entails"]


def test_the_title_that_a_claim_names_is_not_asked_of_passages_with_another() -> None:
    rules = replace(HEIGHT, title="Heights (second edition)")
    other = replace(LAND, id="o", title="Maps", text="Everest is 8,849 m high.")
    judge = Judge({("Maps", "8,849 m high."): 0.9})
    cited = (HIGH, quote(other, "Everest is 8,849 m high."))
    claim = Claim(text="Everest is 8,849 m high (Heights (second edition)).", citations=cited)
    [checked] = verify_claims([claim], [rules, other], kit(judge))
    assert checked.citations[1].verdict == "supported"
    assert {hypothesis for _, hypothesis in judge.asked[0][1]} == {"Everest is 8,849 m high."}
    assert checked.text == claim.text


@pytest.mark.parametrize(
    ("said", "judged"),
    [
        ("Everest was 8,849 m high before version 2.", "Everest is 8,849 m high."),
        ("Everest was 8,849 m high in 2021.", "Everest was 8,849 m high in 2021."),
    ],
)
def test_the_version_that_a_claim_is_about_is_not_asked_of_its_quotes(said: str, judged: str) -> None:
    judge = Judge({("8,849 m high.", ""): 0.9})
    verify_claims([Claim(text=said, citations=(HIGH,))], [HEIGHT], kit(judge))
    assert {hypothesis for _, hypothesis in judge.asked[0][1]} == {judged}


def test_a_version_that_a_quote_states_is_asked_of_it() -> None:
    said = "The clock was removed in version 2 of the rules."
    judge = Judge({("removed", ""): 0.9})
    passage = Passage(id="c", text=said)
    verify_claims([Claim(text=said, citations=(quote(passage, said),))], [passage], kit(judge))
    assert {hypothesis for _, hypothesis in judge.asked[0][1]} == {said}


def test_quotes_that_support_only_together_are_read_together() -> None:
    judge = Judge({("m high. Everest lies", ""): 0.8})
    [claim] = verify_claims(
        [Claim(text="It is 8,849 m in Nepal.", citations=(HIGH, LIES))], PASSAGES, kit(judge)
    )
    assert (claim.verdict, claim.score) == ("supported", 0.8)
    assert [(kind, len(pairs)) for kind, pairs in judge.asked] == [("entails", 2), ("entails", 1)]


def test_contradiction_is_a_separate_question_asked_only_without_support() -> None:
    judge = Judge({("Nepal", "Nepal"): 0.9}, denies={("8,849", "9,000"): 0.7})
    claims = [
        Claim(text="Everest is 9,000 m high.", citations=(HIGH,)),
        Claim(text="Everest lies in Nepal.", citations=(LIES,)),
        Claim(text="Everest is blue.", citations=(HIGH,)),
    ]
    checked = verify_claims(claims, PASSAGES, kit(judge))
    assert [claim.verdict for claim in checked] == ["contradicted", "supported", "unsupported"]
    assert [citation.verdict for citation in checked[0].citations] == ["contradicted"]
    assert judge.asked[1][0] == "contradicts"
    assert [pair[1] for pair in judge.asked[1][1]] == ["Everest is 9,000 m high.", "Everest is blue."]


def test_a_judge_that_cannot_detect_contradictions_is_not_asked_for_them() -> None:
    @dataclass
    class Plain:
        def entails(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            return [0.0 for _ in pairs]

    [claim] = verify_claims([Claim(text="x", citations=(HIGH,))], PASSAGES, kit(Plain()))
    assert claim.verdict == "unsupported"


@pytest.mark.parametrize(
    ("sentence", "claim", "verdict"),
    [
        ("The old quay is not open to visitors.", "The old quay is open to visitors.", "unsupported"),
        ("The old quay is open to visitors.", "The old quay is not open to visitors.", "unsupported"),
        ("Nets are prohibited on the east mole.", "Nets are allowed on the east mole.", "unsupported"),
        (
            "Ada Hollis is not the head of the archive.",
            "Ada Hollis is the head of the archive.",
            "unsupported",
        ),
        ("A berth costs 43 crowns a night, not 34 crowns.", "A berth costs 43 crowns a night.", "supported"),
        (
            "A berth costs 43 crowns a night, not 34 crowns.",
            "A berth costs 34 crowns a night.",
            "unsupported",
        ),
        ("Not Croll but Ada Hollis drew the east mole.", "Ada Hollis drew the east mole.", "supported"),
        ("A berth costs no more than 40 crowns.", "A berth costs 40 crowns.", "supported"),
        ("No one but the warden may open the sluice.", "The warden may open the sluice.", "supported"),
        ("The old quay is not open on Monday.", "The old quay is not open on Monday.", "supported"),
        ("Nets are prohibited on the east mole.", "No: Nets are prohibited on the east mole.", "supported"),
        ("The lock does not open on Mondays.", _answer("When does the lock open?", "Mondays"), "unsupported"),
        ("The lock opens on Mondays.", _answer("When does the lock open?", "Mondays"), "supported"),
        ("Ilm Works is not for sale.", "Ilm Works is not for sale (No sale of the works).", "supported"),
        ("The lock is not for sale.", "The lock is for sale (No sale of the lock).", "unsupported"),
        ("It was not until 1931 that the lock was built.", "The lock was built in 1931.", "supported"),
        (
            "Nobody may pass the lock before noon.",
            _answer("When may one pass the lock?", "noon"),
            "supported",
        ),
        (
            "The lock was closed because it was not safe.",
            _answer("Why was the lock closed?", "it was not safe"),
            "supported",
        ),
    ],
)
def test_a_small_judge_does_not_overlook_a_negation(sentence: str, claim: str, verdict: str) -> None:
    passage = Passage(id="q", text=f"It rained. {sentence} The sea was calm.", source="port.example")
    claims = [Claim(text=claim, citations=(quote(passage, sentence),))]
    [checked] = verify_claims(claims, [passage], kit(Judge(other=0.9)))
    assert (checked.verdict, checked.citations[0].verdict) == (verdict, verdict)


def test_two_quotes_of_which_one_denies_a_claim_do_not_support_it_together() -> None:
    texts = ("The old quay is not open to visitors.", "Visitors like the old quay.")
    passages = [Passage(id=f"q{n}", text=text, source="port.example") for n, text in enumerate(texts)]
    citations = tuple(map(quote, passages, texts))
    together = ("to visitors. Visitors", "open")
    judge = Judge(supports={together: 0.9, ("Visitors like", "open"): 0.2}, other=0.9)
    [checked] = verify_claims(
        [Claim(text="The old quay is open to visitors.", citations=citations)], passages, kit(judge)
    )
    assert checked.verdict == "unsupported"


def test_the_model_is_asked_both_questions() -> None:
    def odds(text: str) -> dict[str, float]:
        return {"Yes": 0.9, "No": 0.1} if text.startswith(DENIAL_SYSTEM) else {"Yes": 0.1, "No": 0.9}

    model = Scripted([], choices=odds)
    [claim] = verify_claims(
        [Claim(text="Everest is 9,000 m high.", citations=(HIGH,))], PASSAGES, kit(model=model)
    )
    assert claim.verdict == "contradicted"
    assert [call.prompt.messages[0].content for call in model.calls] == [JUDGE_SYSTEM, DENIAL_SYSTEM]
    assert ModelJudge(kit(model=model)).contradicts([]) == []


def test_a_claim_without_citations_is_unsupported_and_costs_nothing() -> None:
    judge = Judge()
    [claim] = verify_claims([Claim(text="x")], PASSAGES, kit(judge))
    assert (claim.verdict, claim.score, judge.asked) == ("unsupported", None, [])


def test_a_judge_that_leaves_pairs_out_is_an_error() -> None:
    class Lazy(Judge):
        def entails(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            return []

    with pytest.raises(ConfigError, match="scored 0 of 1"):
        verify_claims([Claim(text="x", citations=(HIGH,))], PASSAGES, kit(Lazy()))


# --- strict answers -----------------------------------------------------------------------------
def claimed(*verdicts: str) -> Answer:
    texts = ("Everest is 8,849 m high.", "Everest lies in Nepal.", "Everest is blue.")
    claims = tuple(
        Claim(text=text, citations=(replace(HIGH, n=n, start=n, end=n + 1),), verdict=verdict)  # type: ignore[arg-type]
        for n, (text, verdict) in enumerate(zip(texts, verdicts, strict=False), 1)
    )
    answers = ("8,849 m", "Nepal", "blue")[: len(verdicts)]
    positions = tuple(
        Position(answer=answer, verdict="accepted", cause=Cause(kind="kept")) for answer in answers
    )
    return Answer(
        question="?", answers=answers, claims=claims, conflict=Conflict(positions=positions), confidence=0.9
    )


def test_strict_drops_what_is_unsupported_or_contradicted_and_renumbers() -> None:
    strict = strictly(claimed("unsupported", "supported", "contradicted"))
    assert (strict.text, strict.answers, strict.abstained) == ("Everest lies in Nepal [1].", ("Nepal",), None)
    assert [(position.answer, position.verdict) for position in strict.conflict.positions] == [
        ("8,849 m", "unresolved"),
        ("Nepal", "accepted"),
        ("blue", "unresolved"),
    ]
    assert strict.conflict.positions[0].cause.kind == "unsupported"
    assert "does not support it" in strict.conflict.positions[0].reason


def test_strict_abstains_when_nothing_is_left() -> None:
    strict = strictly(claimed("unsupported", "contradicted"))
    assert (strict.answers, strict.abstained, strict.claims, strict.text) == ((), "no_evidence", (), "")
    assert strict.confidence is None


def test_strict_keeps_supported_and_partly_supported_claims() -> None:
    claimed_answer = claimed("supported", "partly")
    assert strictly(claimed_answer) is claimed_answer


@pytest.mark.parametrize(
    ("verdict", "citation", "answers"),
    [
        ("contradicted", "contradicted", ("Nepal",)),
        ("unsupported", "unsupported", ("Nepal",)),
        ("contradicted", "supported", ("8,849 m", "Nepal")),
        ("partly", "partly", ("8,849 m", "Nepal")),
    ],
)
def test_what_no_citation_says_is_no_headline(
    verdict: CitationVerdict, citation: CitationVerdict, answers: tuple[str, ...]
) -> None:
    answer = claimed(verdict, "supported")
    first = answer.claims[0]
    cited = tuple(replace(each, verdict=citation) for each in first.citations)
    answer = replace(answer, claims=(replace(first, citations=cited), *answer.claims[1:]))
    shown = withdraw_failed(answer)
    assert (shown.answers, shown.claims) == (answers, answer.claims)


def test_strict_answers_need_verdicts() -> None:
    model = Scripted([json.dumps({"answers": ["Nepal"], "explanation": "Everest lies in Nepal."})] * 2)
    own_kit = Kit(model=model, retriever=InMemory(PASSAGES))
    with pytest.raises(InputError, match="verif"):
        ask("Where?", kit=own_kit, strategy="concat", strict=True, verify=False)
    deaf = replace(own_kit, model=Scripted(model._replies, choices=lambda _: NoLogprobs("none to be had")))
    with pytest.raises(NoLogprobs, match="--role judge"):
        ask("Where?", kit=deaf, strategy="concat", strict=True)


@pytest.mark.parametrize(("yes", "abstained"), [(0.9, None), (0.1, "no_evidence")])
def test_a_strict_answer_is_strict_for_any_strategy(yes: float, abstained: str | None) -> None:
    def odds(text: str) -> dict[str, float]:
        return {"Yes": yes, "No": 1 - yes} if text.startswith(JUDGE_SYSTEM) else {"Yes": 0.0, "No": 1.0}

    reply = json.dumps({"answers": ["Nepal"], "explanation": "Everest lies in Nepal."})
    own_kit = Kit(model=Scripted([reply], choices=odds), retriever=InMemory(PASSAGES))
    answer = ask("Where?", kit=own_kit, strategy="concat", strict=True)
    assert answer.abstained == abstained
    assert bool(answer.answers) == (abstained is None)
