"""Values in a statement with the place where they stand: figures with units, dates, times, weekdays, rhythms.

`values` says what a figure is; here it is found in its sentence, with what bounds it ("at least")
and the other end of a range. Sentences are short (`statements.LONGEST`), so that each pattern is tried over a
bounded text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from disputatio.contradictions.vocabulary import (
    BOUND,
    CYCLES,
    EVERY,
    LABELS,
    STOP,
    TIMES,
    WEEKDAYS,
    WORKING,
)
from disputatio.values import canonical
from disputatio.values.characters import LIKELY, number_in_words
from disputatio.values.figures import MONTH_NAMES, Date, calendar
from disputatio.values.numerals import MAGNITUDES, NAMED
from disputatio.values.units import READINGS, UNIT, symbol_of

Bound = Literal["", "min", "max", "about"]

_MONTHS = "|".join(sorted(map(re.escape, MONTH_NAMES), key=len, reverse=True))
_CURRENCIES = r"US\$|CA\$|A\$|[$€£¥₹]|EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|CAD|AUD|JPY|CNY|INR"
_NUMBER = r"\d{1,3}(?:[ \u00a0\u202f]\d{3}){1,4}(?!\d)|\d{1,15}(?:[.,'\u00a0\u202f]\d{1,15}){0,5}"
_TOKEN = re.compile(
    rf"(?P<iso>\b\d{{4}}-\d{{2}}-\d{{2}}\b)"
    rf"|(?P<numeric>\b\d{{1,2}}(?P<mark>[./])\d{{1,2}}(?P=mark)\d{{4}}\b)"
    rf"|\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.)?\s{{1,2}}(?:of\s|de\s)?(?P<month>{_MONTHS})\b\.?"
    rf"(?:,?\s(?:de\s)?(?P<year>[12]\d{{3}})\b)?"
    rf"|\b(?P<month_first>{_MONTHS})\b\.?\s(?P<day_after>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\s?[%:])"
    rf"(?:,?\s(?P<year_after>[12]\d{{3}})\b)?"
    rf"|\b(?P<month_alone>{_MONTHS})\b\.?\s(?:de\s)?(?P<year_alone>[12]\d{{3}})\b"
    rf"|\b(?:Q(?P<quarter>[1-4])|H(?P<half_year>[12]))(?:[\s/-]{{0,2}}(?P<quarter_year>(?:19|20)\d{{2}}))?\b"
    rf"|\b(?P<season>(?:19|20)\d{{2}})(?:/|-)(?P<season_end>(?:19|20)?\d{{2}})\b(?![-/.]\d)"
    rf"|\b(?P<hour>[01]?\d|2[0-4])(?:[:.](?P<minute>[0-5]\d))?\s?(?:(?P<half>[ap])\.?m\b\.?|(?P<uhr>Uhr\b|o['’]clock\b))"
    rf"|\b(?P<clock>[01]?\d|2[0-4])(?::|\s?h(?:eures?)?\s?)(?P<clock_minute>[0-5]\d)\b(?!\s?(?:%|(?:min|m[gl]?|k?g|s)\b))"
    rf"|(?<=à\s)(?<![\dé]\sà\s)(?P<at_hour>[01]?\d|2[0-4])\s?h(?:eures?)?\b(?!\s?(?:par\b|/))"
    rf"|\b[vV]?(?P<version>\d{{1,4}}(?:\.\d{{1,4}}){{2,3}})\b(?!,\d)"
    rf"|(?:(?P<before>{_CURRENCIES})\s?)?(?P<sign>(?<![\w)])[-−+])?(?<![\w.])(?P<number>{_NUMBER})"
    rf"(?P<ordinal>(?:st|nd|rd|th)\b)?"
    rf"|(?P<word>[^\W\d_][\w]{{0,60}}(?:[-'’./&][\w]{{1,60}}){{0,4}})"
    rf"|(?P<mark_alone>[;:()—–,…!?\"“”«»])",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"(?:https?|ftp|ssh|git)://[^\s<>()\"'`\[\]]{1,300}", re.IGNORECASE)
_VISIBLE = re.compile(r"\S")
_PLAIN_WORD = re.compile(r"[^\W\d_]{1,60}(?![^\W_])")
_WITHIN = re.compile(r"[-'’./&$][\w]")  # a word that goes on: its form is looked at closely
_COINS = "eur usd gbp chf sek nok dkk pln czk cad aud jpy cny inr"
_SPECIAL = frozenset({*MONTH_NAMES, *_COINS.split()})
_MAGNITUDE = re.compile(rf"\s?(?:(?P<word>{NAMED})(?!\w)\.?|(?P<letter>[kmb])(?![\w²³/]))", re.IGNORECASE)
_LETTERS = {"k": 3, "m": 6, "b": 9}
_UNIT_WORD = re.compile(r"[\s\u00a0\u202f-]?(?P<name>[^\W\d_]+)")
_AFTER_MONEY = re.compile(rf"\s?(?P<name>{_CURRENCIES}|euros?|dollars?|pounds?)(?!\w)", re.IGNORECASE)
_MONEY = {"€": "EUR", "£": "GBP", "$": "USD", "us$": "USD", "euro": "EUR", "euros": "EUR", "dollar": "USD",
          "dollars": "USD", "pound": "GBP", "pounds": "GBP", "¥": "JPY", "₹": "INR", "ca$": "CAD",
          "a$": "AUD"}  # fmt: skip
_RANGE = {"-", "–", "—", "to", "bis", "à", "a", "through", "until", "and", "und", "et", "y"}
_LISTED = {",", "or", "and", "oder", "und", "ou", "et", "o", "y", "/", ", or", ", and", ",or"}
_SHARE = re.compile(r"\s(?:of (?:them|these|those|which|whom)|davon|d['’]entre)\b", re.IGNORECASE)
_YEAR_WORDS = """
in since from by until of during before after till to year fiscal fy early late mid im seit ab bis jahr jahre
en depuis desde hasta de
"""
_YEAR_BEFORE = frozenset(_YEAR_WORDS.split())
_AFTER_TIME = frozenset(
    {
        "later",
        "earlier",
        "ago",
        "longer",
        "sooner",
        "off",
        "early",
        "late",
        "long",
        "old",
        "minimum",
        "maximum",
    }
)
_DAYS = Fraction(86_400)
_MONTH_DAYS = Fraction(36525, 1200)
# after a version: the least one, which is no name of what the statement is about
_LEAST = re.compile(
    r"\s?(?:\+|(?:or|and|oder|und|ou|et) "
    r"(?:newer|later|higher|above|greater|neuer|höher|später|supérieure?|ultérieure?)\b)",
    re.IGNORECASE,
)
_PER = re.compile(
    r"\s?(?:per|/|pro|par|por|a|an|each|every|im|le)\s?(?P<what>user|seat|person|employee|night|day|week|month|"
    r"year|hour|kilometre|kilometer|km|kg|order|parcel|item|unit|tag|woche|monat|jahr|stunde|nacht|jour|mois|an|"
    r"nuit|mes|año|día)s?\b",
    re.IGNORECASE,
)

_CYCLE = rf"(?P<cycle>{'|'.join(CYCLES)})(?![^\W_])"
# "twice a week", "two or three times a week"; "every day", "every other week"
_OFTEN = re.compile(
    r"(?:(?P<least>[^\W\d_]{3,8}|\d{1,2})\s?(?:or|to|oder|bis|ou|à|o|-|–)\s?)?"
    r"(?:(?P<often>once|twice|thrice|[^\W\d_]{3,5}mal)"
    r"|(?P<times>[^\W\d_]{2,8}|\d{1,2})\s(?:times|mal|fois|vez|veces))"
    rf"\s(?:an?|per|each|every|in the|pro|je|im|am|in der|par|por|al|à la)\s{_CYCLE}",
    re.IGNORECASE,
)
_EACH = re.compile(
    r"(?:every|each|jede[nrsm]?|chaque|cada|tous les|toutes les|todos los|todas las)\s"
    rf"(?P<second>(?:other|second|zweite[nrs]?)\s)?{_CYCLE}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Measure:
    """A value at `start:end` of a sentence.

    `of` is what is measured: a dimension ("mass", "money EUR"), "date", "clock", "weekday", "every",
    "version", or "count" for a bare number, whose `noun` is then the word after it. `low` and `high` are in
    one base unit and equal but for a range. `bound` says if it is a least, a most or a rough value; `digits`
    how exact it is.
    """

    start: int
    end: int
    of: str
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    date: Date | None = None
    bound: Bound = ""
    digits: int = 9
    working: bool = False
    rounded: bool = False
    noun: str = ""
    per: str = ""
    text: str = ""

    @property
    def release(self) -> str:
        """Return the version that a value may be, as "3.5.2" and a bare "3.5" are; else nothing."""
        bare = self.of == "count" and not self.noun and "." in self.text
        return self.text.lstrip("vV") if bare or self.of == "version" else ""

    @property
    def key(self) -> str:
        """Return what is equal in values that are written alike, for skipping pairs that cannot differ."""
        return (
            f"{self.of}|{self.date or (self.release if self.of == 'version' else '')}|{self.low}|{self.high}"
        )


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a mark between clauses, a code such as X200, or a value, at `start:end` of a sentence."""

    kind: Literal["word", "mark", "code", "value"]
    start: int
    end: int
    text: str
    value: Measure | None = None


