"""Rows as PostgreSQL's COPY takes them in binary: made from arrays and bytes at once, not value by value."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BEGIN = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_END = struct.pack(">h", -1)
_TEXT = 25  # the number of the type text
_COUNT, _LENGTH = struct.Struct(">h"), struct.Struct(">i")
_NULL = _LENGTH.pack(-1)


def copy_rows(connection: Any, into: str, data: Iterable[bytes]) -> None:
    """Copy rows into a table; `into` names it with its columns."""
    with connection.cursor().copy(f"COPY {into} FROM STDIN (FORMAT binary)") as copy:
        copy.write(_BEGIN)
        for each in data:
            copy.write(each)
        copy.write(_END)


def binary_row(*fields: bytes | None) -> bytes:
    """Return a row of fields as `text`, `whole`, `texts` and `vector` give them, None for NULL."""
    parts = [_COUNT.pack(len(fields))]
    for field in fields:
        parts += (_NULL,) if field is None else (_LENGTH.pack(len(field)), field)
    return b"".join(parts)


def text(value: str) -> bytes:
    """Return a text without the character zero, which PostgreSQL cannot keep; raises `UnicodeEncodeError`.

    >>> text("a\\x00b")
    b'a b'
    """
    return value.replace("\x00", " ").encode()


def whole(value: int, bits: int = 32) -> bytes:
    """Return a whole number of 32 or 64 bits."""
    return value.to_bytes(bits // 8, "big", signed=True)


def texts(values: Sequence[str]) -> bytes:
    """Return an array of texts; raises `UnicodeEncodeError`."""
    if not values:
        return struct.pack(">iii", 0, 0, _TEXT)
    encoded = [text(value) for value in values]
    head = struct.pack(">iiiii", 1, 0, _TEXT, len(encoded), 1)
    return head + b"".join(_LENGTH.pack(len(each)) + each for each in encoded)


def vector(values: NDArray[np.float32]) -> bytes:
    """Return a vector of pgvector."""
    return struct.pack(">hh", len(values), 0) + values.astype(">f4").tobytes()


def numbers(columns: Sequence[NDArray[np.int64] | NDArray[np.int32]]) -> bytes:
    """Return rows of whole numbers, a column each as wide as its numbers."""
    import numpy as np

    fields: list[tuple[str, str]] = [("count", ">i2")]
    for number, column in enumerate(columns):
        fields += [(f"size{number}", ">i4"), (f"value{number}", f">i{column.itemsize}")]
    rows = np.zeros(len(columns[0]), dtype=fields)
    rows["count"] = len(columns)
    for number, column in enumerate(columns):
        rows[f"size{number}"], rows[f"value{number}"] = column.itemsize, column
    return rows.tobytes()


def fetch_rows(connection: Any, query: str, values: Sequence[Any], types: Sequence[str]) -> NDArray[Any]:
    """Return the rows of a query as an array; `types` are numpy's of its columns, which are never NULL."""
    import numpy as np

    fields: list[tuple[str, str]] = [("count", ">i2")]
    for number, kind in enumerate(types):
        fields += [(f"size{number}", ">i4"), (f"value{number}", f">{kind}")]
    with connection.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT binary)", values) as copy:
        data = b"".join(bytes(block) for block in copy)
    return np.frombuffer(data[len(_BEGIN) : -len(_END)], dtype=fields)
