"""Parsers of the complex formats, run in a child process only (`child.py`): they meet strangers' bytes.

A parser takes an open file and yields parts: dictionaries that JSON can carry. A part is one of

- `{"document": fields, "hidden": characters removed, "pages": offsets, "name": of an inner document}`
- `{"rows": [[number, fields], ...], "bad": [[number, reason], ...]}`, some rows of a table
- `{"member": path of indices, "name": name}`, a file in an archive, to be asked for next
- `{"left_out": reason, "count": number}`, parts of a file that nobody sees, as `options` names the reason
- `{"refused": reason, "name": of an inner document}`; without a name the whole file is refused
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, BinaryIO, TypeAlias

from disputatio.store.ingesting.rows import NO_COLUMNS

ParsedPart: TypeAlias = dict[str, Any]
Parser: TypeAlias = Callable[[BinaryIO], Iterator[ParsedPart]]

LARGEST_TEXT = 16_777_216  # characters that one document may give
LARGEST_FILE = 67_108_864  # bytes of a file that is parsed as one document
LARGEST_BOOK = 268_435_456  # bytes of one whose pictures are skipped: PDF, DOCX, PPTX, XLSX, EPUB

# Kind -> its module here, and the packages that it needs.
KINDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "html": ("web", ("lxml", "trafilatura", "tinycss2", "cssselect2")),
    "markdown": ("markdown", ("lxml", "markdown_it", "tinycss2", "cssselect2")),
    "pdf": ("pdf", ("pypdf", "tinycss2")),
    "docx": ("word", ("docx", "lxml", "tinycss2")),
    "pptx": ("slides", ("pptx", "lxml", "tinycss2")),
    "xlsx": ("sheets", ("python_calamine", "lxml", "tinycss2")),
    "epub": ("book", ("lxml", "tinycss2", "cssselect2")),
    "eml": ("mail", ("lxml", "tinycss2", "cssselect2")),
    "parquet": ("columns", ("pyarrow",)),
    "csv": ("table", ()),
    "jsonl": ("table", ()),
    "json": ("table", ()),
    "text": ("table", ()),
    "zip": ("archive", ()),
}
_SUFFIXES = {
    ".html": "html", ".htm": "html", ".xhtml": "html", ".md": "markdown", ".markdown": "markdown",
    ".pdf": "pdf", ".docx": "docx", ".epub": "epub", ".eml": "eml", ".parquet": "parquet",
    ".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".zip": "zip",
    ".pptx": "pptx", ".xlsx": "xlsx", ".xlsm": "xlsx",
}  # fmt: skip


class Refused(Exception):
    """A document that its parser can say no more of than why it is not read."""


def kind_of(name: str, start: bytes) -> str:
    """Return the kind of a file by its name, or by its first bytes where these leave no doubt.

    >>> kind_of("a.HTM", b""), kind_of("a.txt", b"%PDF-1.7"), kind_of("README", b"Words")
    ('html', 'pdf', 'text')
    """
    if start.startswith(b"%PDF-"):
        return "pdf"
    known = _SUFFIXES.get(PurePath(name).suffix.lower())
    return known or ("parquet" if start.startswith(b"PAR1") else "text")


def largest(kind: str) -> int | None:
    """Return the most bytes that a file of a kind may have; None where it is read as a stream."""
    if kind in ("csv", "jsonl", "parquet", "zip"):
        return None
    return LARGEST_BOOK if kind in ("pdf", "docx", "pptx", "xlsx", "epub") else LARGEST_FILE


def parser(kind: str, name: str, columns: Mapping[str, str] = NO_COLUMNS) -> Parser:
    """Return the parser of a kind; its packages are loaded here.

    `name` tells apart what suffixes tell; `columns` maps fields to the columns of tables that hold them.
    """
    module, packages = KINDS[kind]
    for package in packages:
        importlib.import_module(package)
    parser_module = importlib.import_module(f"{__name__}.{module}")
    parser: Parser = (
        parser_module.parser_of(kind, name, columns)
        if hasattr(parser_module, "parser_of")
        else parser_module.parse
    )
    return parser
