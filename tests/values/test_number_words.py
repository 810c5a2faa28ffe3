"""Numbers in words: those that the package text2num finds, and where we know better."""

from __future__ import annotations

import random

import pytest
from text_to_num import find_numbers as find_theirs

from disputatio.values.characters import LIKELY, find_numbers

SMALL = """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
"""
ONES = SMALL.split()
BY_TEN = "twenty thirty forty fifty sixty seventy eighty ninety"
TENS = BY_TEN.split()
AROUND = ["the", "of", "ships", "and", "§", "one", "ten", "zero", "first", "second", "third"]


class Word(str):
    """A word in the form that text2num takes."""

    __slots__ = ()

    def text(self) -> str:
        return str(self)

    def nt_separated(self, previous: object) -> bool:
        return False

    def not_a_number_part(self) -> bool:
        return False


def theirs(words: list[str]) -> list[tuple[int, int, str]]:
    found = find_theirs([Word(word) for word in words], "en", 0)
    return [(number.start, number.end, number.text) for number in found]


def in_words(number: int) -> list[str]:
    """Return a number below a million in words."""
    if number >= 1000:
        rest = in_words(number % 1000) if number % 1000 else []
        return [*in_words(number // 1000), "thousand", *(["and"] if 0 < number % 1000 < 100 else []), *rest]
    if number >= 100:
        rest = ["and", *in_words(number % 100)] if number % 100 else []
        return [ONES[number // 100 - 1], "hundred", *rest]
    if number >= 20:
        return [TENS[number // 10 - 2], *([ONES[number % 10 - 1]] if number % 10 else [])]
    return [ONES[number - 1]]


@pytest.mark.long
def test_numbers_among_words_are_those_that_text2num_finds() -> None:
    draw = random.Random(43)
    for _ in range(3_000):
        words = []
        for _ in range(draw.randint(1, 3)):
            words += in_words(int(10 ** draw.uniform(0, 5.9)))
            words += draw.sample(AROUND, draw.randint(0, 3))
        assert find_numbers(words) == theirs(words), words
        assert LIKELY.search(" ".join(words))


@pytest.mark.parametrize(
    "line",
    [
        *("nineteen eighty four", "a hundred", "thousand and one", "eleven hundred", "zero zero seven"),
        *("forty and three", "two point five six", "two point fifty", "point five", "two point oh five"),
        *("a thousand million", "one one", "three billion four million", "two hundredth"),
        *(
            "one hundred and fifth",
            "one trillion",
            "fourty",
            "two hundred and",
            "and",
            "",
            "million thousand two",
        ),
    ],
)
def test_lines_are_read_as_text2num_reads_them(line: str) -> None:
    assert find_numbers(line.split()) == theirs(line.split())


def test_a_number_that_text2num_does_not_know_is_found() -> None:
    assert find_numbers(["sixtieth"]) == [(0, 1, "60th")]


@pytest.mark.parametrize(
    "words",
    [
        "neunundneunzig",
        "fünf",
        "zwölf",
        "dreißig",
        "anderthalb",
        "tausendeins",
        "veintidós",
        "eine halbe stunde",
        "quatre-vingt",
    ],
)
def test_a_number_in_another_language_is_looked_for(words: str) -> None:
    assert LIKELY.match(words)


@pytest.mark.parametrize(
    "words", ["often written", "none of those alone", "self", "recent", "under", "stress", "century"]
)
def test_parts_of_english_words_are_not_looked_at(words: str) -> None:
    assert not LIKELY.search(words)
