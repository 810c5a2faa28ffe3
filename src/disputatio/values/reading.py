"""A text read into tokens: words in their normal form, and the figures, dates and times among them.

The text is read once from left to right, and no pattern looks back over more than a few characters, so that
the time grows with its length alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, zip_longest

from disputatio.values import units
from disputatio.values.characters import LETTER, SPELLED, STOP, plain_text
from disputatio.values.figures import MONTH_NAMES, MONTHS, Date, Figure, Item, Time, calendar, plain
from disputatio.values.numerals import FIGURE_STARTS, figure_at, version_at
from disputatio.values.units import ORDINAL, VERSION

# How a token stands to the next: a space, a hyphen or slash, or nothing between.
APART, LINKED, GLUED = 0, 1, 2
RANGE = "to"  # the word that stands for the dash of a range

_START = re.compile(
    rf"(?P<signed>(?<![^\s,;{STOP}<>≤≥=])[-+](?=(?:{units.CURRENCY})?\s?{SPELLED}?\.?[0-9]))"
    rf"|(?<![^\s,;{STOP}])\.(?=[0-9]|{LETTER})"
    rf"|(?<=[^\s\-+./:,;&'*=#^<>≤≥±{STOP}])\+(?!{LETTER}|[0-9+])"
    rf"|[^\s\-+./:,;&'*=#{STOP}]"
)
_WORD = re.compile(rf"\.?{LETTER}+(?:['.]{LETTER}+)*(?:(?:\+\+|#)(?!{LETTER}|[+#])|\+(?!{LETTER}|[0-9+]))?")
_GRADE = re.compile(rf"(?:(?:AB|[ABCDFO])-|{LETTER}\*)(?![^\s,.;{STOP}])")  # marks, blood groups, A*
_RUN = re.compile(r"[0-9]+")
_SIGNED_YEAR = re.compile(r"[-+][12][0-9]{3}(?![0-9.,])")
_YEAR = re.compile(r"[12][0-9]{3}")
_PADDED = re.compile(r"[0-9]+\.[0-9]*0")
_ARTICLES = {"a", "an", "the"}
_ONE = Figure(Fraction(1), "1", spelled=True)  # of nothing else is it sure that it is no pronoun
_NEGATIVE = {"minus", "negative"}
_PER = {"per", "pro", "je", "par", "por"}
_PERIODS = {
    **{"s": "second", "min": "minute", "h": "hour"},
    **{"day": "day", "week": "week", "month": "month", "year": "year"},
}
_BEFORE_AMOUNTS_WORDS = """
about around approximately nearly almost over under exactly some only from to at by for in is was of between
and or than it its a the
"""
_BEFORE_AMOUNTS = frozenset(_BEFORE_AMOUNTS_WORDS.split())


@dataclass(frozen=True, slots=True)
class JoinedItem:
    """A word or value, and how it stands to the next one."""

    item: Item
    joint: int = APART


@dataclass(slots=True)
class _Reading:
    """A token while it is read: whether it begins with a capital, whether a dash comes after it."""

    item: Item
    capital: bool = False
    magnitude: Fraction = Fraction(1)
    joint: int = APART
    stop: bool = False
    dash: bool = False
    slash: bool = False


def read(text: str, *, comma: bool = False) -> tuple[JoinedItem, ...]:
    """Return the tokens of a text; `comma` says that the comma is its decimal mark.

    >>> [str(token.item) for token in read("The U.S. paid $10 million on May 12, 1962.")]
    ['us', 'paid', '10000000 $', 'on', '12 May 1962']
    """
    readings = list(_tokens(plain_text(text), comma))
    return _without_articles(_with_rates(_with_versions(_with_ranges(_with_signs(readings)))))


def _tokens(text: str, comma: bool) -> Iterator[_Reading]:
    last: _Reading | None = None
    end = 0
    while (start := _START.search(text, end)) is not None:
        at = start.start()
        signed = start["signed"] is not None
        if last is not None:
            gap = text[end:at]
            last.stop = any(mark in gap for mark in f".,;{STOP}")
            spaced = " " in gap or last.stop
            last.joint = APART if spaced else LINKED if gap else GLUED
            last.dash = gap in ("-", " - ")
            last.slash = gap.strip() == "/" and isinstance(last.item, Figure)
            if signed and gap == " " and _is_year(last.item) and _SIGNED_YEAR.match(text, at):
                last.dash, signed, at = True, False, at + 1  # 1914 -1918
            yield last
        last, end = _token_at(text, at, comma, glued=last is not None and last.joint == GLUED, signed=signed)
    if last is not None:
        yield last


def _token_at(text: str, at: int, comma: bool, *, glued: bool, signed: bool) -> tuple[_Reading, int]:
    """Return the token that begins at a place, and where it ends."""
    first = text[at]
    moment = moment_at(text, at) if not glued and first in MOMENT_STARTS else None
    if moment:
        return _Reading(moment[0]), moment[1]
    if first in FIGURE_STARTS and (not glued or first.isdigit() or first == SPELLED):
        number = (None if glued or signed else version_at(text, at)) or figure_at(
            text, at, comma=comma, in_name=glued
        )
        if number:
            return _Reading(number.figure, magnitude=number.magnitude), number.end
    match = (None if glued else _GRADE.match(text, at)) or _WORD.match(text, at) or _RUN.match(text, at)
    written = match[0] if match else text[at]
    return _Reading(_normal(written), capital=written[0].isupper()), at + len(written)


def _normal(word: str) -> str:
    """Return a word in its normal form: no case, and none of the marks within it.

    >>> _normal("Don't"), _normal("U.S"), _normal(".NET"), _normal("C++")
    ('dont', 'us', '.net', 'c++')
    """
    inner = word[0] + word[1:].replace("'", "").replace(".", "")
    return unicodedata.normalize("NFKC", inner.casefold()).casefold()


def _with_signs(readings: Sequence[_Reading]) -> list[_Reading]:
    """Return the tokens with "minus five" as one figure; "ten minus five" stays."""
    kept: list[_Reading] = []
    for reading in readings:
        figure, before = reading.item, kept[-1] if kept else None
        if (
            before is not None
            and before.item in _NEGATIVE
            and (before.joint, before.stop) == (APART, False)
            and isinstance(figure, Figure)
            and figure.value > 0
            and figure.unit not in (ORDINAL, VERSION)
            and (len(kept) < 2 or (kept[-2].joint == APART and not isinstance(kept[-2].item, Figure)))
        ):
            kept.pop()
            reading.item = replace(figure, value=-figure.value, written=f"-{figure.written}")
        kept.append(reading)
    return kept


def _with_ranges(readings: Sequence[_Reading]) -> list[_Reading]:
    """Return the tokens with a word for a range's dash, and unit and magnitude on both ends."""
    kept: list[_Reading] = []
    for at, reading in enumerate(readings):
        kept.append(reading)
        ahead = readings[at + 1 : at + 3]
        alike = (
            bool(ahead) and not isinstance(reading.item, str) and type(reading.item) is type(ahead[0].item)
        )
        if alike and reading.dash:
            _complete(reading, ahead[0], dash=True)
            reading.joint, reading.stop = APART, False
            kept.append(_Reading(RANGE))
        elif len(ahead) > 1 and ahead[0].item == RANGE and not reading.stop:
            _complete(reading, ahead[1], dash=False)
    return kept


