"""The disputation before and after it reads: what the model knows itself, and what is still missing."""

from __future__ import annotations

import importlib
from dataclasses import replace

import pytest

from disputatio.trace import Trace
from tests.strategies.disputation_agents import (
    BOTH,
    EQUALS,
    GOATS,
    GUILD,
    INN,
    LIE,
    LINKS,
    OPENED,
    QUESTION,
    TITLE,
    TRUE,
    WHEN,
    WHO,
    Agents,
    Shelf,
    answered,
    notes,
    passage,
    titled,
    verdicts,
)


# --- before anything is looked up ---------------------------------------------------------------
def test_precheck_answers_what_the_model_is_sure_to_know_without_retrieval() -> None:
    model, shelf = Agents(knows=0.99, known=[LIE]), Shelf([GUILD])
    answer = answered(model, shelf, precheck=True)
    assert (answer.answers, answer.retrievals, shelf.asked) == ((LIE,), 0, [])
    assert model.roles() == ["knows", "closed book"]


@pytest.mark.parametrize(
    "model",
    [Agents(knows=0.5, known=[LIE]), Agents(knows=0.99), Agents(logprobs=False)],
)
def test_what_the_model_does_not_know_is_looked_up(model: Agents) -> None:
    assert answered(model, [GUILD], precheck=True).answers == (TRUE,)
    assert "reader" in model.roles()


def test_a_precheck_that_cannot_be_made_is_noted() -> None:
    trace = Trace()
    answered(Agents(logprobs=False), [GUILD], precheck=True, trace=trace)
    assert len(notes(trace, "no_precheck")) == 1


def test_nobody_asks_what_the_model_knows_without_precheck() -> None:
    model = Agents(knows=0.99, known=[LIE])
    assert answered(model, [GUILD]).answers == (TRUE,)
    assert "knows" not in model.roles()


# --- what is missing ----------------------------------------------------------------------------
def test_where_nothing_is_found_an_explanation_is_searched_for_among_unread_passages() -> None:
    model, shelf = Agents(explains="A tower by an engineer."), Shelf([GOATS], [GUILD, INN])
    answer = answered(model, shelf)
    assert answer.answers == (TRUE,)
    assert model.batches == [("reader", 1), ("explain", 1), ("reader", 2)]
    assert shelf.asked[-1] == ("A tower by an engineer.", frozenset({"goats"}))
    assert [one.id for one in answer.passages] == ["goats", "guild", "inn"]
    assert ([one.round for one in answer.replies], answer.rounds) == ([1, 2, 2], 2)


def test_where_passages_are_in_other_languages_the_question_is_searched_in_those() -> None:
    german = (
        "Der Leuchtturm von Quillhaven steht am alten Hafen und wird jede Woche von zwei Leuten gestrichen."
    )
    others = [passage(f"de{n}", f"{german} {german} Das war {n} Mal so.") for n in range(4)]
    model, shelf = Agents(explains="Wer?"), Shelf([GOATS], others)
    answered(model, shelf)
    assert model.batches == [("reader", 1), ("translate", 1), ("reader", 4)]
    assert shelf.asked[-1] == ("Wer? (German)", frozenset({"goats"}))


def test_other_versions_of_what_is_found_later_are_read_too() -> None:
    old = passage("old", "Barnaby Croll designed the Quillhaven lighthouse.", title=TITLE, source="town")
    old = replace(old, document="old", family="town/guide", version="1.0", metadata={"heading": "Makers"})
    new = replace(old, id="new", document="new", version="2.0", text=GUILD.text)
    other = replace(new, id="other", metadata={"heading": "Rooms"}, text="The town has many rooms to let.")
    hills = [passage(f"hill{n}", f"Hill {n} is green and steep and has no tower.") for n in range(4)]
    rooms = [replace(other, id=f"room{n}") for n in range(4)]
    answer = answered(Agents(), Shelf([GOATS], [old, *hills, *rooms, new]))
    assert answer.answers == (TRUE,)
    read = [one.id for one in answer.passages]
    assert "new" in read  # of the same section, before others of its version
    assert len([one for one in read if one.startswith("room")]) == 3


def test_what_was_read_first_is_weighed_again_with_what_is_found_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolve = importlib.import_module("disputatio.strategies.disputation.resolve")
    monkeypatch.setattr(resolve, "LEAST", -1.0)  # so that a list of links is no answer
    answer = answered(Agents(), Shelf([LINKS], [GUILD]))
    assert verdicts(answer) == {TRUE: "accepted", LIE: "rejected"}


