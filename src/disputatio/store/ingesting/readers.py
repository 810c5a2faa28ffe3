"""Files to documents: what lies in a file, whatever its format, and why the rest was refused.

Markdown, reStructuredText, HTML, PDF, DOCX, PPTX, XLSX, EPUB, e-mail, Parquet and zip are parsed in a child
process (`sandbox.py`): these formats are complex and come from strangers. Text, CSV and JSON go there too,
under the same limits, unless they are so small that their linear readers end in no time at all.
A file that cannot be read, or a row of one, is an `IngestError` that names it; it never stops the others.
"""

from __future__ import annotations

import codecs
import io
import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePath
from typing import BinaryIO, cast

from disputatio.errors import IngestError
from disputatio.store.ingesting.documents import Document, FileReading, Refusals, document_of, place
from disputatio.store.ingesting.files import display_path, open_regular
from disputatio.store.ingesting.options import DEFAULT, ReadOptions, why_left_out
from disputatio.store.ingesting.parsers import LARGEST_FILE, ParsedPart, kind_of, largest
from disputatio.store.ingesting.rows import (
    LONGEST_ROW,
    Row,
    Unreadable,
    csv_rows,
    is_json_object,
    json_document,
    json_rows,
    plain_fields,
    table_title,
    with_text,
)
from disputatio.store.ingesting.sandbox import MEGABYTES, SECONDS, Sandbox, to_refusal
from disputatio.store.ingesting.source import STDIN

_AT_ONCE = 1_000  # documents up to which a file is read whole before it is handed on
_AT_ONCE_CHARACTERS = 16_777_216
_BLANKS = 65_536
_SMALL = 262_144  # bytes of a plain file that is read in this process


@contextmanager
def open_reader(
    options: ReadOptions = DEFAULT,
    *,
    seconds: float = SECONDS,
    megabytes: int = MEGABYTES,
    stdin: BinaryIO | None = None,
) -> Iterator[Callable[[Path, str], FileReading]]:
    """Give a function that reads one file, `(path, top folder) -> FileReading`, for as long as it is open.

    `options` say which columns of tables mean what, and which members of archives are left out. The path
    `-` is standard input, or `stdin`: rows where its first line is a JSON object, else one text.
    A document parsed in the child may take so many seconds and so many megabytes of memory there.
    The function raises `IngestError` when the whole file is unusable; a large file may turn out so
    only while its documents are gone through.
    """
    with Sandbox(seconds=seconds, megabytes=megabytes, columns=options.columns) as sandbox:

        def read(path: Path, folder: str = "") -> FileReading:
            name = display_path(path)
            task = _Task(name, sandbox, options)
            if str(path) == STDIN:
                parts = _from_stdin(stdin or sys.stdin.buffer, task)
            else:
                parts = _from_file(path, task)
            return _make_reading(_place_documents(parts, folder, task.refused), task)

        yield read


class _Task:
    """The reading of one file: by what, and what came of it beside documents."""

    def __init__(self, name: str, sandbox: Sandbox, options: ReadOptions) -> None:
        self.name, self.sandbox = name, sandbox
        self.columns, self.exclude = options.columns, options.exclude
        self.refused = Refusals(name)
        self.left_out: Counter[str] = Counter()


def _make_reading(documents: Iterator[Document], task: _Task) -> FileReading:
    """Return a small file's documents at once, a large one's as they come."""
    name, refused = task.name, task.refused
    head: list[Document] = []
    size = 0
    for document in documents:
        head.append(document)
        size += len(document.text)
        if len(head) >= _AT_ONCE or size > _AT_ONCE_CHARACTERS:
            whole = itertools.chain(head, documents)
            return FileReading(path=name, documents=whole, refused=refused, left_out=task.left_out)
    if not head and len(refused) < 2 and not task.left_out:
        raise refused[0] if refused else IngestError(name, "has no rows", "no_text")
    return FileReading(path=name, documents=tuple(head), refused=tuple(refused), left_out=task.left_out)


def _place_documents(documents: Iterator[Document], folder: str, refused: Refusals) -> Iterator[Document]:
    """Yield the documents that have text, with the folder that they count to."""
    for document in documents:
        if document.text.strip():
            yield replace(document, folder=folder or document.folder)
        else:
            refused.add(IngestError(place(document), "has no text", "no_text"))


def _from_file(path: Path, task: _Task) -> Iterator[Document]:
    name = task.name
    with open_regular(path) as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        kind = kind_of(path.name, file.read(8))
        file.seek(0)
        limit = largest(kind)
        if not size:
            raise IngestError(name, "is empty", "no_text")
        if limit is not None and size > limit:
            raise _too_large(name, limit, size)
        if kind == "zip":
            yield from _from_archive(path, file, task)
        elif kind in ("text", "csv", "json", "jsonl") and size <= _SMALL:
            yield from _from_plain(kind, file, path.suffix.lower(), task)
        else:
            yield from _from_parts(task.sandbox.parse(kind, file, path.name, where=name), name, task)


