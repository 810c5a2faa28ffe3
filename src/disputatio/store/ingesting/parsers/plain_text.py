"""Trees of HTML, and those that trafilatura makes of it, as the plain text that a reader sees."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from disputatio.store.ingesting.hidden import clean_and_count
from disputatio.text import count_words

_SKIPPED = frozenset({"script", "style", "template", "noscript", "svg", "math", "select", "iframe"})
_BLOCK_NAMES = (
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 head header hr main nav p pre section summary table"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
# The second name is trafilatura's.
_LISTS, _ITEMS = frozenset({"ul", "ol", "menu", "list"}), frozenset({"li", "item"})
_LINES, _CELLS = frozenset({"br", "lb", "tr", "row"}), frozenset({"td", "th", "cell"})
_MENUS = frozenset({"nav", "menu", "footer", "button", "dialog"})
_MENU_ROLES = frozenset({"navigation", "menu", "menubar", "contentinfo", "search", "toolbar", "tablist"})
_MENU_NAMES = frozenset(
    ("nav", "navbar", "navigation", "menu", "breadcrumb", "breadcrumbs", "footer", "sidebar", "cookie")
)
_LINKED = frozenset({"ul", "ol", "p", "div", "header", "td", "section", "aside"})
_SHORT_LINK = 4  # words
_NAME = re.compile(r"[a-z0-9]+")
_SPACES = re.compile(r"\s+")
# Characters that no text may have mark where a heading of each level, or code (the first), begins and ends.
_MARKS = re.compile("[\ufdd0-\ufdef]")
_CODE, _END = "\ufdd0", "\ufdef"
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
MINOR = 7  # the level of a term, and of a line that is bold as a whole
_LONGEST_LINE = 12  # words of a bold line that is a heading


def plain_text(tree: Any) -> str:
    r"""Return the words of a tree as plain text: no markup, a blank line between blocks, ` | ` between cells.

    Items of a list are lines that begin with `- ` or their number.

    >>> import lxml.html
    >>> plain_text(lxml.html.document_fromstring("<h2>Head</h2><p>Good <b>words</b>.<br>More</p><ul><li>A"))
    'Head\n\nGood words.\nMore\n\n- A'
    """
    return _MARKS.sub("", _walk_tree(tree, menus=True))


def outline_text(tree: Any, *, menus: bool = True) -> tuple[str, list[int], int]:
    """Return the stored text of a tree, its outline, and how many characters without ink were removed.

    An outline has three numbers for each part: where it begins and ends, and its level as a heading (1 to
    7), 0 for code. One without length ends the headings of its level. Without `menus`, navigation, footers
    and blocks of nothing but links are left out.
    """
    marked, removed = clean_and_count(_walk_tree(tree, menus=menus))
    outline: list[int] = []
    texts: list[str] = []
    at = end = 0
    for mark in _MARKS.finditer(marked):
        texts.append(marked[end : mark.start()])
        at += len(texts[-1])
        end = mark.end()
        outline += (at,) if mark[0] == _END else (at, ord(mark[0]) - ord(_CODE))
    texts.append(marked[end:])
    spans = zip(outline[::3], outline[2::3], outline[1::3], strict=True)
    return "".join(texts), [number for span in spans for number in span], removed


def join_outlined(parts: Iterable[tuple[str, list[int]]]) -> tuple[str, list[int]]:
    """Return texts with their outlines as one."""
    texts: list[str] = []
    outline: list[int] = []
    at = 0
    for text, own in parts:
        if text:
            outline += (number + at * (place % 3 < 2) for place, number in enumerate(own))
            texts.append(text)
            at += len(text) + 2
    return "\n\n".join(texts), outline


def _walk_tree(tree: Any, *, menus: bool) -> str:
    from lxml import etree

    walk = _Walk(menus=menus)
    skipped = 0  # elements that the walk is in and that are left out, one within the other
    for event, element in etree.iterwalk(tree, events=("start", "end", "comment")):
        if event == "start":
            if skipped or not walk.enters(element):
                skipped += 1
            else:
                walk.start(element)
        elif event == "end" and not skipped:
            walk.end(element)
        elif event == "end":
            skipped -= 1
            if not skipped:
                walk.end_block(element)
        if event != "start" and not skipped:
            walk.write(element.tail)
    return walk.text.finish()


class _Walk:
    """A walk through a tree that writes what it meets."""

    def __init__(self, *, menus: bool) -> None:
        self.text = _Text()
        self._menus = menus
        self._verbatim = 0  # elements `pre` that the walk is in
        self._lists: list[int] = []  # of each list that it is in, the next item's number; 0: not numbered
        self._marked: Any = None  # the element that is marked in the text

    def enters(self, element: Any) -> bool:
        return not _is_skipped(element) and (self._menus or not _is_menu(element))

    def start(self, element: Any) -> None:
        tag = element.tag
        if tag in _ITEMS:
            self.text.end_line(1)
            self.text.mark(self._mark())
        elif tag in _CELLS:
            self.text.cell()
        elif tag in _LINES:
            self.text.end_line(1)
        else:
            self.end_block(element)
        if tag in _LISTS:
            self._lists.append(_first_number(element))
        self._verbatim += tag == "pre"
        if self._marked is None and (mark := self._mark_of(element)):
            self._marked = element
            self.text.open(mark)
        self.write(element.text)

    def end(self, element: Any) -> None:
        self._verbatim -= element.tag == "pre"
        if element is self._marked:
            self._marked = None
            self.text.close()
        if element.tag == "dl" and self._marked is None:
            self.text.end_of(_mark(MINOR))
        if element.tag in _LISTS:
            self._lists.pop()
        if element.tag in _ITEMS:
            self.text.unmark()
            self.text.end_line(1)
        else:
            self.end_block(element)

    def write(self, words: str | None) -> None:
        self.text.words(words, verbatim=self._verbatim > 0)

    def end_block(self, element: Any) -> None:
        """End the line or the paragraph where an element stands apart from what is around it."""
        if element.tag in _LISTS:
            self.text.end_line(1 if self._lists else 2)
        elif _is_block(element):
            self.text.end_line(2)

    def _mark_of(self, element: Any) -> str:
        """Return the mark of a heading, a term, code or a line that is bold as a whole; none is empty."""
        tag = element.tag
        if tag == "pre":
            return _CODE
        level = _HEADINGS.get(element.get("rend") or "" if tag == "head" else tag, 0)
        if tag == "dt" or (tag == "p" and not self._lists and _is_bold(element)):
            level = MINOR
        return _mark(level) if level else ""

    def _mark(self) -> str:
        number = self._lists[-1] if self._lists else 0
        if not number:
            return "- "
        self._lists[-1] += 1
        return f"{number}. "


class _Text:
    """Plain text as it grows: white space is written only when words follow it."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._lines = 0  # line ends that come before the next words
        self._space = self._cell = False
        self._marked = False  # the line has the mark of an item and no words yet
        self._opens = ""  # the mark that comes before the next words
        self._is_open = False

    def end_line(self, lines: int) -> None:
        if not self._marked:
            self._lines = max(self._lines, lines)
        self._cell = False

    def cell(self) -> None:
        self._cell = True

    def mark(self, mark: str) -> None:
        self._begin(space=False)
        self._parts.append(mark)
        self._marked = True

    def unmark(self) -> None:
        """Take the mark of an item that has no words away, so that what follows does not stand in it."""
        if self._marked:
            self._parts.pop()
            self._marked = False

    def open(self, mark: str) -> None:
        self._opens = mark

    def close(self) -> None:
        if self._is_open:
            self._parts[-1] = self._parts[-1].rstrip()
            self._parts.append(_END)
        self._opens, self._is_open = "", False

    def end_of(self, mark: str) -> None:
        """Note that what stands under the last heading with a mark ends here."""
        self._parts.append(mark + _END)

    def words(self, words: str | None, *, verbatim: bool = False) -> None:
        """Write words; their white space becomes single spaces unless it is `verbatim`."""
        words = _MARKS.sub("", words or "")
        if not words:
            return
        if verbatim and words.strip():
            if self._opens:  # blank lines stand before a mark, so that they are counted once
                body = words.lstrip()
                words = words[: -len(body)].rpartition("\n")[2] + body
            self._begin(space=self._space)
            self._parts.append(words)
            return
        single = _SPACES.sub(" ", words)
        body = single.strip(" ")
        if body:
            self._begin(space=self._space or single[0] == " ")
            self._parts.append(body)
        self._space = single[-1] == " " if body else self._space or bool(single)

    def finish(self) -> str:
        """Return all of it, without spaces at line ends and with one blank line between paragraphs."""
        lines = [line.rstrip() for line in "".join(self._parts).split("\n")]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

    def _begin(self, *, space: bool) -> None:
        if self._parts and self._lines:
            self._parts.append("\n" * self._lines)
        elif self._parts and not self._marked:
            self._parts.append(" | " if self._cell else " " if space else "")
        self._lines, self._space, self._cell, self._marked = 0, False, False, False
        if self._opens:
            self._parts.append(self._opens)
            self._opens, self._is_open = "", True


