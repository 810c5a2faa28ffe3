"""Positions: the answers that passages give, their verdicts and causes, and the kind of conflict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from disputatio.attribution.positions import conflict_of, last_replies
from disputatio.types import Answer, Conflict, DateOrigin, Passage, Position, Reply


def dated(passage_id: str, source: str, text: str, date: str, *, title: str = "") -> Passage:
    """Return a passage that states its date."""
    return Passage(id=passage_id, source=source, title=title, text=text, date=date, date_origin="stated")


VASMER = dated("m", "museum.example", "Ingrid Vasmer designed the lighthouse.", "2021", title="Drawings")
PLAQUE = dated("h", "times.example", "A plaque honours Ingrid Vasmer, its designer.", "2023")
CROLL = dated("c", "buzz.example", "The lighthouse was designed by Barnaby Croll, the pirate.", "2023")
COPY = replace(CROLL, id="w")
SORREL = dated("s", "census.example", "It has 4,180 people.", "2021-11-30", title="Tarnwick, Sorrel County")
VELL = dated("v", "almanac.example", "It has 12,650 people.", "2022-02-14", title="Tarnwick (Vell County)")
OLD = dated("o", "gazetteer.example", "As of 1998 it had 5,930 people.", "1998-06-01")


def says(passage: Passage, answer: str, **more: object) -> Reply:
    return replace(Reply(passages=(passage.id,), answer=answer), **more)  # type: ignore[arg-type]  # any field


def weighed(
    answers: tuple[str, ...], replies: dict[str, str] | list[Reply], *passages: Passage, **more: object
) -> Conflict:
    """Return the conflict of an answer to which the agents of these passages gave these replies."""
    if isinstance(replies, dict):
        replies = [Reply(passages=(passage_id,), answer=text) for passage_id, text in replies.items()]
    answer = Answer(question="?", answers=answers, replies=tuple(replies), passages=passages, strategy="test")
    return conflict_of(replace(answer, **more), {})  # type: ignore[arg-type]  # any field


def position_of(conflict: Conflict, answer: str) -> Position:
    [match] = [position for position in conflict.positions if position.answer == answer]
    return match


# --- kinds --------------------------------------------------------------------------------------
def test_sources_that_agree_are_no_conflict() -> None:
    conflict = weighed(("Ingrid Vasmer",), {"m": "Ingrid Vasmer", "h": "ingrid vasmer."}, VASMER, PLAQUE)
    assert conflict.kind == "none"
    assert position_of(conflict, "Ingrid Vasmer").passages == ("m", "h")
    assert position_of(conflict, "Ingrid Vasmer").verdict == "accepted"


def test_several_right_answers_are_an_ambiguity() -> None:
    conflict = weighed(("4,180", "12,650"), {"s": "4,180", "v": "12,650"}, SORREL, VELL)
    assert conflict.kind == "ambiguity"
    assert [(position.answer, position.verdict, position.subject) for position in conflict.positions] == [
        ("4,180", "accepted", "Tarnwick, Sorrel County"),
        ("12,650", "accepted", "Tarnwick (Vell County)"),
    ]


def test_an_answer_that_was_set_aside_is_misinformation() -> None:
    replies = {"m": "Ingrid Vasmer", "h": "Ingrid Vasmer", "c": "Barnaby Croll", "w": "Barnaby Croll"}
    conflict = weighed(("Ingrid Vasmer",), replies, VASMER, PLAQUE, CROLL, COPY)
    assert conflict.kind == "misinformation"
    croll = position_of(conflict, "Barnaby Croll")
    assert (croll.verdict, croll.passages, croll.sources) == ("rejected", ("c", "w"), ("buzz.example",))
    assert croll.weight == 1, "two copies of one source are one vote"
    assert position_of(conflict, "Ingrid Vasmer").weight == 2


def test_an_answer_that_was_set_aside_and_is_older_is_outdated() -> None:
    conflict = weighed(("4,180",), {"s": "4,180", "o": "5,930"}, SORREL, OLD)
    assert conflict.kind == "outdated"
    assert position_of(conflict, "5,930").cause.kind == "older"
    assert "1998-06-01" in position_of(conflict, "5,930").reason
    assert "2021-11-30" in position_of(conflict, "5,930").reason


@pytest.mark.parametrize("date", ["", "2021-11-30", "2022-01-01", "2021-11", "2021"])
def test_an_answer_without_a_date_or_with_one_that_is_not_earlier_is_not_outdated(date: str) -> None:
    conflict = weighed(("4,180",), {"s": "4,180", "o": "5,930"}, SORREL, replace(OLD, date=date))
    assert conflict.kind == "misinformation"


@pytest.mark.parametrize("origin", ["file", ""])
def test_a_date_that_only_the_file_has_makes_nothing_outdated(origin: DateOrigin) -> None:
    conflict = weighed(("4,180",), {"s": "4,180", "o": "5,930"}, SORREL, replace(OLD, date_origin=origin))
    assert conflict.kind == "misinformation"
    assert "1998-06-01" not in position_of(conflict, "5,930").reason


def test_one_answer_that_is_not_older_makes_it_misinformation() -> None:
    replies = {"s": "4,180", "o": "5,930", "v": "12,650"}
    assert weighed(("4,180",), replies, SORREL, OLD, VELL).kind == "misinformation"


def test_an_abstention_for_conflict_leaves_its_positions_unresolved() -> None:
    replies = {"m": "Ingrid Vasmer", "c": "Barnaby Croll"}
    conflict = weighed((), replies, VASMER, CROLL, abstained="conflict")
    assert conflict.kind == "unresolved"
    assert {position.verdict for position in conflict.positions} == {"unresolved"}


def test_answers_of_which_none_was_kept_are_unresolved() -> None:
    replies = {"m": "Ingrid Vasmer", "c": "Barnaby Croll"}
    assert weighed((), replies, VASMER, CROLL, abstained="no_evidence").kind == "unresolved"
    assert weighed((), {"m": "Ingrid Vasmer"}, VASMER, abstained="no_evidence").kind == "none"


def test_without_replies_there_are_no_positions() -> None:
    assert weighed((), [], VASMER, abstained="no_evidence") == Conflict()


# --- which passages support a position ----------------------------------------------------------
def test_a_passage_supports_a_position_only_if_it_states_it() -> None:
    conflict = weighed(("Ingrid Vasmer",), {"m": "Ingrid Vasmer", "c": "Ingrid Vasmer"}, VASMER, CROLL)
    assert position_of(conflict, "Ingrid Vasmer").passages == ("m",)


def test_an_answer_that_no_passage_states_makes_no_conflict() -> None:
    conflict = weighed(("Ingrid Vasmer",), {"m": "Ingrid Vasmer", "c": "Davy Jones"}, VASMER, CROLL)
    assert conflict.kind == "none"
    jones = position_of(conflict, "Davy Jones")
    assert (jones.verdict, jones.passages, jones.weight) == ("rejected", (), 0)
    assert jones.reason.startswith("no passage read says so")


def test_a_part_of_a_figure_has_no_support() -> None:
    conflict = weighed(("180",), {"s": "180"}, SORREL)
    assert position_of(conflict, "180").passages == ()


def test_a_reply_about_a_passage_that_does_not_exist_changes_nothing() -> None:
    replies = [says(VASMER, "Ingrid Vasmer"), Reply(passages=("nowhere",), answer="Barnaby Croll")]
    known = weighed(("Ingrid Vasmer",), replies[:1], VASMER, CROLL)
    assert weighed(("Ingrid Vasmer",), replies, VASMER, CROLL) == known
    reply = Reply(passages=("m", "nowhere"), answer="Ingrid Vasmer")
    assert weighed(("Ingrid Vasmer",), [reply], VASMER).positions[0].passages == ("m",)


def test_an_accepted_answer_in_other_words_gathers_the_replies_that_match_it() -> None:
    conflict = weighed(("Vasmer",), {"m": "Ingrid Vasmer", "h": "Vasmer"}, VASMER, PLAQUE)
    assert [position.answer for position in conflict.positions] == ["Vasmer"]
    assert conflict.positions[0].passages == ("m", "h")


def test_an_accepted_answer_that_no_agent_gave_is_supported_by_the_passages_that_state_it() -> None:
    conflict = weighed(("Ingrid Vasmer",), [], VASMER, CROLL, PLAQUE)
    assert position_of(conflict, "Ingrid Vasmer").passages == ("m", "h")


def test_one_reply_about_all_passages_is_supported_by_those_that_state_it() -> None:
    ids = ("m", "c", "h")
    replies = [Reply(passages=ids, answer="Ingrid Vasmer"), Reply(passages=ids, answer="Barnaby Croll")]
    conflict = weighed(("Ingrid Vasmer",), replies, VASMER, CROLL, PLAQUE)
    assert position_of(conflict, "Ingrid Vasmer").passages == ("m", "h")
    assert position_of(conflict, "Barnaby Croll").passages == ("c",)


def test_only_an_agents_last_reply_counts() -> None:
    replies = [
        says(VASMER, "lighthouse"),
        says(CROLL, "Barnaby Croll"),
        says(VASMER, "Ingrid Vasmer", round=2),
    ]
    assert [reply.answer for reply in last_replies(replies)] == ["Ingrid Vasmer", "Barnaby Croll"]
    conflict = weighed(("Ingrid Vasmer",), replies, VASMER, CROLL)
    assert [position.answer for position in conflict.positions] == ["Ingrid Vasmer", "Barnaby Croll"]


def test_an_agent_that_abstains_in_its_last_reply_supports_nothing() -> None:
    replies = [says(CROLL, "Barnaby Croll"), says(CROLL, "", round=2), says(VASMER, "Ingrid Vasmer")]
    assert weighed(("Ingrid Vasmer",), replies, VASMER, CROLL).kind == "none"


def test_an_answer_without_a_unit_does_not_bring_two_units_together() -> None:
    dollars, euros = Passage(id="p1", text="It cost $10."), Passage(id="p2", text="It cost €10.")
    replies = [says(dollars, "$10"), says(euros, "€10")]
    positions = weighed(("10",), replies, dollars, euros).positions
    assert [(position.answer, position.verdict, position.passages) for position in positions] == [
        ("10", "accepted", ("p1",)),
        ("€10", "rejected", ("p2",)),
    ]


@pytest.mark.parametrize(
    ("text", "answer"),
    [("It is 13.5 km.", "3.5"), ("In C++.", "C"), ("At -5 °C.", "5"), ("10 million", "10")],
)
def test_a_passage_supports_no_answer_that_is_part_of_another_value(text: str, answer: str) -> None:
    passage = Passage(id="p1", text=text)
    [position] = weighed((answer,), [says(passage, answer)], passage).positions
    assert position.passages == ()


# --- weights and reasons ------------------------------------------------------------------------
def test_a_source_weighs_its_reliability_and_a_stranger_is_at_chance() -> None:
    replies = (says(VASMER, "Ingrid Vasmer"), says(PLAQUE, "Ingrid Vasmer"), says(CROLL, "Barnaby Croll"))
    answer = Answer(
        question="?", answers=("Ingrid Vasmer",), replies=replies, passages=(VASMER, PLAQUE, CROLL)
    )
    conflict = conflict_of(answer, {"museum.example": 0.9, "buzz.example": 0.25})
    assert position_of(conflict, "Ingrid Vasmer").weight == 1.4
    assert position_of(conflict, "Barnaby Croll").weight == 0.25


def test_passages_without_a_source_count_one_each() -> None:
    bare = [replace(VASMER, source=""), replace(PLAQUE, source="")]
    conflict = weighed(("Ingrid Vasmer",), {"m": "Ingrid Vasmer", "h": "Ingrid Vasmer"}, *bare)
    assert conflict.positions[0].weight == 2
    assert conflict.positions[0].sources == ()
    assert conflict.positions[0].reason.startswith("stated in 2 passages")


def test_a_reason_states_the_facts_and_then_the_remark_on_the_position() -> None:
    replies = {"m": "Ingrid Vasmer", "h": "Ingrid Vasmer", "c": "Barnaby Croll"}
    explanation = "Ingrid Vasmer is on record [1]. Barnaby Croll is a joke [2]."
    conflict = weighed(("Ingrid Vasmer",), replies, VASMER, PLAQUE, CROLL, explanation=explanation)
    accepted, rejected = (
        position_of(conflict, "Ingrid Vasmer").reason,
        position_of(conflict, "Barnaby Croll").reason,
    )
    assert accepted == "stated in 2 passages from 2 sources (Ingrid Vasmer is on record (1))"
    assert rejected == (
        "stated in 1 passage from 1 source, against 2 passages from 2 sources for Ingrid Vasmer; "
        "not among the answers that test kept (Barnaby Croll is a joke (2))"
    )
