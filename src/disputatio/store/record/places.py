"""Places that an index is copied from or to: a folder of this machine, or a bucket as Arrow opens it."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from abc import abstractmethod
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, Protocol, cast

from disputatio import platforms
from disputatio.errors import BucketFault, MissingDependency, StoreError
from disputatio.store.record import manifest as manifests
from disputatio.store.record.database import replace_record

_BLOCK = 1 << 20


class CopyPlace(Protocol):
    """A place of an index. Names are relative, with `/`; a missing file is a `FileNotFoundError`."""

    @abstractmethod
    def read(self, name: str) -> IO[bytes]: ...

    @abstractmethod
    def put(self, name: str, source: IO[bytes], digest: str = "") -> int:
        """Write a file and tell its size; raises `StoreError` unless it hashes to `digest`, where given."""

    @abstractmethod
    def switch(self, name: str, raw: bytes) -> None:
        """Put bytes in a file's place: whoever reads it has the old ones or the new ones."""

    @abstractmethod
    def replace(self, name: str, source: IO[bytes]) -> int:
        """As `switch`, with the bytes of a stream; their number."""

    @abstractmethod
    def names(self, folder: str) -> dict[str, int]:
        """Return the files at any depth below a folder, with their sizes."""

    @abstractmethod
    def make(self, folder: str) -> None: ...

    @abstractmethod
    def remove(self, name: str) -> None: ...


class _Hashed(io.RawIOBase):
    """A stream that is hashed as it is read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._hash = stream, blake2b(digest_size=16)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        block = self._stream.read(size)
        self._hash.update(block)
        return block

    def check(self, name: str, digest: str) -> None:
        """Raise `StoreError` unless what was read hashes to `digest`, where one is given."""
        if digest and self._hash.hexdigest() != digest:
            raise StoreError(f"{name}: is damaged at the source; repair it with: disputatio index check")


class Folder:
    """A folder of this machine: what is put there is on its disk when that returns."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, name: str) -> IO[bytes]:
        return (self._path / name).open("rb")

    def put(self, name: str, source: IO[bytes], digest: str = "") -> int:
        file = self._path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        hashed = _Hashed(source)
        # Beside its place first: what a sync that was cut short put in force may name the file.
        part = file.with_name(f"{file.name}.part")
        with part.open("wb") as out:
            shutil.copyfileobj(hashed, out, _BLOCK)
            out.flush()
            os.fsync(out.fileno())
            size = out.tell()
        hashed.check(name, digest)
        platforms.replace(part, file)
        for folder in (file.parent, file.parent.parent):
            platforms.sync_folder(folder)
        return size

    def switch(self, name: str, raw: bytes) -> None:
        manifests.replace_file(self._path / name, raw)

    def replace(self, name: str, source: IO[bytes]) -> int:
        size = self.put(f"{name}.part", source)
        replace_record(self._path / f"{name}.part", self._path / name)
        return size

    def names(self, folder: str) -> dict[str, int]:
        root = self._path / folder
        return {
            str(file.relative_to(root)): file.stat().st_size
            for file in sorted(root.rglob("*"))
            if file.is_file() and file.suffix != ".part"
        }

    def make(self, folder: str) -> None:
        (self._path / folder).mkdir(exist_ok=True)

    def remove(self, name: str) -> None:
        place = self._path / name
        if place.is_dir():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)


class Bucket:
    """An object store, as Arrow opens it."""

    def __init__(self, url: str) -> None:
        try:
            from pyarrow import ArrowInvalid, fs
        except ImportError as error:
            raise MissingDependency("pyarrow", "arrow") from error
        try:
            self._files, root = fs.FileSystem.from_uri(url)
        except (ArrowInvalid, OSError) as error:
            raise BucketFault(f"{url}: cannot be opened: {str(error).splitlines()[0][:200]}") from error
        self._root = root.rstrip("/")

    def read(self, name: str) -> IO[bytes]:
        stream: Any = self._files.open_input_stream(f"{self._root}/{name}")
        return cast("IO[bytes]", stream)

    def put(self, name: str, source: IO[bytes], digest: str = "") -> int:
        path = f"{self._root}/{name}"
        self._files.create_dir(path.rpartition("/")[0], recursive=True)
        hashed = _Hashed(source)
        size = 0
        with self._files.open_output_stream(path) as out:
            while block := hashed.read(_BLOCK):
                size += out.write(block)
        hashed.check(name, digest)
        return size

    def switch(self, name: str, raw: bytes) -> None:
        self.replace(name, io.BytesIO(raw))

    def replace(self, name: str, source: IO[bytes]) -> int:
        # Some stores show a file while it is written; none of them shows a move half done.
        size = self.put(f"{name}.part", source)
        self._files.move(f"{self._root}/{name}.part", f"{self._root}/{name}")
        return size

    def names(self, folder: str) -> dict[str, int]:
        from pyarrow import fs

        base = f"{self._root}/{folder}"
        chosen = fs.FileSelector(base, allow_not_found=True, recursive=True)
        files = [file for file in self._files.get_file_info(chosen) if file.is_file]
        return {
            file.path.removeprefix(f"{base}/"): file.size
            for file in sorted(files, key=lambda file: str(file.path))
            if not file.path.endswith(".part")
        }

    def make(self, folder: str) -> None:
        self._files.create_dir(f"{self._root}/{folder}", recursive=True)

    def remove(self, name: str) -> None:
        place = f"{self._root}/{name}"
        with contextlib.suppress(FileNotFoundError):
            if self._files.get_file_info(place).is_file:
                self._files.delete_file(place)
            else:
                self._files.delete_dir(place)


def place_of(where: str | Path) -> CopyPlace:
    """Return the place of a path or a URL; raises `BucketFault` for a bucket that cannot be opened."""
    return Bucket(where) if isinstance(where, str) and "://" in where else Folder(Path(where))