def _mark(level: int) -> str:
    return chr(ord(_CODE) + level)


def _is_bold(paragraph: Any) -> bool:
    """Return whether a paragraph is one short bold line that does not end as a sentence does."""
    if len(paragraph) != 1 or paragraph[0].tag not in ("b", "strong") or (paragraph.text or "").strip():
        return False
    return not (paragraph[0].tail or "").strip() and is_line("".join(paragraph[0].itertext()))


def is_line(words: str) -> bool:
    """Return whether bold words can be a heading: few, and not ended as a sentence is.

    >>> is_line("May I pay later?"), is_line("Pay at once."), is_line(" ")
    (True, False, False)
    """
    words = words.strip()
    return bool(words) and words[-1] not in ".,:;!" and count_words(words) <= _LONGEST_LINE


def _is_skipped(element: Any) -> bool:
    """Return whether an element holds no text of the page; `head` is a heading in trafilatura's trees."""
    if element.tag == "head":
        parent = element.getparent()
        return parent is None or parent.tag == "html"
    return element.tag in _SKIPPED


def _is_block(element: Any) -> bool:
    """Return whether an element is a block; a short quotation in a sentence is none."""
    if element.tag == "quote":
        parent = element.getparent()
        return parent is None or parent.tag != "p"
    return element.tag in _BLOCKS


