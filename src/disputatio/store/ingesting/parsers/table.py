"""Parquet, and plain formats inside of an archive or a mail: their rows, gathered into parts."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

from disputatio.store.ingesting.documents import FIELDS
from disputatio.store.ingesting.parsers import LARGEST_FILE, Format, ParsedPart, Parser
from disputatio.store.ingesting.rows import (
    LONG_ROW,
    LONGEST_ROW,
    Row,
    csv_rows,
    json_document,
    json_rows,
    name_fields,
    plain_fields,
    table_title,
    with_text,
)

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = (
    Format(
        kind="parquet",
        suffixes=(".parquet",),
        content_types=("application/vnd.apache.parquet",),
        packages={"pyarrow": "pyarrow"},
        largest=None,
        start=b"PAR1",
    ),
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

_BATCH_BYTES = 16_777_216
_MOST_COLUMNS = 100
_MOST_ROWS = 256
_MOST_CHARACTERS = 2_000_000


def parser_of(kind: str, name: str, columns: Mapping[str, str]) -> Parser:
    """Return the parser of a kind; a name that ends in .tsv says what parts its columns."""
    suffix = PurePath(name).suffix.lower()

    def parse(file: BinaryIO) -> Iterator[ParsedPart]:
        if kind == "parquet":
            yield from _parse_parquet(file, columns)
            return
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


def _parse_parquet(file: BinaryIO, columns: Mapping[str, str]) -> Iterator[ParsedPart]:
    """Yield every row as a document; columns of other than plain values are left out."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    table = pq.ParquetFile(file, memory_map=False, pre_buffer=False)
    schema = table.schema_arrow
    fields = dict(zip(schema.names, name_fields(schema.names, columns), strict=True))
    texts = [column for column, name in fields.items() if name == "text"]
    others = [
        each.name for each in schema if each.name not in texts and fields[each.name] and _is_plain(each.type)
    ]
    others.sort(key=lambda column: fields[column] not in FIELDS)  # metadata last, where columns are too many
    read = [*texts, *others][:_MOST_COLUMNS]
    yield from gather_rows(_rows(table, {column: fields[column] for column in read}))


def _is_plain(kind: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    tests = (
        pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_integer,
        pa.types.is_floating, pa.types.is_date, pa.types.is_timestamp, pa.types.is_decimal,
    )  # fmt: skip
    return any(test(kind) for test in tests)


def _rows(table: Any, fields: Mapping[str, str]) -> Iterator[Row]:
    number = 0
    for group in range(table.num_row_groups):
        about = table.metadata.row_group(group)
        row_bytes = max(1, about.total_byte_size // max(1, about.num_rows))
        batch_rows = max(1, min(1024, _BATCH_BYTES // row_bytes))
        batches = table.iter_batches(
            batch_size=batch_rows, row_groups=[group], columns=list(fields), use_threads=False
        )
        for batch in batches:
            columns = [_whole(batch.column(column)) for column in range(batch.num_columns)]
            for row in range(batch.num_rows):
                number += 1
                values = {
                    name: column[row].as_py()
                    for name, column in zip(batch.schema.names, columns, strict=True)
                }
                yield number, _fields(values, fields)


def _whole(column: Any) -> Any:
    """Return a column whose times Python can hold: it knows no nanoseconds."""
    import pyarrow as pa

    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        return column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return column


def _fields(values: Mapping[str, Any], fields: Mapping[str, str]) -> Mapping[str, object] | str:
    row = {fields[column]: plain(value) for column, value in values.items() if value is not None}
    text = row.get("text")
    if isinstance(text, str) and len(text) > LONGEST_ROW:
        return LONG_ROW
    return row


def plain(value: Any) -> object:
    """Return a value of a table as JSON holds it; dates as ISO writes them."""
    if isinstance(value, datetime.date):  # or a moment
        return value.isoformat()
    return value if isinstance(value, str | int | float | list | dict) else str(value)
