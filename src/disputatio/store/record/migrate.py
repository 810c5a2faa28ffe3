"""Bring an index of an older format to the one that this program writes.

The new form is built beside the old one, and the manifest is switched when it is whole: a kill leaves the
old form, and the next try begins anew.

Format 1 kept a full-text index in the table of passages, and a note in the manifest's place. Format 2 did
not keep where a date comes from.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from disputatio.errors import StoreError
from disputatio.store.record import manifest as manifests
from disputatio.store.record.layout import read_note
from disputatio.store.record.manifest import FIRST_NOTE, FORMAT, SEGMENTS, Manifest, reported
from disputatio.store.record.tables import (
    DATE_ORIGIN,
    DOCUMENT_COLUMNS,
    NAMES,
    PASSAGE_COLUMNS,
    Pinned,
    Tables,
    connect,
    make_table,
    row_check,
    schema,
    writing,
)
from disputatio.store.reliabilities import read_estimates, read_states, write_estimates
from disputatio.types import DateOrigin

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Table

    from disputatio.store.record.transaction import Transaction

_ROWS = 8192
# Readers of format 2 took the date from front matter, a column, a header or the book's own record.
_STATING = frozenset(
    {".md", ".markdown", ".txt", ".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".epub", ".eml"}
)
_DATED_BY_FILE = frozenset({".pdf", ".docx"})


def migrate(path: str | Path) -> list[str]:
    """Bring the index to this program's format; a sentence on what was done, none where it has it already.

    Raises `StoreError` when there is no index, it is damaged or a copy, it is of a newer format, or another
    process writes to it.
    """
    path = Path(path)
    if _format_of(path) is None:
        raise StoreError(f"{path}: there is no index here; make one with: disputatio ingest PATH")
    with writing(path):
        return migrate_locked(path)


def migrate_locked(path: Path) -> list[str]:
    """As `migrate`, for the one who holds the index's lock; nothing is done where there is no index."""
    migration = MIGRATIONS.get(_format_of(path) or FORMAT)
    return [] if migration is None else [migration(path)]


def migrate_first(path: Path) -> str:
    """From format 1, whose rows have no checksums."""
    from disputatio.store.record.transaction import Transaction

    try:
        note = json.loads(read_note(path / FIRST_NOTE))
        if note["disputatio index"] != 1:
            raise ValueError("another version")
        embedder, dimension = str(note.get("embedder") or ""), int(note.get("dimension") or 0)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            f"{path / FIRST_NOTE}: is damaged; ingest the documents into a new folder"
        ) from error
    with reported(path, "migrating the index"):
        (path / SEGMENTS).mkdir(exist_ok=True)
        old = connect(path)
        documents, passages = old.open_table("documents"), old.open_table("passages")
        names = {name: f"{name}-2" for name in NAMES}
        for name in NAMES:
            make_table(path, names[name], schema(name, dimension))
        # A row of documents without passages was left by a kill.
        document_ids = set(passages.search().select(["document"]).to_arrow()["document"].to_pylist())
    tables = Tables(path, names, dimension)
    start = Manifest(number=1, embedder=embedder, dimension=dimension, **tables.versions())
    transaction = Transaction(path, start, tables)
    remaining = (
        [{**row, "file": row["path"]} for row in batch.to_pylist() if row["id"] in document_ids]
        for batch in documents.search().to_batches(4096)
    )
    return _moved(transaction, remaining, passages.search().to_batches(_ROWS), since=1)


def migrate_second(path: Path) -> str:
    """From format 2: every row is compared with its checksum before it gets a new one."""
    from disputatio.store.record.reembed import next_name
    from disputatio.store.record.replicate import MARK
    from disputatio.store.record.transaction import Transaction
    from disputatio.store.segments.view import open_view

    manifest = manifests.read(path, older=True)
    before = open_view(path)
    if manifest is None or before is None:
        raise StoreError(f"{path}: there is no index here")
    if (path / MARK).exists():
        raise StoreError(f"{path}: is a copy; migrate the index that it is of, and sync the copy again")
    states = before.states()
    pinned = Pinned(path, manifest, ["documents", "passages"])
    with reported(path, "migrating the index"):
        fresh = {name: next_name(path, getattr(manifest, name).name) for name in ("documents", "passages")}
        for name, table in fresh.items():
            make_table(path, table, schema(name, manifest.dimension))
    transaction = Transaction(path, manifest, Tables.open(path, manifest, fresh))
    columns = [name for name in DOCUMENT_COLUMNS if name != DATE_ORIGIN]
    documents = (
        [_verified(path, row, (*columns, "row")) for row in batch.to_pylist()]
        for batch in pinned.batches("documents", [*columns, "row", "check"], size=1024)
    )
    names = [name for name in PASSAGE_COLUMNS if name != DATE_ORIGIN]
    vector = ["vector"] if manifest.dimension else []
    passages = pinned.batches("passages", [*names, "start", "end", "check", *vector], size=_ROWS)
    done = _moved(transaction, documents, passages, since=2)
    after = open_view(path)
    if after is not None:
        _keep_estimates(path, states, after.states())
    return done


MIGRATIONS: Mapping[int, Callable[[Path], str]] = {1: migrate_first, 2: migrate_second}


def _format_of(path: Path) -> int | None:
    """Return the format on disk; None where there is no index."""
    if manifests.is_first(path):
        return 1
    manifest = manifests.read(path, older=True)
    return None if manifest is None else manifest.format


