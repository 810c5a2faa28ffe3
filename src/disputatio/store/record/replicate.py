"""Copies of an index for readers: segments, which never change, first, then the record, the manifest last.

Either side is a folder or the URL of a bucket (`s3://`, `gs://`, `file://`: what Arrow opens). One machine
writes an index and syncs it to a bucket; each reader syncs the bucket to a folder of its own, where
segments can be mapped into memory. A reader of the target sees the state before a sync or the one
after it, whenever the sync is cut short; the next one takes up what is there. Two machines must not sync to
one place: where several write, PostgreSQL or a vector engine keeps the index.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import tempfile
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, Protocol, cast
from urllib.parse import unquote, urlsplit

from disputatio import platforms
from disputatio.errors import BucketFault, InputError, StoreError, require_package
from disputatio.store.addresses import is_served, mask_secrets
from disputatio.store.record import manifest as manifests
from disputatio.store.record.database import open_record, replace_record
from disputatio.store.record.layout import LARGEST_NOTE, refuse_links
from disputatio.store.record.manifest import LOCK, MARK, RECORD, SEGMENTS, Manifest, lock_index, report_faults
from disputatio.store.reliabilities import NAME as RELIABILITIES

# --- places of an index: a folder, a bucket -----------------------------------------------------------
_BLOCK = 1 << 20


class CopyPlace(Protocol):
    """A place of an index. Names are relative, with `/`; a missing file is a `FileNotFoundError`."""

    @abstractmethod
    def read(self, name: str) -> IO[bytes]: ...

    @abstractmethod
    def put(self, name: str, source: IO[bytes], digest: str = "") -> int:
        """Write a file and tell its size; raises `StoreError` unless it hashes to `digest`, where given."""

    @abstractmethod
    def replace(self, name: str, source: IO[bytes]) -> int:
        """Put other bytes in a file's place, and tell their number: a reader has the old ones or the new."""

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
        with require_package("pyarrow", "arrow"):
            from pyarrow import ArrowInvalid, fs
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