def _complete(first: _Reading, second: _Reading, *, dash: bool) -> None:
    """Give both ends of a range what only the second says: 5-10 million km; or only the first: 1914-18."""
    low, high = first.item, second.item
    if (
        not isinstance(low, Figure)
        or not isinstance(high, Figure)
        or low.unit
        or high.unit in (ORDINAL, VERSION)
    ):
        return
    if _is_year(low) and not high.unit and len(high.written) == 2 and high.written.isdigit():
        if dash and int(high.written) > int(low.written[2:]):
            year = low.written[:2] + high.written
            second.item = Figure(Fraction(year), year)
        return
    if second.magnitude != 1 and first.magnitude == 1 and abs(low.value) < 1000:
        value = low.value * second.magnitude
        low = replace(low, value=value, written=plain(value))
    first.item = replace(low, unit=high.unit)


def _is_year(item: Item) -> bool:
    return isinstance(item, Figure) and not item.unit and _YEAR.fullmatch(item.written) is not None


def _with_versions(readings: Sequence[_Reading]) -> Sequence[_Reading]:
    """Return the tokens, where a number that ends in a zero and follows a name is a version: Python 3.10."""
    for name, number in pairwise(readings):
        figure = number.item
        if (
            isinstance(figure, Figure)
            and not figure.unit
            and number.magnitude == 1
            and _PADDED.fullmatch(figure.written)
            and name.capital
            and not name.stop
            and name.joint != GLUED
            and name.item not in _BEFORE_AMOUNTS
        ):
            number.item = replace(figure, unit=VERSION)
    return readings


