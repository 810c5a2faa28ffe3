"""HTML: main text, title, date and address of a page; the words that it hides removed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from disputatio.store.ingesting.hidden import remove_hidden
from disputatio.store.ingesting.parsers import LARGEST_FILE, Part, Refused
from disputatio.store.ingesting.rows import decoded

_CHARSET = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?([\w.:-]{2,40})", re.IGNORECASE)
_SHORT = 250  # characters below which what was found may be a part of the main text only
_SKIPPED = frozenset({"script", "style", "head", "template", "noscript", "svg", "math", "select", "iframe"})
_BLOCK_NAMES = (
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table ul"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}


def parse(file: BinaryIO) -> Iterator[Part]:
    """The page as one document. The date only where the page states one."""
    import trafilatura

    tree, hidden = visible_tree(file.read(LARGEST_FILE))
    whole, address = plain_text(tree), _canonical(tree)  # first, for the extraction changes the tree
    # An extensive search would take any year in the text for the page's own date.
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
    text = (page.text or "") if page is not None else ""
    if len(text) < _SHORT and len(whole) < 2 * _SHORT:  # a fragment, or a page without much around it
        text = whole
    found = {name: str(getattr(page, name, None) or "") for name in ("title", "date", "url")}
    found["url"] = address or found["url"]
    yield {"document": {"text": text, **found}, "hidden": hidden}


def visible_tree(raw: bytes, charset: str | None = None) -> tuple[Any, int]:
    """The tree of a page, its hidden parts taken out, and how many characters went with them.

    Raises `Refused` for a page that nests deeper than any page has to, or has nothing in it.
    """
    import lxml.html  # type: ignore[import-untyped]  # it ships no types
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
    return tree, remove_hidden(tree)


def _canonical(tree: Any) -> str:
    """The address that a page gives as its own, where it is a whole one."""
    for link in tree.iter("link"):
        if (link.get("rel") or "").lower() == "canonical":
            url = str(link.get("href") or "").strip()
            if re.match(r"https?://[^\s/]+", url, re.IGNORECASE):
                return url
    return ""


def plain_text(tree: Any) -> str:
    r"""All words of a tree, a blank line between blocks, headings marked as Markdown marks them.

    >>> import lxml.html
    >>> plain_text(lxml.html.document_fromstring("<h2>Head</h2><p>Good <b>words</b>.<br>More</p>"))
    '## Head\n\nGood words.\nMore'
    """
    from lxml import etree

    out: list[str] = []
    skipping = 0
    for event, element in etree.iterwalk(tree, events=("start", "end", "comment")):
        if event == "comment":
            if not skipping:
                out.append(_words(element.tail))
            continue
        tag = element.tag
        if event == "start":
            if skipping or tag in _SKIPPED:
                skipping += 1
                continue
            if tag in _BLOCKS:
                out.append("\n\n")
            elif tag in ("br", "tr"):
                out.append("\n")
            elif tag in ("td", "th"):
                out.append(" ")
            if tag in _HEADINGS:
                out.append("#" * _HEADINGS[tag] + " ")
            out.append(_words(element.text))
            continue
        if skipping:
            skipping -= 1
            if skipping:
                continue
        if tag in _BLOCKS:
            out.append("\n\n")
        out.append(_words(element.tail))
    return tidied("".join(out))


def _words(text: str | None) -> str:
    return re.sub(r"\s+", " ", text) if text else ""


def tidied(text: str) -> str:
    """Text with single spaces, no spaces at line ends and one blank line between paragraphs."""
    lines = [" ".join(line.split()) for line in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