def tokens_of(text: str, *, comma: bool | None = None) -> list[Token]:
    """Return the tokens of a sentence; `comma` says that its language writes decimals with a comma.

    >>> [(t.kind, t.text) for t in tokens_of("The X200 weighs 1.8 kg.")]
    [('word', 'The'), ('code', 'X200'), ('word', 'weighs'), ('value', '1.8 kg')]
    """
    found = _combine(list(_tokens(text, comma)), text)
    return [_add_bound(token, text) for token in found]


def _tokens(text: str, comma: bool | None) -> Iterator[Token]:
    at, before, named = 0, "", False
    while seen := _VISIBLE.search(text, at):
        start = seen.start()
        token: Token | None
        if address := _ADDRESS.match(text, start):  # its port is no value
            at, before, named = address.end(), "", False
            continue
        if token := _rhythm(text, start):
            yield token
            at, before, named = token.end, "", False
            continue
        plain = _PLAIN_WORD.match(text, start)
        if plain and plain[0].casefold() not in _SPECIAL and not _WITHIN.match(text, plain.end()):
            token = _word(text, start, plain.end(), before)
            at, before, named = token.end, token.text.casefold(), _is_named(token, text)
            yield token
            continue
        match = _TOKEN.match(text, start)
        if match is None:
            at = start + 1
            continue
        end = match.end()
        groups = match.groupdict()
        if groups["word"]:
            token = _word(text, start, end, before)
        elif groups["mark_alone"]:
            token = Token("mark", start, end, match[0])
        elif groups["number"]:
            token = _number(text, match, start, before, comma, named=named)
        else:
            value = _moment(groups, start, end, text)
            token = Token("value", start, end, text[start:end], value) if value else None
        if token is None:
            at = end
            continue
        yield token
        at, before = max(token.end, start + 1), token.text.casefold()
        named = _is_named(token, text)


