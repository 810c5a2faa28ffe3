"""Dates as day numbers: ISO 8601, also a year or a month alone."""

from __future__ import annotations

import calendar
import datetime
import re

from disputatio.errors import InputError

NO_DAY = -(2**31)  # a passage without a date that can be read
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ].*)?)?)?", re.ASCII | re.DOTALL)


def first_day(date: str) -> int:
    """Return the number of the first day of a date (1 is 1 January of year 1); `NO_DAY` when it is none.

    >>> first_day("2021-05") == first_day("2021-05-01T10:00:00Z") == first_day("2021-05-01")
    True
    >>> first_day("in spring") == NO_DAY
    True
    """
    span = _span(date)
    return span[0] if span else NO_DAY


def bounds(after: str | None, before: str | None) -> tuple[int, int] | None:
    """Return the first and the last day allowed, None without a bound; raises `InputError` for no date.

    >>> low, high = bounds("2021", "2021-02") or (0, 0)
    >>> high - low
    58
    """
    if after is None and before is None:
        return None
    low, high = NO_DAY + 1, 2**31 - 1
    if after is not None:
        low = _parse_span("after", after)[0]
    if before is not None:
        high = _parse_span("before", before)[1]
    return low, high


def _parse_span(option: str, date: str) -> tuple[int, int]:
    if not isinstance(date, str):
        raise InputError(f"{option}: {date!r:.40} is no text; write '2021', '2021-05' or '2021-05-31'")
    span = _span(date)
    if span is None:
        raise InputError(f"{option}: {date[:40]!r} is not a date; write 2021, 2021-05 or 2021-05-31")
    return span


def _span(date: str) -> tuple[int, int] | None:
    match = _DATE.fullmatch(date.strip())
    if not match:
        return None
    year, month, day = (int(part) if part else 0 for part in match.groups())
    try:
        first = datetime.date(year, month or 1, day or 1)
        last_month = month or 12
        last = datetime.date(year, last_month, day or calendar.monthrange(year, last_month)[1])
    except ValueError:
        return None
    return first.toordinal(), last.toordinal()
