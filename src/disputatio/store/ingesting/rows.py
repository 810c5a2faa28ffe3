"""Plain formats, read as a stream: text whole, JSONL and CSV row by row.

A row is `(number, fields)`, or `(number, reason)` when it is refused; numbers count from 1. Rows are
read one at a time, so a file of any size takes the memory of its longest row.
"""

from __future__ import annotations

import codecs
import csv
import datetime
import io
import itertools
import json
import re
import threading
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import BinaryIO, TypeAlias

from disputatio.errors import RefusalCode
from disputatio.store.ingesting.grids import HEADER_WITHIN, delimiter_of, find_header, row_text
from disputatio.store.ingesting.hidden import clean_and_count

Row: TypeAlias = tuple[int, Mapping[str, object] | str]

LONGEST_ROW = 8_388_608  # bytes of one line of JSONL, or of one row of CSV
LONG_ROW = f"is longer than {LONGEST_ROW >> 20} MB, the limit of a row"
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_LINE = re.compile(r"([A-Za-z][\w-]{0,40})\s*:\s*(.*)")
_TOML = re.compile(r"\A\+\+\+[ \t]*\n(.*?\n)\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL)
_BLOCK_STYLES = frozenset({"", "|", ">", "|-", ">-"})  # of YAML: the value stands on the lines that follow
_LINE_END = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BYTE = re.compile("[\udc80-\udcff]")  # a byte that is not UTF-8, as `surrogateescape` keeps it
_DELIMITERS = ",;\t"
# Names that say nothing.
_SHEET = re.compile(r"(?:Sheet|Tabelle|Feuil|Hoja|Foglio|Blad|工作表) ?\d{1,3}", re.IGNORECASE)
_BLANKS = 65_536  # bytes of white space that a JSON file may begin with
NO_COLUMNS: Mapping[str, str] = MappingProxyType({})
_csv_lock = threading.Lock()  # the longest field is a setting of the whole process


class Unreadable(ValueError):
    """The whole file cannot be read; its words say why, its code of what kind that is."""

    def __init__(self, reason: str, code: RefusalCode = "unreadable", **data: str | int) -> None:
        self.code, self.data = code, data
        super().__init__(reason)


def decode(raw: bytes, declared: str | None = None) -> str:
    """Return the text of a file: UTF-8, marked UTF-16, or as it declares; raises `Unreadable`."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        declared = "utf-16"
    elif b"\0" in raw:
        raise Unreadable("is a binary file", "unknown_type")
    else:
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            if declared is None:
                raise Unreadable(f"is not UTF-8 text (byte {error.start})", "encoding") from error
    try:
        return raw.decode(declared)
    except (LookupError, UnicodeError, ValueError) as error:
        raise Unreadable("is not in the encoding that it declares", "encoding") from error


def plain_fields(raw: bytes) -> tuple[dict[str, object], int]:
    """Return a text file's fields, and how many characters were removed; raises `Unreadable`."""
    text, removed = clean_and_count(decode(raw))
    fields, body = front_matter(text)
    return {"text": body.strip("\n"), **fields}, removed


def front_matter(text: str, *, certain: bool = False) -> tuple[dict[str, object], str]:
    """Return the fields between two lines `---` (or `+++`, as TOML) at the start, and the text after them. A
    line that is no field makes all of it text, unless the format is `certain` to have front matter.

    >>> front_matter("---\\ntitle: A\\ntags:\\n  - x\\n  - y\\n---\\nBody.")
    ({'title': 'A', 'tags': 'x, y'}, 'Body.')
    >>> front_matter("---\\nA sentence.\\n---\\nBody.")[0]
    {}
    """
    if certain and (front := _TOML.match(text)):
        return _toml_fields(front[1]), text[front.end() :]
    front = _FRONT_MATTER.match(text)
    if front is None:
        return {}, text
    values: dict[str, list[str]] = {}
    name = ""
    for line in front[1].splitlines():
        field = _FRONT_LINE.fullmatch(line.rstrip())
        if not line.strip() or line.startswith("#"):
            continue
        if field:
            name = field[1].lower()
            value = field[2].strip()
            values[name] = [] if value in _BLOCK_STYLES else [_unquote(value)]
        elif name and line[0] in " \t-":
            values[name].append(_unquote(line.strip().removeprefix("-").strip()))
        elif not certain:
            return {}, text
    values.pop("text", None)
    fields = {name: ", ".join(filter(None, texts)) for name, texts in values.items()}
    return (dict(fields), text[front.end() :]) if fields else ({}, text)


def _unquote(value: str) -> str:
    if value.startswith("[") and value.endswith("]"):
        return ", ".join(item.strip().strip("\"'") for item in value[1:-1].split(","))
    return value.strip("\"'")


def _toml_fields(source: str) -> dict[str, object]:
    try:
        fields = tomllib.loads(source)
    except (ValueError, RecursionError):
        return {}
    plain = (str, int, float, datetime.date)
    return {
        name.lower(): value if isinstance(value, str) else str(value)
        for name, value in fields.items()
        if isinstance(value, plain) and name.lower() != "text"
    }


def name_fields(header: Sequence[str], columns: Mapping[str, str]) -> list[str]:
    """Return the field that each column of a table holds: by `columns` where that names it, else by its own
    name.

    A column whose own name is that of a field mapped elsewhere holds nothing, and its field is empty.
    Raises `Unreadable` where a column is missing.

    >>> name_fields(["Name", "content", "title"], {"text": "Content", "title": "name"})
    ['title', 'text', '']
    """
    names = [name.strip().lower() for name in header]
    fields = ["" if name in columns else name for name in names]
    every = {"text": "text", **columns}
    check_mapped(header, every)
    for name, column in every.items():
        fields[names.index(column.strip().lower())] = name
    return fields


def holds_text(header: Sequence[str], columns: Mapping[str, str]) -> bool:
    """Return whether a header has a column of text, or has to have the one that `columns` names."""
    return "text" in columns or "text" in (name.strip().lower() for name in header)


def spell_row(
    names: Sequence[str], values: Sequence[str], columns: Mapping[str, str], title: str
) -> Mapping[str, object] | str:
    """Return a row without a column of text as fields: its cells as text, what `columns` maps, a title.

    >>> spell_row(["Name", "Opened"], ["Severin", "1931"], {"date": "opened"}, "Bridges")
    {'title': 'Bridges', 'date': '1931', 'text': 'Name: Severin; Opened: 1931.'}
    """
    text = row_text(names, values)
    if len(text) > LONGEST_ROW:
        return LONG_ROW
    places = {name.strip().lower(): at for at, name in reversed(list(enumerate(names)))}
    mapped = {
        field: values[places[wanted]].strip()
        for field, column in columns.items()
        if (wanted := column.strip().lower()) in places and places[wanted] < len(values)
    }
    return {"title": title, **{field: value for field, value in mapped.items() if value}, "text": text}


def table_title(name: str, sheet: str = "") -> str:
    """Return the title of a table without a caption: the name of its file in words, and that of its sheet.

    >>> table_title("lists/price_list-2025.csv"), table_title("staff.xlsx", "Berlin")
    ('price list 2025', 'staff: Berlin')
    """
    words = " ".join(re.sub(r"_|(?<!\d)-|-(?!\d)", " ", PurePath(name).stem).split())
    return f"{words}: {sheet}" if sheet and not _SHEET.fullmatch(sheet) else words


def check_mapped(header: Sequence[str], columns: Mapping[str, str]) -> None:
    """Raise `Unreadable` where a column that is mapped to a field is missing."""
    names = [name.strip().lower() for name in header]
    for column in columns.values():
        if column.strip().lower() not in names:
            reason = f"has no column {column!r}{_choices('columns', header)}"
            raise Unreadable(reason, "missing_column", column=column[:200])


def _choices(kind: str, names: Iterable[str]) -> str:
    """Return what is there instead of a column or field, and the option that names the right one."""
    there = ", ".join(" ".join(name.split()) for name in names if name.strip())
    return f" (its {kind}: {there[:120]}); name the one that holds the text by --text-column, others by --map"


def with_text(rows: Iterable[Row], columns: Mapping[str, str] = NO_COLUMNS) -> Iterator[Row]:
    """Return JSON rows with their fields under the names of `columns`; those without text are refused."""
    for number, row in rows:
        yield number, row if isinstance(row, str) else _map_row(row, columns)


def _map_row(row: Mapping[str, object], columns: Mapping[str, str]) -> Mapping[str, object] | str:
    if columns:
        others = {*columns, *columns.values()}
        mapped = {name: row[column] for name, column in columns.items() if column in row}
        mapped |= {name: value for name, value in row.items() if name not in others}
        kept = mapped
    else:
        kept = dict(row)
    if "text" in kept:
        return kept
    return f"has no field {columns.get('text', 'text')!r}{_choices('fields', row)}" if row else "has no text"


def json_rows(file: BinaryIO) -> Iterator[Row]:
    """Yield the rows of a JSONL file; the number of a row is that of its line."""
    for number, line in enumerate(_lines(file), start=1):
        if line is None:
            yield number, LONG_ROW
            continue
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)  # noqa: PLW2901  (the mark is no part of the row)
        if line.strip():
            yield number, _object(line)


