"""The characters of a text made plain, before anything is read: one dash, ASCII digits, numbers in digits.

What is neither a letter, a digit nor a mark that can tell two values apart becomes a space; marks that end a
phrase become `STOP`. English numbers in words are turned into digits.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from disputatio.values import units
from disputatio.values.number_words import LIKELY, find_numbers

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


class _Characters(dict[int, str]):
    """A table for `str.translate`: what each character becomes, worked out when it first occurs."""

    def __init__(self, becomes: Callable[[str], str]) -> None:
        self._becomes = becomes

    def __missing__(self, point: int) -> str:
        self[point] = becomes = self._becomes(chr(point))
        return becomes


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


_PLAIN = _Characters(_plain_character)
_KEPT = _Characters(_kept_character)


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
    """1 234 567 and 10 000 are one number; 12 345 may be two."""
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
