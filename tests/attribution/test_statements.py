"""Statements: one fact each, with the marks that stand after it, all of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disputatio.attribution.statements import spell_out, split_marked, statements, tidy


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("It is 8,849 m high [1][2].", [("It is 8,849 m high.", ("1", "2"))]),
        ("It is high [1] [2], [3].", [("It is high.", ("1", "2", "3"))]),
        ("It is high [1, 2].", [("It is high.", ("1", "2"))]),
        ("It is high [1;3]. [2]", [("It is high.", ("1", "3", "2"))]),
        ("It is high. [2] It lies there.", [("It is high.", ("2",)), ("It lies there.", ())]),
        (
            "It is high [1], and it lies in Nepal [2].",
            [("It is high.", ("1",)), ("It lies in Nepal.", ("2",))],
        ),
        ("Marked [9] with what is not ours [a].", [("Marked [9] with what is not ours [a].", ())]),
        ("Everest [1] is 8,849 m high [2].", [("Everest is 8,849 m high.", ("1", "2"))]),
        (
            "Everest [1] is 8,849 m high. It is old.",
            [("Everest is 8,849 m high.", ("1",)), ("It is old.", ())],
        ),
        ("It is high [1] and wide [2].", [("It is high and wide.", ("1", "2"))]),
        ("It is high [1] It lies there [2]", [("It is high.", ("1",)), ("It lies there.", ("2",))]),
        (
            "It rained. Everest [1] is 8,849 m high. It is cold [2].",
            [("It rained.", ()), ("Everest is 8,849 m high.", ("1",)), ("It is cold.", ("2",))],
        ),
        (
            "It is cold. [1][2] Everest [3] is high.",
            [("It is cold.", ("1", "2")), ("Everest is high.", ("3",))],
        ),
        ("[1]", []),
        ("", []),
    ],
)
def test_every_mark_of_a_group_counts_and_belongs_to_what_stands_before(
    text: str, parts: list[tuple[str, tuple[str, ...]]]
) -> None:
    assert split_marked(text, {"1", "2", "3"}) == parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("He was born in Oslo; he died in Rome.", ["He was born in Oslo.", "He died in Rome."]),
        (
            "Iron rusts in water, while gold was found to keep its shine.",
            ["Iron rusts in water, while gold was found to keep its shine."],
        ),
        (
            "The first was opened in 1901, while the second was closed.",
            ["The first was opened in 1901.", "The second was closed."],
        ),
        ("It has a harbour and a church.", ["It has a harbour and a church."]),
        ("Ingrid Vasmer and Ola Berg were married.", ["Ingrid Vasmer and Ola Berg were married."]),
        ("Salt, and pepper too, are sold.", ["Salt, and pepper too, are sold."]),
        ("It was Dr. J. Berg who came. She left.", ["It was Dr. J. Berg who came.", "She left."]),
        ("It is 9 kg (Letter no. 34).", ["It is 9 kg (Letter no. 34)."]),
        ("It is 9 kg (Free. Open). It is old.", ["It is 9 kg (Free. Open).", "It is old."]),
        ("1887", ["1887."]),
        ("…", []),
    ],
)
def test_a_sentence_is_divided_only_into_independent_clauses(text: str, parts: list[str]) -> None:
    assert statements(text) == parts


@pytest.mark.parametrize(
    ("text", "before", "spelled"),
    [
        ("Its top is cold.", "Everest is high.", "Everest’s top is cold."),
        ("They left.", "Berg and Vasmer were married in Oslo.", "Berg and Vasmer left."),
        ("It is cold.", "", "It is cold."),
        ("It is cold.", "It is high.", "It is cold."),
        ("It is cold.", "Rain and snow", "It is cold."),
        ("This is cold.", "Everest is high.", "This is cold."),
        ("", "Everest is high.", ""),
    ],
)
def test_a_pronoun_is_spelled_out_where_the_statement_before_has_a_subject(
    text: str, before: str, spelled: str
) -> None:
    assert spell_out(text, before) == spelled


@given(st.text(max_size=120))
def test_no_word_is_lost_or_invented(text: str) -> None:
    joined = " ".join(statements(text)).casefold()
    conjunctions = {"and", "but", "while", "whereas"}
    for word in tidy(text).casefold().split():
        bare = word.strip(".,;:…")
        assert bare in joined or bare in conjunctions or not any(map(str.isalnum, bare))


def test_a_bracket_that_is_never_closed_does_not_hold_a_text_together() -> None:
    assert len(statements("It rains (here. " + "The mill stands still today. " * 40)) > 20