def _object(line: bytes) -> Mapping[str, object] | str:
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        return "is not UTF-8 text"
    except (ValueError, RecursionError) as error:
        return f"is not a JSON object ({str(error)[:80]})"
    if not isinstance(row, dict):
        return "is not a JSON object"
    return row or "has no text"


def is_json_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def array_rows(raw: bytes, *, text_field: str = "") -> Iterator[Row]:
    """Yield the rows of a JSON array; strings too if `text_field` names theirs. Raises `Unreadable`."""
    try:
        array = json.loads(decode(raw))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"is not proper JSON ({str(error)[:80]})") from error
    if not isinstance(array, list):
        raise Unreadable("is not a JSON array")
    for number, row in enumerate(array, start=1):
        if isinstance(row, str) and text_field:
            yield number, {text_field: row}
        else:
            yield number, row if isinstance(row, dict) else "is not a JSON object"


def json_document(raw: bytes, columns: Mapping[str, str] = NO_COLUMNS) -> Iterator[Row] | None:
    """Yield the rows of a JSON file: an array, an object with text, or one a line; None for others."""
    start = raw[:_BLANKS].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start == b"[":
        return with_text(array_rows(raw), columns)
    if start != b"{":
        return None
    try:
        row = json.loads(decode(raw))
    except (ValueError, RecursionError):
        lines = (line for line in raw.removeprefix(codecs.BOM_UTF8).split(b"\n", 64) if line.strip())
        return with_text(json_rows(io.BytesIO(raw)), columns) if is_json_object(next(lines, b"")) else None
    mapped = _map_row(row, columns)
    return None if isinstance(mapped, str) else iter([(1, mapped)])