def _rhythm(text: str, start: int) -> Token | None:
    """Return how often something is done, in the days between, as "once a week" or "every other day" say."""
    if each := _EACH.match(text, start):
        days = Fraction(CYCLES[each["cycle"].casefold()] * (1 + bool(each["second"])))
        low, end = days, each.end()
    elif often := _OFTEN.match(text, start):
        most, least = (_times(often[name]) for name in ("often" if often["often"] else "times", "least"))
        if not most or (often["least"] and not least):
            return None
        days = Fraction(CYCLES[often["cycle"].casefold()], least or most)
        low, end = days * (least or most) / most, often.end()
    else:
        return None
    words = text[start:end]
    return Token("value", start, end, words, Measure(start, end, "every", low, days, text=words))


def _times(word: str | None) -> int:
    """Return a number of times, in digits or words; 0 for what is none."""
    return int(word) if word and word.isdigit() else TIMES.get((word or "").casefold(), 0)


def _is_named(token: Token, text: str) -> bool:
    """Return whether a number after a token may be part of a name, as in "Windows 11"."""
    capital = token.kind == "word" and token.text[0].isupper()
    return capital and text[token.end : token.end + 1] == " " and token.text.casefold() not in STOP


def _word(text: str, start: int, end: int, before: str) -> Token:
    word = text[start:end]
    while word[-1] in ".'’/&-":
        word = word[:-1]
    end = start + len(word)
    folded = word.casefold()
    if any(map(str.isdigit, word)):
        return Token("code", start, end, word)
    if folded in WEEKDAYS:
        day = Fraction(WEEKDAYS[folded])
        return Token("value", start, end, word, Measure(start, end, "weekday", day, day, text=word))
    if folded in EVERY:
        days = Fraction(EVERY[folded])
        return Token("value", start, end, word, Measure(start, end, "every", days, days, text=word))
    if len(word) == 1 and word.isupper() and before in LABELS:
        return Token("code", start, end, f"{before}\x1f{folded}")
    spelled = number_in_words(text, start) if LIKELY.match(folded) else None
    number, number_end = (
        spelled
        if spelled and spelled[1] >= end
        else (Fraction(folded in ("a", "an"), 1 + (before == "half")), end)
    )
    if number:
        unit, unit_end, working = _unit(text, number_end)
        if unit and folded in ("a", "an") and _names_a_thing(text, unit_end):
            unit = ""
        if unit and (number > 1 or _is_time(unit)):
            return _measure(text, start, unit_end, number, unit, working=working, before=before)
        if number > 1 and number != 100:
            return _measure(text, start, number_end, number, "", before=before)
    return Token("word", start, end, word)


