"""Rows read from a table whose files are damaged, by a child process, since reading those may kill it.

    python -m disputatio.store.record.salvage INDEX TABLE VERSION FIRST END BATCH FILE

writes the rows from FIRST to END that can be read and whose checksum is right to an Arrow file, batch
by batch, each with the number of the row after it, so that what was read before a crash is kept.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disputatio.store.record.manifest import TableVersion
from disputatio.store.record.tables import DOCUMENT_COLUMNS, PASSAGE_COLUMNS, connect, row_check

if TYPE_CHECKING:
    from pyarrow import RecordBatch

_BATCH = 1024
_SMALLEST = 16
_MOST_CHILDREN = 40
_SECONDS = 600
_NEXT = b"next"


def salvaged(path: Path, table: TableVersion) -> Iterator[RecordBatch]:
    """Yield the good rows of a damaged table, in their order; rows that crash their reader are given up."""
    waiting = [(0, table.rows, _BATCH)]
    children = 0
    with tempfile.TemporaryDirectory(prefix="salvage-") as folder:
        while waiting and children < _MOST_CHILDREN:
            first, end, size = waiting.pop(0)
            children += 1
            part = Path(folder, f"{children}.arrow")
            arguments = [str(path), table.name, table.version, first, end, size, part]
            command = [sys.executable, "-m", "disputatio.store.record.salvage", *map(str, arguments)]
            done = first
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
            if not part.exists():
                return  # the table cannot even be opened
            for batch, following in _read(part):
                done = following
                if batch.num_rows:
                    yield batch
            if done < end:  # the batch at `done` killed its reader
                stuck = min(end, done + size)
                rest = [(stuck, end, size)] if stuck < end else []
                if size > _SMALLEST:
                    rest.insert(0, (done, stuck, max(_SMALLEST, size // 8)))
                waiting[:0] = rest


def good_rows(batch: RecordBatch) -> RecordBatch:
    """Return the rows of a batch whose checksum is right; raises what a batch that cannot be
    decoded raises.
    """
    import pyarrow as pa

    good = [at for at, row in enumerate(batch.to_pylist()) if row_is_good(row)]
    if len(good) == batch.num_rows:
        return batch
    return batch.take(pa.array(good, pa.int64()))


def row_is_good(row: dict[str, Any]) -> bool:
    """Return whether a row, of documents or of passages, is what was written; of files, whether it is one."""
    import numpy as np

    if "check" not in row:
        return all(value is not None for value in row.values())
    names = (*DOCUMENT_COLUMNS, "row") if "entry" in row else (*PASSAGE_COLUMNS, "start", "end")
    vector = b""
    if "vector" in row:
        if row["vector"] is None or None in row["vector"]:
            return False
        vector = np.array(row["vector"], dtype="<f4").tobytes()
    try:
        return bool(row_check((row[name] for name in names), vector) == row["check"])
    except (TypeError, ValueError):
        return False


def _read(part: Path) -> Iterator[tuple[RecordBatch, int]]:
    """Yield what a child has written, as far as it came: each batch with the number of the row after it."""
    import pyarrow as pa

    if not part.exists():
        return
    with part.open("rb") as raw:
        try:
            reader = pa.ipc.open_stream(raw)
            while True:
                batch, metadata = reader.read_next_batch_with_custom_metadata()
                yield batch, int(metadata[_NEXT])
        except (pa.ArrowInvalid, OSError, StopIteration):
            return


def _salvage(path: Path, version: TableVersion, first: int, size: int, part: Path) -> None:
    import pyarrow as pa

    table, end = connect(path).open_table(version.name), version.rows
    table.checkout(version.version)
    columns = table.schema
    with part.open("wb") as raw, pa.ipc.new_stream(raw, columns) as out:
        for at in range(first, end, size):
            stop = min(end, at + size)
            batches = [batch.cast(columns) for batch in _range(table, at, stop)]
            merged = pa.Table.from_batches(batches, columns).combine_chunks().to_batches()
            for whole_or_empty in merged or [pa.RecordBatch.from_pylist([], schema=columns)]:
                out.write_batch(whole_or_empty, custom_metadata={_NEXT: b"%d" % stop})
            raw.flush()


def _range(table: Any, first: int, end: int) -> list[RecordBatch]:
    """Return the good rows from `first` to `end`, halving what cannot be read."""
    rows = _rows(table, first, end)
    if rows is not None:
        return rows
    if end - first == 1:
        return []
    middle = (first + end) // 2
    if end - first > _SMALLEST:
        # Where a whole page is unreadable there is no use in trying each of its rows.
        tried = (_rows(table, row, row + 1) for row in (first, middle, end - 1))
        if all(batches is None for batches in tried):
            return []
    return [*_range(table, first, middle), *_range(table, middle, end)]


def _rows(table: Any, first: int, end: int) -> list[RecordBatch] | None:
    try:
        rows = table.search().offset(first).limit(end - first).to_arrow()
        if rows.num_rows == end - first:
            return [good_rows(batch) for batch in rows.to_batches()]
    except BaseException as error:  # a panic of the engine is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
    return None


if __name__ == "__main__":
    _path, _name, _version, _first, _end, _size, _part = sys.argv[1:]
    _table = TableVersion(name=_name, version=int(_version), rows=int(_end))
    _salvage(Path(_path), _table, int(_first), int(_size), Path(_part))
