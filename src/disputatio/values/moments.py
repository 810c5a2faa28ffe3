"""Dates and times of day as texts write them, read at one place of a text whose characters are plain."""

from __future__ import annotations

import re
from dataclasses import replace

from disputatio.values.characters import LETTER
from disputatio.values.figures import MONTHS, Date, Time, calendar

_END = rf"(?!{LETTER}|[0-9]|[.,:/][0-9])"
_MONTH = r"(?P<month>" + "|".join(rf"{name[:3]}(?:{name[3:]}|t)?" for name in MONTHS) + r")\.?"
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[12][0-9]{3})"
# The longest notation first: what it takes is not read as a shorter one.
_FROM_FIGURE = tuple(
    re.compile(form + _END, re.IGNORECASE)
    for form in (
        rf"{_DAY}(?:\s+of)?[\s/.-]{{0,2}}{_MONTH}\s*,?[\s/.-]{{0,2}}(?:of\s+)?{_YEAR}",
        rf"{_YEAR}(?P<mark>[-/.])(?P<month>[0-9]{{1,2}})(?P=mark)(?P<day>[0-9]{{1,2}})",
        rf"{_YEAR} 年 (?P<month>[0-9]{{1,2}}) 月 (?P<day>[0-9]{{1,2}}) 日",
        rf"(?P<first>[0-9]{{1,2}})(?P<mark>[-/.])(?P<second>[0-9]{{1,2}})(?P=mark){_YEAR}",
        rf"{_DAY}(?:\s+of)?\s+{_MONTH}",
    )
)
_FROM_MONTH = tuple(
    re.compile(form + _END, re.IGNORECASE)
    for form in (
        rf"{_MONTH}\s+{_DAY}(?:\s*,\s*|\s+){_YEAR}",
        rf"{_MONTH}\s*,?\s+(?:of\s+)?{_YEAR}",
        rf"{_MONTH}\s+{_DAY}",
    )
)
_STARTS_WITH_MONTH = re.compile(rf"{_MONTH}(?!{LETTER})", re.IGNORECASE)
MOMENT_STARTS = frozenset("0123456789" + "".join({name[0] + name[0].upper() for name in MONTHS}))
_ALSO_WORDS = {"may", "march", "mar"}  # months only with a capital, or before a year
_TIMES = (
    re.compile(
        rf"(?P<hour>[0-9]{{1,2}})(?:[:.](?P<minute>[0-9]{{2}})(?::(?P<second>[0-9]{{2}}))?)?"
        rf"\s?(?P<half>[ap])\.?\s?m(?:\.|(?!{LETTER}|[0-9]))",
        re.IGNORECASE,
    ),
    re.compile(rf"(?P<hour>[0-9]{{1,2}}):(?P<minute>[0-9]{{2}})(?::(?P<second>[0-9]{{2}}))?{_END}"),
    re.compile(rf"(?P<hour>[0-9]{{1,2}})\s?o'\s?clock(?!{LETTER})", re.IGNORECASE),
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
    if name in _ALSO_WORDS and not year:
        return None
    number = (
        int(name)
        if name.isdigit()
        else 1 + next(at for at, month in enumerate(MONTHS) if month.startswith(name[:3].casefold()))
    )
    return calendar(int(year) if year else None, number, int(day) if day else None)


def _numeric_date(match: re.Match[str]) -> Date | None:
    """12.05.1962 has its day first; of 12/5/1962 nobody can tell, unless one of the figures is no month."""
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
