"""The origin of a passage's date, and what may be decided by it.

A document states its date (front matter, a page's own record, the header of a mail, a column of a table,
its own words, the name of its file), or only its file has one: the day on which somebody saved or converted
it. That one does not tell which of two documents is newer; nor does a date against none.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import replace

from disputatio.types import Passage
from disputatio.versions.days import days_in

DECIDING = ("stated", "text", "name")  # origins of dates that tell which of two documents is newer
_DAY = re.compile(r"(\d{4})(?:[-/](\d{2})(?:[-/](\d{2})(?:[T ].*)?)?)?", re.ASCII | re.DOTALL)
_LONGEST = 60  # characters of a date that is written out


def get_stated_date(passage: Passage) -> str:
    """Return the date that a passage's document states, as it is written there; empty when it states none.

    >>> get_stated_date(Passage(text="x", date="3 May 1931", date_origin="stated"))
    '3 May 1931'
    >>> get_stated_date(Passage(text="x", date="2013-12-23", date_origin="file"))
    ''
    """
    return passage.date if passage.date_origin == "stated" else ""


def is_later(first: str, second: str) -> bool:
    """Return whether an ISO date is later than another, as far as both go; False where one is not known.

    >>> is_later("2019-03", "2018-12-30"), is_later("2019-03", "2019"), is_later("2019", "2019-03")
    (True, False, False)
    >>> is_later("2019", ""), is_later("", "2019")
    (False, False)
    """
    length = min(len(first), len(second))
    return first[:length] > second[:length]


def known_day(passage: Passage) -> str:
    """Return the day that a passage's document is of, in the form that can be compared; empty if not known.

    That is from when it is in force, where it says so; else its date, unless only its file has one.

    >>> dated = Passage(text="x", date="2021/05/31", date_origin="stated")
    >>> known_day(dated), known_day(Passage(text="x", date="in spring", date_origin="stated"))
    ('2021-05-31', '')
    >>> known_day(Passage(text="x", date="2013-12-23", date_origin="file"))
    ''
    """
    for relation in passage.relations:
        if relation.kind == "effective" and (day := iso_day(relation.target)):
            return day
    return iso_day(passage.date) if passage.date_origin in DECIDING else ""


def today() -> datetime.date:
    """Return the day that it is here; nothing that decides calls this, but doors and what people read."""
    return datetime.datetime.now().astimezone().date()


def moment() -> str:
    """Return this moment in UTC, to the second, as records have it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def age_of(date: str, day: datetime.date) -> str:
    """Return how old what is of a date is on a day, in words; empty for less than a month or an unknown date.

    >>> age_of("2021-05", datetime.date(2026, 11, 24)), age_of("2026-09-01", datetime.date(2026, 11, 24))
    ('5 years old', '2 months old')
    >>> age_of("2027", datetime.date(2026, 11, 24)), age_of("in spring", datetime.date(2026, 11, 24))
    ('', '')
    """
    if not (known := iso_day(date)):
        return ""
    year, month, on = (int(part) for part in [*known.split("-"), *(["1"] * (2 - known.count("-")))])
    months = (day.year - year) * 12 + day.month - month - (day.day < on)
    number, unit = (months // 12, "year") if months >= 12 else (months, "month")
    return f"{number} {unit}{'' if number == 1 else 's'} old" if number > 0 else ""


def iso_day(date: str) -> str:
    """Return a date as 2021, 2021-05 or 2021-05-31; empty for what is none, or may be one of two days.

    >>> iso_day("2021/05/31"), iso_day("2021-05-31T10:00:00Z"), iso_day("2021-13")
    ('2021-05-31', '2021-05-31', '')
    >>> iso_day("31.05.2021"), iso_day("May 31, 2021"), iso_day("31 mai 2021"), iso_day("05/06/2021")
    ('2021-05-31', '2021-05-31', '2021-05-31', '')
    """
    text = date.strip()
    match = _DAY.fullmatch(text)
    if match is None:
        return _written_out(text)
    year, month, day = match.groups()
    try:
        datetime.date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return ""
    return "-".join(part for part in (year, month, day) if part)


def _written_out(text: str) -> str:
    """Return a date that is a whole text, as documents write them; empty if it may be one of two days."""
    day = next(days_in(text[:_LONGEST]), None)
    is_whole = day is not None and (day.start, day.end) == (0, len(text))
    is_open = day is not None and len(day.iso) == len("2021")
    return day.iso if day is not None and is_whole and not is_open else ""


def as_stated(passage: Passage) -> Passage:
    """Return a passage as its caller hands it over: whoever gives a date states it.

    A passage that says where its date comes from, or that was found in an index (it names its document),
    stays as it is.

    >>> as_stated(Passage(text="x", date="2021")).date_origin
    'stated'
    >>> as_stated(Passage(text="x", date="2021", document="d1")).date_origin
    ''
    """
    if passage.date_origin or passage.document or not passage.date:
        return passage
    return replace(passage, date_origin="stated")