def _lines(file: BinaryIO) -> Iterator[bytes | None]:
    """Yield lines without their ends; None for one that is too long, which is skipped to its end."""
    while line := file.readline(LONGEST_ROW + 1):
        if len(line) <= LONGEST_ROW:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(1 << 20)
        yield None


def csv_rows(
    file: BinaryIO, columns: Mapping[str, str] = NO_COLUMNS, *, tabs: bool = False, title: str | None = None
) -> Iterator[Row]:
    """Yield the rows of a CSV file; separated by commas, semicolons or tabs.

    Where a column of text is there, its rows have the fields of their columns, and a row that the header
    does not fit is refused. Else every row is written out ("column: value") under the `title` of the
    table, where one is given. A quotation mark that is never closed ends the file there, for nothing after
    it can be told apart: that last refusal says so. Raises `Unreadable` when a column that `columns` names
    is missing, and without a `title` that of text.
    """
    lines = _csv_lines(file)
    first = next((line for line in lines if line.strip()), "")
    if _BYTE.search(first):
        raise Unreadable("is not UTF-8 text", "encoding")
    try:
        header, delimiter = _header(first, columns, tabs=tabs)
    except Unreadable:
        if "text" in columns or title is None or not first:
            raise
        yield from _spell_table(first, lines, columns, tabs=tabs, title=title)
        return
    for number, row in _parse_rows(lines, delimiter):
        yield number, row if isinstance(row, str) else _fields(header, row)


