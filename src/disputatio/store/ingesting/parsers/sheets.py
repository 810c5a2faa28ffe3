"""Workbooks (.xlsx, .ods): the rows of their sheets, written out where no column holds text; hidden ones are
left out.
"""

from __future__ import annotations

import itertools
import posixpath
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, TypeAlias

from disputatio.store.ingesting.grids import HEADER_WITHIN, find_header, format_value
from disputatio.store.ingesting.options import HIDDEN
from disputatio.store.ingesting.parsers import LARGEST_BOOK, Format, ParsedPart, Parser, RefusedDocument
from disputatio.store.ingesting.parsers.table import gather_rows, plain
from disputatio.store.ingesting.parsers.word import STRICT, check_package, strict_xml
from disputatio.store.ingesting.rows import (
    LONG_ROW,
    LONGEST_ROW,
    Row,
    Unreadable,
    check_mapped,
    holds_text,
    name_fields,
    spell_row,
    table_title,
)
from disputatio.versions.dates import iso_day

FORMATS = (
    Format(
        kind="xlsx",
        suffixes=(".xlsx", ".xlsm"),
        content_types=("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",),
        packages={"python_calamine": "python-calamine", "lxml": "lxml", "tinycss2": "tinycss2"},
        largest=LARGEST_BOOK,
    ),
    Format(
        kind="ods",
        suffixes=(".ods",),
        content_types=("application/vnd.oasis.opendocument.spreadsheet",),
        packages={"python_calamine": "python-calamine", "lxml": "lxml", "tinycss2": "tinycss2"},
        largest=LARGEST_BOOK,
    ),
)

_PROPERTIES = ("docProps/core.xml", "meta.xml")  # of an Office, of an OpenDocument file
_CHANGED = ("modified", "date", "created", "creation-date")  # in the order in which they count
_MOST_MERGED = 10_000  # cells that merged ranges of a sheet fill; more say nothing of a table
_RELATIONS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_OFF = frozenset({"", "0", "false"})
_MOST_REPEATED = 20_000  # rows that one element of an ODS file stands for; empty ones fill a sheet to its end

Cell: TypeAlias = tuple[int, int]


@dataclass(slots=True)
class _Unseen:
    """The hidden rows and columns of a sheet, by number from 1, and whether all of it is."""

    rows: set[int] = field(default_factory=set)
    columns: set[int] = field(default_factory=set)
    sheet: bool = False


def parser_of(kind: str, name: str, columns: Mapping[str, str]) -> Parser:
    """Return the parser of a workbook; `columns` maps fields to the columns that hold them."""
    return lambda file: _parse(file, kind, name, columns)


def _parse(file: BinaryIO, kind: str, name: str, columns: Mapping[str, str]) -> Iterator[ParsedPart]:
    """Yield the rows of every sheet, named below the file; rows have the numbers that the program shows."""
    from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    check_package(file)
    unseen = _unseen(file) if kind == "xlsx" else hidden_of_ods(file)
    file.seek(0)
    workbook = CalamineWorkbook.from_filelike(file)
    sheets = [sheet for sheet in workbook.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]
    shown = [
        sheet.name
        for sheet in sheets
        if sheet.visible == SheetVisibleEnum.Visible and not unseen.get(sheet.name, _Unseen()).sheet
    ]
    if not shown:
        raise RefusedDocument("has no sheet that is shown", "no_text")
    hidden = len(sheets) - len(shown)
    date = _day_of_file(file)
    for sheet_name in shown:
        marks = unseen.get(sheet_name, _Unseen())
        inner = sheet_name.replace("/", "_")[:200]
        rows = _shown_rows(workbook.get_sheet_by_name(sheet_name), marks)
        try:
            dated = _with_day(_rows(rows, columns, table_title(name, sheet_name)), date)
            for part in gather_rows(dated):
                yield {**part, "name": inner}
        except Unreadable as error:
            yield {"refused": str(error)[:1000], "code": error.code, "name": inner}
        hidden += len(marks.rows) + len(marks.columns)
    if hidden:
        yield {"left_out": HIDDEN, "count": hidden}


def _day_of_file(file: BinaryIO) -> str:
    """Return the day on which a workbook was last changed, else made; empty if its properties do not say."""
    from lxml import etree

    with zipfile.ZipFile(file) as package:
        present = [name for name in _PROPERTIES if name in package.namelist()]
        try:
            parts = [strict_xml(package.read(name)) for name in present]
        except etree.XMLSyntaxError:
            return ""  # its rows can be read all the same
    texts = {each.tag.rpartition("}")[2]: each.text or "" for part in parts for each in part.iter("{*}*")}
    return next((day for name in _CHANGED if (day := iso_day(texts.get(name, "")))), "")


def _with_day(rows: Iterator[Row], date: str) -> Iterator[Row]:
    """Yield rows, those without a date with that of their file, which decides nothing."""
    of_file = {"date": date, "date_origin": "file"} if date else {}
    for number, row in rows:
        yield number, row if isinstance(row, str) or row.get("date") else {**row, **of_file}


def _shown_rows(sheet: Any, marks: _Unseen) -> Iterator[tuple[int, list[object]]]:
    """Yield the rows that are shown and not empty; a merged cell stands in all places that it covers."""
    _, left = sheet.start or (0, 0)
    merged = _find_merged(sheet)
    values_of: dict[Cell, object] = {}  # of merged cells, by their first place
    for number, cells in enumerate(sheet.iter_rows(), start=1):
        values = [_value(cell) for cell in cells]
        for at in range(len(values) if merged else 0):
            origin = merged.get((number - 1, left + at))
            if origin == (number - 1, left + at):
                values_of[origin] = values[at]
            elif origin is not None and values[at] == "":
                values[at] = values_of.get(origin, "")
        if number in marks.rows:
            continue
        values = ["" if left + at + 1 in marks.columns else value for at, value in enumerate(values)]
        if any(value != "" for value in values):
            yield number, values


