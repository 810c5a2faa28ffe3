"""Parquet: the rows of a table with a column of text, a few at a time."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from disputatio.store.ingesting.documents import FIELDS
from disputatio.store.ingesting.parsers import Format, ParsedPart, Parser
from disputatio.store.ingesting.parsers.table import gather_rows
from disputatio.store.ingesting.rows import LONG_ROW, LONGEST_ROW, Row, named_fields

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
)

_BATCH_BYTES = 16_777_216
_MOST_COLUMNS = 100


def parser_of(_kind: str, _name: str, columns: Mapping[str, str]) -> Parser:
    """Return the parser of a Parquet file; `columns` maps fields to the columns that hold them."""
    return lambda file: _parse(file, columns)


def _parse(file: BinaryIO, columns: Mapping[str, str]) -> Iterator[ParsedPart]:
    """Yield every row as a document; columns of other than plain values are left out."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    table = pq.ParquetFile(file, memory_map=False, pre_buffer=False)
    schema = table.schema_arrow
    fields = dict(zip(schema.names, named_fields(schema.names, columns), strict=True))
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
    """Return a row by its fields, or why it is refused."""
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