def _spell_table(
    first: str, lines: Iterator[str], columns: Mapping[str, str], *, tabs: bool, title: str
) -> Iterator[Row]:
    """Yield the rows of a table without a column of text, written out; a caption is its title."""
    head = [first, *itertools.islice(lines, 2 * HEADER_WITHIN)]
    delimiter = "\t" if tabs else delimiter_of(head, _DELIMITERS)
    parsed = _parse_rows(itertools.chain(head, lines), delimiter)
    near = list(itertools.islice(parsed, HEADER_WITHIN))
    top = [row for _, row in near if not isinstance(row, str)]
    above, names = find_header(top) or (0, [])
    check_mapped(names, columns)
    title = next((filled[0] for row in top[:above] if len(filled := [*filter(None, row)]) == 1), title)
    rows = 0
    for number, row in itertools.chain(near, parsed):
        if isinstance(row, str):
            yield number, row
        elif rows < above:
            rows += 1
        elif any(_BYTE.search(value) for value in row if not value.isascii()):
            yield number, "is not UTF-8 text"
        elif any(map(str.strip, row)):
            yield number, spell_row(names, row, columns, title)


def _parse_rows(lines: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str] | str]]:
    """Yield the rows of lines, by number; a reason ends them where no more can be told apart."""
    table = csv.reader(lines, strict=True, delimiter=delimiter)
    for number in itertools.count(1):
        try:
            with _csv_lock:
                limit = csv.field_size_limit(LONGEST_ROW)
                try:
                    row = next(table)
                finally:
                    csv.field_size_limit(limit)
        except StopIteration:
            return
        except (csv.Error, Unreadable) as error:
            yield number, f"is not proper CSV ({error}); the rows after it are not read"
            return
        if row:
            yield number, row


def _fields(header: list[str], row: list[str]) -> Mapping[str, object] | str:
    if len(row) != len(header):
        return f"has {len(row)} fields where the header has {len(header)}"
    if any(_BYTE.search(value) for value in row if not value.isascii()):
        return "is not UTF-8 text"
    return {name: value for name, value in zip(header, row, strict=True) if name}


def _header(line: str, columns: Mapping[str, str], *, tabs: bool) -> tuple[list[str], str]:
    """Return the fields of a header's columns, and the mark between them: the first that gives all wanted."""
    refusal: Unreadable | None = None
    for delimiter in "\t" if tabs else _DELIMITERS:
        try:
            names = next(csv.reader([line], strict=True, delimiter=delimiter), [])
        except csv.Error as error:
            raise Unreadable(f"is not proper CSV ({error})") from error
        try:
            return name_fields(names, columns), delimiter
        except Unreadable as error:
            if refusal is None or len(names) > 1:
                refusal = error
    raise refusal or Unreadable("has no header")


def _csv_lines(file: BinaryIO) -> Iterator[str]:
    """Yield lines with their ends, whichever they are; what is not UTF-8 becomes a surrogate."""
    first = True
    while raw := file.readline(LONGEST_ROW + 1):
        if len(raw) > LONGEST_ROW:
            reason = f"has a line longer than {LONGEST_ROW >> 20} MB, the limit of a row"
            raise Unreadable(reason, "too_large", limit=LONGEST_ROW, unit="bytes")
        if first:
            raw, first = raw.removeprefix(codecs.BOM_UTF8), False
        if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise Unreadable("is not UTF-8 text but UTF-16", "encoding")
        if b"\0" in raw:
            raise Unreadable("is a binary file", "unknown_type")
        line = raw.decode("utf-8", "surrogateescape")
        if "\r" in line[:-2]:
            yield from _LINE_END.findall(line)
        else:
            yield line
