"""Plain formats inside of an archive or a mail: the same readers, their rows gathered into parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, BinaryIO

from disputatio.store.ingesting.parsers import LARGEST_FILE, Format, ParsedPart, Parser
from disputatio.store.ingesting.rows import (
    Row,
    csv_rows,
    json_document,
    json_rows,
    plain_fields,
    table_title,
    with_text,
)

FORMATS = (
    Format(
        kind="csv",
        suffixes=(".csv", ".tsv"),
        content_types=("text/csv",),
        largest=None,
        is_text=True,
    ),
    Format(
        kind="jsonl",
        suffixes=(".jsonl", ".ndjson"),
        content_types=("application/jsonl", "application/x-jsonlines", "application/x-ndjson"),
        largest=None,
        is_text=True,
    ),
    Format(
        kind="json",
        suffixes=(".json",),
        content_types=("application/json",),
        is_text=True,
    ),
    Format(
        kind="text",
        suffixes=(".txt",),
        content_types=("text/plain",),
        is_text=True,
    ),
)

_MOST_ROWS = 256
_MOST_CHARACTERS = 2_000_000


def parser_of(kind: str, name: str, columns: Mapping[str, str]) -> Parser:
    """Return the parser of text, CSV or JSON; a name that ends in .tsv says what parts its columns."""
    suffix = PurePath(name).suffix.lower()

    def parse(file: BinaryIO) -> Iterator[ParsedPart]:
        if kind == "csv":
            yield from gather_rows(csv_rows(file, columns, tabs=suffix == ".tsv", title=table_title(name)))
            return
        if kind == "jsonl":
            yield from gather_rows(with_text(json_rows(file), columns))
            return
        raw = file.read(LARGEST_FILE)
        rows = json_document(raw, columns) if kind == "json" else None
        if rows is not None:
            yield from gather_rows(rows)
            return
        fields, hidden = plain_fields(raw)
        yield {"document": fields, "hidden": hidden}

    return parse


def gather_rows(rows: Iterator[Row]) -> Iterator[ParsedPart]:
    """Yield rows gathered, so that a part is neither a single short row nor too long for one line."""
    good: list[tuple[int, Mapping[str, Any]]] = []
    bad: list[tuple[int, str]] = []
    size = 0
    for number, row in rows:
        if isinstance(row, str):
            bad.append((number, row))
        else:
            plain = {name: value for name, value in row.items() if isinstance(value, str | int | float)}
            nested = [name for name, value in row.items() if isinstance(value, list | dict)]
            good.append((number, {**plain, **{name: [] for name in nested}}))
            size += sum(len(value) for value in plain.values() if isinstance(value, str))
        if len(good) + len(bad) >= _MOST_ROWS or size > _MOST_CHARACTERS:
            yield {"rows": good, "bad": bad}
            good, bad, size = [], [], 0
    if good or bad:
        yield {"rows": good, "bad": bad}
