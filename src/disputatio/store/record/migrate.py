"""Bring an index of an older format to the one that this program writes, a step at a time.

A step builds the new form beside the old one and switches the manifest when it is whole: a kill
leaves the old form, and the step begins anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from disputatio.errors import StoreError
from disputatio.store.record import manifest as manifests
from disputatio.store.record.manifest import FIRST_NOTE, FORMAT, SEGMENTS, Manifest, reported
from disputatio.store.record.tables import (
    DOCUMENT_COLUMNS,
    NAMES,
    PASSAGE_COLUMNS,
    Tables,
    connect,
    make_table,
    row_check,
    schema,
    writing,
)


def migrate(path: str | Path) -> list[str]:
    """Bring the index to this program's format; one sentence for each step that was taken.

    Raises `StoreError` when there is no index, it is of a newer format, or another process writes to it.
    """
    path = Path(path)
    if not manifests.is_first(path) and manifests.read(path) is None:
        raise StoreError(f"{path}: there is no index here; make one with: disputatio ingest PATH")
    with writing(path):
        return migrate_locked(path)


def migrate_locked(path: Path) -> list[str]:
    """As `migrate`, for the one who holds the index's lock; no step where there is no index."""
    done = []
    while (found := _format_of(path)) in MIGRATIONS:
        done.append(MIGRATIONS[found](path))
    return done


def first_to_second(path: Path) -> str:
    """Format 1 kept a full-text index in the table of passages, and a note in the manifest's place."""
    from disputatio.store.record.reembed import Building, passage_of
    from disputatio.store.record.stage import Stage

    try:
        note = json.loads((path / FIRST_NOTE).read_bytes())
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
        fresh = {name: make_table(path, names[name], schema(name, dimension)) for name in NAMES}
        # A row of documents without passages was left by a kill.
        whole = set(passages.search().select(["document"]).to_arrow()["document"].to_pylist())
        for batch in documents.search().to_batches(4096):
            _add(fresh["documents"], _documents([row for row in batch.to_pylist() if row["id"] in whole]))
    tables = Tables(path, names, dimension)
    start = Manifest(number=1, embedder=embedder, dimension=dimension, **tables.versions())
    stage = Stage(path, start, tables)
    build = Building(stage)
    count = 0
    for batch in passages.search().to_batches(8192):
        import numpy as np

        rows = batch.to_pylist()
        vectors = np.array([row.pop("vector") for row in rows], dtype=np.float32) if dimension else None
        with reported(path, "migrating the index"):
            _add(fresh["passages"], _passages(rows, vectors))
        build.add([passage_of(row) for row in rows], vectors)
        count += len(rows)
    stage.adopt(tables, build.entries, embedder=embedder, dimension=dimension)
    stage.clear()
    return f"format 1 to 2: {count:,} passages in {len(build.entries)} segments"


MIGRATIONS: dict[int, Callable[[Path], str]] = {1: first_to_second}


def _format_of(path: Path) -> int:
    """The format on disk; this program's where there is no index yet, or one of it."""
    return 1 if manifests.is_first(path) else FORMAT


def _add(table: Any, rows: Any) -> None:
    if rows.num_rows:
        table.add(rows)


def _documents(rows: list[dict[str, Any]]) -> Any:
    import pyarrow as pa

    for row in rows:
        row["file"] = row["path"]
        row["check"] = row_check(row[name] for name in (*DOCUMENT_COLUMNS, "row"))
    return pa.Table.from_pylist(rows, schema=schema("documents", 0))


def _passages(rows: list[dict[str, Any]], vectors: Any) -> Any:
    import pyarrow as pa

    for at, row in enumerate(rows):
        raw = b"" if vectors is None else vectors[at].tobytes()
        row["check"] = row_check((row[name] for name in (*PASSAGE_COLUMNS, "start", "end")), raw)
    size = 0 if vectors is None else vectors.shape[1]
    columns = schema("passages", 0)
    table = pa.Table.from_pylist(
        [{name: row[name] for name in columns.names} for row in rows], schema=columns
    )
    if size:
        flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), size)
        table = table.append_column(schema("passages", size).field("vector"), flat)
    return table