def _names_a_thing(text: str, end: int) -> bool:
    """Return whether a unit belongs to the noun after it: "a day ticket", and no time as in "a day later"."""
    word = _UNIT_WORD.match(text, end)
    return word is not None and word["name"].casefold() not in STOP | _AFTER_TIME


def _is_time(unit: str) -> bool:
    return READINGS[unit][0].dimension in ("duration", "months") if unit in READINGS else False


def _moment(groups: dict[str, str | None], start: int, end: int, text: str) -> Measure | None:
    """Return a date, a quarter, a time of day or a version."""
    words = text[start:end]
    if groups["version"]:
        low = Fraction(0)
        return Measure(start, end, "version", low, low, text=words, noun=groups["version"])
    if written := groups["hour"] or groups["clock"] or groups["at_hour"]:
        hour = int(written)
        minute = int(groups["minute"] or groups["clock_minute"] or 0)
        half = (groups["half"] or "").casefold()
        if half and hour <= 12:
            hour = hour % 12 + 12 * (half == "p")
        moment = Fraction(hour * 60 + minute)
        return Measure(start, end, "clock", moment, moment, text=words)
    if groups["quarter"] or groups["half_year"]:
        year = int(groups["quarter_year"]) if groups["quarter_year"] else None
        number = int(groups["quarter"] or 0) or 4 + int(groups["half_year"] or 0)
        return Measure(start, end, "period", Fraction(number), Fraction(number), Date(year, None), text=words)
    if groups["season"]:
        first = int(groups["season"])
        if len(groups["season_end"] or "") == 2 and int(groups["season_end"] or 0) != (first + 1) % 100:
            return None
        return Measure(start, end, "period", text=words, date=Date(first, None))
    date = _date(groups)
    return Measure(start, end, "date", date=date, text=words) if date else None


def _date(groups: dict[str, str | None]) -> Date | None:
    if groups["iso"]:
        year, month, day = map(int, groups["iso"].split("-"))
        return calendar(year, month, day)
    if groups["numeric"]:
        value = canonical(groups["numeric"])
        return value.dates[0] if value.dates else None
    name = groups["month"] or groups["month_first"] or groups["month_alone"] or ""
    day_text = groups["day"] or groups["day_after"]
    year_text = groups["year"] or groups["year_after"] or groups["year_alone"]
    if not year_text and name in ("may", "march", "mar", "sep", "dec"):
        return None
    return calendar(
        int(year_text) if year_text else None,
        MONTH_NAMES[name.casefold()],
        int(day_text) if day_text else None,
    )