def _find_merged(sheet: Any) -> dict[Cell, Cell]:
    """Return the places of merged cells, each with the first place of its range, row and column from 0."""
    places: dict[Cell, Cell] = {}
    for first, last in getattr(sheet, "merged_cell_ranges", None) or ():
        size = (last[0] - first[0] + 1) * (last[1] - first[1] + 1)
        if len(places) + size > _MOST_MERGED:
            break
        for row in range(first[0], last[0] + 1):
            places |= {(row, column): tuple(first) for column in range(first[1], last[1] + 1)}
    return places


def _rows(shown: Iterator[tuple[int, list[object]]], columns: Mapping[str, str], title: str) -> Iterator[Row]:
    """Yield the rows below the header as fields, written out where no column holds text."""
    near = list(itertools.islice(shown, HEADER_WITHIN))
    texts = [[str(value) for value in values] for _, values in near]
    if not texts:
        return
    if any(holds_text(names, columns) for names in texts):
        first, fields = _header(texts, columns)
        for number, values in itertools.chain(near[first:], shown):
            yield number, _fields(fields, values)
        return
    above, names = find_header(texts) or (0, [])
    check_mapped(names, columns)
    captions = (set(filter(None, row)) for row in texts[:above])
    title = next((caption.pop() for caption in captions if len(caption) == 1), title)
    for number, values in itertools.chain(near[above:], shown):
        written = [
            format_value(name, value) for name, value in itertools.zip_longest(names, values, fillvalue="")
        ]
        yield number, spell_row(names, written, columns, title)


def _header(rows: list[list[str]], columns: Mapping[str, str]) -> tuple[int, list[str]]:
    """Return the number of rows down to the header, and the field of each column; raises `Unreadable`."""
    refusals: list[Unreadable] = []
    for number, row in enumerate(rows, start=1):
        try:
            return number, name_fields(row, columns)
        except Unreadable as error:
            refusals.append(error)
    raise refusals[0]


def _fields(header: list[str], values: list[object]) -> Mapping[str, object] | str:
    row = {name: value for name, value in zip(header, values, strict=False) if name and value != ""}
    text = row.get("text", "")
    if isinstance(text, str) and len(text) > LONGEST_ROW:
        return LONG_ROW
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
    unseen: dict[str, _Unseen] = {}
    with zipfile.ZipFile(file) as package:
        members = set(package.namelist())
        if not {"xl/workbook.xml", "xl/_rels/workbook.xml.rels"} <= members:
            return unseen
        links = strict_xml(package.read("xl/_rels/workbook.xml.rels"))
        targets = {link.get("Id"): str(link.get("Target") or "") for link in links}
        for sheet in strict_xml(package.read("xl/workbook.xml")).iter("{*}sheet"):
            target = targets.get(sheet.get(f"{_RELATIONS}id"), "")
            member = posixpath.normpath(posixpath.join("/xl", target)).lstrip("/")
            if member in members:
                with package.open(member) as content:
                    unseen[str(sheet.get("name") or "")] = _marks(content)
    return unseen


def _marks(content: Any) -> _Unseen:
    from lxml import etree

    marks = _Unseen()
    by_default = False
    number = 0
    tags = ("{*}row", "{*}col", "{*}sheetFormatPr")
    for _, element in etree.iterparse(content, events=("end",), tag=tags, **STRICT):
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


def hidden_of_ods(file: BinaryIO) -> dict[str, _Unseen]:
    """Return what is hidden in each sheet of an OpenDocument file, by the sheet's name."""
    from lxml import etree

    unseen: dict[str, _Unseen] = {}
    with zipfile.ZipFile(file) as package:
        if "content.xml" not in package.namelist():
            return unseen
        with package.open("content.xml") as content:
            marks, row, column = _Unseen(), 0, 0
            styles: set[str] = set()  # of tables that are not displayed
            style = ""
            tags = tuple(
                f"{{*}}{name}" for name in ("table", "table-row", "table-column", "style", "table-properties")
            )
            for event, element in etree.iterparse(content, events=("start", "end"), tag=tags, **STRICT):
                kind = element.tag.rpartition("}")[2]
                if event == "end":
                    if kind == "table-row":
                        element.clear()
                    continue
                times = _number(_attribute(element, f"number-{kind.removeprefix('table-')}s-repeated")) or 1
                if kind == "style":
                    style = _attribute(element, "name")
                elif kind == "table-properties" and _attribute(element, "display") == "false":
                    styles.add(style)
                elif kind == "table":
                    marks, row, column = _Unseen(sheet=_attribute(element, "style-name") in styles), 0, 0
                    unseen[_attribute(element, "name")] = marks
                elif kind == "table-row":
                    if _attribute(element, "visibility") in ("collapse", "filter"):
                        marks.rows.update(range(row + 1, row + 1 + min(times, _MOST_REPEATED)))
                    row += times
                elif kind == "table-column":
                    if _attribute(element, "visibility") in ("collapse", "filter"):
                        marks.columns.update(range(column + 1, column + 1 + min(times, _MOST_REPEATED)))
                    column += times
    return unseen


def _attribute(element: Any, name: str) -> str:
    """Return an attribute by its name without a namespace, empty where there is none."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")
