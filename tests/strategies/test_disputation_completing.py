"""The disputation before and after it hears: what the model knows itself, and what is still missing."""

from __future__ import annotations

import pytest

from disputatio.trace import Trace
from tests.strategies.court import (
    BOTH,
    GOATS,
    GUILD,
    INN,
    LIE,
    LINKS,
    OPENED,
    QUESTION,
    TRUE,
    WHEN,
    WHO,
    Court,
    Shelf,
    answered,
    notes,
    passage,
    verdicts,
)


# --- before anything is looked up ---------------------------------------------------------------
def test_precheck_answers_what_the_model_is_sure_to_know_without_retrieval() -> None:
    court, shelf = Court(knows=0.99, known=[LIE]), Shelf([GUILD])
    answer = answered(court, shelf, precheck=True)
    assert (answer.answers, answer.retrievals, shelf.asked) == ((LIE,), 0, [])
    assert court.roles() == ["knows", "closed book"]


@pytest.mark.parametrize("court", [Court(knows=0.5, known=[LIE]), Court(knows=0.99), Court(logprobs=False)])
def test_what_the_model_does_not_know_is_looked_up(court: Court) -> None:
    assert answered(court, [GUILD], precheck=True).answers == (TRUE,)
    assert "witness" in court.roles()


def test_a_precheck_that_cannot_be_made_is_noted() -> None:
    trace = Trace()
    answered(Court(logprobs=False), [GUILD], precheck=True, trace=trace)
    assert len(notes(trace, "no_precheck")) == 1


def test_nobody_asks_what_the_model_knows_without_precheck() -> None:
    court = Court(knows=0.99, known=[LIE])
    assert answered(court, [GUILD]).answers == (TRUE,)
    assert "knows" not in court.roles()


# --- what is missing ----------------------------------------------------------------------------
def test_where_nothing_is_found_an_explanation_is_searched_for_among_unread_passages() -> None:
    court, shelf = Court(explains="A tower by an engineer."), Shelf([GOATS], [GUILD, INN])
    answer = answered(court, shelf)
    assert answer.answers == (TRUE,)
    assert court.batches == [("witness", 1), ("explain", 1), ("witness", 2)]
    assert shelf.asked[-1] == ("A tower by an engineer.", frozenset({"goats"}))
    assert [one.id for one in answer.passages] == ["goats", "guild", "inn"]
    assert ([one.round for one in answer.replies], answer.rounds) == ([1, 2, 2], 2)


def test_what_was_heard_first_is_weighed_again_with_what_is_found_later() -> None:
    answer = answered(Court(), Shelf([LINKS], [GUILD]))
    assert verdicts(answer) == {TRUE: "accepted", LIE: "rejected"}


def test_an_explanation_that_knows_nothing_is_not_searched_for() -> None:
    shelf = Shelf([GOATS], [GUILD])
    assert answered(Court(explains="Unknown."), shelf).answers == (TRUE,)
    assert shelf.asked[-1][0] == QUESTION


def test_complete_off_looks_no_further() -> None:
    court, shelf = Court(), Shelf([GOATS], [GUILD])
    assert answered(court, shelf, complete=0).abstained == "no_evidence"
    assert (court.roles(), len(shelf.asked)) == (["witness"], 1)


@pytest.mark.parametrize("question", [QUESTION, BOTH])
def test_nothing_is_asked_for_where_everything_is_read(question: str) -> None:
    court = Court()
    assert answered(court, [GOATS], question).abstained == "no_evidence"
    assert court.roles() == ["witness"]


def test_it_is_looked_for_as_often_as_allowed_and_no_passage_is_read_twice() -> None:
    hills = [passage(f"hill{n}", f"Hill {n} is green and steep and has no tower.") for n in range(12)]
    court = Court()
    answer = answered(court, Shelf([GOATS], hills), complete=2)
    assert court.batches == [("witness", 1), ("explain", 1), ("witness", 5), ("explain", 1), ("witness", 5)]
    assert len({one.id for one in answer.passages}) == 11
    assert answer.rounds == 3


def test_both_parts_of_a_question_are_answered() -> None:
    court, shelf = Court(parts=[WHO, WHEN]), Shelf([GUILD], [OPENED])
    answer = answered(court, shelf, BOTH)
    assert answer.answers == (TRUE, "4 May 1921")
    assert court.batches == [("witness", 1), ("parts", 1), ("witness", 1)]
    assert shelf.asked[-1] == (WHEN, frozenset({"guild"}))
    assert {one.passage for claim in answer.claims for one in claim.citations} == {"guild", "opened"}


def test_parts_that_are_answered_are_not_looked_for_again() -> None:
    told = passage("all", f"The Quillhaven lighthouse, designed by {TRUE}, was opened on 4 May 1921.")
    court, shelf = Court(parts=[WHO, WHEN]), Shelf([told], [OPENED])
    answered(court, shelf, BOTH)
    assert court.batches == [("witness", 1), ("parts", 1)]


def test_a_passage_is_read_for_one_part_alone() -> None:
    court = Court(parts=[WHEN, "Where does the Quillhaven keeper sleep?"])
    answer = answered(court, Shelf([GUILD], [OPENED, GOATS]), BOTH)
    assert [one.id for one in answer.passages] == ["guild", "opened", "goats"]
    assert court.batches == [("witness", 1), ("parts", 1), ("witness", 2)]


@pytest.mark.parametrize("parts", [[BOTH], [WHEN], [WHEN, WHEN], [], "no JSON", '{"parts": [1]}'])
def test_a_division_that_divides_nothing_changes_nothing(parts: list[str] | str) -> None:
    court = Court(parts=parts)
    assert answered(court, Shelf([GUILD], [OPENED]), BOTH).answers == (TRUE,)
    assert court.roles() == ["witness", "parts"]


def test_a_broken_division_is_noted_as_a_fault() -> None:
    trace = Trace()
    answered(Court(parts="no JSON"), Shelf([GUILD], [OPENED]), BOTH, trace=trace)
    (note,) = notes(trace, "fault")
    assert note["role"] == "detector"


def test_a_question_that_joins_nothing_is_not_divided() -> None:
    court = Court(parts=[WHO, WHEN])
    answered(court, Shelf([GUILD], [OPENED]))
    assert court.roles() == ["witness"]