def _number(
    text: str, match: re.Match[str], start: int, before: str, comma: bool | None, *, named: bool
) -> Token | None:
    digits, end = match["number"], match.end("number")
    if match["ordinal"]:
        return Token("word", start, match.end(), match[0].strip().casefold())
    money = _MONEY.get((match["before"] or "").casefold(), (match["before"] or "").upper())
    follows = text[end : end + 1]
    number = canonical(re.sub("[ \u00a0\u202f]", "", digits), comma=comma).number
    if number is None:
        return Token("code", start, end, digits)
    magnitude = _MAGNITUDE.match(text, end)
    exact = len(digits.replace(",", "").replace(".", "").strip("0")) or 1
    scaled = False
    if magnitude and (magnitude["word"] or money or _AFTER_MONEY.match(text, magnitude.end())):
        power = (MAGNITUDES | _LETTERS)[(magnitude["word"] or magnitude["letter"]).casefold()]
        number, end, scaled = number * 10**power, magnitude.end(), power > 2
        follows = text[end : end + 1]
    after = _AFTER_MONEY.match(text, end)
    if not money and after:
        money = _MONEY.get(after["name"].casefold(), after["name"].upper())
        end = after.end()
    elif money and after:
        end = after.end()
    if match["sign"] in ("-", "−"):
        number = -number
    if money:
        token = _measure(text, start, end, number, f"money {money}", before=before)
    else:
        unit, unit_end, working = _unit(text, end)
        if not unit and (follows.isalpha() and follows not in "xX"):
            word = _UNIT_WORD.match(text, end)
            return Token(
                "code", start, word.end() if word else end, text[start : word.end() if word else end]
            )
        token = _measure(text, start, unit_end if unit else end, number, unit, working=working, before=before)
        if not unit and not scaled:
            token = _year_or_label(token, digits, text, before, named=named)
    if token.value is None:
        return token
    decimals = "." in digits or "," in digits
    return replace(
        token, value=replace(token.value, digits=exact, rounded=scaled or (decimals and exact <= 2))
    )


def _year_or_label(token: Token, digits: str, text: str, before: str, *, named: bool) -> Token:
    """Return a bare number as a year, as the number of something ("Phase 2"), or as it is.

    `named` says that a name stands before it: "Windows 11".
    """
    word = _UNIT_WORD.match(text, token.end)
    following = word["name"] if word else ""
    year = len(digits) == 4 and digits.isdigit() and "1900" <= digits <= "2100"
    year |= len(digits) == 4 and digits.isdigit() and "1000" <= digits < "1900" and before in _YEAR_BEFORE
    counted = following[:1].islower() and following.endswith(("s", "n")) and following not in STOP
    if year and (before in _YEAR_BEFORE or not counted):
        date = Date(int(digits), None)
        return replace(token, value=Measure(token.start, token.end, "year", date=date, text=digits))
    least = before in ("version", "release") and _LEAST.match(text, token.end)
    label = before in LABELS or (named and len(digits) <= 4 and digits.isdigit())
    if label and not counted and not least:
        return Token("code", token.start, token.end, f"{before}\x1f{digits}")
    return token


def _unit(text: str, end: int) -> tuple[str, int, bool]:
    """Return the unit after a number, where it ends, and whether days are working days."""
    word = _UNIT_WORD.match(text, end)
    if word and word["name"].casefold() in WORKING:
        unit, unit_end, _ = _unit(text, word.end())
        return (unit, unit_end, True) if unit == "day" else ("", end, False)
    at = end + (text[end : end + 1] in (" ", "-", "\u00a0", "\u202f"))
    named = UNIT.match(text, at)
    if (
        named is None
        or (len(named[0]) == 1 and named[0].isalpha() and named[0] not in "mgsLVWhAlJN")
        or named[0] in ("AD", "in")
        or text[named.end() : named.end() + 1].isalnum()
    ):
        return "", end, False
    symbol = symbol_of(named[0])
    return ("day", named.end(), True) if symbol == "Werktag" else (symbol, named.end(), False)


