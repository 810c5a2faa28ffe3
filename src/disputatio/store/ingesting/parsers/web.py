"""HTML: main text, title, date and address of a page; the words that it hides removed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from disputatio.store.ingesting.parsers import LARGEST_FILE, Format, ParsedPart, Refused
from disputatio.store.ingesting.parsers.inner_tables import write_out_tables
from disputatio.store.ingesting.parsers.page_date import stated_date
from disputatio.store.ingesting.parsers.plain_text import plain_text
from disputatio.store.ingesting.rows import decoded
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


def parse(file: BinaryIO) -> Iterator[ParsedPart]:
    """Yield the page as one document. The date only where the page's own record states one."""
    import trafilatura

    tree, hidden = visible_tree(file.read(LARGEST_FILE))
    # First, for the extraction changes the tree.
    whole = plain_text(tree, menus=False) or plain_text(tree)
    address, date = _canonical(tree), stated_date(tree)
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
    text = plain_text(page.body) if page is not None and page.body is not None else ""
    # What was found may be a part of the main text only, where there is not much on the page.
    if not text or (len(text) < _SHORT and len(whole) < 2 * _SHORT):
        text = whole
    fields = {name: str(getattr(page, name, None) or "") for name in ("title", "url")}
    fields["url"] = address or fields["url"]
    yield {"document": {"text": text, **fields, "date": date}, "hidden": hidden}


def visible_tree(raw: bytes, charset: str | None = None) -> tuple[Any, int]:
    """Return the tree of a page, its hidden parts taken out and its tables written out, and how many
    characters were hidden.

    Raises `Refused` for a page that nests deeper than any page has to, has nothing in it, or has style
    sheets that are too much to apply.
    """
    import lxml.html
    from lxml import etree

    if charset is None:
        declared = _CHARSET.search(raw[:2048])
        charset = declared[1].decode("ascii") if declared else None
    text = decoded(raw, charset)
    if not text.strip():
        raise Refused("has no text")
    # As bytes, for lxml takes no string that says which encoding it was in.
    strict = lxml.html.HTMLParser(encoding="utf-8", no_network=True, remove_pis=True, huge_tree=False)
    try:
        tree = lxml.html.document_fromstring(text.encode("utf-8", "replace"), parser=strict)
    except etree.ParserError as error:
        raise Refused("has no text") from error
    if any("Excessive depth" in error.message for error in strict.error_log):
        raise Refused("nests elements too deeply to be read whole")  # what lies deeper was dropped
    try:
        hidden = remove_hidden(tree)
    except TooMuch as error:
        raise Refused("has style sheets that take too long to be applied") from error
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
