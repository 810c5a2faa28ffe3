"""Trees of HTML, and those that trafilatura makes of it, as the plain text that a reader sees."""

from __future__ import annotations

import re
from typing import Any

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


def plain_text(tree: Any, *, menus: bool = True) -> str:
    r"""Return the words of a tree as plain text: no markup, a blank line between blocks, ` | ` between cells.

    Items of a list are lines that begin with `- ` or their number. Without `menus`, navigation, footers
    and blocks of nothing but links are left out.

    >>> import lxml.html
    >>> plain_text(lxml.html.document_fromstring("<h2>Head</h2><p>Good <b>words</b>.<br>More</p><ul><li>A"))
    'Head\n\nGood words.\nMore\n\n- A'
    """
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
    return walk.text.finished()


class _Walk:
    """A walk through a tree that writes what it meets."""

    def __init__(self, *, menus: bool) -> None:
        self.text = _Text()
        self._menus = menus
        self._verbatim = 0  # elements `pre` that the walk is in
        self._lists: list[int] = []  # of each list that it is in, the next item's number; 0: not numbered

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
        self.write(element.text)

    def end(self, element: Any) -> None:
        self._verbatim -= element.tag == "pre"
        if element.tag in _LISTS:
            self._lists.pop()
        if element.tag in _ITEMS:
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

    def words(self, words: str | None, *, verbatim: bool = False) -> None:
        """Write words; their white space becomes single spaces unless it is `verbatim`."""
        if not words:
            return
        if verbatim and words.strip():
            self._begin(space=self._space)
            self._parts.append(words)
            return
        single = _SPACES.sub(" ", words)
        body = single.strip(" ")
        if body:
            self._begin(space=self._space or single[0] == " ")
            self._parts.append(body)
        self._space = single[-1] == " " if body else self._space or bool(single)

    def finished(self) -> str:
        """Return all of it, without spaces at line ends and with one blank line between paragraphs."""
        lines = [line.rstrip() for line in "".join(self._parts).split("\n")]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

    def _begin(self, *, space: bool) -> None:
        if self._parts and self._lines:
            self._parts.append("\n" * self._lines)
        elif self._parts and not self._marked:
            self._parts.append(" | " if self._cell else " " if space else "")
        self._lines, self._space, self._cell, self._marked = 0, False, False, False


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