def _too_large(name: str, limit: int, size: int | None = None) -> IngestError:
    known = {} if size is None else {"size": size}
    reason = f"is larger than {limit >> 20} MB, the limit"
    return IngestError(name, reason, "too_large", limit=limit, unit="bytes", **known)


def _from_plain(kind: str, file: BinaryIO, suffix: str, task: _Task) -> Iterator[Document]:
    rows: Iterator[Row] | None = None
    try:
        if kind == "jsonl":
            rows = with_text(json_rows(file), task.columns)
        elif kind == "csv":
            rows = csv_rows(file, task.columns, tabs=suffix == ".tsv", title=table_title(task.name))
        elif kind == "json":
            rows = json_document(file.read(LARGEST_FILE), task.columns)
            file.seek(0)
        if rows is None:
            yield _text(file, task.name)
        else:
            yield from _from_rows(rows, task.name, task.refused)
    except Unreadable as error:
        raise IngestError(task.name, str(error), error.code, **error.data) from error


def _text(file: BinaryIO, name: str) -> Document:
    raw = file.read(LARGEST_FILE + 1)
    if len(raw) > LARGEST_FILE:
        raise _too_large(name, LARGEST_FILE)
    if not raw.strip():
        raise IngestError(name, "is empty", "no_text")
    fields, hidden = plain_fields(raw)
    return document_of(fields, name, hidden=hidden)


def _from_rows(rows: Iterator[Row], name: str, refused: Refusals) -> Iterator[Document]:
    for number, row in rows:
        try:
            if isinstance(row, str):
                raise IngestError(f"{name}:{number}", row, "bad_row")
            document = document_of(row, name, number)
        except IngestError as error:
            refused.add(error)
        else:
            yield document


def _from_parts(parts: Iterator[ParsedPart], name: str, task: _Task) -> Iterator[Document]:
    """Yield the documents in what the child answers; inner ones are named below their file."""
    for part in parts:
        inner = f"{name}/{display_path(part['name'])}" if part.get("name") else name
        if "refused" in part:
            task.refused.add(to_refusal(inner, part))
        elif "left_out" in part:
            task.left_out[part["left_out"]] += part.get("count", 1)
        elif "document" in part:
            try:
                places = {name: part.get(name, ()) for name in ("pages", "outline")}
                yield document_of(part["document"], inner, hidden=part.get("hidden", 0), **places)
            except IngestError as error:
                if inner == name:
                    raise
                task.refused.add(error)
        else:
            rows = [*part.get("rows", ()), *part.get("bad", ())]
            rows.sort(key=lambda row: int(row[0]))
            yield from _from_rows(iter(cast("list[Row]", rows)), inner, task.refused)


def _from_archive(path: Path, file: BinaryIO, task: _Task) -> Iterator[Document]:
    """Yield every readable member; each is a request of its own, so that a bomb costs itself only."""
    name = task.name
    members: list[tuple[str, list[int]]] = []
    for part in task.sandbox.parse("zip", file, path.name, where=name):
        inner = str(part.get("name", ""))
        reason = why_left_out(PurePath(inner), task.exclude)
        if reason:
            task.left_out[reason] += 1
        elif "refused" in part:
            task.refused.add(to_refusal(f"{name}/{display_path(inner)}", part))
        elif part.get("member"):
            members.append((inner, part["member"]))
    for inner, place_in in members:
        where = f"{name}/{display_path(inner)}"
        top = PurePath(inner).parts
        try:
            parts = task.sandbox.parse("zip", file, inner, where=where, member=place_in)
            for document in _from_parts(parts, where, task):
                yield replace(document, folder=display_path(top[0]) if len(top) > 1 else "")
        except IngestError as error:
            task.refused.add(error)


def first_line(file: BinaryIO) -> tuple[bytes, BinaryIO]:
    """Return the first line of a stream that is not blank, and the stream from its start again."""
    head = b""
    line = b"\n"
    while line and not line.removeprefix(codecs.BOM_UTF8).strip() and len(head) < _BLANKS:
        line = file.readline(LONGEST_ROW + 1)
        head += line
    return line, cast(BinaryIO, io.BufferedReader(_Rest(head, file)))


def _from_stdin(file: BinaryIO, task: _Task) -> Iterator[Document]:
    """Yield rows where the first line with words is a JSON object, else one text."""
    line, whole = first_line(file)
    try:
        if is_json_object(line):
            yield from _from_rows(with_text(json_rows(whole), task.columns), STDIN, task.refused)
        else:
            yield _text(whole, STDIN)
    except Unreadable as error:
        raise IngestError(STDIN, str(error), error.code, **error.data) from error


class _Rest(io.RawIOBase):
    """A stream that yields the part already read, and then the rest."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        super().__init__()
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # what the library passes
        data = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)