def _moved(
    transaction: Transaction,
    documents: Iterable[list[dict[str, Any]]],
    passages: Iterable[RecordBatch],
    *,
    since: int,
) -> str:
    """Old rows put into the tables and segments of a transaction, and these in force; what was done."""
    from disputatio.store.record.reembed import Building, passage_of

    path, dimension = transaction.path, transaction.tables.dimension
    origins: dict[str, DateOrigin] = {}
    for rows in documents:
        for row in rows:
            row[DATE_ORIGIN] = origin = _origin_of(row)
            # The same text may stand in two files: then both must prove it.
            origins[row["id"]] = origin if origins.get(row["id"], origin) == origin else ""
        with reported(path, "migrating the index"):
            _add(transaction.tables.documents, _document_rows(rows))
    build = Building(transaction)
    count = 0
    for batch in passages:
        vectors = _vectors(batch, dimension)
        rows = batch.select([name for name in batch.schema.names if name != "vector"]).to_pylist()
        for at, row in enumerate(rows):
            if "check" in row:
                fields = [name for name in PASSAGE_COLUMNS if name != DATE_ORIGIN]
                _verified(
                    path, row, (*fields, "start", "end"), b"" if vectors is None else vectors[at].tobytes()
                )
            row[DATE_ORIGIN] = origins.get(row["document"], "") if row["date"] else ""
        with reported(path, "migrating the index"):
            _add(transaction.tables.passages, _passage_rows(rows, vectors))
        build.add([passage_of(row) for row in rows], vectors)
        count += len(rows)
    expected = transaction.manifest.passages.rows
    if since > 1 and count != expected:
        raise StoreError(f"{path}: {expected} passages are on record and {count} could be read")
    transaction.adopt(
        transaction.tables, build.entries, embedder=transaction.manifest.embedder, dimension=dimension
    )
    transaction.clear()
    return f"format {since} to {FORMAT}: {count:,} passages in {len(build.entries)} segments"


def _origin_of(row: Mapping[str, Any]) -> DateOrigin:
    """Return where the date of an older document comes from, as far as its reader proves it.

    >>> about = {"date": "2021", "row": 0, "metadata": "{}"}
    >>> [_origin_of({**about, "path": path}) for path in ("a.md", "a.pdf", "a.html", "m.eml/a.pdf")]
    ['stated', 'file', '', '']
    """
    path_text = str(row["path"])
    path = PurePath(path_text)
    suffix = path.suffix.lower()
    if not row["date"]:
        return ""
    if row["row"] or not path_text or path_text.startswith("passage:"):
        return "stated"  # a column, or the caller's own word
    if path_text.startswith(("http://", "https://")):
        return "file" if suffix in _DATED_BY_FILE else ""  # or the server's Last-Modified
    if suffix in _DATED_BY_FILE:
        attached = any(part.lower().endswith(".eml") for part in path.parts[:-1])
        return "" if attached else "file"
    paged = "pages" in json.loads(row["metadata"])  # a PDF by another name
    return "stated" if not paged and (suffix in _STATING or path_text == "-") else ""


def _verified(path: Path, row: dict[str, Any], fields: Iterable[str], vector: bytes = b"") -> dict[str, Any]:
    """Return the row; raises `StoreError` when it is not what was written."""
    if row_check((row[name] for name in fields), vector) != row["check"]:
        raise StoreError(
            f"{path}: a row of its tables is damaged; repair it with the program that wrote it "
            "(disputatio index check), or ingest the documents into a new folder"
        )
    return row


def _keep_estimates(path: Path, before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Estimates that were up to date stay so: what a source holds is the same, though written anew."""
    with contextlib.suppress(StoreError):  # damaged: to be estimated anew, as `sources` says
        states = read_states(path)
        if states:
            now = {name: after[name] for name in states if name in after and states[name] == before.get(name)}
            write_estimates(path, read_estimates(path), states | now)


def _add(table: Any, rows: Table) -> None:
    if rows.num_rows:
        table.add(rows)


def _vectors(batch: RecordBatch, dimension: int) -> Any:
    """Return the vectors of a batch, shape (rows, dimension); None where passages have none."""
    import numpy as np

    if not dimension:
        return None
    column: Any = batch.column("vector")
    return np.asarray(column.flatten(), dtype=np.float32).reshape(-1, dimension)


def _document_rows(rows: list[dict[str, Any]]) -> Table:
    import pyarrow as pa

    for row in rows:
        row["check"] = row_check(row[name] for name in (*DOCUMENT_COLUMNS, "row"))
    return pa.Table.from_pylist(rows, schema=schema("documents", 0))


def _passage_rows(rows: list[dict[str, Any]], vectors: Any) -> Table:
    import pyarrow as pa

    for at, row in enumerate(rows):
        raw = b"" if vectors is None else vectors[at].tobytes()
        row["check"] = row_check((row[name] for name in (*PASSAGE_COLUMNS, "start", "end")), raw)
    columns = schema("passages", 0)
    table = pa.Table.from_pylist(
        [{name: row[name] for name in columns.names} for row in rows], schema=columns
    )
    if vectors is not None:
        size = vectors.shape[1]
        flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), size)
        table = table.append_column(schema("passages", size).field("vector"), flat)
    return table
