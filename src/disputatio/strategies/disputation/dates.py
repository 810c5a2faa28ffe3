"""Dates as a passage writes them: readers shorten "18 December 1868" to "1868", or turn it round."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from disputatio.text import bare_words

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH = r"(?P<month>" + "|".join(rf"{name[:3]}(?:{name[3:]}|t)?" for name in _MONTHS) + r")\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[12]\d{3})"
# The longest notation first: what it takes is not read again as a shorter one.
_FORMS = tuple(
    re.compile(rf"(?<!\w){form}(?!\w)", re.IGNORECASE)
    for form in (
        rf"{_DAY}(?:\s+of)?\s+{_MONTH}\s*,?\s+(?:of\s+)?{_YEAR}",
        rf"{_MONTH}\s+{_DAY}\s*,?\s+{_YEAR}",
        rf"{_YEAR}\s*-\s*(?P<month>\d\d)\s*-\s*(?P<day>\d\d)",
        rf"{_MONTH}\s*,?\s+{_YEAR}",
        _YEAR,
    )
)
_ASKS_WHEN = re.compile(r"\b(?:when|dates?|days?|born|birthday)\b", re.IGNORECASE)
_ASKS_YEAR = re.compile(r"\b(?:which|what)\s+year\b", re.IGNORECASE)


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
    if _ASKS_YEAR.search(question) or not _ASKS_WHEN.search(question):
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
        else 1 + next(number for number, name in enumerate(_MONTHS) if name.startswith(word[:3].casefold()))
    )
