"""Estimates from a table of answers that were collected elsewhere: read as a stream, written as a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from disputatio.calibration.estimates import with_figures
from disputatio.errors import InputError, StoreError, require_package
from disputatio.platforms import whole_file
from disputatio.reliability.answers import COLUMNS, Answers, SourceFigures
from disputatio.types import Source

if TYPE_CHECKING:
    import pyarrow as pa

_FORMATS: dict[str, Any] = {
    ".parquet": "parquet", ".arrow": "ipc", ".feather": "ipc", ".csv": "csv", ".jsonl": "json"
}  # fmt: skip
_ROWS = 262_144  # of a batch


def read_answers(path: Path, into: Answers) -> int:
    """Add the rows of a table to the answers, batch by batch; return their number.

    The table (`_FORMATS`) has the columns question, source, answer, and optionally truth, the right answer if
    it is known. Raises `InputError` if the file is missing, is no such table or has no answers.
    """
    columns = [*COLUMNS, "truth"]
    with _batches(path) as batches:
        read = into.add_batches(
            batch.select([name for name in columns if name in batch.schema.names]) for batch in batches
        )
    if not read:
        raise InputError(f"{path}: has no answers")
    return read


@contextmanager
def _batches(path: Path) -> Iterator[Iterator[pa.RecordBatch]]:
    """Open the record batches of a file; raises `InputError` of one line for an unreadable one."""
    with require_package("pyarrow", "arrow"):
        import pyarrow as pa
        import pyarrow.dataset as ds
    if path.suffix.lower() not in _FORMATS:
        raise InputError(f"{path}: a table of answers is one of {', '.join(_FORMATS)}")
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    try:
        table = ds.dataset(path, format=_FORMATS[path.suffix.lower()])
        yield table.to_batches(batch_size=_ROWS)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{path}: cannot be read as a table: {' '.join(str(error).split())[:200]}"
        ) from error


def write_figures(figures: SourceFigures, path: Path) -> None:
    """Write a row for each source (.parquet or .csv), whole or not at all; raises `StoreError`."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    names = np.array(figures.names, dtype=object)
    columns: dict[str, Any] = {"source": pa.array(names, pa.string())}
    for name in ("reliability", "low", "high"):
        columns[name] = pa.array(getattr(figures, name), mask=~figures.checked)
    for name in ("answered", "agreed"):
        columns[name] = pa.array(getattr(figures, name))
    table = pa.table({**columns, "group": pa.array(names[figures.group], pa.string())})
    try:
        with whole_file(path) as part:
            (pyarrow.csv.write_csv if path.suffix == ".csv" else pyarrow.parquet.write_table)(table, part)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error


def check_out(path: Path) -> None:
    """Raise `InputError` unless estimates can be written as `path`."""
    if path.suffix not in (".parquet", ".csv"):
        raise InputError(f"{path}: estimates are written as .parquet or .csv")
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: there is no such folder")


def sources_of(figures: SourceFigures, questions: int, day: str) -> dict[str, Source]:
    """Return the estimates by name, as an index keeps them; those that could not be compared are left out."""
    group_size = np.bincount(figures.group, minlength=len(figures.names))
    return {
        name: with_figures(
            figures,
            at,
            Source(
                name=name,
                questions=questions,
                group=figures.names[int(figures.group[at])] if group_size[figures.group[at]] > 1 else "",
                updated=day,
            ),
        )
        for at, name in enumerate(figures.names)
        if figures.checked[at]
    }