def _measure(
    text: str, start: int, end: int, number: Fraction, unit: str, *, working: bool = False, before: str = ""
) -> Token:
    of, value, noun = "count", number, ""
    if unit.startswith("money"):
        of = unit
    elif unit:
        reading = READINGS[unit][0]
        of, value = reading.dimension, number * reading.factor
        if len(of) == 3 and of.isupper():
            of = f"money {of}"
        elif of == "duration":
            of, value = "time", value / _DAYS
        elif of == "months":
            of, value = "time", value * _MONTH_DAYS
        if of == "time" and before in ("every", "alle", "tous", "todos", "cada"):
            of = "every"
    else:
        word = _UNIT_WORD.match(text, end)
        noun = word["name"].casefold() if word and text[end : end + 1] in (" ", "-", "\u00a0") else ""
        noun = "persons" if noun == "people" else "" if noun in STOP else noun
        of = "listed" if _SHARE.match(text, end) else of  # a part of another number
    per = _PER.match(text, end)
    value_of = Measure(start, end, of, value, value, working=working, noun=noun, text=text[start:end])
    if per:
        value_of = replace(value_of, per=per["what"].casefold())
    return Token("value", start, end, text[start:end], value_of)


def _combine(tokens: list[Token], text: str) -> list[Token]:
    """Join the ends of ranges; drop the members of a list such as "2, 3 or 5 days"."""
    kept: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        value = token.value
        ahead = next((n for n in range(at + 1, min(at + 4, len(tokens))) if tokens[n].value), None)
        other = tokens[ahead].value if ahead else None
        if value and other and ahead:
            gap = text[token.end : tokens[ahead].start].strip().casefold()
            joined = _join(value, other, gap, text)
            if joined:
                kept.append(
                    Token(
                        "value", token.start, tokens[ahead].end, text[token.start : tokens[ahead].end], joined
                    )
                )
                at = ahead + 1
                continue
            if gap in _LISTED and _one_kind(value, other) and (value.of == "count" or gap != ","):
                kept.append(replace(token, value=replace(value, of="listed")))
                tokens[ahead] = replace(tokens[ahead], value=replace(other, of="listed"))
                at += 1
                continue
        kept.append(token)
        at += 1
    return kept


def _one_kind(first: Measure, second: Measure) -> bool:
    return first.of == second.of or (first.of == "count" and not first.noun.strip()) or first.of == "listed"


def _join(first: Measure, second: Measure, gap: str, text: str) -> Measure | None:
    """Return the range that two values are the ends of, None where they are two values."""
    if gap not in _RANGE:
        return None
    if gap in ("and", "und", "et", "y"):
        between = text[max(0, first.start - 12) : first.start].casefold()
        if not re.search(r"\b(?:between|zwischen|entre)\s$", between):
            return None
    if gap in ("a", "until") and first.of not in ("weekday", "clock"):
        return None
    first, second = _as_clock(first, second), _as_clock(second, first)
    low, unit = first.low, first.of
    if first.of == "count" and second.of not in ("count", "listed") and not first.noun.strip(" -"):
        if second.of in ("date", "year", "clock", "weekday", "version", "period"):
            return None
        written = canonical(second.text.split()[0]).number or second.low
        low, unit = (first.low * second.low / written if written else first.low), second.of
    if unit != second.of or unit in ("version", "period", "listed"):
        return None
    if unit in ("date", "year"):
        return replace(
            first, of="span", end=second.end, date=second.date, text=text[first.start : second.end]
        )
    return replace(second, start=first.start, low=low, text=text[first.start : second.end], rounded=False)


def _as_clock(value: Measure, other: Measure) -> Measure:
    """Return hours as a time of day if the other end of their range is one: "8 h à 18 h 30"; "9 to 5 pm"."""
    bare = value.of == "count" and not value.noun.strip(" -") and value.low.denominator == 1
    if other.of != "clock" or not (bare or value.of == "time") or value.high > (24 if bare else 1):
        return value
    low = value.low * (60 if bare else 1440)
    later = bare and other.text[-1:] in "mM." and low < other.high - 720  # "1 to 5 pm": both after noon
    low += 720 * later
    return replace(value, of="clock", low=low, high=low)


