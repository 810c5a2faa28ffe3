"""Plain formats inside of an archive or a mail: the same readers, their rows gathered into parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, BinaryIO

from disputatio.store.ingesting.parsers import LARGEST_FILE, Parser, Part
from disputatio.store.ingesting.rows import Row, csv_rows, json_rows, plain_fields

_MOST_ROWS = 256
_MOST_CHARACTERS = 2_000_000


def parser_of(kind: str, name: str) -> Parser:
    """The parser of text, CSV or JSONL; a name that ends in .md or .tsv says which form it has."""
    suffix = PurePath(name).suffix.lower()

    def parse(file: BinaryIO) -> Iterator[Part]:
        if kind == "csv":
            yield from in_parts(csv_rows(file, tabs=suffix == ".tsv"))
        elif kind == "jsonl":
            yield from in_parts(json_rows(file))
        else:
            raw = file.read(LARGEST_FILE)
            fields, hidden = plain_fields(raw, markdown=suffix in (".md", ".markdown"))
            yield {"document": fields, "hidden": hidden}

    return parse


def in_parts(rows: Iterator[Row]) -> Iterator[Part]:
    """Rows gathered, so that a part is neither a single short row nor too long for one line."""
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
