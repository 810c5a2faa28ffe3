"""An answer that is not likely enough to be right: an abstention, nothing lost."""

from __future__ import annotations

from typing import Any

import pytest

from disputatio.api import ask
from disputatio.attribution.audit import confidently
from disputatio.causes import Cause
from disputatio.errors import InputError
from disputatio.kit import Kit
from disputatio.types import Answer, Claim, Conflict, Passage, Position
from tests.strategies.disputation_agents import Agents, passage, word


def sure(confidence: float | None) -> Answer:
    kept = Position(answer="1931", verdict="accepted", cause=Cause(kind="most_votes"), probability=confidence)
    lost = Position(answer="1934", verdict="rejected", cause=Cause(kind="outvoted"), probability=0.2)
    return Answer(
        question="When?",
        answers=("1931",),
        text="It opened in 1931.",
        claims=(Claim(text="It opened in 1931."),),
        conflict=Conflict(kind="misinformation", positions=(kept, lost)),
        confidence=confidence,
    )


@pytest.mark.parametrize("least", [0.0, 0.5, 0.7])
def test_an_answer_that_is_as_likely_as_asked_for_stays(least: float) -> None:
    assert confidently(sure(0.7), least) == sure(0.7)


def test_a_less_likely_answer_becomes_a_conflict_that_shows_its_positions() -> None:
    answer = confidently(sure(0.7), 0.71)
    assert (answer.answers, answer.abstained, answer.text, answer.claims) == ((), "conflict", "", ())
    assert [(each.answer, each.verdict, each.cause.kind) for each in answer.conflict.positions] == [
        ("1931", "unresolved", "unsure"),
        ("1934", "rejected", "outvoted"),
    ]
    assert (answer.conflict.kind, answer.confidence) == ("unresolved", 0.7)


def test_an_answer_of_unknown_confidence_is_not_taken_for_sure() -> None:
    assert confidently(sure(None), 0.1).abstained == "conflict"


def test_what_had_no_answer_keeps_its_own_reason() -> None:
    none = Answer(question="When?", abstained="no_evidence")
    assert confidently(none, 0.9) is none


TOLD = [
    passage(name, f"The tower of Quillhaven was designed by {who}, as {name} has it.")
    for name, who in (("a", "Ada Lund"), ("b", "Ada Lund"), ("c", "Bo Falk"))
]


def asked(told: list[Passage] = TOLD, **options: Any) -> Answer:
    model = Agents(reads=lambda _, told: word("Ada Lund" if "Ada" in told else "Bo Falk", "Quillhaven"))
    return ask("Who designed the tower?", passages=told, model=model, verify=False, **options)


@pytest.mark.long
def test_a_question_is_answered_or_not_by_the_confidence_asked_for() -> None:
    plain = asked()
    assert plain.answers == ("Ada Lund",) and plain.confidence is not None
    assert asked(min_confidence=plain.confidence).answers == ("Ada Lund",)
    unsure = asked(min_confidence=min(plain.confidence + 0.001, 1.0))
    assert (unsure.answers, unsure.abstained, unsure.confidence) == ((), "conflict", plain.confidence)


@pytest.mark.long
def test_what_if_asks_for_the_same_confidence() -> None:
    plain, strictest = asked(min_confidence=0.1), asked(min_confidence=0.999)
    assert plain.without(passages=["c"]).answers == ("Ada Lund",)
    assert strictest.without(passages=["c"]).abstained == "no_evidence"


@pytest.mark.long
def test_a_strategy_withholds_what_it_holds_unlikely_unless_another_bound_is_stated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = asked(min_confidence=0)
    assert plain.confidence is not None and plain.answers
    monkeypatch.setattr("disputatio.strategies.disputation.LEAST_CONFIDENCE", plain.confidence + 0.001)
    assert asked().answers == ()
    assert asked(min_confidence=0).answers == plain.answers
    assert asked(settings={"min_confidence": 0.0}).answers == plain.answers


@pytest.mark.parametrize(("told", "kind"), [(TOLD, "conflict"), (TOLD[:1], "no_evidence")])
def test_an_answer_that_nothing_contradicts_is_withheld_for_want_of_evidence(
    told: list[Passage], kind: str
) -> None:
    withheld = asked(min_confidence=1.0, told=told)
    assert (withheld.answers, withheld.abstained) == ((), kind)
    assert withheld.conflict.positions[0].cause.kind == "unsure"


def test_an_answer_of_unknown_confidence_is_withheld_only_where_one_is_asked_for() -> None:
    def unknowing(question: str, kit: Kit) -> Answer:
        return Answer(question=question, answers=("Ada Lund",))

    assert ask("Who?", passages=TOLD, model=Agents(), strategy=unknowing).answers == ("Ada Lund",)
    assert ask("Who?", passages=TOLD, model=Agents(), strategy=unknowing, min_confidence=0.1).answers == ()


@pytest.mark.parametrize("least", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(least: float) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        asked(min_confidence=least)
