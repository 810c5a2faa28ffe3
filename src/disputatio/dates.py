"""The origin of a passage's date, and what may be decided by it.

A document states its date (front matter, a page's own record, the header of a mail, a column of a table), or
only its file has one: the day on which somebody saved or converted it. Only a stated date tells which of two
documents is newer.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import replace

from disputatio.types import Passage

_DAY = re.compile(r"(\d{4})(?:[-/](\d{2})(?:[-/](\d{2})(?:[T ].*)?)?)?", re.ASCII | re.DOTALL)


def stated_date(passage: Passage) -> str:
    """Return the date that a passage's document states, as it is written there; empty when it states none.

    >>> stated_date(Passage(text="x", date="3 May 1931", date_origin="stated"))
    '3 May 1931'
    >>> stated_date(Passage(text="x", date="2013-12-23", date_origin="file"))
    ''
    """
    return passage.date if passage.date_origin == "stated" else ""


def is_later(first: str, second: str) -> bool:
    """Return whether an ISO date is later than another, as far as both go; any date is later than none.

    >>> is_later("2019-03", "2018-12-30"), is_later("2019-03", "2019"), is_later("2019", "2019-03")
    (True, False, False)
    """
    return first > second and not (second and first.startswith(second))


def stated_day(passage: Passage) -> str:
    """Return the stated date in the form that can be compared: 2021, 2021-05 or 2021-05-31; else empty.

    >>> dated = Passage(text="x", date="2021/05/31", date_origin="stated")
    >>> stated_day(dated), stated_day(Passage(text="x", date="in spring", date_origin="stated"))
    ('2021-05-31', '')
    """
    match = _DAY.fullmatch(stated_date(passage).strip())
    if match is None:
        return ""
    year, month, day = match.groups()
    try:
        datetime.date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return ""
    return "-".join(part for part in (year, month, day) if part)


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
