"""HTML: main text, title, date and address of a page; the words that it hides removed."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, BinaryIO

from disputatio.store.ingesting.grids import row_text, spell_rows
from disputatio.store.ingesting.hidden import ink_of, orders_in
from disputatio.store.ingesting.parsers import LARGEST_FILE, Format, ParsedPart, RefusedDocument
from disputatio.store.ingesting.parsers.plain_text import outline_text, plain_text
from disputatio.store.ingesting.rows import decode
from disputatio.store.ingesting.visibility.selectors import TooMuch
from disputatio.store.ingesting.visibility.web_page import remove_hidden

FORMATS = (
    Format(
        kind="html",
        suffixes=(".html", ".htm", ".xhtml"),
        content_types=("text/html", "application/xhtml+xml"),
        packages={
            "lxml": "lxml",
            "trafilatura": "trafilatura",
            "tinycss2": "tinycss2",
            "cssselect2": "cssselect2",
        },
        is_text=True,
        is_attachment=True,
    ),
)

_CHARSET = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?([\w.:-]{2,40})", re.IGNORECASE)
_SHORT = 250  # characters of main text, below which the whole page counts
_MOST_LEFT_OUT = 0.5  # of the length of the paragraphs: a page with more has other things than its text


def parse(file: BinaryIO) -> Iterator[ParsedPart]:
    """Yield the page as one document. The date only where the page's own record states one."""
    import trafilatura

    tree, hidden = visible_tree(file.read(LARGEST_FILE))
    # First, for the extraction changes the tree.
    whole = outline_text(tree, menus=False)
    whole = whole if whole[0] else outline_text(tree)
    address, date = _canonical(tree), find_date(tree)
    page = trafilatura.bare_extraction(
        tree,
        include_comments=False,
        with_metadata=True,
        date_extraction_params={
            "extensive_search": False,
            "original_date": False,
            "outputformat": "%Y-%m-%d",
        },
    )
    text, outline, removed = (
        outline_text(page.body) if page is not None and page.body is not None else ("", [], 0)
    )
    # What was found may be a part of the main text only, where there is not much on the page; where a page
    # marks no main text, it is the paragraphs alone, without their headings and lists.
    is_bare = text and page.body.find(".//head") is None and page.body.find(".//list") is None
    most = (1 + _MOST_LEFT_OUT) * len(text) if is_bare else 2 * _SHORT if len(text) < _SHORT else 0
    if not text or len(whole[0]) < most:
        text, outline, removed = whole
    fields = {name: str(getattr(page, name, None) or "") for name in ("title", "url")}
    fields["url"] = address or fields["url"]
    about = {"text": text, **fields, "date": date, **orders_in(hidden)}
    yield {"document": about, "hidden": ink_of(hidden) + removed, "outline": outline}


def visible_tree(raw: bytes, charset: str | None = None) -> tuple[Any, str]:
    """Return the tree of a page, its hidden parts taken out and its tables written out, and the text that
    was hidden.

    Raises `RefusedDocument` for a page that nests deeper than any page has to, has nothing in it, or has
    style sheets that are too much to apply.
    """
    import lxml.html
    from lxml import etree

    if charset is None:
        declared = _CHARSET.search(raw[:2048])
        charset = declared[1].decode("ascii") if declared else None
    text = decode(raw, charset)
    if not text.strip():
        raise RefusedDocument("has no text", "no_text")
    # As bytes, for lxml takes no string that says which encoding it was in.
    strict = lxml.html.HTMLParser(encoding="utf-8", no_network=True, remove_pis=True, huge_tree=False)
    try:
        tree = lxml.html.document_fromstring(text.encode("utf-8", "replace"), parser=strict)
    except etree.ParserError as error:
        raise RefusedDocument("has no text", "no_text") from error
    if any("Excessive depth" in error.message for error in strict.error_log):
        # What lies deeper was dropped.
        raise RefusedDocument("nests elements too deeply to be read whole", "too_large")
    try:
        hidden = remove_hidden(tree)
    except TooMuch as error:
        raise RefusedDocument("has style sheets that take too long to be applied", "too_slow") from error
    write_out_tables(tree)
    return tree, hidden


def _canonical(tree: Any) -> str:
    """Return the address that a page gives as its own, where it is a whole one."""
    for link in tree.iter("link"):
        if (link.get("rel") or "").lower() == "canonical":
            url = str(link.get("href") or "").strip()
            if re.match(r"https?://[^\s/]+", url, re.IGNORECASE):
                return url
    return ""


# --- tables ---------------------------------------------------------------------------------------
# Tables within pages: each row of values written out as a line, "column: value".

_MOST_SPAN = 100  # rows or columns that one cell covers
_MOST_CELLS = 50_000  # of a table; a larger one is left as it is
_MARKED = 3  # rows of a header


