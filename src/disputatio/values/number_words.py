"""English numbers in words, found among other words: "two hundred and five", "twenty first", "two point six".

The same numbers as the package text2num finds (`tests/values/test_number_words.py` compares them), in Python
alone, so that the core is installed wherever Python is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_UNITS_WORDS = "zero one two three four five six seven eight nine"
_UNITS = {word: at for at, word in enumerate(_UNITS_WORDS.split())} | {"nought": 0}
_TEENS_WORDS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TEENS = {word: at for at, word in enumerate(_TEENS_WORDS.split(), 10)}
_TENS_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = {word: 10 * at for at, word in enumerate(_TENS_WORDS.split(), 2)} | {"fourty": 40}
_POWERS = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9}
_CARDINALS = _UNITS | _TEENS | _TENS | _POWERS
_IRREGULAR = {
    "first": "one", "second": "two", "third": "three", "fifth": "five", "eighth": "eight", "ninth": "nine",
    "twelfth": "twelve",
}  # fmt: skip
_ORDINALS = {
    **{
        f"{word}th": word
        for word in _CARDINALS
        if word not in {*_IRREGULAR.values(), "zero", "nought", *_TENS}
    },
    **{f"{word[:-1]}ieth": word for word in _TENS},
    **_IRREGULAR,
}
_ENDINGS = {"first": "st", "second": "nd", "third": "rd"}
#: Matches in a lower-case text in which there may be a number in words; much faster than all of them.
LIKELY = re.compile(
    "zero|nought|one|two|three|four|five|six|seven|eight|nin|ten|eleven|twel|thir|twent|fort|fift|hundred"
    "|thousand|illion|first|second"
)


class Number(NamedTuple):
    """A number in digits, and the words from `start` to `end` that it stands for."""

    start: int
    end: int
    text: str


def find_numbers(words: Sequence[str]) -> list[Number]:
    """Return the numbers among lower-case words, in order.

    >>> find_numbers("on the twenty first of two thousand and five ships".split())
    [Number(start=2, end=4, text='21st'), Number(start=5, end=9, text='2005')]
    """
    found: list[Number] = []
    at = 0
    while at < len(words):
        number = _number_at(words, at) if words[at] in _CARDINALS or words[at] in _ORDINALS else None
        if number is None:
            at += 1
        else:
            found.append(number)
            at = number.end
    return found


class _Sum:
    """A number as far as its words were read: what is complete, and the group below the last power."""

    def __init__(self) -> None:
        self.zeros = 0  # before any other digit
        self.total = self.group = 0
        self.lowest = 10**12  # the power that was used last
        self.last = ""  # what the last word was: zero, unit, teen, ten, hundred or power

    def take(self, word: str) -> bool:
        """Add a cardinal; False, and nothing is changed, if it begins another number."""
        value = _CARDINALS[word]
        if value == 0:
            if self.last not in ("", "zero"):
                return False
            self.zeros, self.last = self.zeros + 1, "zero"
        elif value < 100:
            if value < 10 and self.last not in ("", "zero", "ten", "hundred", "power"):
                return False
            if value >= 10 and self.last not in ("", "zero", "hundred", "power"):
                return False
            self.group += value
            self.last = "unit" if value < 10 else "teen" if value < 20 else "ten"
        elif value == 100:
            if self.last in ("hundred", "power", "zero") or self.group >= (10 if self.total else 100):
                return False
            self.group, self.last = (self.group or 1) * 100, "hundred"
        else:
            again = value == self.lowest or (value > self.lowest and self.last != "power")
            if again or self.last == "zero" or self.group >= 1000:
                return False
            if value > self.lowest:  # a thousand million
                self.total *= value
            else:
                self.total += (self.group or 1) * value
            self.group, self.lowest, self.last = 0, value, "power"
        return True

    def text(self) -> str:
        """Return the digits."""
        value = self.total + self.group
        return "0" * self.zeros + (str(value) if value or not self.zeros else "")


def _number_at(words: Sequence[str], start: int) -> Number | None:
    number, at = _Sum(), start
    while at < len(words):
        word = words[at]
        joined = int(word == "and" and number.last in ("ten", "hundred", "power") and at + 1 < len(words))
        if joined:
            word, at = words[at + 1], at + 1
        if word in _ORDINALS and number.take(_ORDINALS[word]):
            return Number(start, at + 1, number.text() + _ENDINGS.get(word, "th"))
        if word not in _CARDINALS or not number.take(word):
            at -= joined
            break
        at += 1
    if at == start:
        return None
    digits = _decimals(words, at)
    if digits:
        return Number(start, at + 1 + len(digits), f"{number.text()}.{digits}")
    return Number(start, at, number.text())


def _decimals(words: Sequence[str], at: int) -> str:
    """Return the digits after a "point" at this place."""
    digits = ""
    if at < len(words) and words[at] == "point":
        for word in words[at + 1 :]:
            if word not in _UNITS:
                break
            digits += str(_UNITS[word])
    return digits
