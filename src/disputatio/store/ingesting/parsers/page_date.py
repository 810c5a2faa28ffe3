"""The date that a web page states in its own record: meta elements, JSON-LD, a marked time.

What stands in the text, in an address or in the name of a picture is no statement about the page: a guess
from it would make a page about 1931 older than one about 2010.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Any

_CHANGED = """
    article:modified_time og:updated_time datemodified dcterms.modified dc.date.modified dc.modified
    last-modified lastmod last_modified modified modified_time revised updated updated_time
""".split()  # noqa: SIM905  (a list of fifty names takes a page)
_PUBLISHED = """
    article:published_time og:published_time datepublished date dc.date dc.date.issued dc.date.created
    dc.issued dc.created dcterms.date dcterms.issued dcterms.created dcterms.available citation_date
    citation_publication_date citation_online_date pubdate publishdate publish_date publish-date
    publication_date published published_time release_date parsely-pub-date sailthru.date bt:pubdate
    rnews:datepublished originalpublicationdate article_date_original datecreated
""".split()  # noqa: SIM905
_LONGEST = 200  # characters of a date
_LONGEST_RECORD = 1_000_000  # characters of JSON-LD
_DEEPEST = 4  # objects within objects of JSON-LD
_DAY = re.compile(r"(\d{4})[-/.]?(\d{2})(?:[-/.]?(\d{2}))?(?![\d])")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMED = re.compile(
    r"(?:(\d{1,2})\.? ([a-z]{3})[a-z]{0,9}\.?|([a-z]{3})[a-z]{0,9}\.? (\d{1,2})(?:st|nd|rd|th)?),? (\d{4})\b"
)


def stated_date(tree: Any) -> str:
    """Return the day (or month, or year) on which a page says it was last changed, else published;
    or empty.
    """
    changed: list[str] = []
    published: list[str] = []
    for name, value in _statements(tree):
        kind = changed if name in _CHANGED else published if name in _PUBLISHED else None
        if kind is not None and (day := iso_day(value)):
            kind.append(day)
    return max(changed, default="") or max(published, default="")


def _statements(tree: Any) -> Iterator[tuple[str, str]]:
    for meta in tree.iter("meta"):
        for attribute in ("name", "property", "itemprop", "http-equiv"):
            if meta.get(attribute):
                yield meta.get(attribute).strip().lower(), meta.get("content") or ""
    for marked in tree.iter("time", "span", "div", "p"):
        name = (marked.get("itemprop") or "").strip().lower()
        if marked.tag == "time" and marked.get("pubdate") is not None:
            name = "pubdate"
        if name:
            yield name, marked.get("datetime") or marked.get("content") or marked.text or ""
    for script in tree.iter("script"):
        if "ld+json" in (script.get("type") or "").lower() and len(script.text or "") <= _LONGEST_RECORD:
            try:
                yield from _named(json.loads(script.text or ""), _DEEPEST)
            except (ValueError, RecursionError):
                continue


def _named(record: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the dates of the things that a record of JSON-LD describes, and not of what these name in
    passing.
    """
    if isinstance(record, list) and depth:
        for entry in record:
            yield from _named(entry, depth - 1)
    elif isinstance(record, dict):
        for name, value in record.items():
            if name in ("dateModified", "datePublished") and isinstance(value, str):
                yield name.lower(), value
        if isinstance(record.get("@graph"), list) and depth:
            yield from _named(record["@graph"], depth - 1)


def iso_day(words: str) -> str:
    """Return a date as ISO writes it (2019-03-04, 2019-03 or 2019); empty when it is none.

    >>> iso_day("2019-03-04T10:00:00Z"), iso_day("Mon, 04 Mar 2019 10:00:00 GMT"), iso_day("March 4, 2019")
    ('2019-03-04', '2019-03-04', '2019-03-04')
    >>> iso_day("20190304"), iso_day("2019"), iso_day("2019-13-45"), iso_day("soon")
    ('2019-03-04', '2019', '', '')
    """
    words = " ".join(words[:_LONGEST].split())
    if re.fullmatch(r"\d{4}", words):
        return words
    if match := _DAY.match(words):
        return _checked(match[1], match[2], match[3])
    if match := _NAMED.search(words.lower()):
        month = match[2] or match[3]
        if month in _MONTHS:
            return _checked(match[5], str(_MONTHS.index(month) + 1), match[1] or match[4])
    try:
        return parsedate_to_datetime(words).date().isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


def _checked(year: str, month: str, day: str | None) -> str:
    try:
        date = datetime.date(int(year), int(month), int(day or 1))
    except ValueError:
        return ""
    return date.isoformat() if day else date.isoformat()[:7]