def _first_number(element: Any) -> int:
    """Return the number of a list's first item; 0 where its items have none."""
    if element.tag != "ol" and element.get("rend") != "ol":
        return 0
    start = element.get("start") or ""
    return int(start) if start.isdecimal() and start.isascii() and len(start) < 7 else 1


def _is_menu(element: Any) -> bool:
    """Return whether an element is for finding one's way on the site and not for reading."""
    if element.tag in _MENUS or (element.get("role") or "").lower() in _MENU_ROLES:
        return True
    if element.tag in ("html", "body", "main", "article"):
        return False
    names = f"{element.get('class') or ''} {element.get('id') or ''}".lower()
    if not _MENU_NAMES.isdisjoint(_NAME.findall(names)):
        return True
    return element.tag in _LINKED and _is_nothing_but_links(element)


def _is_nothing_but_links(element: Any) -> bool:
    """Return whether a block holds several short links and no other words."""
    from lxml import etree

    links = depth = 0
    for event, part in etree.iterwalk(element, events=("start", "end")):
        if event == "start":
            if part.tag == "a" and not depth:
                links += 1
                if len("".join(part.itertext()).split()) > _SHORT_LINK:
                    return False
            depth += part.tag == "a"
            outside = "" if depth else part.text
        else:
            depth -= part.tag == "a"
            outside = "" if depth or part is element else part.tail
        if outside and any(map(str.isalnum, outside)):
            return False
    return links > 1
