"""All passages or all documents of an index as a Parquet or JSON-lines file, whole or not at all."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disputatio import platforms
from disputatio.errors import InputError, StoreError, require_package
from disputatio.store.ingesting.exported import EXPORTED
from disputatio.store.record.database import ABOUT, RecordFile
from disputatio.store.record.manifest import check_command, report_faults

if TYPE_CHECKING:
    from disputatio.store.folder_index import FolderIndex

Rows = Iterator[list[dict[str, Any]]]

_BATCH = 4096
DOCUMENT_COLUMNS = ("id", "path", "text", *ABOUT, *EXPORTED, "row")
PASSAGE_COLUMNS = ("id", "document", "text", *ABOUT, *EXPORTED, "start", "end")
_NUMBERS = ("row", "start", "end")


def export(index: FolderIndex, file: str | Path, *, documents: bool = False) -> int:
    """Write every passage, or every document with its text, of one commit to a `.parquet` or `.jsonl`; how
    many. Raises `InputError` for another ending, `StoreError`, `MissingDependency` for `.parquet` without
    pyarrow.
    """
    file = Path(file)
    write = {".parquet": _parquet, ".jsonl": _json_lines, ".ndjson": _json_lines}.get(file.suffix.lower())
    if write is None:
        raise InputError(f"{file}: an export ends in .parquet or .jsonl")
    if index.view() is None:
        raise StoreError(f"{index.path}: there is no index here; make one with: disputatio ingest PATH")
    table = "documents" if documents else "passages"
    writing = report_faults(file, "writing the export")
    with index.open_record() as record, writing, platforms.whole_file(file) as part:
        manifest = record.manifest()
        done = write(part, _documents(record) if documents else _passages(record))
        expected = manifest.documents if documents else manifest.passages
        if done != expected:
            raise StoreError(
                f"{index.path}: {expected} {table} are on record and {done} could be read; "
                f"run: {check_command(index.path)}"
            )
    return done


def _documents(record: RecordFile) -> Rows:
    none = dict.fromkeys(EXPORTED, "") | {"relations": ()}
    rows = (none | row for row in record.documents())
    while batch := list(itertools.islice(rows, _BATCH)):
        yield [_row(row | {"relations": [*map(asdict, row["relations"])]}, DOCUMENT_COLUMNS) for row in batch]


def _passages(record: RecordFile) -> Rows:
    for passages, _ in record.passages(_BATCH):
        yield [_row(asdict(passage), PASSAGE_COLUMNS) for passage in passages]


def _row(fields: dict[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    return {name: fields[name] for name in columns}


def _parquet(part: Path, batches: Rows) -> int:
    with require_package("pyarrow", "arrow"):
        import pyarrow as pa
        from pyarrow import parquet

    def schema(names: list[str]) -> pa.Schema:
        return pa.schema([(name, pa.int64() if name in _NUMBERS else pa.string()) for name in names])

    done, writer = 0, None
    try:
        for rows in batches:
            for row in rows:
                for name in ("metadata", "relations"):
                    row[name] = json.dumps(row[name], ensure_ascii=False, sort_keys=True)
            table = pa.Table.from_pylist(rows, schema=schema(list(rows[0])))
            if writer is None:
                writer = parquet.ParquetWriter(part, table.schema, compression="zstd")
            writer.write_table(table)
            done += len(rows)
        if writer is None:
            parquet.write_table(pa.Table.from_pylist([], schema=schema(["id", "text"])), part)
    finally:
        if writer is not None:
            writer.close()
    return done


def _json_lines(part: Path, batches: Rows) -> int:
    done = 0
    with part.open("w", encoding="utf-8", errors="surrogatepass", newline="\n") as out:
        for rows in batches:
            out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            done += len(rows)
    return done