def _with_rates(readings: Sequence[_Reading]) -> list[_Reading]:
    """Return the tokens with "per day" for "/day", "a day" and "pro Tag" after a figure.

    "60 km per hour" becomes one figure, as "60 km/h" is.
    """
    kept: list[_Reading] = []
    at = 0
    while at < len(readings):
        amount = readings[at]
        kept.append(amount)
        spelled = not amount.slash  # there is a word that says "per"
        at += 1
        if at + spelled >= len(readings) or not isinstance(figure := amount.item, Figure):
            continue
        what = readings[at + spelled]
        period = _period_of(what.item)
        if (spelled and not _says_per(amount, readings[at], period)) or not (figure.unit or period):
            continue
        at += spelled + 1
        if speed := units.symbol_of(f"{figure.unit}/{period}"):
            kept[-1] = replace(what, item=replace(figure, unit=speed))
        else:
            kept[-1].joint = APART
            kept += [_Reading("per"), replace(what, item=_PERIODS.get(period, what.item))]
    return kept


def _says_per(amount: _Reading, word: _Reading, period: str) -> bool:
    """Return whether a word after an amount says that it is so much for each of what follows."""
    return (
        not (amount.stop or word.stop or word.capital)
        and word.joint == APART
        and (word.item in _PER or (word.item in ("a", "an") and period != ""))
    )


def _period_of(item: Item) -> str:
    """Return the symbol of the period of time that a word names; empty where it names none.

    >>> _period_of("stunde"), _period_of("ship")
    ('h', '')
    """
    names = (item, item.capitalize()) if isinstance(item, str) else ()
    return next((symbol for name in names if (symbol := units.symbol_of(name)) in _PERIODS), "")


def _without_articles(readings: Sequence[_Reading]) -> tuple[JoinedItem, ...]:
    """Return the tokens without articles, unless one is a name: Vitamin A, the hepatitis A virus."""
    kept: list[JoinedItem] = []
    starts, linked = True, False
    for reading, follows in zip_longest(readings, readings[1:]):
        alone = not linked and reading.joint == APART
        name = reading.item == "a" and reading.capital and not starts and not (follows and follows.capital)
        if reading.item not in _ARTICLES or follows is None or not alone or name:
            kept.append(JoinedItem(reading.item, reading.joint))
            starts = reading.stop
        linked = reading.joint != APART
    if [token.item for token in kept] == ["one"]:
        return (JoinedItem(_ONE),)
    return (*kept[:-1], JoinedItem(kept[-1].item)) if kept else ()


# --- moments --------------------------------------------------------------------------------------
# Dates and times of day as texts write them, read at one place of a text whose characters are plain.

