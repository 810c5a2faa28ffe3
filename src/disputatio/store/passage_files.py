"""Passages in a file or on standard input: JSON lines, a JSON array, or CSV with a header.

The rows are read by the code that ingests them, with its bounds: a line, a row, a field.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from disputatio import platforms
from disputatio.errors import IngestError, InputError
from disputatio.store.in_memory import passage_of
from disputatio.store.ingesting.documents import LONGEST, Refusals, too_long
from disputatio.store.ingesting.files import display_path, reason_of
from disputatio.store.ingesting.parsers import LARGEST_FILE, suffixes
from disputatio.store.ingesting.readers import first_line
from disputatio.store.ingesting.rows import (
    NO_COLUMNS,
    Row,
    Unreadable,
    array_rows,
    csv_rows,
    decode,
    is_json_object,
    json_rows,
    with_text,
)
from disputatio.store.ingesting.source import STDIN
from disputatio.types import Passage

PIPE_SECONDS = 10.0  # that a named pipe may take until its first byte
MOST_ROWS, MOST_CHARACTERS = 200_000, 128 << 20  # of passages in hand, which are all held in memory
_FORMATS = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "csv"}


def load_passages(path: str | Path) -> list[Passage]:
    """Return the passages of a file; raises `InputError` for the first row that is not one."""
    passages, refused = read_passages(path)
    if refused:
        raise refused[0]
    return passages


def read_passages(
    path: str | Path, *, columns: Mapping[str, str] = NO_COLUMNS, stdin: BinaryIO | None = None
) -> tuple[list[Passage], list[IngestError]]:
    """Return the passages of a file, and the rows that were refused; `-` is standard input, or `stdin`.

    A named pipe is read where something writes to it, and refused where nothing does within `PIPE_SECONDS`.

    A row has text, source?, id?, title?, url?, date?, owner?; in JSON also metadata?. An array may hold
    strings. A passage without a source takes the domain of its URL. `columns` has the columns, or fields of
    JSON, by what they hold. The format is that of the file's suffix, or where that does not fit, or there is
    none, that which the first character shows. Raises `InputError` when no row is a passage.
    """
    name = display_path(path)
    with _open_input(path, stdin) as file:
        line, whole = first_line(file)
        if not line.removeprefix(codecs.BOM_UTF8).strip():
            raise InputError(f"{name}: has no passages")
        suffix = Path(path).suffix.lower()
        seen = _format_of(line)
        formats = list(dict.fromkeys([_FORMATS.get(suffix, seen), seen]))
        if not file.seekable() or str(path) == STDIN:
            formats = [seen]
        faults: list[InputError] = []
        for number, form in enumerate(formats):
            if number:
                file.seek(0)
                whole = file
            try:
                return _passages(_rows(form, whole, columns, tabs=suffix == ".tsv"), name)
            except Unreadable as error:
                document = form == "csv" and suffix in suffixes().keys() - _FORMATS.keys()
                faults.append(_as_document(name, error) if document else InputError(f"{name}: {error}"))
            except InputError as error:
                faults.append(error)
    raise faults[0]


def _as_document(name: str, error: Unreadable) -> InputError:
    """Return the fault of a file with the suffix of a document, with what to do with one."""
    missing = error.code == "missing_column"
    reason = "has no column 'text' (or another, by --text-column)" if missing else error
    formats = "passages are JSON lines, a JSON array or CSV"
    return InputError(f"{name}: {reason}; {formats}; for a document: disputatio ingest {name}")


@contextmanager
def _open_input(path: str | Path, stdin: BinaryIO | None) -> Iterator[BinaryIO]:
    if str(path) == STDIN:
        yield stdin or sys.stdin.buffer
        return
    try:
        with _open_file(Path(path)) as file:
            yield file
    except IsADirectoryError as error:
        name = display_path(path)
        raise InputError(
            f"{name}: is a directory; passages are a file; for a folder: disputatio ingest {name}"
        ) from error
    except OSError as error:
        raise InputError(f"{display_path(path)}: {reason_of(error)}") from error


def _open_file(path: Path) -> BinaryIO:
    """Return a file open for reading; raises `InputError` for a named pipe that has no writer."""
    if not stat.S_ISFIFO(path.stat().st_mode):
        return path.open("rb")
    file = os.fdopen(platforms.open_handle(path, os.O_RDONLY, follow=True), "rb")
    if not platforms.await_writer(file, PIPE_SECONDS):
        file.close()
        raise InputError(
            f"{display_path(path)}: is a named pipe to which nothing was written in {PIPE_SECONDS:g} s"
        )
    return file


def _format_of(line: bytes) -> str:
    """Return the format that the first line shows; an object of several lines is a whole JSON file."""
    line = line.removeprefix(codecs.BOM_UTF8).strip()
    if line.startswith(b"["):
        return "json"
    if line.startswith(b"{"):
        return "jsonl" if is_json_object(line) else "json"
    return "csv"


def _rows(form: str, file: BinaryIO, columns: Mapping[str, str], *, tabs: bool) -> Iterator[Row]:
    if form == "jsonl":
        return with_text(json_rows(file), columns)
    if form == "csv":
        return _without_metadata(csv_rows(file, columns, tabs=tabs))
    raw = file.read(LARGEST_FILE + 1)
    if len(raw) > LARGEST_FILE:
        raise Unreadable(
            f"is larger than {LARGEST_FILE >> 20} MB, the limit of a JSON array: use JSON lines", "too_large"
        )
    try:
        value = json.loads(decode(raw))
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return with_text([(1, value)], columns)
    if isinstance(value, list) or raw.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"["):
        return with_text(array_rows(raw, text_field=columns.get("text", "text")), columns)
    return with_text(json_rows(io.BytesIO(raw)), columns)


def _without_metadata(rows: Iterator[Row]) -> Iterator[Row]:
    """Yield rows of a table, whose column of that name cannot hold what `metadata` means."""
    for number, row in rows:
        if isinstance(row, str):
            yield number, row
        else:
            yield number, {name: value for name, value in row.items() if name != "metadata"}


def _passages(rows: Iterator[Row], name: str) -> tuple[list[Passage], list[IngestError]]:
    passages: list[Passage] = []
    refused = Refusals(name)
    texts: dict[str, tuple[str, str]] = {}
    size = 0
    for number, row in rows:
        size += _size(row)
        if number > MOST_ROWS or size > MOST_CHARACTERS:
            raise InputError(
                f"{name}:{number}: more than {MOST_ROWS:,} rows or {MOST_CHARACTERS >> 20} MB of text; "
                "put them into an index with: disputatio ingest"
            )
        try:
            passage = _passage(row, f"{name}:{number}")
            content = (passage.source, passage.text)
            if passage.id and texts.setdefault(passage.id, content) != content:
                reason = f"its id {passage.id[:100]!r} stands for another text already"
                raise IngestError(f"{name}:{number}", reason, "bad_row")
        except IngestError as error:
            refused.add(error)
        else:
            passages.append(passage)
    if passages:
        return passages, refused
    if not refused:
        raise InputError(f"{name}: has no passages")
    raise InputError(
        str(refused[0]) if len(refused) == 1 else f"{name}: no row can be used; the first: {refused[0]}"
    )


def _size(row: Mapping[str, object] | str) -> int:
    return 0 if isinstance(row, str) else sum(len(value) for value in row.values() if isinstance(value, str))


def _passage(row: Mapping[str, object] | str, where: str) -> Passage:
    if isinstance(row, str):
        raise IngestError(where, row, "bad_row")
    passage = passage_of(row, where)
    for field, longest in LONGEST.items():
        if len(getattr(passage, field)) > longest:
            raise too_long(where, field)
    return passage
