"""Positions: what the passages answer, what became of each and why, and the kind of the conflict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from disputatio.attribution.positions import conflict_of, last_words
from disputatio.types import Answer, Conflict, DateOrigin, Passage, Position, Reply
from disputatio.values import matches

VASMER = Passage(
    id="m",
    source="museum.example",
    title="Drawings",
    text="Ingrid Vasmer designed the lighthouse.",
    date="2021",
    date_origin="stated",
)
PLAQUE = Passage(
    id="h",
    source="times.example",
    text="A plaque honours Ingrid Vasmer, its designer.",
    date="2023",
    date_origin="stated",
)
CROLL = Passage(
    id="c",
    source="buzz.example",
    text="The lighthouse was designed by Barnaby Croll, the pirate.",
    date="2023",
    date_origin="stated",
)
COPY = replace(CROLL, id="w")
SORREL = Passage(
    id="s",
    source="census.example",
    title="Tarnwick, Sorrel County",
    text="It has 4,180 people.",
    date="2021-11-30",
    date_origin="stated",
)
VELL = Passage(
    id="v",
    source="almanac.example",
    title="Tarnwick (Vell County)",
    text="It has 12,650 people.",
    date="2022-02-14",
    date_origin="stated",
)
OLD = Passage(
    id="o",
    source="gazetteer.example",
    text="As of 1998 it had 5,930 people.",
    date="1998-06-01",
    date_origin="stated",
)


def says(passage: Passage, answer: str, **more: object) -> Reply:
    return replace(Reply(passages=(passage.id,), answer=answer), **more)  # type: ignore[arg-type]  # any field


def weighed(
    answers: tuple[str, ...], replies: dict[str, str] | list[Reply], *passages: Passage, **more: object
) -> Conflict:
    """The conflict of an answer, when the agents of these passages gave these replies."""
    if isinstance(replies, dict):
        replies = [Reply(passages=(one,), answer=word) for one, word in replies.items()]
    answer = Answer(question="?", answers=answers, replies=tuple(replies), passages=passages, strategy="test")
    return conflict_of(replace(answer, **more), {})  # type: ignore[arg-type]  # any field


def one(conflict: Conflict, answer: str) -> Position:
    [found] = [position for position in conflict.positions if position.answer == answer]
    return found


# --- kinds --------------------------------------------------------------------------------------
def test_sources_that_agree_are_no_conflict() -> None:
    found = weighed(("Ingrid Vasmer",), {"m": "Ingrid Vasmer", "h": "ingrid vasmer."}, VASMER, PLAQUE)
    assert found.kind == "none"
    assert one(found, "Ingrid Vasmer").passages == ("m", "h")
    assert one(found, "Ingrid Vasmer").verdict == "accepted"


def test_several_right_answers_are_an_ambiguity() -> None:
    found = weighed(("4,180", "12,650"), {"s": "4,180", "v": "12,650"}, SORREL, VELL)
    assert found.kind == "ambiguity"
    assert [(one.answer, one.verdict, one.subject) for one in found.positions] == [
        ("4,180", "accepted", "Tarnwick, Sorrel County"),
        ("12,650", "accepted", "Tarnwick (Vell County)"),
    ]


def test_an_answer_that_was_set_aside_is_misinformation() -> None:
    replies = {"m": "Ingrid Vasmer", "h": "Ingrid Vasmer", "c": "Barnaby Croll", "w": "Barnaby Croll"}
    found = weighed(("Ingrid Vasmer",), replies, VASMER, PLAQUE, CROLL, COPY)
    assert found.kind == "misinformation"
    croll = one(found, "Barnaby Croll")
    assert (croll.verdict, croll.passages, croll.sources) == ("rejected", ("c", "w"), ("buzz.example",))
    assert croll.weight == 1, "two copies of one source are one vote"
    assert one(found, "Ingrid Vasmer").weight == 2


def test_an_answer_that_was_set_aside_and_is_older_is_outdated() -> None:
    found = weighed(("4,180",), {"s": "4,180", "o": "5,930"}, SORREL, OLD)
    assert found.kind == "outdated"
    assert one(found, "5,930").cause.kind == "older"
    assert "1998-06-01" in one(found, "5,930").reason
    assert "2021-11-30" in one(found, "5,930").reason


@pytest.mark.parametrize("date", ["", "2021-11-30", "2022-01-01"])
def test_an_answer_without_a_date_or_with_a_later_one_is_not_outdated(date: str) -> None:
    found = weighed(("4,180",), {"s": "4,180", "o": "5,930"}, SORREL, replace(OLD, date=date))
    assert found.kind == "misinformation"


@pytest.mark.parametrize("origin", ["file", ""])
def test_a_date_that_only_the_file_has_makes_nothing_outdated(origin: DateOrigin) -> None:
    found = weighed(("4,180",), {"s": "4,180", "o": "5,930"}, SORREL, replace(OLD, date_origin=origin))
    assert found.kind == "misinformation"
    assert "1998-06-01" not in one(found, "5,930").reason


def test_one_answer_that_is_not_older_makes_it_misinformation() -> None:
    replies = {"s": "4,180", "o": "5,930", "v": "12,650"}
    assert weighed(("4,180",), replies, SORREL, OLD, VELL).kind == "misinformation"


def test_an_abstention_for_conflict_leaves_its_positions_unresolved() -> None:
    replies = {"m": "Ingrid Vasmer", "c": "Barnaby Croll"}
    found = weighed((), replies, VASMER, CROLL, abstained="conflict")
    assert found.kind == "unresolved"
    assert {position.verdict for position in found.positions} == {"unresolved"}


def test_answers_of_which_none_was_kept_are_unresolved() -> None:
    replies = {"m": "Ingrid Vasmer", "c": "Barnaby Croll"}
    assert weighed((), replies, VASMER, CROLL, abstained="no_evidence").kind == "unresolved"
    assert weighed((), {"m": "Ingrid Vasmer"}, VASMER, abstained="no_evidence").kind == "none"


def test_without_replies_there_are_no_positions() -> None:
    assert weighed((), [], VASMER, abstained="no_evidence") == Conflict()


# --- who holds a position -----------------------------------------------------------------------
def test_a_passage_holds_a_position_only_where_it_says_so() -> None:
    found = weighed(("Ingrid Vasmer",), {"m": "Ingrid Vasmer", "c": "Ingrid Vasmer"}, VASMER, CROLL)
    assert one(found, "Ingrid Vasmer").passages == ("m",)


def test_an_answer_that_no_passage_says_makes_no_conflict() -> None:
    found = weighed(("Ingrid Vasmer",), {"m": "Ingrid Vasmer", "c": "Davy Jones"}, VASMER, CROLL)
    assert found.kind == "none"
    jones = one(found, "Davy Jones")
    assert (jones.verdict, jones.passages, jones.weight) == ("rejected", (), 0)
    assert jones.reason.startswith("no passage read says so")


def test_a_part_of_a_figure_is_not_held() -> None:
    found = weighed(("180",), {"s": "180"}, SORREL)
    assert one(found, "180").passages == ()


def test_a_reply_about_a_passage_that_does_not_exist_changes_nothing() -> None:
    replies = [says(VASMER, "Ingrid Vasmer"), Reply(passages=("nowhere",), answer="Barnaby Croll")]
    known = weighed(("Ingrid Vasmer",), replies[:1], VASMER, CROLL)
    assert weighed(("Ingrid Vasmer",), replies, VASMER, CROLL) == known
    told = Reply(passages=("m", "nowhere"), answer="Ingrid Vasmer")
    assert weighed(("Ingrid Vasmer",), [told], VASMER).positions[0].passages == ("m",)


def test_an_accepted_answer_in_other_words_gathers_the_replies_that_match_it() -> None:
    found = weighed(("Vasmer",), {"m": "Ingrid Vasmer", "h": "Vasmer"}, VASMER, PLAQUE)
    assert [position.answer for position in found.positions] == ["Vasmer"]
    assert found.positions[0].passages == ("m", "h")


def test_an_accepted_answer_that_no_agent_gave_is_held_by_the_passages_that_say_it() -> None:
    found = weighed(("Ingrid Vasmer",), [], VASMER, CROLL, PLAQUE)
    assert one(found, "Ingrid Vasmer").passages == ("m", "h")


def test_one_reply_about_all_passages_is_held_by_those_that_say_it() -> None:
    ids = ("m", "c", "h")
    replies = [Reply(passages=ids, answer="Ingrid Vasmer"), Reply(passages=ids, answer="Barnaby Croll")]
    found = weighed(("Ingrid Vasmer",), replies, VASMER, CROLL, PLAQUE)
    assert one(found, "Ingrid Vasmer").passages == ("m", "h")
    assert one(found, "Barnaby Croll").passages == ("c",)


def test_only_an_agents_last_word_counts() -> None:
    replies = [
        says(VASMER, "lighthouse"),
        says(CROLL, "Barnaby Croll"),
        says(VASMER, "Ingrid Vasmer", round=2),
    ]
    assert [reply.answer for reply in last_words(replies)] == ["Ingrid Vasmer", "Barnaby Croll"]
    found = weighed(("Ingrid Vasmer",), replies, VASMER, CROLL)
    assert [position.answer for position in found.positions] == ["Ingrid Vasmer", "Barnaby Croll"]


def test_an_agent_that_abstained_at_last_holds_nothing() -> None:
    replies = [says(CROLL, "Barnaby Croll"), says(CROLL, "", round=2), says(VASMER, "Ingrid Vasmer")]
    assert weighed(("Ingrid Vasmer",), replies, VASMER, CROLL).kind == "none"


def test_wordings_match_word_for_word_and_not_letter_for_letter() -> None:
    assert matches("Ingrid Vasmer", "Vasmer")
    assert not matches("Kansas", "Arkansas")
    assert not matches("", "Vasmer")


def test_an_answer_without_a_unit_does_not_bring_two_units_together() -> None:
    dollars, euros = Passage(id="p1", text="It cost $10."), Passage(id="p2", text="It cost €10.")
    replies = [says(dollars, "$10"), says(euros, "€10")]
    positions = weighed(("10",), replies, dollars, euros).positions
    assert [(each.answer, each.verdict, each.passages) for each in positions] == [
        ("10", "accepted", ("p1",)),
        ("€10", "rejected", ("p2",)),
    ]


@pytest.mark.parametrize(
    ("text", "answer"),
    [("It is 13.5 km.", "3.5"), ("In C++.", "C"), ("At -5 °C.", "5"), ("10 million", "10")],
)
def test_a_passage_holds_no_answer_that_is_part_of_another_value(text: str, answer: str) -> None:
    passage = Passage(id="p1", text=text)
    [position] = weighed((answer,), [says(passage, answer)], passage).positions
    assert position.passages == ()


# --- weights and reasons ------------------------------------------------------------------------
def test_a_source_weighs_its_reliability_and_a_stranger_is_at_chance() -> None:
    replies = (says(VASMER, "Ingrid Vasmer"), says(PLAQUE, "Ingrid Vasmer"), says(CROLL, "Barnaby Croll"))
    answer = Answer(
        question="?", answers=("Ingrid Vasmer",), replies=replies, passages=(VASMER, PLAQUE, CROLL)
    )
    found = conflict_of(answer, {"museum.example": 0.9, "buzz.example": 0.25})
    assert one(found, "Ingrid Vasmer").weight == 1.4
    assert one(found, "Barnaby Croll").weight == 0.25


def test_passages_without_a_source_count_one_each() -> None:
    bare = [replace(VASMER, source=""), replace(PLAQUE, source="")]
    found = weighed(("Ingrid Vasmer",), {"m": "Ingrid Vasmer", "h": "Ingrid Vasmer"}, *bare)
    assert found.positions[0].weight == 2
    assert found.positions[0].sources == ()
    assert found.positions[0].reason.startswith("stated in 2 passages")


def test_a_reason_states_the_facts_and_then_what_was_said_of_the_position() -> None:
    replies = {"m": "Ingrid Vasmer", "h": "Ingrid Vasmer", "c": "Barnaby Croll"}
    told = "Ingrid Vasmer is on record [1]. Barnaby Croll is a joke [2]."
    found = weighed(("Ingrid Vasmer",), replies, VASMER, PLAQUE, CROLL, explanation=told)
    kept, rejected = one(found, "Ingrid Vasmer").reason, one(found, "Barnaby Croll").reason
    assert kept == "stated in 2 passages from 2 sources (Ingrid Vasmer is on record (1))"
    assert rejected == (
        "stated in 1 passage from 1 source, against 2 passages from 2 sources for Ingrid Vasmer; "
        "not among the answers that test kept (Barnaby Croll is a joke (2))"
    )
