"""Parquet: the rows of a table with a column of text, a few at a time."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from disputatio.store.ingesting.parsers import Part, Refused
from disputatio.store.ingesting.parsers.table import in_parts
from disputatio.store.ingesting.rows import LONGEST_ROW, Row

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_BYTES = 16_777_216
_MOST_COLUMNS = 100


def parse(file: BinaryIO) -> Iterator[Part]:
    """Every row as a document; columns of other than plain values are left out."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    table = pq.ParquetFile(file, memory_map=False, pre_buffer=False)
    schema = table.schema_arrow
    names = [field.name for field in schema if _is_plain(field.type)][:_MOST_COLUMNS]
    text = next((name for name in schema.names if name.strip().lower() == "text"), None)
    if text is None:
        raise Refused(f"has no column 'text' (its columns: {', '.join(schema.names)[:120]})")
    if text not in names:
        names = [text, *names]
    yield from in_parts(_rows(table, names, text))


def _is_plain(kind: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    tests = (
        pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_integer,
        pa.types.is_floating, pa.types.is_date, pa.types.is_timestamp, pa.types.is_decimal,
    )  # fmt: skip
    return any(test(kind) for test in tests)


def _rows(table: Any, names: list[str], text: str) -> Iterator[Row]:
    number = 0
    for group in range(table.num_row_groups):
        about = table.metadata.row_group(group)
        each = max(1, about.total_byte_size // max(1, about.num_rows))
        batch_rows = max(1, min(1024, _BATCH_BYTES // each))
        batches = table.iter_batches(
            batch_size=batch_rows, row_groups=[group], columns=names, use_threads=False
        )
        for batch in batches:
            columns = [_whole(batch.column(place)) for place in range(batch.num_columns)]
            for place in range(batch.num_rows):
                number += 1
                values = {
                    name: column[place].as_py()
                    for name, column in zip(batch.schema.names, columns, strict=True)
                }
                yield number, _fields(values, text)


def _whole(column: Any) -> Any:
    """A column whose times Python can hold: it knows no nanoseconds."""
    import pyarrow as pa

    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        return column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return column


def _fields(values: Mapping[str, Any], text: str) -> Mapping[str, object] | str:
    words = values.get(text)
    if isinstance(words, str) and len(words) > LONGEST_ROW:
        return f"is longer than {LONGEST_ROW >> 20} MB, the limit of a row"
    fields = {}
    for name, value in values.items():
        if value is not None:
            fields["text" if name == text else name.strip().lower()] = _plain(value)
    return fields


def _plain(value: Any) -> object:
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value if isinstance(value, str | int | float | list | dict) else str(value)
