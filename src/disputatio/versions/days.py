"""Dates as documents write them, in English, German, French and Chinese, as ISO dates."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass

from disputatio.values.figures import MONTH_NAMES

EARLIEST, LATEST = 1000, 2999  # years that a date may have
_NAME = "|".join(sorted(MONTH_NAMES, key=len, reverse=True))
_DATE = re.compile(
    "|".join(
        (
            r"(?<![\d./-])(?P<y1>[12]\d{3})-(?P<m1>\d{2})-(?P<d1>\d{2})(?![\d-])",
            r"(?<![\d./-])(?P<y2>[12]\d{3})/(?P<m2>\d{1,2})/(?P<d2>\d{1,2})(?![\d/])",
            rf"(?<!\d)(?P<d3>\d{{1,2}})(?:st|nd|rd|th|er|\.)?[ \t]{{0,2}}(?:of )?(?:de )?"
            rf"(?P<m3>{_NAME})\.?,?[ \t]{{0,2}}(?:de )?(?P<y3>[12]\d{{3}})(?!\d)",
            rf"(?<!\w)(?P<m4>{_NAME})\.?[ \t]{{1,2}}(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?,?"
            r"[ \t]{1,2}(?P<y4>[12]\d{3})(?!\d)",
            rf"(?<!\w)(?P<m5>{_NAME})\.?,?[ \t]{{1,2}}(?P<y5>[12]\d{{3}})(?!\d)",
            r"(?<![\d.])(?P<d6>\d{1,2})\.[ ]?(?P<m6>\d{1,2})\.[ ]?(?P<y6>[12]\d{3})(?![\d])",
            r"(?<![\d/])(?P<a7>\d{1,2})/(?P<b7>\d{1,2})/(?P<y7>[12]\d{3})(?![\d/])",
            r"(?<!\d)(?P<y8>[12]\d{3})[ ]?年[ ]?(?P<m8>\d{1,2})[ ]?月(?:[ ]?(?P<d8>\d{1,2})[ ]?日)?",
            r"(?<![\d./-])(?P<y9>[12]\d{3})-(?P<m9>\d{2})(?![\d-])",
            r"(?<![\d./-])(?P<m10>0[1-9]|1[0-2])/(?P<y10>(?:19|20)\d{2})(?![\d/])",
            r"(?<![\d.,/-])(?P<y0>[12]\d{3})(?:[ ]?年)?(?![\d.,/-]\d|\d)",
        )
    ),
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Day:
    """A date in a text: `iso` is 2025, 2025-03 or 2025-03-09, `start:end` where it stands."""

    iso: str
    start: int
    end: int


def days_in(text: str) -> Iterator[Day]:
    """Yield the dates of a text in their order; figures that are no date are passed over.

    >>> [day.iso for day in days_in("am 3. März 2025, le 1er avril 2024, 2023年5月, March 9, 2022, in 2021")]
    ['2025-03-03', '2024-04-01', '2023-05', '2022-03-09', '2021']
    >>> [day.iso for day in days_in("28.01.2025, 03/04/2025, 28/01/2025, 03/2025, 2025-13-01, 12,000")]
    ['2025-01-28', '2025', '2025-01-28', '2025-03']
    """
    for match in _DATE.finditer(text):
        if iso := _iso({name[0]: part for name, part in match.groupdict().items() if part}):
            yield Day(iso, match.start(), match.end())


def day_at(text: str, start: int, most: int) -> Day | None:
    """Return the first date that begins at most so many characters after a place; None if there is none."""
    piece = text[start : start + most + 40]
    day = next(days_in(piece), None)
    if day is None or day.start > most:
        return None
    return Day(day.iso, start + day.start, start + day.end)


def _iso(parts: dict[str, str]) -> str:
    """Return the ISO date of year, month, day (or a, b in either order); empty if it is none."""
    year = int(parts["y"])
    if "a" in parts:
        first, second = int(parts["a"]), int(parts["b"])
        if first == second or first > 12 >= second:
            return _to_iso(year, second, first)
        return _to_iso(year, first, second) if second > 12 >= first else str(year)
    name = parts.get("m", "").casefold()
    month = MONTH_NAMES.get(name) or (int(name) if name.isdigit() else 0)
    return _to_iso(year, month, int(parts.get("d") or 0))


def _to_iso(year: int, month: int, day: int) -> str:
    try:
        datetime.date(year, month or 1, day or 1)
    except ValueError:
        return ""
    if not EARLIEST <= year <= LATEST:
        return ""
    return f"{year}" + (f"-{month:02d}" if month else "") + (f"-{day:02d}" if month and day else "")
