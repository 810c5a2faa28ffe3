"""Arrays as files of a folder: what is opened is what was written, or is refused.

A file is small enough to be read whole, and then its hash is compared at once; or it is mapped, and its hash
is compared beside the first search (`Verification`). The header of a file is checked against its size
before any memory is taken for it.
"""

from __future__ import annotations

import io
import math
import os
import threading
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from disputatio.errors import StoreError
from disputatio.store.record.layout import open_plain
from disputatio.store.record.manifest import hash_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

SMALL = 65536  # bytes; a smaller file is read, not mapped
_LARGEST_HEADER = 4096
_REPAIR = "run: disputatio index check"


class Hashed(NamedTuple):
    """A file with the BLAKE2b-128, in hex, that it was written with."""

    file: Path
    digest: str


def read_whole(path: Path, digest: str, largest: int) -> bytes:
    """Read a small file; raises `StoreError` unless it hashes to `digest`, where one is given."""
    with _open_file(path) as raw:
        content = raw.read(largest + 1)
    if len(content) > largest:
        raise StoreError(f"{path}: has more than {largest:,} bytes, which no index needs; {_REPAIR}")
    if digest and blake2b(content, digest_size=16).hexdigest() != digest:
        raise make_change_error(path)
    return content


def read_array(
    path: Path, kind: str, shape: Sequence[int | None], digest: str = ""
) -> tuple[NDArray[Any], Hashed | None]:
    """Return the array of a file, and the file itself where its hash is still to be compared.

    `shape` has None where any length will do. Raises `StoreError` when the array is another, or not whole.
    """
    with _open_file(path) as raw:
        size = os.fstat(raw.fileno()).st_size
        if size > SMALL:
            length, begin = _read_header(raw, path, kind, shape, size)
            mapped = np.memmap(raw, dtype=kind, mode="r", offset=begin, shape=length)
            return np.asarray(mapped), Hashed(path, digest) if digest else None
    return array_of(read_whole(path, digest, SMALL), path, kind, shape), None


def array_of(raw: bytes, path: Path, kind: str, shape: Sequence[int | None]) -> NDArray[Any]:
    """Return the array that the bytes of `path` hold; raises as `read_array` does."""
    length, begin = _read_header(io.BytesIO(raw), path, kind, shape, len(raw))
    return np.frombuffer(raw, dtype=kind, offset=begin).reshape(length)


def _read_header(
    source: io.BufferedIOBase, path: Path, kind: str, shape: Sequence[int | None], size: int
) -> tuple[tuple[int, ...], int]:
    """Read the shape of a file's array and the offset of its numbers; raises `StoreError` for damage."""
    try:
        version = np.lib.format.read_magic(source)
        if version != (1, 0):
            raise ValueError("a version of the format that is not written here")
        length, is_column_wise, dtype = np.lib.format.read_array_header_1_0(
            source, max_header_size=_LARGEST_HEADER
        )
    except (ValueError, EOFError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise StoreError(f"{path}: is cut short or damaged; {_REPAIR}") from error
    fits = len(length) == len(shape) and all(
        got >= 0 and want in (None, got) for want, got in zip(shape, length, strict=True)
    )
    if dtype != np.dtype(kind) or not fits or (is_column_wise and len(length) > 1):
        raise StoreError(f"{path}: does not fit its segment; {_REPAIR}")
    if source.tell() + math.prod(length) * dtype.itemsize != size:
        raise StoreError(f"{path}: is cut short or too long; {_REPAIR}")
    return length, source.tell()


def _open_file(path: Path) -> io.BufferedReader:
    try:
        return open_plain(path)
    except OSError as error:
        raise StoreError(f"{path}: is missing or cannot be read; {_REPAIR}") from error


def make_change_error(path: Path) -> StoreError:
    return StoreError(f"{path}: its bytes have changed since they were written; {_REPAIR}")


class Verification:
    """The hashes of mapped files (`bytes` in all), compared beside the search; threads may share it."""

    def __init__(self, files: Sequence[Hashed]) -> None:
        self._files = tuple(files)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._verified: list[Hashed] = []
        self._damaged: list[Path] = []
        self._is_done = not files
        self.bytes = sum(map(_size, self._files))

    @property
    def verified(self) -> frozenset[Hashed]:
        """The files whose hashes were compared and are right."""
        return frozenset(self._verified)

    def start(self) -> None:
        with self._lock:
            if self._thread is None and not self._is_done:
                self._thread = threading.Thread(target=self._run, name="verify index", daemon=True)
                self._thread.start()

    def check(self, *, wait: bool) -> None:
        """Raise `StoreError` for a file that has changed, as far as is known; with `wait` all is known."""
        if not self._is_done:
            self.start()
            if wait and self._thread is not None:
                self._thread.join()
        if self._damaged:
            raise make_change_error(self._damaged[0])

    def _run(self) -> None:
        for hashed in self._files:
            if differs(hashed):
                self._damaged.append(hashed.file)
                break
            self._verified.append(hashed)
        self._is_done = True


def _size(hashed: Hashed) -> int:
    try:
        return hashed.file.stat().st_size
    except OSError:
        return 0  # merged away: its successor has hashes of its own


def differs(hashed: Hashed) -> bool:
    """Return whether the bytes of a file differ from its hash; False for one that was merged away."""
    try:
        return hash_file(hashed.file) != hashed.digest
    except FileNotFoundError:
        return False
    except OSError:
        return True


def write_hashed(path: Path, data: bytes) -> str:
    """Write a new file, flush it to disk, and return its BLAKE2b-128."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return blake2b(data, digest_size=16).hexdigest()


class ArrayFile:
    """A new `.npy` file, of a known `length`, growing by `rows`, or written anywhere; hashed once left."""

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
        self._put(self._bytes(block))
        self.rows += len(block)

    def put(self, at: int, values: NDArray[Any]) -> None:
        """Write values from position `at` on, counted in values; the file is then hashed at its end."""
        self._hash = None
        self._file.seek(self.begin + at * self._kind.itemsize)
        self._file.write(self._bytes(values))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
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