def test_an_explanation_that_knows_nothing_is_not_searched_for() -> None:
    shelf = Shelf([GOATS], [GUILD])
    assert answered(Agents(explains="Unknown."), shelf).answers == (TRUE,)
    assert shelf.asked[-1][0] == QUESTION


def test_complete_off_looks_no_further() -> None:
    model, shelf = Agents(), Shelf([GOATS], [GUILD])
    assert answered(model, shelf, complete=0).abstained == "no_evidence"
    assert (model.roles(), len(shelf.asked)) == (["reader"], 1)


@pytest.mark.parametrize(("question", "asked"), [(QUESTION, ["reader"]), (BOTH, ["parts", "reader"])])
def test_nothing_is_looked_for_where_everything_is_read(question: str, asked: list[str]) -> None:
    model = Agents()
    assert answered(model, [GOATS], question).abstained == "no_evidence"
    assert model.roles() == asked


def test_a_follow_up_is_noted() -> None:
    trace = Trace()
    answered(Agents(explains="A tower."), Shelf([GOATS], [GUILD]), trace=trace)
    (note,) = notes(trace, "follow_up")
    assert (note["question"], note["query"], note["passages"]) == (QUESTION, "A tower.", ["guild"])


def test_it_is_looked_for_as_often_as_allowed_and_no_passage_is_read_twice() -> None:
    hills = [passage(f"hill{n}", f"Hill {n} is green and steep and has no tower.") for n in range(12)]
    model = Agents()
    answer = answered(model, Shelf([GOATS], hills), complete=2)
    assert model.batches == [("reader", 1), ("explain", 1), ("reader", 5), ("explain", 1), ("reader", 5)]
    assert len({one.id for one in answer.passages}) == 11
    assert answer.rounds == 3


# --- questions of several parts -----------------------------------------------------------------
def test_every_part_is_read_in_all_passages_and_resolved_alone() -> None:
    model, trace = Agents(parts=[WHO, WHEN]), Trace()
    answer = answered(model, [GUILD, OPENED, GOATS], BOTH, trace=trace)
    assert answer.answers == (TRUE, "4 May 1921")
    assert model.batches == [("parts", 1), ("reader", 3), ("reader", 3)]
    asked = [one.rpartition("Question: ")[2] for one in model.prompts("reader")]
    assert asked == [WHO] * 3 + [WHEN] * 3
    assert [one["question"] for one in notes(trace, "sides")] == [WHO, WHEN]
    assert [len(one["sides"]) for one in notes(trace, "sides")] == [1, 1]
    assert [one.id for one in answer.passages] == ["guild", "opened", "goats"]


def test_a_part_is_answered_out_of_a_passage_that_answers_another_too() -> None:
    told = passage("all", f"{GUILD.text} Many years later it was opened on 4 May 1921.")
    model, shelf = Agents(parts=[WHO, WHEN]), Shelf([told], [OPENED])
    assert answered(model, shelf, BOTH).answers == (TRUE, "4 May 1921")
    assert model.batches == [("parts", 1), ("reader", 1), ("reader", 1)]
    assert len(shelf.asked) == 1  # nothing is missing


def test_a_part_that_nothing_answers_is_looked_for_among_unread_passages() -> None:
    model, shelf = Agents(parts=[WHO, WHEN], explains="A day."), Shelf([GUILD], [OPENED])
    answer = answered(model, shelf, BOTH)
    assert answer.answers == (TRUE, "4 May 1921")
    assert model.batches == [
        ("parts", 1),
        ("reader", 1),
        ("reader", 1),
        ("explain", 1),
        ("reader", 1),
    ]
    assert shelf.asked[-1] == ("A day.", frozenset({"guild"}))
    assert ([one.round for one in answer.replies], answer.rounds) == ([1, 1, 2], 2)


def test_what_is_found_for_one_part_is_read_for_the_next() -> None:
    found = passage("all", f"{GUILD.text} Many years later it was opened on 4 May 1921.")
    model = Agents(parts=[WHO, WHEN])
    answer = answered(model, Shelf([GOATS], [found]), BOTH)
    assert answer.answers == (TRUE, "4 May 1921")
    assert model.batches == [
        ("parts", 1),
        ("reader", 1),
        ("explain", 1),
        ("reader", 1),
        ("reader", 2),
    ]
    assert [one.id for one in answer.passages] == ["goats", "all"]