def write_out_tables(tree: Any) -> None:
    """Write out the rows of tables with names for their columns, each in one cell; others stay."""
    for table in list(tree.iter("table")):
        if _holds_table(table):
            continue
        rows = list(_rows(table))
        grid = spread([[(plain_text(cell), *_spans(cell)) for cell in row] for row in rows])
        lines = spell_rows(grid, marked=_count_marked(rows), headed=_is_headed(rows))
        if lines:
            _replace(table, [*_captions(table), *lines])


def spread(rows: Sequence[Sequence[tuple[str, int, int]]]) -> list[list[str]]:
    """Return the cells of a table, given as text, rows and columns covered, in all places covered.

    >>> spread([[("North", 2, 1), ("1", 1, 1)], [("2", 1, 1)]])
    [['North', '1'], ['North', '2']]
    """
    grid: list[list[str]] = []
    below: dict[int, tuple[str, int]] = {}  # of each column, the cell that reaches down and for how many rows
    cells = 0
    for row in rows:
        line: list[str] = []
        waiting = list(reversed(row))
        while waiting or len(line) in below:
            if len(line) in below:
                text, left = below.pop(len(line))
                if left > 1:
                    below[len(line)] = (text, left - 1)
                line.append(text)
                continue
            text, down, across = waiting.pop()
            for _ in range(across):
                if down > 1:
                    below[len(line)] = (text, down - 1)
                line.append(text)
        cells += len(line)
        if cells > _MOST_CELLS:
            return []
        grid.append(line)
    return grid


def _holds_table(table: Any) -> bool:
    inner = table.iter("table")
    next(inner)
    return next(inner, None) is not None


def _rows(table: Any) -> Iterator[list[Any]]:
    for row in table.iter("tr"):
        cells = [cell for cell in row if cell.tag in ("td", "th")]
        if cells:
            yield cells


def _spans(cell: Any) -> tuple[int, int]:
    return _number(cell.get("rowspan")), _number(cell.get("colspan"))


def _number(word: str | None) -> int:
    is_number = word is not None and word.isascii() and word.isdecimal() and len(word) < 6
    return min(max(int(word), 1), _MOST_SPAN) if word and is_number else 1


def _count_marked(rows: Sequence[Sequence[Any]]) -> int:
    marked = 0
    for row in rows[:_MARKED]:
        parent = row[0].getparent().getparent()
        if not (all(cell.tag == "th" for cell in row) or (parent is not None and parent.tag == "thead")):
            break
        marked += 1
    return marked


def _is_headed(rows: Sequence[Sequence[Any]]) -> bool:
    """Return whether each row begins with a cell that is marked as a name, and the others are not."""
    return all(row[0].tag == "th" and all(cell.tag == "td" for cell in row[1:]) for row in rows)


def _captions(table: Any) -> list[str]:
    captions = (" ".join(plain_text(caption).split()) for caption in table.iter("caption"))
    return [row_text([], [caption]) for caption in captions if caption]


def _replace(table: Any, lines: Sequence[str]) -> None:
    """Give a table one cell a row, so that what extracts the main text of a page still sees a table."""
    for child in list(table):
        table.remove(child)
    table.text = None
    for line in lines:
        row = table.makeelement("tr")
        cell = row.makeelement("td")
        cell.text = line
        row.append(cell)
        table.append(row)


# --- dates ----------------------------------------------------------------------------------------
# The date that a web page states in its own record: meta elements, JSON-LD, a marked time.
#
# What stands in the text, in an address or in the name of a picture is no statement about the page: a guess
# from it would make a page about 1931 older than one about 2010.

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


def find_date(tree: Any) -> str:
    """Return the day, month or year on which a page says it was last changed, else published."""
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
                yield from _find_dates(json.loads(script.text or ""), _DEEPEST)
            except (ValueError, RecursionError):
                continue


def _find_dates(record: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the dates of what a record of JSON-LD describes, and not of what it names in passing."""
    if isinstance(record, list) and depth:
        for entry in record:
            yield from _find_dates(entry, depth - 1)
    elif isinstance(record, dict):
        for name, value in record.items():
            if name in ("dateModified", "datePublished") and isinstance(value, str):
                yield name.lower(), value
        if isinstance(record.get("@graph"), list) and depth:
            yield from _find_dates(record["@graph"], depth - 1)


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
        return _to_iso(match[1], match[2], match[3])
    if match := _NAMED.search(words.lower()):
        month = match[2] or match[3]
        if month in _MONTHS:
            return _to_iso(match[5], str(_MONTHS.index(month) + 1), match[1] or match[4])
    try:
        return parsedate_to_datetime(words).date().isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


def _to_iso(year: str, month: str, day: str | None) -> str:
    try:
        date = datetime.date(int(year), int(month), int(day or 1))
    except ValueError:
        return ""
    return date.isoformat() if day else date.isoformat()[:7]