_END = rf"(?!{LETTER}|[0-9]|[.,:/][0-9])"
_ENGLISH = "|".join(rf"{name[:3]}(?:{name[3:]}|t)?" for name in MONTHS)
_IN_ENGLISH = re.compile(_ENGLISH, re.IGNORECASE)
_FOREIGN = [name for name in MONTH_NAMES if _IN_ENGLISH.fullmatch(name) is None]  # they need a year
_MONTH = rf"(?P<month>{_ENGLISH}|{'|'.join(sorted(_FOREIGN, key=len, reverse=True))})\.?"
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th|er)?"
_A_YEAR = r"(?P<year>[12][0-9]{3})"
# The longest notation first: what it takes is not read as a shorter one.
_FROM_FIGURE = tuple(
    re.compile(form + _END, re.IGNORECASE)
    for form in (
        rf"{_DAY}(?:\s+(?:of|de))?[\s/.-]{{0,2}}{_MONTH}\s*,?[\s/.-]{{0,2}}(?:(?:of|de)\s+)?{_A_YEAR}",
        rf"{_A_YEAR}(?P<mark>[-/.])(?P<month>[0-9]{{1,2}})(?P=mark)(?P<day>[0-9]{{1,2}})",
        rf"{_A_YEAR} 年 (?P<month>[0-9]{{1,2}}) 月 (?P<day>[0-9]{{1,2}}) 日",
        rf"(?P<first>[0-9]{{1,2}})(?P<mark>[-/.])(?P<second>[0-9]{{1,2}})(?P=mark){_A_YEAR}",
        rf"{_DAY}(?:\s+of)?\s+{_MONTH}",
    )
)
_FROM_MONTH = tuple(
    re.compile(form + _END, re.IGNORECASE)
    for form in (
        rf"{_MONTH}\s+{_DAY}(?:\s*,\s*|\s+){_A_YEAR}",
        rf"{_MONTH}\s*,?\s+(?:(?:of|de)\s+)?{_A_YEAR}",
        rf"{_MONTH}\s+{_DAY}",
    )
)
_STARTS_WITH_MONTH = re.compile(rf"{_MONTH}(?!{LETTER})", re.IGNORECASE)
MOMENT_STARTS = frozenset("0123456789" + "".join({name[0] + name[0].upper() for name in MONTH_NAMES}))
_ALSO_WORDS = {"may", "march", "mar"}  # months only with a capital, or before a year
_TIMES = (
    re.compile(
        rf"(?P<hour>[0-9]{{1,2}})(?:[:.](?P<minute>[0-9]{{2}})(?::(?P<second>[0-9]{{2}}))?)?"
        rf"\s?(?P<half>[ap])\.?\s?m(?:\.|(?!{LETTER}|[0-9]))",
        re.IGNORECASE,
    ),
    re.compile(rf"(?P<hour>[0-9]{{1,2}}):(?P<minute>[0-9]{{2}})(?::(?P<second>[0-9]{{2}}))?{_END}"),
    re.compile(rf"(?P<hour>[0-9]{{1,2}})\s?o'\s?clock(?!{LETTER})", re.IGNORECASE),
    re.compile(rf"(?P<hour>[0-9]{{1,2}})\s?[hH]\s?(?P<minute>[0-9]{{2}}){_END}"),
    re.compile(rf"(?P<hour>[0-9]{{1,2}})(?:[.:](?P<minute>[0-9]{{2}}))?\s?Uhr(?!{LETTER})"),
)


def moment_at(text: str, at: int) -> tuple[Date | Time, int] | None:
    """Return the date or time of day that begins at a place with a figure or a month, and where it ends.

    >>> moment_at("on 12 May 1962, at 10:30 p.m.", 3)
    (Date(year=1962, month=5, day=12, turned=False), 14)
    >>> moment_at("on 12 May 1962, at 10:30 p.m.", 19)
    (Time(second=81000, half='pm'), 29)
    """
    if not text[at].isdigit() and _STARTS_WITH_MONTH.match(text, at) is None:
        return None
    for form in _FROM_FIGURE if text[at].isdigit() else _FROM_MONTH:
        match = form.match(text, at)
        date = _date(match) if match else None
        if match and date:
            return date, match.end()
    return _time_at(text, at) if text[at].isdigit() else None


def _date(match: re.Match[str]) -> Date | None:
    parts = match.groupdict()
    if "first" in parts:
        return _numeric_date(match)
    year, name, day = parts.get("year"), parts["month"] or "", parts.get("day")
    if not year and (name in _ALSO_WORDS or name.casefold() in _FOREIGN):
        return None
    if name == "Mars" and not day:  # "Mars 2020", a mission
        return None
    number = int(name) if name.isdigit() else _month_of(name.casefold())
    return calendar(int(year) if year else None, number, int(day) if day else None)


def _month_of(name: str) -> int:
    if name in MONTH_NAMES:
        return MONTH_NAMES[name]
    return 1 + next(at for at, month in enumerate(MONTHS) if month.startswith(name[:3]))


def _numeric_date(match: re.Match[str]) -> Date | None:
    """Read a date in figures: 12.05.1962 has its day first; 12/5/1962 is ambiguous if both may be months."""
    first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
    day_first, month_first = calendar(year, second, first), calendar(year, first, second)
    if match["mark"] == "." or day_first is None or month_first is None or first == second:
        return day_first or month_first
    return replace(day_first, turned=True)


def _time_at(text: str, at: int) -> tuple[Time, int] | None:
    for form in _TIMES:
        match = form.match(text, at)
        if match is None:
            continue
        parts = match.groupdict()
        hour, minute, second = (int(parts.get(name) or 0) for name in ("hour", "minute", "second"))
        half = f"{parts['half'].casefold()}m" if parts.get("half") else ""
        if minute > 59 or second > 59 or hour > 24 or (half and not 1 <= hour <= 12):
            continue
        if half:
            hour = hour % 12 + 12 * (half == "pm")
        return Time(3600 * hour + 60 * minute + second, half), match.end()
    return None
