"""Descriptions of many documents from a table that people bring: CSV, TSV, JSON, or JSON lines.

A row names its documents by `document` (an id), `file` (a path, or a file's name) or `doi`, and states fields
of a description. Other columns are left alone and named. A table of retractions, such as Retraction Watch's,
is read as it is: `OriginalPaperDOI` and `RetractionNature` stand for `doi` and `status`. Nothing is fetched.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from disputatio.errors import IngestError, InputError
from disputatio.store.contract import Index
from disputatio.store.ingesting.description import DOI, FIELDS, check_fields
from disputatio.store.ingesting.files import display_path, open_regular
from disputatio.store.ingesting.stating import find_unnamed
from disputatio.text import one_line

LARGEST = 256 << 20  # bytes of a table
_HEAD = 2_000  # characters at the head of a text in which a paper states its own DOI
_NAMES = ("document", "file", "doi")
_ALIASES: Mapping[str, str] = {
    "originalpaperdoi": "doi", "retractionnature": "status", "path": "file", "id": "document",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """A row of the table: its `place` (file and number), what names its documents, and what it states."""

    place: str
    kind: str
    name: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSummary:
    """The result of a table: its rows, those that fit a document, the documents changed, unused columns.

    `missing` has the place and name of rows that name a document by id or file, and fit none.
    """

    rows: int
    matched: int
    described: int
    unused: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def describe_from(index: Index, path: Path) -> TableSummary:
    """State what a table says of the documents of an index; rows that fit no document are only counted.

    Raises `InputError` that names the file and the row for one that is wrong, or replaces a document that
    is not here, and then states nothing.
    """
    rows, unused = read_table(path)
    by_doi = _documents_by_doi(index) if any(row.kind == "doi" for row in rows) else {}
    stated: list[tuple[str | Path, Mapping[str, object]]] = []
    missing: list[str] = []
    replaced: dict[str, str] = {}
    matched = 0
    known = _names(index)
    for row in rows:
        documents = (
            by_doi.get(row.name, ()) if row.kind == "doi" else (row.name,) if row.name in known else ()
        )
        matched += bool(documents)
        if documents and (target := row.fields.get("replaces")):
            replaced.setdefault(target, row.place)
        if not documents and row.kind != "doi":  # a list of papers has many that are not here
            missing.append(f"{row.place}: {one_line(row.name)[:200]}")
        stated += [(document, row.fields) for document in documents]
    missing_targets = find_unnamed(replaced, index.documents(text=False)) if replaced else {}
    for target, words in missing_targets.items():
        raise InputError(f"{replaced[target]}: {words}")
    described = index.describe_all(stated, by=f"table:{display_path(path.name)}") if stated else 0
    return TableSummary(
        rows=len(rows), matched=matched, described=described, unused=tuple(unused), missing=tuple(missing)
    )


def _names(index: Index) -> set[str]:
    names: set[str] = set()
    for file, path, _, document in index.places():
        names |= {document, file, path, Path(file or path).name}
    return names - {""}


def _documents_by_doi(index: Index) -> dict[str, list[str]]:
    """Return the ids of documents by the DOI that they state of themselves (`doi_of`)."""
    found: dict[str, dict[str, None]] = {}
    for each in index.documents(text=False):
        name = doi_of(each.metadata, each.url, "")
        if not name and (opened := index.document(each.id)) is not None:  # one text at a time
            name = doi_of({}, "", opened.text)
        if name:
            found.setdefault(name, {})[each.id] = None
    return {name: list(ids) for name, ids in found.items()}


def doi_of(metadata: Mapping[str, str], url: str, text: str) -> str:
    """Return the DOI that a document states of itself, in lower case; empty where it states none.

    >>> doi_of({}, "https://doi.org/10.1000/ABC.1", ""), doi_of({}, "", "Tides. doi:10.1000/xyz.")
    ('10.1000/abc.1', '10.1000/xyz')
    """
    named = next((value for name, value in metadata.items() if name.lower() == "doi"), "")
    return _doi_in(named) or _doi_in(url) or _doi_in(text[:_HEAD])


def _doi_in(words: str) -> str:
    match = DOI.search(words)
    return "" if match is None else match[0].rstrip(".:;").lower()


# --- reading --------------------------------------------------------------------------------------------
def read_table(path: Path) -> tuple[list[TableRow], list[str]]:
    """Return the rows of a table and the columns that mean nothing here; raises `InputError`."""
    where = display_path(path)
    try:
        with open_regular(path) as file:
            text = file.read(LARGEST + 1).decode("utf-8-sig")
    except IngestError as error:
        raise InputError(str(error)) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: is not UTF-8") from error
    if len(text) > LARGEST:
        raise InputError(f"{where}: is larger than {LARGEST >> 20} MB, the limit of a table")
    rows: list[TableRow] = []
    unused: dict[str, None] = {}
    names: set[str] = set()
    for number, record in _records(text, path.suffix.lower(), where):
        if not isinstance(record, dict):
            raise InputError(f"{where}:{number}: is no JSON object")
        columns = {column: _to_field(column) for column in record}
        names |= set(columns.values())
        unused |= {str(column): None for column, name in columns.items() if name not in (*_NAMES, *FIELDS)}
        named = {name: record[column] for column, name in columns.items() if record[column] not in (None, "")}
        kind = next((name for name in _NAMES if name in named), "")
        try:
            fields = check_fields({name: value for name, value in named.items() if name in FIELDS})
        except InputError as error:
            raise InputError(f"{where}:{number}: {error}") from error
        name = _doi_in(str(named[kind])) if kind == "doi" else str(named.get(kind, "")).strip()
        if name and fields:  # a row may lack its name, such as a paper without a DOI
            rows.append(TableRow(place=f"{where}:{number}", kind=kind, name=name, fields=fields))
    if not names:
        raise InputError(f"{where}: has no rows")
    if names.isdisjoint(_NAMES):
        raise InputError(f"{where}: has no column document, file or doi")
    return rows, list(unused)


def _to_field(column: object) -> str:
    name = re.sub(r"[\s_-]", "", str(column)).lower()
    return _ALIASES.get(name, name)


def _records(text: str, suffix: str, where: str) -> Iterator[tuple[int, Any]]:
    """Yield the rows with their line, or their number in a JSON array."""
    lines: Iterable[tuple[int, Any]] = enumerate(text.splitlines(), start=1)
    number = 0
    try:
        if suffix == ".json":
            yield from enumerate(json.loads(text), start=1)
        elif suffix in (".jsonl", ".ndjson"):
            for number, line in lines:
                if line.strip():
                    yield number, json.loads(line)
        else:
            first = text.partition("\n")[0]
            delimiter = "\t" if suffix == ".tsv" else ";" if first.count(";") > first.count(",") else ","
            reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
            for row in reader:
                number = reader.line_num
                if None in row:
                    raise InputError(f"{where}:{number}: has more values than columns")
                yield number, row
    except csv.Error as error:
        raise InputError(f"{where}:{number + 1}: cannot be read as CSV ({error})") from error
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{where}:{max(number, 1)}: is not JSON") from error
