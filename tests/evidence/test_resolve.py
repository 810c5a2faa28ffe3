"""Positions resolved in code: contradictions, namesakes, copies, age, and replies off the question."""

from __future__ import annotations

from disputatio.evidence.resolve import Voice, fit, independent, names_of, resolve
from disputatio.types import Conflict, Passage, Position, Reply

QUESTION = "What is the population of Tarnwick?"


def voice(answer: str, told: str, *, source: str, text: str = "", title: str = "", date: str = "") -> Voice:
    passage = Passage(
        id=source,
        text=text or f"{source} tells in words of its own: {told}",
        source=source,
        title=title,
        date=date,
    )
    reply = Reply(passages=(source,), answer=answer, explanation=told)
    return Voice(reply=reply, passage=passage, support=fit(QUESTION, reply, passage))


def settled(
    *voices: Voice, reliabilities: dict[str, float] | None = None
) -> tuple[tuple[str, ...], Conflict]:
    return resolve(QUESTION, voices, reliabilities or {}, 0.5)


def position(conflict: Conflict, answer: str) -> Position:
    return next(one for one in conflict.positions if one.answer == answer)


def test_namesakes_keep_their_own_answers() -> None:
    answers, conflict = settled(
        voice("4,180", "The population of Tarnwick in Sorrel County is 4,180.", source="a"),
        voice("12,650", "The population of Tarnwick in Vell County is 12,650.", source="b"),
    )
    assert answers == ("4,180", "12,650")
    assert conflict.kind == "ambiguity"


def test_a_contradiction_goes_to_the_greater_number_of_sources() -> None:
    answers, conflict = settled(
        voice("9", "The population of Tarnwick is 9.", source="a"),
        voice("7", "Tarnwick has a population of 7.", source="b"),
        voice("7", "People in the population of Tarnwick: 7.", source="c"),
    )
    assert answers == ("7",)
    assert conflict.kind == "misinformation"
    assert position(conflict, "9").verdict == "rejected"
    assert "against 2 passages for 7" in position(conflict, "9").reason


def test_copies_and_one_owner_are_one_vote() -> None:
    viral = (
        "Tarnwick has a population of 9, would you believe it, and all of them are pirates, every single one."
    )
    answers, conflict = settled(
        voice("9", "The population of Tarnwick is 9.", source="a", text=viral),
        voice("9", "The population of Tarnwick is 9.", source="b", text=viral),
        voice(
            "9",
            "The population of Tarnwick is 9.",
            source="b",
            text="Nine people: the population of Tarnwick.",
        ),
        voice("7", "Tarnwick has a population of 7.", source="c"),
        voice("7", "The population of Tarnwick came to 7.", source="d"),
    )
    assert answers == ("7",)
    assert position(conflict, "9").weight == 1
    assert "3 passages that count as 1" in position(conflict, "9").reason


def test_of_two_equal_sides_the_newer_stands_and_the_older_is_called_outdated() -> None:
    answers, conflict = settled(
        voice("5,930", "The population of Tarnwick was 5,930.", source="a", date="1998-06-01"),
        voice("4,180", "The population of Tarnwick is 4,180.", source="b", date="2021-11-30"),
    )
    assert answers == ("4,180",)
    assert conflict.kind == "outdated"
    assert "older than 4,180 (2021-11-30)" in position(conflict, "5,930").reason


def test_more_sources_outweigh_a_newer_date() -> None:
    answers, conflict = settled(
        voice("5", "The population of Tarnwick is 5.", source="a", date="2001"),
        voice("5", "Tarnwick has a population of 5.", source="b", date="2001"),
        voice("6", "The population of Tarnwick is 6.", source="c", date="2024"),
    )
    assert answers == ("5",)
    assert conflict.kind == "misinformation"


def test_reliability_weighs_a_vote() -> None:
    answers, _ = settled(
        voice("5", "The population of Tarnwick is 5.", source="a"),
        voice("6", "Tarnwick has a population of 6.", source="b"),
        voice("6", "People in the population of Tarnwick: 6.", source="c"),
        reliabilities={"a": 0.9, "b": 0.2, "c": 0.2},
    )
    assert answers == ("5",)


def test_a_source_that_nothing_is_known_of_does_not_outweigh_a_proven_one() -> None:
    answers, _ = settled(
        voice("5", "The population of Tarnwick is 5.", source="a"),
        voice("6", "Tarnwick has a population of 6.", source="stranger"),
        reliabilities={"a": 0.8},
    )
    assert answers == ("5",)


def test_a_tampered_copy_is_about_the_same_thing_whatever_it_names() -> None:
    text = (
        "The town of Tarnwick on the river, which fishermen founded before the great flood and which kept "
        "its old walls and both of its gates, had in the last count of the crown a population of {} people."
    )
    answers, _ = settled(
        voice("5", "Tarnwick on the Sorrel has a population of 5.", source="a", text=text.format(5)),
        voice("6", "Tarnwick of the Crown has a population of 6.", source="b", text=text.format(6)),
        voice("5", "The population of Tarnwick is 5.", source="c"),
    )
    assert answers == ("5",)


def test_a_reply_that_does_not_speak_to_the_question_makes_no_conflict() -> None:
    answers, conflict = settled(
        voice("7", "The population of Tarnwick is 7.", source="a"),
        voice("the crew", "The crew left the harbour at dawn.", source="b"),
    )
    assert answers == ("7",)
    assert conflict.kind == "none"
    assert position(conflict, "the crew").verdict == "rejected"


def test_nothing_heard_gives_nothing() -> None:
    assert settled() == ((), Conflict())


def test_a_headline_names_no_subject() -> None:
    headline = voice("9", "It has a population of 9.", source="a", title="You Will Not Believe This Town")
    assert names_of(QUESTION, headline) == frozenset()


def test_passages_without_a_source_are_independent_of_one_another() -> None:
    passages = [Passage(text="one two three four"), Passage(text="five six seven eight")]
    assert len(independent(passages)) == 2
