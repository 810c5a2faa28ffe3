"""The fields of passages as they are shown: one line of UTF-8 a row, with its length and checksum.

Fields are joined by the unit separator (U+001F), which is read faster than JSON; a field that bears
one has it escaped by the record separator (U+001E).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from disputatio.errors import StoreError
from disputatio.store.ingesting.statements import read_metadata, write_metadata
from disputatio.types import Passage

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UNIT, _RECORD = "\x1f", "\x1e"
_FIELDS = 12
_ORIGIN = 7


def field_setters(kind: type) -> list[Callable[[Any, Any], None]]:
    """Return the setters of a frozen dataclass, for `object.__new__(kind)`: a third of the time of a call."""
    return [getattr(kind, field.name).__set__ for field in fields(kind)]


_new = object.__new__
(
    _text, _id, _source, _owner, _title, _url, _date, _date_origin, _date_quote, _version, _family,
    _authority, _relations, _by_people, _document, _start, _end, _metadata,
) = field_setters(Passage)  # fmt: skip


class Stored(NamedTuple):
    """`bytes` of all rows; row r is `bytes[starts[r]:starts[r + 1]]` with the CRC-32 `sums[r]`."""

    bytes: NDArray[np.uint8]
    starts: NDArray[np.int64]
    sums: NDArray[np.uint32]


def store(passages: Sequence[Passage]) -> Stored:
    lines = [_line(passage) for passage in passages]
    starts = np.zeros(len(lines) + 1, dtype=np.int64)
    np.cumsum([len(line) for line in lines], out=starts[1:])
    sums = np.array([zlib.crc32(line) for line in lines], dtype=np.uint32)
    return Stored(np.frombuffer(b"".join(lines), dtype=np.uint8), starts, sums)


def fetch(stored: Stored, rows: NDArray[np.int64], where: str) -> list[Passage]:
    """Return the passages of some rows; raises `StoreError`, naming `where`, for damaged bytes."""
    content = stored.bytes.data
    places = zip(
        rows.tolist(),
        stored.starts[rows].tolist(),
        stored.starts[rows + 1].tolist(),
        stored.sums[rows].tolist(),
        strict=True,
    )
    passages = []
    for row, begin, end, checksum in places:
        line = content[begin:end] if 0 <= begin < end else content[:0]
        if zlib.crc32(line) != checksum or not line:
            raise StoreError(
                f"{where}: the stored passage of row {row} is damaged; run: disputatio index check"
            )
        passages.append(_passage(str(line, "utf-8", "surrogatepass")))
    return passages


def _passage(line: str) -> Passage:
    parts = line.split(_UNIT)
    if _RECORD in line:
        parts = [field.replace(_RECORD + "1", _UNIT).replace(_RECORD + "0", _RECORD) for field in parts]
    if len(parts) == _FIELDS - 1:  # written before the origin of dates was kept
        parts.insert(_ORIGIN, "")
    text, name, source, owner, title, url, date, origin, document, start, end, metadata = parts
    passage = _new(Passage)
    _text(passage, text)
    _id(passage, name)
    _source(passage, source)
    _owner(passage, owner)
    _title(passage, title)
    _url(passage, url)
    _date(passage, date)
    _date_origin(passage, origin)
    _document(passage, document)
    _start(passage, int(start))
    _end(passage, int(end))
    values = read_metadata(metadata)
    _date_quote(passage, values.get("date_quote", ""))
    _version(passage, values.get("version", ""))
    _family(passage, values.get("family", ""))
    _authority(passage, values.get("authority", ""))
    _relations(passage, values.get("relations", ()))
    _by_people(passage, values.get("by_people", {}))
    _metadata(passage, values["metadata"])
    return passage


def _line(passage: Passage) -> bytes:
    parts = [
        passage.text,
        passage.id,
        passage.source,
        passage.owner,
        passage.title,
        passage.url,
        passage.date,
        passage.date_origin,
        passage.document,
        str(passage.start),
        str(passage.end),
        "" if (metadata := write_metadata(passage)) == "{}" else metadata,
    ]
    line = _UNIT.join(parts)
    if _RECORD in line or line.count(_UNIT) != _FIELDS - 1:
        line = _UNIT.join(
            field.replace(_RECORD, _RECORD + "0").replace(_UNIT, _RECORD + "1") for field in parts
        )
    return line.encode("utf-8", "surrogatepass")
