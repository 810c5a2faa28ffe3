"""DOCX: paragraphs and tables in their order, title and date; hidden runs removed."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO

from disputatio.store.ingesting.grids import spell_rows
from disputatio.store.ingesting.hidden import clean_and_count, orders_in
from disputatio.store.ingesting.parsers import (
    LARGEST_BOOK,
    LARGEST_TEXT,
    Format,
    ParsedPart,
    RefusedDocument,
    headline,
    past_limit,
    too_much_text,
)
from disputatio.store.ingesting.parsers.plain_text import MINOR, is_line
from disputatio.store.ingesting.visibility.colours import WHITE, colour_of, is_lost

FORMATS = (
    Format(
        kind="docx",
        suffixes=(".docx",),
        content_types=("application/vnd.openxmlformats-officedocument.wordprocessingml.document",),
        packages={"docx": "python-docx", "lxml": "lxml", "tinycss2": "tinycss2"},
        largest=LARGEST_BOOK,
        is_attachment=True,
    ),
)

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_SPACE = {_W + "tab": "\t", _W + "br": "\n", _W + "cr": "\n", _W + "noBreakHyphen": "-"}
_GONE = frozenset({_W + "del", _W + "moveFrom", _FALLBACK})
_HEADING = re.compile(r"title|heading ([1-9])")  # names of styles, which no language translates
_MOST_SPAN = 100  # columns that one cell covers
_PROLOGUE = 65_536  # bytes at the start of a part
_OFF = frozenset({"0", "false", "off", "none"})
# No entities, so that nothing expands; no document type, so that nothing is fetched.
STRICT: Any = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}


def parse(file: BinaryIO) -> Iterator[ParsedPart]:
    import docx

    check_package(file)
    document = docx.Document(file)
    about = document.core_properties
    date = about.modified or about.created
    shown = _Shown(document.styles.element)
    texts: list[str] = []
    outline: list[int] = []
    size = at = 0
    for block in _blocks(document.element.body):
        text = shown.table(block) if block.tag == _W + "tbl" else shown.paragraph(block).strip()
        if text.strip():
            text = shown.clean(text)
            if level := shown.level(block, text):
                outline += (at, at + len(text), level)
            texts.append(text)
            size += len(text)
            at += len(text) + 2
        if size > LARGEST_TEXT:
            raise too_much_text()
    if len(outline) == 3:  # a title alone does not say that there are no other headings
        outline[2] = MINOR
    fields = {
        "text": "\n\n".join(texts),
        "title": (str(about.title or "").strip() or headline(texts[0] if texts else ""))[:1000],
        "date": date.date().isoformat() if date else "",
        "date_origin": "file",
        "author": str(about.author or "")[:1000],
        **orders_in("".join(shown.hidden)),
    }
    hidden = sum(map(len, shown.hidden)) + shown.removed
    yield {"document": fields, "hidden": hidden, "outline": outline}


def check_package(file: BinaryIO) -> None:
    """Raise `RefusedDocument` unless a zip package unpacks to less than the limit; the file is rewound."""
    try:
        with zipfile.ZipFile(file) as package:
            size = sum(member.file_size for member in package.infolist())
            if any(member.flag_bits & 1 for member in package.infolist()):
                raise RefusedDocument("is locked by a password", "encrypted")
    except zipfile.BadZipFile as error:
        file.seek(0)
        if file.read(8) == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
            raise RefusedDocument(
                "is locked by a password, or an old binary file of Office", "encrypted"
            ) from error
        raise
    if size > LARGEST_BOOK:
        sizes = f"{size >> 20:,} MB; the limit is {LARGEST_BOOK >> 20} MB"
        raise past_limit(f"unpacks to {sizes}", LARGEST_BOOK, size=size)
    with zipfile.ZipFile(file) as package:
        if any(_declares(package, member) for member in package.infolist()):
            reason = "declares entities, which no such file does, and what follows one would be lost"
            raise RefusedDocument(reason, "unsafe")
    file.seek(0)


def strict_xml(raw: bytes) -> Any:
    from lxml import etree

    return etree.fromstring(raw, parser=etree.XMLParser(**STRICT))


def _declares(package: zipfile.ZipFile, member: zipfile.ZipInfo) -> bool:
    """Return whether a part has a declaration of its own before its first element."""
    if not member.filename.endswith((".xml", ".rels")):
        return False
    with package.open(member) as part:
        return b"<!DOCTYPE" in part.read(_PROLOGUE).replace(b"\0", b"")  # in UTF-16 too


def _blocks(body: Any) -> Iterator[Any]:
    """Yield paragraphs and tables in the order of the text, also those within content controls."""
    waiting = [body]
    while waiting:
        element = waiting.pop()
        if element.tag in (_W + "p", _W + "tbl"):
            yield element
        elif element.tag not in _GONE:
            waiting.extend(reversed(element))


class _Shown:
    """Reads the text that is shown, and keeps in `hidden` what is not."""

    def __init__(self, styles: Any) -> None:
        self.hidden: list[str] = []
        self.removed = 0  # characters without ink
        self._vanishing: set[str] = set()
        self._levels: dict[str, int] = {}  # of headings, by their style
        for style in styles.iter(_W + "style"):
            marks = style.find(_W + "rPr")
            name = _value(style.find(_W + "name")).lower()
            if heading := _HEADING.fullmatch(name):
                self._levels[style.get(_W + "styleId", "")] = min(int(heading[1] or 0) + 1, MINOR - 1)
            if marks is not None and _is_on(marks.find(_W + "vanish")):
                self._vanishing.add(style.get(_W + "styleId", ""))

    def clean(self, text: str) -> str:
        text, removed = clean_and_count(text)
        self.removed += removed
        return text

    def level(self, block: Any, text: str) -> int:
        """Return the level of a paragraph that is a heading by its style, or one bold line; else 0."""
        style = _style(block.find(_W + "pPr"), "pStyle")
        runs = [run for run in block.iterchildren(_W + "r") if "".join(run.itertext(_W + "t")).strip()]
        is_bold = runs and all(_is_on(run.find(f"{_W}rPr/{_W}b")) for run in runs)
        return self._levels.get(style, 0) or (MINOR if is_bold and is_line(text) else 0)

    def table(self, table: Any) -> str:
        """Return a line for each row, "column: value"; without names of columns ` | ` between cells."""
        grid: list[list[str]] = []
        marked = 0
        for row in table.iter(_W + "tr"):
            if next(row.iterancestors(_W + "tbl")) is not table:
                continue  # of a table within a cell, whose words are in that cell
            cells: list[str] = []
            for cell in row.iterchildren(_W + "tc", _W + "sdt"):
                words = (self.paragraph(paragraph, in_table=True) for paragraph in cell.iter(_W + "p"))
                marks = cell.find(_W + "tcPr")
                text = " ".join(" ".join(words).split())
                if _is_continued(marks) and grid and len(cells) < len(grid[-1]):
                    text = text or grid[-1][len(cells)]
                cells += [text] * _width(marks)
            if marked == len(grid) and _is_on(row.find(f"{_W}trPr/{_W}tblHeader")):
                marked += 1
            if any(cells):
                grid.append(cells)
        if rows := spell_rows(grid, marked=marked):
            return "\n".join(rows)
        return "\n".join(" | ".join(cells) for cells in grid)

    def paragraph(self, paragraph: Any, *, in_table: bool = False) -> str:
        hidden = _style(paragraph.find(_W + "pPr"), "pStyle") in self._vanishing
        out: list[str] = []
        waiting = list(reversed(paragraph))
        while waiting:
            element = waiting.pop()
            if element.tag in _GONE or element.tag == _W + "p":
                continue
            if element.tag == _W + "r":
                text = "".join(
                    (child.text or "") if child.tag == _W + "t" else _SPACE.get(child.tag, "")
                    for child in element
                )
                if hidden or self._vanishes(element.find(_W + "rPr"), in_table=in_table):
                    self.hidden.append(text)
                else:
                    out.append(text)
            waiting.extend(child for child in reversed(element) if len(child))
        return "".join(out)

    def _vanishes(self, marks: Any, *, in_table: bool) -> bool:
        """Return whether a run is marked hidden, tiny, or white outside of a table's cells."""
        if marks is None:
            return False
        if _is_on(marks.find(_W + "vanish")) or _style(marks, "rStyle") in self._vanishing:
            return True
        size = _value(marks.find(_W + "sz"))
        if size.isdecimal() and int(size) <= 2:  # half points
            return True
        ground = marks.find(_W + "shd") is not None or marks.find(_W + "highlight") is not None
        ink = colour_of(f"#{_value(marks.find(_W + 'color'))}")
        return ink is not None and is_lost(ink, WHITE) and not in_table and not ground


def _width(marks: Any) -> int:
    word = _value(marks.find(_W + "gridSpan")) if marks is not None else ""
    return min(max(int(word), 1), _MOST_SPAN) if word.isdecimal() and word.isascii() and len(word) < 6 else 1


def _is_continued(marks: Any) -> bool:
    merged = marks.find(_W + "vMerge") if marks is not None else None
    return merged is not None and _value(merged) != "restart"


def _value(element: Any) -> str:
    return str(element.get(_W + "val") or "") if element is not None else ""


def _style(marks: Any, name: str) -> str:
    return _value(marks.find(_W + name)) if marks is not None else ""


def _is_on(element: Any) -> bool:
    return element is not None and _value(element).lower() not in _OFF
