"""Parsers of the complex formats, run in a child process only (`child.py`): they meet strangers' bytes.

A parser takes an open file and yields parts: dictionaries that JSON can carry. A part is one of

- `{"document": fields, "hidden": characters removed, "pages": offsets, "outline": its headings, "name": of an
  inner document}`
- `{"rows": [[number, fields], ...], "bad": [[number, reason], ...]}`, some rows of a table
- `{"member": path of indices, "name": name}`, a file in an archive, to be asked for next
- `{"left_out": reason, "count": number}`, parts of a file that no reader sees, as `options` names the reason
- `{"refused": reason, "code": its kind, "data": what it names, "name": of an inner document}`; without a name
  it is the file
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, BinaryIO, TypeAlias

from disputatio.errors import RefusalCode
from disputatio.store.ingesting.rows import NO_COLUMNS, Unreadable

ParsedPart: TypeAlias = dict[str, Any]
Parser: TypeAlias = Callable[[BinaryIO], Iterator[ParsedPart]]

_TITLE = 80  # characters of a first line that is a title, where a file states none
LARGEST_TEXT = 16_777_216  # characters that one document may give
LARGEST_FILE = 67_108_864  # bytes of a file that is parsed as one document
LARGEST_BOOK = 268_435_456  # bytes of one whose pictures are skipped: PDF, DOCX, PPTX, XLSX, EPUB


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A kind of file that a module of this folder reads; each module lists its own as `FORMATS`.

    `packages` maps what is imported to what is installed. `largest` is the most bytes that a file may have,
    None if it is read as a stream. `start` are first bytes that tell a file without a known ending. `is_text`
    files may come in an encoding that a server states; `is_attachment` files are read from e-mails.
    """

    kind: str
    suffixes: tuple[str, ...]
    content_types: tuple[str, ...] = ()
    packages: Mapping[str, str] = field(default_factory=dict)
    largest: int | None = LARGEST_FILE
    start: bytes = b""
    is_text: bool = False
    is_attachment: bool = False
    module: str = ""


class RefusedDocument(Exception):
    """A document that its parser can say no more of than why it is not read."""

    def __init__(self, reason: str, code: RefusalCode = "unreadable", **data: str | int) -> None:
        self.code, self.data = code, data
        super().__init__(reason)


def refusal_part(error: RefusedDocument | Unreadable) -> ParsedPart:
    part: ParsedPart = {"refused": str(error), "code": error.code}
    return {**part, "data": error.data} if error.data else part


def past_limit(reason: str, limit: int, unit: str = "bytes", **data: str | int) -> RefusedDocument:
    return RefusedDocument(reason, "too_large", limit=limit, unit=unit, **data)


def too_much_text() -> RefusedDocument:
    return past_limit(
        f"has more than {LARGEST_TEXT:,} characters of text, the limit", LARGEST_TEXT, "characters"
    )


@functools.cache
def formats() -> Mapping[str, Format]:
    """Find the formats of all modules of this folder, by kind; their packages are not loaded."""
    found: dict[str, Format] = {}
    for module in pkgutil.iter_modules(__path__):
        name = f"{__name__}.{module.name}"
        for form in getattr(importlib.import_module(name), "FORMATS", ()):
            found[form.kind] = replace(form, module=name)
    return found


@functools.cache
def suffixes() -> Mapping[str, Format]:
    return {suffix: form for form in formats().values() for suffix in form.suffixes}


@functools.cache
def content_types() -> Mapping[str, Format]:
    return {stated: form for form in formats().values() for stated in form.content_types}


def kind_of(name: str, start: bytes) -> str:
    """Return the kind of a file by its first bytes if these leave no doubt, or by its name.

    >>> kind_of("a.HTM", b""), kind_of("a.txt", b"%PDF-1.7"), kind_of("README", b"Words")
    ('html', 'pdf', 'text')
    """
    if start.startswith(b"%PDF-"):
        return "pdf"
    if known := suffixes().get(PurePath(name).suffix.lower()):
        return known.kind
    return next(
        (form.kind for form in formats().values() if form.start and start.startswith(form.start)), "text"
    )


def largest(kind: str) -> int | None:
    """Return the most bytes that a file of a kind may have; None if it is read as a stream."""
    return formats()[kind].largest


def parser(kind: str, name: str, columns: Mapping[str, str] = NO_COLUMNS) -> Parser:
    """Return the parser of a kind, whose packages are loaded here, for a file of a name with such columns."""
    form = formats()[kind]
    for package in form.packages:
        importlib.import_module(package)
    module = importlib.import_module(form.module)
    parser: Parser = module.parser_of(kind, name, columns) if hasattr(module, "parser_of") else module.parse
    return parser


def headline(first: str) -> str:
    """Return the first line of a text where it can only be a title: short, and no sentence.

    >>> headline("Mooring rules"), headline("The office is closed."), headline("Fee | Amount")
    ('Mooring rules', '', '')
    """
    is_title = len(first) <= _TITLE and "\n" not in first and " | " not in first
    return first if is_title and not first.endswith((".", ":", "?", "!", ",")) else ""
