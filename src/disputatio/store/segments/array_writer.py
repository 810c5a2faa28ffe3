"""Arrays written to files block by block, whole in memory at no time."""

from __future__ import annotations

import io
import os
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from disputatio.store.record.checksums import hash_file

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ArrayFile:
    """A new `.npy` file that grows by rows, or whose rows are put anywhere; on disk when it has been left.

    A row has the shape `row_shape`. `rows` counts those that were written in order; `hexdigest` is the
    file's BLAKE2b-128 afterwards. Where `length` is known it is hashed as it is written, else read again.
    """

    def __init__(
        self, path: Path, kind: str, row_shape: tuple[int, ...] = (), *, length: int | None = None
    ) -> None:
        self.path, self.rows, self.hexdigest = path, 0, ""
        self._kind, self._row_shape, self._length = np.dtype(kind), row_shape, length
        self._hash = None if length is None else blake2b(digest_size=16)

    def __enter__(self) -> Self:
        self._file: io.BufferedWriter = self.path.open("wb")
        header = self._header(self._length or 0)
        self.begin = len(header)
        self._put(header)
        return self

    def write(self, block: NDArray[Any]) -> None:
        """More rows."""
        self._put(self._bytes(block))
        self.rows += len(block)

    def put(self, at: int, values: NDArray[Any]) -> None:
        """Values from the place `at` on, counted in values from the first; the file is hashed at its end."""
        self._hash = None
        self._file.seek(self.begin + at * self._kind.itemsize)
        self._file.write(self._bytes(values))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file as file:
            if kind is not None:
                return
            if self._length is None:
                file.seek(0)
                file.write(self._header(self.rows))
            file.flush()
            os.fsync(file.fileno())
        self.hexdigest = hash_file(self.path) if self._hash is None else self._hash.hexdigest()

    def _bytes(self, values: NDArray[Any]) -> bytes | memoryview:
        return np.ascontiguousarray(values, dtype=self._kind).data.cast("B") if values.size else b""

    def _put(self, data: bytes | memoryview) -> None:
        if self._hash is not None:
            self._hash.update(data)
        self._file.write(data)

    def _header(self, rows: int) -> bytes:
        """Return the header for so many rows; it has one length for all numbers of rows."""
        out = io.BytesIO()
        fields = {
            "descr": np.lib.format.dtype_to_descr(self._kind),
            "fortran_order": False,
            "shape": (rows, *self._row_shape),
        }
        np.lib.format.write_array_header_1_0(out, fields)
        return out.getvalue()