def _add_bound(token: Token, text: str) -> Token:
    """Return a token whose value knows the words before it that bound it."""
    value = token.value
    if value is None or value.of in ("version", "period", "weekday"):
        return token
    often = value.of == "every"
    match = BOUND.search(text[max(0, token.start - 30) : token.start])
    if match is None:
        after = text[token.end : token.end + 14].casefold().lstrip(" ,")
        if after.startswith(
            ("or more", "or less", "minimum", "maximum", "or later", "at most", "at least", "or older")
        ):
            bound: Bound = "max" if after.startswith(("or less", "maximum", "at most")) else "min"
            return replace(token, value=replace(value, bound=_between(bound) if often else bound))
        return token
    kind = match.lastgroup
    words = match[0].strip().casefold()
    if value.of in ("date", "year", "clock") and words in ("from", "ab", "by", "over", "under", "in"):
        return token
    if words == "by" or (words in ("from", "ab", "over", "under", "within") and often):
        return token
    bounds: dict[str | None, Bound] = {"min": "min", "max": "max", "about": "about"}
    found = bounds.get(kind, "")
    return replace(token, value=replace(value, bound=_between(found) if often else found))


def _between(bound: Bound) -> Bound:
    """Return the bound of the days between, of what is done so often: more often leaves fewer of them."""
    return "max" if bound == "min" else "min" if bound == "max" else bound


def differ(first: Measure, second: Measure) -> bool:
    """Return whether two values of one thing exclude each other: not by unit, rounding, range or bound.

    >>> def value(text): return next(t.value for t in tokens_of(text) if t.value)
    >>> differ(value("1.5 kg"), value("1500 g")), differ(value("3 months"), value("90 days"))
    (False, False)
    >>> differ(value("25 days"), value("28 days")), differ(value("10-15 %"), value("12 %"))
    (True, False)
    """
    if first.of in ("date", "year") and second.of in ("date", "year"):
        ours, theirs = first.date, second.date
        if not ours or not theirs or first.bound != second.bound:
            return False
        return not (ours.covers(theirs) or theirs.covers(ours))
    if "version" in (first.of, second.of):
        short, long = sorted((first.release, second.release), key=len)
        return bool(short) and not f"{long}.".startswith(f"{short}.")
    if first.of != second.of or (first.per and second.per and first.per != second.per):
        return False
    return _figures_differ(first, second)


def _figures_differ(first: Measure, second: Measure) -> bool:
    slack = Fraction(0)
    if first.of in ("time", "every"):
        slack = Fraction(2, 100)
        if first.working != second.working:
            slack = Fraction(60, 100)
    if "about" in (first.bound, second.bound):
        slack = max(slack, Fraction(10, 100))
    slack = max(slack, _find_rounding(first, second))
    largest = max(abs(first.low), abs(first.high), abs(second.low), abs(second.high))
    give = largest * slack
    is_range = (first.low != first.high, second.low != second.high)
    if first.of in ("weekday", "clock") and all(is_range):
        return (first.low, first.high) != (second.low, second.high)
    if all(is_range):
        return abs(first.low - second.low) > give or abs(first.high - second.high) > give
    if any(is_range):
        return first.high + give < second.low or second.high + give < first.low
    if first.bound == second.bound or {first.bound, second.bound} <= {"", "about"}:
        return abs(first.low - second.low) > give
    if "about" in (first.bound, second.bound) or {first.bound, second.bound} == {"min", "max"}:
        return False
    bounded, exact = (first, second) if first.bound else (second, first)
    if bounded.bound == "min":
        return exact.low + give < bounded.low
    return exact.low > bounded.low + give


def _find_rounding(first: Measure, second: Measure) -> Fraction:
    """Return the share by which two figures may differ because one of them is rounded."""
    coarse, fine = sorted((first, second), key=lambda value: value.digits)
    if fine.digits - coarse.digits < 1:
        return Fraction(0)
    if coarse.rounded and fine.digits - coarse.digits >= 1:
        return Fraction(5, 100) if fine.rounded or fine.digits > 2 else Fraction(3, 100)
    if fine.digits - coarse.digits >= 2 and abs(coarse.low) >= 100:
        return Fraction(2, 100)
    return Fraction(0)
