"""The similarity of texts: copies, groups of copies, and altered copies."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from disputatio.reliability.similarity import (
    content_similarity,
    content_stems,
    independent,
    is_copy,
    likeness,
)
from disputatio.types import Passage

LONG = (
    "The town of Tarnwick on the river, which fishermen founded before the great flood and which kept its "
    "old walls and both of its gates, had in the last count of the crown a population of {} people."
)
texts = st.lists(
    st.sampled_from(["quay", "tower", "1868", "lamp", "harbour", "boat", "grey"]), max_size=12
).map(" ".join)


# The third is a copy of the second and has the source of the first: it joins them in one group.
BRIDGED = [("The lamp burns oil.", "a"), (LONG.format(5), "b"), (LONG.format(6), "a")]


def passage(text: str, *, source: str = "", owner: str = "") -> Passage:
    return Passage(text=text, source=source, owner=owner)


def test_a_long_text_with_another_figure_is_a_copy() -> None:
    assert is_copy(passage(LONG.format(5)), passage(LONG.format(6)))


def test_short_texts_are_copies_only_when_nearly_equal() -> None:
    original = "Tarnwick is a small town with a population of 5."
    assert is_copy(passage(original), passage(original))
    assert likeness(original, original.replace("5", "6")) >= 0.5
    assert not is_copy(passage(original), passage(original.replace("5", "6")))


def test_a_different_long_text_is_no_copy() -> None:
    other = (
        "Up the hill stands an inn, where at the last count nobody slept, for its roof fell in a storm, " * 2
    )
    assert not is_copy(passage(LONG), passage(other))


@given(texts, texts)
def test_likeness_is_a_share_and_the_same_both_ways(first: str, other: str) -> None:
    assert 0 <= likeness(first, other) == likeness(other, first) <= 1
    assert likeness(first, first) == 1


@given(texts, texts)
def test_similarity_is_a_share_and_the_same_both_ways(first: str, other: str) -> None:
    assert 0 <= content_similarity(first, other) == content_similarity(other, first) <= 1 + 1e-9


def test_similarity_goes_by_figures_and_long_words() -> None:
    assert content_similarity("he was in Oban", "he was in Leith") == 0
    assert content_similarity("7 of us", "7 of you") == 1


def test_the_words_of_the_question_make_no_similarity() -> None:
    original, other = "Tarnwick lighthouse of granite", "Tarnwick lighthouse of timber"
    assert content_similarity(original, other) > 0.6
    assert content_similarity(original, other, leaving=["Where is the Tarnwick lighthouse?"]) == 0


def test_a_text_without_content_words_is_similar_to_nothing() -> None:
    assert content_similarity("", "granite") == content_similarity("", "") == 0


def test_passages_of_one_owner_or_source_are_one_group() -> None:
    passages = [
        passage("The lamp burns oil.", source="a", owner="X"),
        passage("Nobody sleeps here.", source="b", owner="X"),
        passage("A quay of grey stone.", source="c"),
        passage("Boats come at dawn.", source="c"),
        passage("It rains on Sundays.", source="d"),
    ]
    assert [[member.text for member in group] for group in independent(passages)] == [
        ["The lamp burns oil.", "Nobody sleeps here."],
        ["A quay of grey stone.", "Boats come at dawn."],
        ["It rains on Sundays."],
    ]


@given(st.permutations([*BRIDGED, ("It rains on Sundays.", "c"), ("Boats come at dawn.", "c"), ("Fog.", "")]))
def test_the_order_of_passages_changes_no_group(order: list[tuple[str, str]]) -> None:
    groups = independent([passage(text, source=source) for text, source in order])
    assert {frozenset(member.text for member in group) for group in groups} == {
        frozenset(text for text, _ in BRIDGED),
        frozenset({"It rains on Sundays.", "Boats come at dawn."}),
        frozenset({"Fog."}),
    }


def test_passages_without_a_source_are_independent_of_one_another() -> None:
    assert len(independent([passage("one two three four"), passage("five six seven eight")])) == 2


def test_no_passages_make_no_groups() -> None:
    assert independent([]) == []


def test_the_plain_words_of_a_question_say_nothing_of_its_subject() -> None:
    assert content_stems("In what year was the Elm Bridge built?") == {"elm", "bridg", "built"}
    assert content_stems("What is it?") == frozenset()
