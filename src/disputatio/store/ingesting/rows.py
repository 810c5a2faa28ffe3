"""Plain formats, read as a stream: text and Markdown whole, JSONL and CSV row by row.

A row is `(number, fields)`, or `(number, reason)` when it is refused; numbers count from 1. Rows are
read one at a time, so a file of any size takes the memory of its longest row.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
import threading
from collections.abc import Iterator, Mapping
from typing import BinaryIO, TypeAlias

from disputatio.store.ingesting.hidden import cleaned

Row: TypeAlias = tuple[int, Mapping[str, object] | str]

LONGEST_ROW = 8_388_608  # bytes of one line of JSONL, or of one row of CSV
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_LINE = re.compile(r"([A-Za-z][\w-]{0,40})\s*:\s*(.*)")
_HEADING = re.compile(r"^# +(.+?)\s*#*\s*$", re.MULTILINE)
_LINE_END = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BYTE = re.compile("[\udc80-\udcff]")  # a byte that is not UTF-8, as `surrogateescape` keeps it
_DELIMITERS = ",;\t"
_csv_lock = threading.Lock()  # the longest field is a setting of the whole process


class Unreadable(ValueError):
    """The whole file cannot be read; its words say why."""


def decoded(raw: bytes, declared: str | None = None) -> str:
    """The text of a file: UTF-8, UTF-16 with its mark, or the encoding that it declares.

    Raises `Unreadable` for anything else.
    """
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        declared = "utf-16"
    elif b"\0" in raw:
        raise Unreadable("is a binary file")
    else:
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            if declared is None:
                raise Unreadable(f"is not UTF-8 text (byte {error.start})") from error
    try:
        return raw.decode(declared)
    except (LookupError, UnicodeError, ValueError) as error:
        raise Unreadable("is not in the encoding that it declares") from error


def plain_fields(raw: bytes, *, markdown: bool) -> tuple[dict[str, object], int]:
    """The fields of a text or Markdown file, its front matter taken off; characters of it removed.

    Raises `Unreadable` when it is no text.
    """
    text, removed = cleaned(decoded(raw))
    fields: dict[str, object] = {}
    front = _FRONT_MATTER.match(text)
    if front:
        lines = [line for line in front[1].splitlines() if line.strip() and not line.startswith("#")]
        found = [_FRONT_LINE.fullmatch(line.strip()) for line in lines]
        if found and all(found):
            fields = {line[1].lower(): line[2].strip().strip("\"'") for line in found if line}
            text = text[front.end() :]
    fields.pop("text", None)
    if "title" not in fields and markdown:
        heading = _HEADING.search(text)
        fields["title"] = heading[1][:1000] if heading else ""
    return {"text": text.strip("\n"), **fields}, removed


def json_rows(file: BinaryIO) -> Iterator[Row]:
    """The rows of a JSONL file; the number of a row is that of its line."""
    for number, line in enumerate(_lines(file), start=1):
        if line is None:
            yield number, f"is longer than {LONGEST_ROW >> 20} MB, the limit of a row"
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


def _lines(file: BinaryIO) -> Iterator[bytes | None]:
    """Lines without their ends; None for one that is too long, which is skipped to its end."""
    while line := file.readline(LONGEST_ROW + 1):
        if len(line) <= LONGEST_ROW:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(1 << 20)
        yield None


def csv_rows(file: BinaryIO, *, tabs: bool = False) -> Iterator[Row]:
    """The rows of a CSV file with a column `text`; separated by commas, semicolons or tabs.

    A row that the header does not fit is refused. A quotation mark that is never closed ends the
    file there, for nothing after it can be told apart: that last refusal says so.
    Raises `Unreadable` when there is no column of text.
    """
    lines = _csv_lines(file)
    first = next(lines, "")
    if _BYTE.search(first):
        raise Unreadable("is not UTF-8 text")
    header, delimiter = _header(first, tabs=tabs)
    table = csv.reader(lines, strict=True, delimiter=delimiter)
    number = 0
    while True:
        number += 1
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
            yield number, _fields(header, row)


def _fields(header: list[str], row: list[str]) -> Mapping[str, object] | str:
    if len(row) != len(header):
        return f"has {len(row)} fields where the header has {len(header)}"
    if any(_BYTE.search(value) for value in row if not value.isascii()):
        return "is not UTF-8 text"
    return dict(zip(header, row, strict=True))


def _header(line: str, *, tabs: bool) -> tuple[list[str], str]:
    names: list[str] = []
    for delimiter in "\t" if tabs else _DELIMITERS:
        try:
            found = next(csv.reader([line], strict=True, delimiter=delimiter), [])
        except csv.Error as error:
            raise Unreadable(f"is not proper CSV ({error})") from error
        found = [name.strip().lower() for name in found]
        if "text" in found:
            return found, delimiter
        names = names or found
    raise Unreadable(f"has no column 'text' (its columns: {', '.join(names)[:120]})")


def _csv_lines(file: BinaryIO) -> Iterator[str]:
    """Lines with their ends, whichever they are; what is not UTF-8 becomes a surrogate."""
    first = True
    while raw := file.readline(LONGEST_ROW + 1):
        if len(raw) > LONGEST_ROW:
            raise Unreadable(f"has a line longer than {LONGEST_ROW >> 20} MB, the limit of a row")
        if first:
            raw, first = raw.removeprefix(codecs.BOM_UTF8), False
        if b"\0" in raw:
            raise Unreadable("is a binary file")
        line = raw.decode("utf-8", "surrogateescape")
        if "\r" in line[:-2]:
            yield from _LINE_END.findall(line)
        else:
            yield line
