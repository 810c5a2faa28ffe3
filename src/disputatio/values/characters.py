"""The characters of a text made plain, before anything is read: one dash, ASCII digits, numbers in digits.

What is neither a letter, a digit nor a mark that can tell two values apart becomes a space; marks that end a
phrase become `STOP`. English numbers in words are turned into digits.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from disputatio.text import CharacterTable
from disputatio.values import units

# --- numbers in words ---------------------------------------------------------------------------------
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


STOP = "|"
SPELLED = "\x01"  # stands before digits that were words
MARKS = "-+#^%‰°<>≤≥±=/:.,;&'*" + STOP + SPELLED + "".join(sign for sign in units.SIGNS)
#: One letter of any script, with the marks that combine with it; the complement, as `re` knows no such class.
LETTER = rf"[^\s0-9{re.escape(MARKS)}]"

_DASHES = "‐‑‒–—―−⁃﹘﹣－"
_STOPS = '()[]{}!?"“”„«»…。！？、，；（）「」『』'
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_RAISED = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_VULGAR = re.compile(r"[¼-¾⅐-⅞↉]")
_HARD_SPACE = re.compile(r"(?<=[0-9])[\u00a0\u2007\u2009\u202f](?=[0-9]{3}(?![0-9]))")
_SPACED_THOUSANDS = re.compile(r"(?<![0-9.,/:-])[0-9]{1,3}(?: [0-9]{3})+(?![0-9])")
_PIECE = re.compile(rf"{LETTER}+|[0-9]+|[^\s-]")
_WHOLE_WORD = re.compile(r"(?<![0-9])[A-Za-z]+(?![0-9'#+]|\.[A-Za-z])")
_LARGE = {"hundred", "thousand", "million", "billion", "trillion"}


def _plain_character(char: str) -> str:
    if char in "™®©":
        return " "
    if char in _DASHES:
        return "-"
    if char in "‘’‚`′":
        return "'"
    if char in "♯＃":
        return "#"
    if char in _STOPS or char == SPELLED:
        return STOP
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    return {"⁄": "/", "×": "x"}.get(char, char)


def _kept_character(char: str) -> str:
    if _UNSPACED.match(char):
        return f" {char} "
    kind = unicodedata.category(char)
    if kind[0] in "LNM" or char in MARKS:
        return char
    return "" if kind == "Cf" else f" {char} " if kind == "Sc" else " "


_PLAIN = CharacterTable(_plain_character)
_KEPT = CharacterTable(_kept_character)


def plain_text(text: str) -> str:
    """Return text in plain characters, with its spelled numbers in digits behind `SPELLED`.

    >>> plain_text("“2½ m²” – ３５%")
    '|2 1/2 m^2| - 35%'
    >>> plain_text("twenty-one ships").replace(SPELLED, "~")
    '~21 ships'
    """
    text = _RAISED.sub(lambda raised: f"^{unicodedata.normalize('NFKC', raised[0])}", text)
    text = _VULGAR.sub(lambda vulgar: f" {unicodedata.normalize('NFKC', vulgar[0])}", text)
    text = _HARD_SPACE.sub("", text)
    text = unicodedata.normalize("NFKC", text.translate(_PLAIN)).translate(_PLAIN).translate(_KEPT)
    text = " ".join(text.split()).replace(" & ", " and ")
    return _with_digits(_SPACED_THOUSANDS.sub(_joined_thousands, text))


def _joined_thousands(spaced: re.Match[str]) -> str:
    """Join thousands: 1 234 567 and 10 000 are one number; 12 345 may be two."""
    groups = spaced[0].split(" ")
    return "".join(groups) if len(groups) > 2 or groups[-1] == "000" else spaced[0]


def _with_digits(text: str) -> str:
    """Return text with its English numbers in digits.

    A lone "one" stays, as it is mostly a pronoun, and so does "million" or "second" after a number, which are
    its magnitude and its unit.
    """
    if not LIKELY.search(text.lower()):
        return text
    pieces = list(_PIECE.finditer(text))
    spoken = [_spoken(text, piece) for piece in pieces]
    parts: list[str] = []
    copied = 0  # characters of the text that are in `parts`
    last_end, last_digits = -1, ""  # of the number before, in pieces
    for number in find_numbers(spoken):
        start, end = pieces[number.start].start(), pieces[number.end - 1].end()
        lone = spoken[number.start] if number.end - number.start == 1 else ""
        before = spoken[number.start - 1] if number.start else ""
        after_number = number.start > 0 and (
            last_end == number.start or pieces[number.start - 1][0].isdigit()
        )
        if lone == "second" and (after_number or before in ("a", "per", "each", "every")):
            continue
        if lone in _LARGE and after_number:
            continue
        if lone == "one" and not units.UNIT.match(text, end + 1):
            continue
        if last_end == number.start and _is_year(last_digits, number.text):
            parts.append(number.text)  # nineteen eighty-four
        else:
            parts.append(f"{text[copied:start]}{SPELLED}{number.text}")
        copied, last_end, last_digits = end, number.end, number.text
    return "".join([*parts, text[copied:]])


def _spoken(text: str, piece: re.Match[str]) -> str:
    """Return a piece of text for `find_numbers`: "o", "hundreds" and parts of names are no numbers."""
    word = piece[0].lower()
    whole = _WHOLE_WORD.match(text, piece.start())
    return word if whole and whole[0] == piece[0] and word != "o" and not word.endswith("s") else "§"


def _is_year(century: str, rest: str) -> bool:
    """Return whether two spelled numbers that follow each other are a year: nineteen, eighty-four."""
    figures = century.isdigit() and rest.isdigit() and len(century) == len(rest) == 2
    return figures and 15 <= int(century) <= 20
