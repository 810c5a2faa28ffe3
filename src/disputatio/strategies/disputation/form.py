"""The form of an answer: the part of a passage's statement that the question asks for.

Readers give too much ("6,306 as of the 2020 census", "22 October 1885 – 8 July 1955") or too little ("1868" of
"18 December 1868"). Rules on the kind of answer wanted mend this; other answers stay as read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from disputatio.text import bare_words, one_line
from disputatio.values.figures import MONTHS

_YEAR = re.compile(r"\b(?:which|what)\s+year\b|\byear\s*\??$", re.IGNORECASE)
_BEGINS = re.compile(
    r"\b(?:born|birth|birthday|founded|established|begin|began|start(?:ed)?|opened)\b", re.IGNORECASE
)
_ENDS = re.compile(r"\b(?:die[ds]?|death|end(?:ed)?|closed|dissolved)\b", re.IGNORECASE)
_WHEN = re.compile(r"\b(?:when|dates?|days?|born|birthday)\b", re.IGNORECASE)
_HOW_MANY = re.compile(r"\b(?:how\s+many|population|number\s+of)\b", re.IGNORECASE)
_PLACE = re.compile(
    r"\b(?:which|what)\s+(?P<kind>city|town|village|state|province|county|country|nation)\b", re.IGNORECASE
)
_NATION = frozenset({"united states", "usa", "us", "united kingdom", "uk", "canada", "australia", "india"})
_FIGURE = re.compile(r"\d[\d.,  ]*(?:\s(?:thousand|million|billion)\b)?", re.IGNORECASE)
_OPEN, _CLOSED = "([{", ")]}"


def to_asked_form(question: str, answer: str, text: str) -> str:
    """Return the form of an answer, in its passage's `text`, that the question asks for.

    >>> to_asked_form("What year was the act passed?", "in 1848 and came into force later", "")
    '1848'
    >>> to_asked_form("What is the birth date of Roche?", "22 October 1885 – 8 July 1955", "")
    '22 October 1885'
    >>> to_asked_form("What is the population of Dell?", "6,306 as of the 2020 census, up from 4,284", "")
    '6,306'
    >>> to_asked_form("In which state is the market?", "Iowa, United States", "")
    'Iowa'
    >>> to_asked_form("Who sang?", "Dr. Dre (War Music) Mixtape by Dr. Dre", "")
    'Dr. Dre'
    """
    tidy = trim(answer)
    if not tidy:
        return one_line(answer)
    part = _moment(question, tidy) or _count(question, tidy) or _place(question, tidy) or tidy
    return as_written(question, part, text)


def trim(answer: str) -> str:
    """Return an answer on one line, once, without unclosed brackets.

    >>> trim("basketball) is a sport"), trim("Anna Berg ("), trim("Berg (Ada)")
    ('basketball', 'Anna Berg', 'Berg (Ada)')
    """
    line = one_line(answer.strip().partition("\n")[0])
    depth = 0
    for number, letter in enumerate(line):
        depth += (letter in _OPEN) - (letter in _CLOSED)
        if depth < 0:
            line = line[:number]
            break
    if depth > 0:
        line = line[: max(line.rfind(letter) for letter in _OPEN)]
    words = line.split()
    for size in range(len(words) // 2, 0, -1):
        if bare_words(" ".join(words[:size])) == bare_words(" ".join(words[-size:])):
            return " ".join(words[:size]).strip(" ,;:")
    return line.strip(" ,;:")


def _moment(question: str, answer: str) -> str | None:
    """Return the year, or the date of two, that the question asks for; None for a date alone."""
    found = dates(answer)
    if len(found) == 1 and bare_words(answer) == bare_words(answer[found[0].start : found[0].end]):
        return None
    if _YEAR.search(question):
        years = {date.year for date in found}
        return str(years.pop()) if len(years) == 1 else None
    if len(found) != 2 or not _WHEN.search(question):
        return None
    first, last = found
    begins, ends = bool(_BEGINS.search(question)), bool(_ENDS.search(question))
    if begins == ends:
        return None
    date = first if begins else last
    return answer[date.start : date.end]


def _count(question: str, answer: str) -> str | None:
    """Return the figure that an answer begins with, where a number is asked for and more than a unit follows."""
    figure = _FIGURE.match(answer)
    if figure is None or not _HOW_MANY.search(question) or len(answer[figure.end() :].split()) < 2:
        return None
    return figure[0].strip(" ,.")


def _place(question: str, answer: str) -> str | None:
    """Return the part of a place between commas that is of the kind asked for."""
    asked = _PLACE.search(question)
    parts = [part.strip() for part in answer.split(",")]
    if asked is None or not 2 <= len(parts) <= 3 or not all(parts):
        return None
    kind = asked["kind"].casefold()
    if kind in ("city", "town", "village"):
        return parts[0]
    nation = " ".join(bare_words(parts[-1])) in _NATION
    if kind in ("country", "nation"):
        return parts[-1]
    return parts[-2] if nation else parts[-1]


# --- dates as a passage writes them: readers shorten "18 December 1868" to "1868" ---------------------
_MONTH = r"(?P<month>" + "|".join(rf"{name[:3]}(?:{name[3:]}|t)?" for name in MONTHS) + r")\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR_DIGITS = r"(?P<year>[12]\d{3})"
# The longest notation first: what it takes is not read again as a shorter one.
_FORMS = tuple(
    re.compile(rf"(?<!\w){form}(?!\w)", re.IGNORECASE)
    for form in (
        rf"{_DAY}(?:\s+of)?\s+{_MONTH}\s*,?\s+(?:of\s+)?{_YEAR_DIGITS}",
        rf"{_MONTH}\s+{_DAY}\s*,?\s+{_YEAR_DIGITS}",
        rf"{_YEAR_DIGITS}\s*-\s*(?P<month>\d\d)\s*-\s*(?P<day>\d\d)",
        rf"{_MONTH}\s*,?\s+{_YEAR_DIGITS}",
        _YEAR_DIGITS,
    )
)
_WHICH_YEAR = re.compile(r"\b(?:which|what)\s+year\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Date:
    """A date in a text, at `start:end`; month and day are None where they are not written."""

    start: int
    end: int
    year: int
    month: int | None = None
    day: int | None = None

    def within(self, other: Date) -> bool:
        """Return whether this date, as far as it goes, is the other one.

        >>> Date(0, 4, 1868).within(Date(0, 16, 1868, 12, 18)), Date(0, 4, 1868, 1).within(Date(0, 4, 1868))
        (True, False)
        """
        same = self.year == other.year and self.month in (None, other.month)
        return same and self.day in (None, other.day)


def dates(text: str) -> list[Date]:
    """Return the dates of a text with a year of four figures, in order.

    >>> [(date.year, date.month, date.day) for date in dates("12 May 1901 to June 1902, then 1903-01-30; 1904")]
    [(1901, 5, 12), (1902, 6, None), (1903, 1, 30), (1904, None, None)]
    """
    found: list[Date] = []
    for form in _FORMS:
        for date in _matches(form, text):
            if not any(date.start < other.end and other.start < date.end for other in found):
                found.append(date)
    return sorted(found, key=lambda date: date.start)


def as_written(question: str, answer: str, text: str) -> str:
    """Return an answer that is a date, as its passage writes it in full; any other answer as it is.

    So where the question asks for a date: a year that is asked for stays one, and a count is no year.

    >>> as_written("When was he born?", "1868", "John Lamb (born 1868). John Lamb, 18 December 1868, Oban")
    '18 December 1868'
    >>> as_written("When did it open?", "1903-01-30", "It opened on January 30, 1903.")
    'January 30, 1903'
    >>> as_written("In what year did it open?", "1903", "It opened on January 30, 1903.")
    '1903'
    """
    if _WHICH_YEAR.search(question) or not _WHEN.search(question):
        return answer
    answer_dates = dates(answer)
    if len(answer_dates) != 1:
        return answer
    [date] = answer_dates
    if bare_words(answer) != bare_words(answer[date.start : date.end]):
        return answer
    same = [other for other in dates(text) if date.within(other)]
    # Figures alone ("1862-01-01") are how tables fill in a year of which no more is known.
    written = [other for other in same if not text[other.start : other.end][0:5].endswith("-")]
    if date.day is not None:
        return text[written[0].start : written[0].end] if written else answer
    fuller = [other for other in written if other.day] or [other for other in written if other.month]
    # Several days of one year are of several events: which is meant is not known.
    is_one = len({(other.month, other.day) for other in fuller}) == 1
    return text[fuller[0].start : fuller[0].end] if is_one else answer


def _matches(form: re.Pattern[str], text: str) -> Iterator[Date]:
    for match in form.finditer(text):
        parts = match.groupdict()
        month, day = parts.get("month"), parts.get("day")
        yield Date(
            match.start(),
            match.end(),
            int(parts["year"]),
            _month(month) if month else None,
            int(day) if day else None,
        )


def _month(word: str) -> int:
    return (
        int(word)
        if word.isdigit()
        else 1 + next(number for number, name in enumerate(MONTHS) if name.startswith(word[:3].casefold()))
    )
