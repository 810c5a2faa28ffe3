"""The characters of a text made plain, before anything is read: one dash, ASCII digits, numbers in digits.

What is neither a letter, a digit nor a mark that can tell two values apart becomes a space; marks that end a
phrase become `STOP`. Numbers in English, German, French and Spanish words are turned into digits.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from disputatio.text import CharacterTable
from disputatio.values import units
from disputatio.values.units import ABROAD

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
_WITH_TH = {*_CARDINALS} - {*_IRREGULAR.values(), "zero", "nought", *_TENS}
_ORDINALS = (
    {f"{word}th": word for word in _WITH_TH} | {f"{word[:-1]}ieth": word for word in _TENS} | _IRREGULAR
)
_ENDINGS = {"first": "st", "second": "nd", "third": "rd"}
_PLAIN_LETTERS = str.maketrans(dict(zip("éíóöúü", "eioouu", strict=True)) | {"ß": "ss"})  # not "è": très
_WORDS_ABROAD = {name: frozenset(words.split()) for name, words in ABROAD.items() if isinstance(words, str)}


def _abroad() -> dict[str, int]:
    """Return the numbers below a thousand by their names in German, French and Spanish."""
    found = dict.fromkeys(_WORDS_ABROAD["one"], 1) | {"cien": 100, "quatre vingts": 80, "huitante": 80}
    for table in (ABROAD["german"], ABROAD["french"], ABROAD["spanish"]):
        ones, tens, hundreds = (
            {word.replace("_", " "): at * step for at, word in enumerate(table[row].split(), first)}
            for row, first, step in (("ones", 1, 1), ("tens", 2, 10), ("hundreds", 1, 100))
        )
        below = ones | tens
        for ten, much in tens.items():
            below |= {table["joined"].format(one=one, ten=ten): much + few for one, few in ones.items()}
            below |= {f"{ten} et {one}": much + few for one, few in (("un", 1), ("onze", 11))}
        below |= {f"veinti{one}": 20 + few for one, few in ones.items() if few < 10}
        below |= {f"{one}{end}": much for one, much in below.items() if one.endswith("un") for end in "aeo"}
        hundreds |= {f"ein{word}": 100 for word, much in hundreds.items() if much == 100}
        hundreds |= {word.replace("entos", "entas"): much for word, much in hundreds.items()}
        found |= below | hundreds | {f"{word}s": much for word, much in hundreds.items() if much > 100}
        found |= {
            f"{word}{table['joint']}{rest}": much + less
            for word, much in hundreds.items()
            for rest, less in below.items()
        }
    return found


_CARDINALS_ABROAD = _abroad()
_HALVES = {f"{one}einhalb": f"{much}.5" for much, one in enumerate(ABROAD["german"]["ones"].split(), 1)}
_HALVES["anderthalb"] = "1.5"
_A_HALF = {f"{one} {half}".strip() for one in ("", *_WORDS_ABROAD["one"]) for half in _WORDS_ABROAD["half"]}
_HALVES |= dict.fromkeys(_A_HALF, "0.5")
_PARTS: dict[tuple[str, ...], str] = {
    ("and", "a", "half"): ".5",
    ("and", "a", "quarter"): ".25",
    ("and", "three", "quarters"): ".75",
}
_PARTS |= dict.fromkeys((("et", "demi"), ("et", "demie"), ("y", "medio"), ("y", "media")), ".5")
_FIRST_ABROAD = {name.partition(" ")[0] for name in (*_CARDINALS_ABROAD, *_HALVES, "mille", "mil")}
_MOST_WORDS = 6  # neuf cent quatre-vingt-dix-neuf
_UNITS_ABROAD = {*", ".join(ABROAD["units"].values()).casefold().translate(_PLAIN_LETTERS).split(", ")}
_UNITS_ABROAD |= _WORDS_ABROAD["also_units"]
_COUNTED = _UNITS_ABROAD - {"an"} | {word.translate(_PLAIN_LETTERS) for word in _WORDS_ABROAD["nouns"]}
_ALSO_WORDS = _WORDS_ABROAD["one"] | _A_HALF | {*ABROAD["also_words"]}


def _likely() -> str:
    """Return a pattern of words and stems, those of one letter together, as that is faster."""
    stems, ends = tuple(_WORDS_ABROAD["stems"]), dict[str, list[str]]()
    whole = {word for word in ("half", *_CARDINALS, *_ORDINALS, *_FIRST_ABROAD) if not word.startswith(stems)}
    for word in (*stems, *(rf"{word}\b" for word in whole)):
        ends.setdefault(word[0], []).append(word[1:])
    return r"\b(?:" + "|".join(f"{initial}(?:{'|'.join(rests)})" for initial, rests in ends.items()) + ")"


#: Matches in a lower-case text in which there may be a number in words; much faster than all of them.
LIKELY = re.compile(_likely())


class Number(NamedTuple):
    """A number in digits, and the words from `start` to `end` that it stands for."""

    start: int
    end: int
    text: str


def find_numbers(words: Sequence[str]) -> list[Number]:
    """Return the numbers among lower-case words, in order.

    >>> find_numbers("on the twenty first of two thousand and five ships".split())
    [Number(start=2, end=4, text='21st'), Number(start=5, end=9, text='2005')]
    >>> find_numbers("two and a half hours".split())
    [Number(start=0, end=4, text='2.5')]
    """
    found: list[Number] = []
    at = 0
    while at < len(words):
        word = words[at]
        number = _number_at(words, at) if word in _CARDINALS or word in _ORDINALS else None
        abroad = _number_abroad_at(words, at) if word in _FIRST_ABROAD or "tausend" in word else None
        if abroad and (number is None or abroad.end > number.end):
            number = abroad
        if word == "half" and _is_half_of(words[at + 1 : at + 3]):
            number = Number(at, at + 2, "0.5")
        if number is None:
            at += 1
        else:
            found.append(_with_a_part(words, number))
            at = found[-1].end
    return found


def _is_half_of(words: Sequence[str]) -> bool:
    """Return whether these words after "half" are a measure: an hour, a million."""
    return words[:1] in (["a"], ["an"]) and any(
        units.UNIT.fullmatch(word) or word in _LARGE for word in words[1:]
    )


def _with_a_part(words: Sequence[str], number: Number) -> Number:
    """Return a number with the half or quarter that follows it."""
    for part, digits in _PARTS.items():
        end = number.end + len(part)
        if number.text.isdigit() and tuple(words[number.end : end]) == part:
            return Number(number.start, end, f"{number.text}{digits}")
    return number


def _number_abroad_at(words: Sequence[str], start: int) -> Number | None:
    """Return the number in German, French or Spanish that begins at a word.

    >>> _number_abroad_at(["zweitausendvierzehn"], 0), _number_abroad_at("deux mille vingt et un".split(), 0)
    (Number(start=0, end=1, text='2014'), Number(start=0, end=5, text='2021'))
    >>> _number_abroad_at(["sept", "jours"], 0), _number_abroad_at(["sept", "2021"], 0)
    (Number(start=0, end=1, text='7'), None)
    """
    word, before = words[start], words[start - 1] if start else ""
    thousands, found, below = word.partition("tausend")
    if found:
        much, rest = _CARDINALS_ABROAD.get(thousands or "ein"), _CARDINALS_ABROAD.get(below, 0)
        return Number(start, start + 1, f"{1000 * much + rest}") if much and (rest or not below) else None
    if word in ("cent", "mille") and before in ("per", "pour", "pro"):
        return None
    ends = range(min(start + 2, len(words)), start, -1)
    half = next((end for end in ends if " ".join(words[start:end]) in _HALVES), 0)
    value, end = (0, half) if half else _below_thousand(words, start)
    if words[end : end + 1] in (["mille"], ["mil"]):
        rest, end = _below_thousand(words, end + 1)
        value = (value or 1) * 1000 + rest
    name, after = " ".join(words[start:end]), words[end : end + 2]
    counted = _UNITS_ABROAD if name in _WORDS_ABROAD["one"] else _COUNTED
    if end == start or (name in _ALSO_WORDS and counted.isdisjoint((*after[:1], " ".join(after)))):
        return None
    return Number(start, end, _HALVES.get(name) or str(value))


def _below_thousand(words: Sequence[str], start: int) -> tuple[int, int]:
    """Return the number below 1000 in these languages that begins at a word, 0 for none, and its end."""
    for end in range(min(len(words), start + _MOST_WORDS), start, -1):
        if value := _CARDINALS_ABROAD.get(" ".join(words[start:end])):
            return value, end
    return 0, start


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
#: A word that is no part of a name such as F16 or two's, another run of letters or digits, or a mark.
_PIECE = re.compile(rf"(?P<word>(?<![0-9]){LETTER}++(?![0-9'#+]|\.{LETTER}))|{LETTER}+|[0-9]+|[^\s-]")
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
    return _with_digits(_SPACED_THOUSANDS.sub(_join_thousands, text))


def _join_thousands(spaced: re.Match[str]) -> str:
    """Join thousands: 1 234 567 and 10 000 are one number; 12 345 may be two."""
    groups = spaced[0].split(" ")
    return "".join(groups) if len(groups) > 2 or groups[-1] == "000" else spaced[0]


def _with_digits(text: str) -> str:
    """Return text with its numbers in digits.

    A lone "one" stays, as it is mostly a pronoun, and so does "million" or "second" after a number, which are
    its magnitude and its unit.
    """
    if not LIKELY.search(text.lower()):
        return text
    pieces = list(_PIECE.finditer(text))
    spoken = _spoken(pieces)
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


def _spoken(pieces: Sequence[re.Match[str]]) -> list[str]:
    """Return pieces of a text for `find_numbers`: parts of names are no numbers."""
    words = ((piece["word"] or "§").lower() for piece in pieces)
    return [word if word.isascii() else word.translate(_PLAIN_LETTERS) for word in words]


def number_in_words(text: str, start: int) -> tuple[Fraction, int] | None:
    """Return the cardinal in words that begins at a word of a text, and where it ends.

    >>> number_in_words("within twenty-one days", 7), number_in_words("en quatre-vingts jours", 3)
    ((Fraction(21, 1), 17), (Fraction(80, 1), 16))
    """
    pieces = list(_PIECE.finditer(text, start, start + 90))
    for number in find_numbers(_spoken(pieces))[:1]:
        if number.start == 0 and number.text[-1].isdigit():
            return Fraction(number.text), pieces[number.end - 1].end()
    return None


def _is_year(century: str, rest: str) -> bool:
    """Return whether two spelled numbers that follow each other are a year: nineteen, eighty-four."""
    figures = century.isdigit() and rest.isdigit() and len(century) == len(rest) == 2
    return figures and 15 <= int(century) <= 20