_TRIES = 5
_OURS = (LOCK, MARK, RECORD, RELIABILITIES, SEGMENTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """A sync in figures: the commit that the target now is at, files and bytes copied."""

    commit: int
    files: int
    bytes: int


def sync(source: str | Path, target: str | Path, *, tables: bool = True) -> Synced:
    """Bring `target` to the state of the index at `source`; segments that it has are not copied again.

    Segments are compared with the manifest's hashes on their way, the record with the checksums of its rows;
    it is copied whole, as it is at one commit. `tables=False` leaves out the record, which a search does not
    need (documents cannot be listed or exported from such a copy, nor anything added to it). What neither
    this state nor the one before needs is removed from the target.

    Raises `StoreError` when the source is no index, damaged or holds a link, when the target is ahead of it
    (it is another index then), or cannot be written to; `BucketFault` when a bucket fails, which leaves the
    state before: the next sync takes up what has been copied. Raises `InputError` for an address of a server.
    """
    for place in (source, target):
        if is_served(place):
            raise InputError(
                f"{mask_secrets(place)}: is kept by a server; a sync is between folders and buckets"
            )
        if (folder := _folder_of(place)) is not None:
            refuse_links(folder)
    here, there = place_of(source), place_of(target)
    with _told(source, target):
        _manifest_of(here, source)  # before anything is made at the target
    with _told(source, target), _lock_target(target):
        before = _manifest(there, target)
        if before is not None and not _is_there(there, MARK):
            raise StoreError(f"{target}: is an index of its own, not a copy; choose an empty place")
        lost: OSError = FileNotFoundError()
        for _ in range(_TRIES):
            try:
                with _state(here, source, tables=tables) as (now, record):
                    if before is not None and before.number > now.number:
                        raise StoreError(
                            f"{target}: is at commit {before.number}, ahead of {source} at {now.number}: "
                            "it is a copy of another index, or was written to; choose an empty place"
                        )
                    if before is None:
                        there.replace(MARK, io.BytesIO(json.dumps({"of": str(source)}).encode()))
                    return _copy(here, there, now, before, record)
            except FileNotFoundError as error:
                lost = error  # merged away meanwhile: try the newest state
    raise StoreError(f"{source}: lacks a file that its manifest names: {lost.filename or lost}")


def _manifest_of(here: CopyPlace, source: str | Path) -> Manifest:
    """Return the manifest of a source; raises `StoreError` if it is no index."""
    if (manifest := _manifest(here, source)) is None:
        raise StoreError(f"{source}: there is no index here")
    return manifest


@contextmanager
def _state(here: CopyPlace, source: str | Path, *, tables: bool) -> Iterator[tuple[Manifest, Path | None]]:
    """Give the manifest of the source, and its record at that commit as a file of this machine."""
    now = _manifest_of(here, source)
    if not tables or (_is_there(here, MARK) and not _is_there(here, RECORD)):
        yield now, None
        return
    with tempfile.TemporaryDirectory(prefix="disputatio-") as scratch:
        copy = Path(scratch)
        folder = _folder_of(source)
        if folder is not None:
            with open_record(folder) as record:
                record.copy_to(copy / RECORD)
        else:
            with here.read(RECORD) as raw, (copy / RECORD).open("wb") as out:
                shutil.copyfileobj(raw, out, 1 << 20)
        try:
            with open_record(copy) as record:
                problems = record.problems()
                now = record.manifest()  # whose segments were put before the record
        except StoreError as error:
            problems = [str(error).rpartition("failed: ")[2].partition(";")[0]]
        if problems:
            raise StoreError(
                f"{source}: {RECORD} is damaged at the source ({problems[0]}); repair it with: "
                "disputatio index check"
            )
        yield now, copy / RECORD


def _copy(
    here: CopyPlace, there: CopyPlace, now: Manifest, before: Manifest | None, record: Path | None
) -> Synced:
    files = size = 0
    copied = there.names(SEGMENTS)
    # Only what the target's own manifest names is known to be whole: the rest was left by a sync cut short.
    known = {} if before is None else dict(_hashes(before))
    there.make(SEGMENTS)
    for name, digest in _hashes(now):
        if known.get(name) != digest or name not in copied:
            with here.read(f"{SEGMENTS}/{name}") as file:
                size += there.put(f"{SEGMENTS}/{name}", file, digest)
            files += 1
    if record is not None and not (before is not None and before == now and _is_there(there, RECORD)):
        with record.open("rb") as raw:
            size += there.replace(RECORD, raw)
        files += 1
    elif record is None:
        there.remove(RECORD)  # of another commit
    with contextlib.suppress(FileNotFoundError), here.read(RELIABILITIES) as estimates:
        there.replace(RELIABILITIES, io.BytesIO(_read_bounded(estimates, RELIABILITIES, LARGEST_NOTE)))
    there.replace(manifests.NAME, io.BytesIO(manifests.written(now)))
    used = {segment.name for state in (now, before) if state is not None for segment in state.segments}
    for name in {name.split("/")[0] for name in copied} - used:
        there.remove(f"{SEGMENTS}/{name}")
    return Synced(commit=now.number, files=files, bytes=size)


def _read_bounded(raw: IO[bytes], name: str, largest: int) -> bytes:
    """Read a small file; raises `StoreError` when there are more bytes than it can need."""
    content = raw.read(largest + 1)
    if len(content) > largest:
        raise StoreError(f"{name}: has more than {largest:,} bytes, which no index needs")
    return content


def _hashes(manifest: Manifest) -> Iterator[tuple[str, str]]:
    for segment in manifest.segments:
        yield from ((f"{segment.name}/{name}", digest) for name, digest in segment.files.items())
        if segment.dead:
            yield f"{segment.name}/{segment.dead}", segment.dead_hash


def _is_there(place: CopyPlace, name: str) -> bool:
    try:
        place.read(name).close()
    except FileNotFoundError:
        return False
    return True


def _manifest(place: CopyPlace, where: str | Path) -> Manifest | None:
    try:
        with place.read(manifests.NAME) as raw:
            content = _read_bounded(raw, manifests.NAME, LARGEST_NOTE)
            return manifests.parse(content, Path(str(where)) / manifests.NAME)
    except FileNotFoundError:
        return None


def _folder_of(where: str | Path) -> Path | None:
    """Return the folder of this machine that a place is; None for a bucket elsewhere."""
    if not isinstance(where, str) or "://" not in where:
        return Path(where)
    url = urlsplit(where)
    return Path(unquote(url.path)) if url.scheme == "file" else None


@contextmanager
def _told(source: str | Path, target: str | Path) -> Iterator[None]:
    """Raise faults of either side in one line; where one of them is a bucket, as faults from outside."""
    bucket = next((str(place) for place in (target, source) if "://" in str(place)), "")
    try:
        with report_faults(Path(str(target)), "copying the index"):
            yield
    except StoreError as error:
        cause = error.__cause__
        if not bucket or not isinstance(cause, OSError) or isinstance(cause, FileNotFoundError):
            raise
        reason = " ".join(str(cause).split())[:300]
        raise BucketFault(f"{_shown(bucket)}: copying the index failed: {reason}") from error


@contextmanager
def _lock_target(target: str | Path) -> Iterator[None]:
    """Hold the lock of a folder, so that nothing else writes to it; a bucket has none."""
    folder = _folder_of(target)
    if folder is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / manifests.NAME).exists():
        names = sorted(file.name for file in folder.iterdir() if file.name not in _OURS)
        # What a first sync that was cut short has left is no stranger.
        if strange := [name for name in names if not name.endswith((".part", ".json"))]:
            raise StoreError(
                f"{target}: holds {strange[0]}, which is no part of an index; choose an empty folder"
            )
    with lock_index(folder):
        yield


def _shown(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