def test_each_part_has_a_cited_claim_of_its_own() -> None:
    answer = answered(Agents(parts=[WHO, WHEN]), [GUILD, OPENED], BOTH)
    who, when = answer.claims
    assert who.text == f"{TRUE} designed the Quillhaven lighthouse."
    assert when.text == "The Quillhaven lighthouse was opened on 4 May 1921."
    assert "4 May 1921" in when.text
    assert [[one.passage for one in claim.citations] for claim in answer.claims] == [["guild"], ["opened"]]


def test_answers_to_different_parts_do_not_contradict_each_other() -> None:
    model = Agents(parts=[WHO, WHEN], believed={TRUE: 0.99, "4 May 1921": 0.01})
    answer = answered(model, titled(GUILD, OPENED), BOTH, order=False, expect="one", debate=3)
    assert verdicts(answer) == {TRUE: "accepted", "4 May 1921": "accepted"}
    assert [one.cause.kind for one in answer.conflict.positions] == ["unanimous"] * 2
    assert model.roles() == ["parts", "reader", "reader"]  # neither a belief nor a debate between them
    assert answer.certificate is None


def test_belief_and_debate_stay_within_a_part() -> None:
    model = Agents(parts=[WHO, WHEN])
    answer = answered(model, [*EQUALS, OPENED], BOTH, order=False)
    assert verdicts(answer) == {TRUE: "unresolved", LIE: "unresolved", "4 May 1921": "accepted"}
    assert model.batches == [
        ("parts", 1),
        ("reader", 3),
        ("look", 1),
        ("belief", 2),
        ("debate", 2),
        ("reader", 3),
    ]
    assert not any("1921" in one for one in (*model.prompts("belief"), *model.prompts("debate")))
    assert all(f"Question: {WHO}\n" in one for one in (*model.prompts("belief"), *model.prompts("debate")))


def test_a_part_without_an_answer_takes_none_from_another() -> None:
    answer = answered(Agents(parts=[WHO, WHEN]), [GUILD, GOATS], BOTH)
    alone = answered(Agents(), [GUILD, GOATS])
    assert (answer.answers, answer.abstained) == ((TRUE,), None)
    assert answer.confidence == alone.confidence


@pytest.mark.parametrize(
    "question",
    [
        BOTH,
        "Who designed the Quillhaven lighthouse and in what year was it opened?",
        "Who designed the Quillhaven lighthouse; when was it opened?",
        "Who designed the Quillhaven lighthouse? Was it opened in 1921?",
    ],
)
def test_a_question_that_asks_for_two_things_is_divided_before_anything_is_read(question: str) -> None:
    model = Agents(parts=[WHO, WHEN])
    assert answered(model, [GUILD, OPENED], question).answers == (TRUE, "4 May 1921")
    assert model.roles() == ["parts", "reader", "reader"]
    assert model.prompts("parts") == [f"Question: {question}"]


@pytest.mark.parametrize(
    "question", [QUESTION, "Who designed the Quillhaven lighthouse and the quay?", "Who designed it? "]
)
def test_a_question_that_asks_for_one_thing_is_not_divided(question: str) -> None:
    model = Agents(parts=[WHO, WHEN])
    answered(model, [GUILD, OPENED], question)
    assert model.roles() == ["reader"]


def test_complete_off_divides_nothing() -> None:
    model = Agents(parts=[WHO, WHEN])
    answered(model, [GUILD, OPENED], BOTH, complete=0, look=False, belief=False, debate=0)
    assert model.batches == [("reader", 2)]
    assert model.prompts("reader")[0].endswith(f"Question: {BOTH}")


@pytest.mark.parametrize("parts", [[BOTH], [WHEN], [WHEN, WHEN], [], ["", WHEN], "no JSON", '{"parts": [1]}'])
def test_a_division_that_divides_nothing_changes_nothing(parts: list[str] | str) -> None:
    model = Agents(parts=parts)
    assert answered(model, Shelf([GUILD], [OPENED]), BOTH).answers == (TRUE,)
    assert model.roles() == ["parts", "reader"]
    assert model.prompts("reader")[0].endswith(f"Question: {BOTH}")


def test_a_broken_division_is_noted_as_a_fault() -> None:
    trace = Trace()
    answered(Agents(parts="no JSON"), Shelf([GUILD], [OPENED]), BOTH, trace=trace)
    (note,) = notes(trace, "fault")
    assert note["role"] == "detector"


def test_one_answer_a_part_is_no_conflict() -> None:
    assert answered(Agents(parts=[WHO, WHEN]), [GUILD, OPENED], BOTH).conflict.kind == "none"
