"""All passages or all documents of an index as a Parquet or JSON-lines file, whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disputatio.errors import InputError, StoreError
from disputatio.store.addresses import require_one
from disputatio.store.record.manifest import reported, sync_folder
from disputatio.store.record.tables import DOCUMENT_COLUMNS, PASSAGE_COLUMNS, Pinned

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from disputatio.store.folder_index import FolderIndex

_BATCH = 4096
_INNER = ("entry", "file")  # of no meaning outside of the index


def export(index: FolderIndex, file: str | Path, *, documents: bool = False, vectors: bool = False) -> int:
    """Write every passage, or every document with its whole text, to a file; how many rows it has.

    The ending of the file chooses the format: `.parquet`, or `.jsonl` whose rows `--passages` and
    `ingest` read. With `vectors` passages have theirs. The rows are those of one commit, whatever is
    written meanwhile. Raises `InputError` for another ending, `StoreError` when there is no index or
    the file cannot be written.
    """
    file = Path(file)
    write = {".parquet": _parquet, ".jsonl": _json_lines, ".ndjson": _json_lines}.get(file.suffix.lower())
    if write is None:
        raise InputError(f"{file}: an export ends in .parquet or .jsonl")
    require_one(index.path)
    view = index.view()
    if view is None:
        raise StoreError(f"{index.path}: there is no index here; make one with: disputatio ingest PATH")
    columns = [*(column for column in DOCUMENT_COLUMNS if column not in _INNER), "row"]
    if not documents:
        columns = [
            *PASSAGE_COLUMNS,
            "start",
            "end",
            *(["vector"] if vectors and view.manifest.dimension else []),
        ]
    table = "documents" if documents else "passages"
    pinned = Pinned(index.path, view.manifest)
    expected = getattr(view.manifest, table).rows
    with _whole(file) as part:
        done = write(part, lambda: pinned.batches(table, columns, size=_BATCH))
        if done != expected:
            raise StoreError(
                f"{index.path}: {expected} {table} are on record and {done} could be read; "
                f"run: disputatio index check --index {index.path}"
            )
    return done


@contextmanager
def _whole(file: Path) -> Iterator[Path]:
    """A name to write to, which becomes the file when all has been written."""
    part = file.with_name(file.name + ".part")
    try:
        with reported(file, "writing the export"):
            yield part
            handle = os.open(part, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
            part.replace(file)
            sync_folder(file.parent)
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _parquet(part: Path, batches: Callable[[], Iterator[RecordBatch]]) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    done = 0
    writer = None
    try:
        for batch in batches():
            if writer is None:
                writer = parquet.ParquetWriter(part, batch.schema, compression="zstd")
            writer.write_batch(batch)
            done += batch.num_rows
        if writer is None:
            parquet.write_table(
                pa.table({"id": pa.array([], pa.string()), "text": pa.array([], pa.string())}), part
            )
    finally:
        if writer is not None:
            writer.close()
    return done


def _json_lines(part: Path, batches: Callable[[], Iterator[RecordBatch]]) -> int:
    done = 0
    with part.open("w", encoding="utf-8", errors="surrogatepass", newline="\n") as out:
        for batch in batches():
            rows: list[dict[str, Any]] = batch.to_pylist()
            for row in rows:
                row["metadata"] = json.loads(row["metadata"])
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
            done += len(rows)
    return done
