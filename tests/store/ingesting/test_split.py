"""Passages tile a text, with exact offsets."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disputatio.store.ingesting.split import LONGEST, find_heading, split
from disputatio.text import count_words

_SENTENCE = "The town counted three thousand five hundred and fifty-nine people in the census of that year. "
_WORDS = st.sampled_from(
    ["word", "Ünïcode", "人口", "。", "🎉👩‍🔬", ". ", "! The", "\n\n", "\n# H\n", " ", "a" * 60, "สวัสดี"]
)


@pytest.mark.long
@given(
    st.one_of(
        st.text(), st.lists(_WORDS, max_size=600).map(" ".join), st.lists(_WORDS, max_size=300).map("".join)
    )
)
@settings(max_examples=80, deadline=None)
def test_passages_hold_every_visible_character_once_and_in_order(text: str) -> None:
    spans = split(text)
    at = 0
    for start, end in spans:
        assert at <= start < end <= len(text)
        assert not text[at:start].strip()
        assert text[start:end] == text[start:end].strip()
        assert count_words(text[start:end]) <= LONGEST + 1
        at = end
    assert not text[at:].strip()


def test_a_short_text_is_one_passage() -> None:
    assert split("  " + _SENTENCE * 9) == [(2, 1 + len(_SENTENCE * 9))]


def test_passages_of_a_long_text_are_about_a_hundred_to_a_hundred_and_fifty_words() -> None:
    text = _SENTENCE * 100
    sizes = [count_words(text[start:end]) for start, end in split(text)]
    assert min(sizes) >= 90
    assert max(sizes) <= 155


def test_sentences_are_not_cut() -> None:
    text = _SENTENCE * 40
    assert all(text[start:end].startswith("The town") and text[end - 1] == "." for start, end in split(text))


def test_offsets_count_characters_and_not_bytes() -> None:
    text = "🎉é人 " + "Ünïcode wörds äre hére. Ünd möre öf thém 🎉 follow. " * 60
    spans = split(text)
    assert len(spans) > 2
    assert spans[0][0] == 0
    assert all(text[end - 1] == "." for _, end in spans)


def test_a_heading_stays_with_what_follows_it() -> None:
    text = "\n\n".join(f"# Heading {n}\n\n" + _SENTENCE * 7 for n in range(4))
    passages = [text[start:end] for start, end in split(text)]
    assert [passage[:11] for passage in passages] == [f"# Heading {n}" for n in range(4)]


def test_every_section_with_a_body_is_a_passage_that_knows_its_headings() -> None:
    text = (
        "Rules of the pool\n\nOpening hours\n\nThe pool is open from seven to nine on every working day.\n\n"
        "Children\n\nUnder ten they come with an adult who can swim well.\n\nLockers\n\nFree."
    )
    spans = split(text)
    assert [text[start:end].split("\n", maxsplit=1)[0] for start, end in spans] == [
        "Rules of the pool",
        "Children",
    ]
    assert [find_heading(text, start) for start, _ in spans] == [
        "Rules of the pool › Opening hours",
        "Children",
    ]


def test_a_text_without_spaces_is_divided_anyway() -> None:
    spans = split("x" * 100_000)
    assert len(spans) > 20
    assert spans[0][0] == 0
    assert spans[-1][1] == 100_000
    assert all(before[1] == after[0] for before, after in pairwise(spans))


def test_a_title_before_a_name_does_not_end_a_sentence() -> None:
    text = ("He met Mr. Smith of St. Louis there, in front of the old house by the river. " * 30).strip()
    assert all(text[start:end].startswith("He met") for start, end in split(text))


def test_chinese_sentences_end_passages() -> None:
    text = "二零一零年的人口是三千五百五十九人，比十年前少了一些。" * 60
    spans = split(text)
    assert len(spans) > 3
    assert all(text[end - 1] == "。" for _, end in spans)


def test_a_german_date_divides_no_heading() -> None:
    text = (
        "Satzung\n\nBeschluss vom 4. Mai 2026 über den Zaun\n\n"
        "Der Zaun kostet viel Geld und wird von allen bezahlt."
        "\n\nBeschluss vom 14. Juni 2026\n\n"
        "Die Gebühr ist im Januar von jedem zu bezahlen, der dann einen Garten hat."
    )
    assert [find_heading(text, start) for start, _ in split(text)] == [
        "Satzung › Beschluss vom 4. Mai 2026 über den Zaun",
        "Beschluss vom 14. Juni 2026",
    ]
