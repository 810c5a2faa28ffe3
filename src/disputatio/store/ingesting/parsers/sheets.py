"""Workbooks (.xlsx): rows of the sheets that have a column of text; what is hidden is left out."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from disputatio.store.ingesting.options import HIDDEN
from disputatio.store.ingesting.parsers import LARGEST_BOOK, Format, ParsedPart, Parser, Refused
from disputatio.store.ingesting.parsers.columns import plain
from disputatio.store.ingesting.parsers.table import in_parts
from disputatio.store.ingesting.parsers.word import checked_package
from disputatio.store.ingesting.rows import LONGEST_ROW, Row, Unreadable, named_fields

FORMATS = (
    Format(
        kind="xlsx",
        suffixes=(".xlsx", ".xlsm"),
        content_types=("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",),
        packages={"python_calamine": "python-calamine", "lxml": "lxml", "tinycss2": "tinycss2"},
        largest=LARGEST_BOOK,
    ),
)

_HEADER_WITHIN = 10  # rows with words, of which one is the header
_RELATIONS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_OFF = frozenset({"", "0", "false"})


@dataclass(slots=True)
class _Unseen:
    """The hidden rows and columns of a sheet, by number from 1."""

    rows: set[int] = field(default_factory=set)
    columns: set[int] = field(default_factory=set)


def parser_of(_kind: str, _name: str, columns: Mapping[str, str]) -> Parser:
    """Return the parser of a workbook; `columns` maps fields to the columns that hold them."""
    return lambda file: _parse(file, columns)


def _parse(file: BinaryIO, columns: Mapping[str, str]) -> Iterator[ParsedPart]:
    """Yield the rows of every sheet, named below the file; rows have the numbers that the program shows."""
    from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    checked_package(file)
    unseen = _unseen(file)
    file.seek(0)
    workbook = CalamineWorkbook.from_filelike(file)
    sheets = [sheet for sheet in workbook.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]
    shown = [sheet.name for sheet in sheets if sheet.visible == SheetVisibleEnum.Visible]
    if not shown:
        raise Refused("has no sheet that is shown")
    hidden = len(sheets) - len(shown)
    for name in shown:
        sheet = workbook.get_sheet_by_name(name)
        marks = unseen.get(name, _Unseen())
        first = (sheet.start or (0, 0))[1] + 1
        sheet_name = name.replace("/", "_")[:200]
        try:
            for part in in_parts(_rows(sheet, first, marks, columns)):
                yield {**part, "name": sheet_name}
        except Unreadable as error:
            yield {"refused": str(error)[:1000], "name": sheet_name}
        hidden += len(marks.rows) + len(marks.columns)
    if hidden:
        yield {"left_out": HIDDEN, "count": hidden}


def _rows(sheet: Any, first: int, marks: _Unseen, columns: Mapping[str, str]) -> Iterator[Row]:
    """Yield the rows below the header as fields; raises `Unreadable` where no header has a column of text."""
    header: list[str] | None = None
    refusal: Unreadable | None = None
    tried = 0
    for number, cells in enumerate(sheet.iter_rows(), start=1):
        if number in marks.rows:
            continue
        values = ["" if first + at in marks.columns else _value(cell) for at, cell in enumerate(cells)]
        if all(value == "" for value in values):
            continue
        if header is not None:
            yield number, _fields(header, values)
            continue
        tried += 1
        try:
            header = named_fields([str(value) for value in values], columns)
        except Unreadable as error:
            refusal = refusal or error
            if tried >= _HEADER_WITHIN:
                break
    if header is None and refusal is not None:
        raise refusal


def _fields(header: list[str], values: list[object]) -> Mapping[str, object] | str:
    row = {name: value for name, value in zip(header, values, strict=False) if name and value != ""}
    text = row.get("text", "")
    if isinstance(text, str) and len(text) > LONGEST_ROW:
        return f"is longer than {LONGEST_ROW >> 20} MB, the limit of a row"
    return row


def _value(cell: object) -> object:
    """Return a cell's value; whole numbers and days as a person writes them."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return int(cell)
    value = plain(cell)
    return value.removesuffix("T00:00:00").strip() if isinstance(value, str) else value


def _unseen(file: BinaryIO) -> dict[str, _Unseen]:
    """Return what is hidden in each sheet, by the sheet's name."""
    from lxml import etree

    unseen: dict[str, _Unseen] = {}
    with zipfile.ZipFile(file) as package:
        members = set(package.namelist())
        if not {"xl/workbook.xml", "xl/_rels/workbook.xml.rels"} <= members:
            return unseen
        strict = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        links = etree.fromstring(package.read("xl/_rels/workbook.xml.rels"), parser=strict)
        targets = {link.get("Id"): str(link.get("Target") or "") for link in links}
        book = etree.fromstring(package.read("xl/workbook.xml"), parser=strict)
        for sheet in book.iter("{*}sheet"):
            target = targets.get(sheet.get(f"{_RELATIONS}id"), "")
            member = posixpath.normpath(posixpath.join("/xl", target)).lstrip("/")
            if member in members:
                with package.open(member) as content:
                    unseen[str(sheet.get("name") or "")] = _marks(content)
    return unseen


def _marks(content: Any) -> _Unseen:
    """Return the hidden rows and columns of one sheet, read as a stream."""
    from lxml import etree

    marks = _Unseen()
    by_default = False
    number = 0
    tags = ("{*}row", "{*}col", "{*}sheetFormatPr")
    for _, element in etree.iterparse(
        content,
        events=("end",),
        tag=tags,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
    ):
        kind = element.tag.rpartition("}")[2]
        if kind == "row":
            number = _number(element.get("r")) or number + 1
            if (
                _is_on(element, "hidden")
                or element.get("ht") == "0"
                or (by_default and not element.get("ht"))
            ):
                marks.rows.add(number)
        elif kind == "col" and (_is_on(element, "hidden") or element.get("width") == "0"):
            marks.columns.update(
                range(_number(element.get("min")), min(_number(element.get("max")), 16_384) + 1)
            )
        elif kind == "sheetFormatPr":
            by_default = _is_on(element, "zeroHeight")
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]
    return marks


def _is_on(element: Any, name: str) -> bool:
    return str(element.get(name) or "").lower() not in _OFF


def _number(word: str | None) -> int:
    return int(word) if word and word.isascii() and word.isdecimal() and len(word) < 9 else 0
