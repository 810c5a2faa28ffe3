"""The manifest: what an index holds, as a small file for readers.

The record (`database`) holds the manifest too, and the commit is the record's: rows and manifest change in
one transaction. `manifest.json` follows: it is written aside, flushed to the disk and renamed, so that a
reader finds the old one or the new one, and needs no database. A commit is acknowledged once both are on the
disk; a writer that finds the file behind the record brings it forward. What a manifest names (segments, files
of dead rows) never changes, and it carries a checksum of itself.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from disputatio import platforms
from disputatio.errors import IndexBusy, IndexVersion, StoreError
from disputatio.store.record.layout import check_manifest, read_bytes, refuse_link, refuse_links

FORMAT = 4
LANCE = (2, 3)
"""Formats whose record was tables of LanceDB: `convert` reads the last of them."""
NAME = "manifest.json"
RECORD = "record.sqlite"
MARK = "replica.json"
"""Lies in a copy and names its source: an index without it is an original, and nothing is copied over it."""
FIRST_NOTE = "disputatio.json"  # in the manifest's place in format 1
SEGMENTS = "segments"
LOCK = "writer.lock"
PATIENCE = 2.0  # seconds for which a writer waits for another: one change of a document takes a moment
_AGAIN = 0.02  # seconds between two tries
_KEY = "disputatio index"


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentEntry:
    """A segment of an index. `files` maps the names of its files to their BLAKE2b-128, in hex.

    `dead` names the file of dead rows in its folder, empty where none is dead; `dead_rows` counts them.
    """

    name: str
    rows: int
    files: Mapping[str, str]
    dead: str = ""
    dead_rows: int = 0
    dead_hash: str = ""

    @property
    def live(self) -> int:
        return self.rows - self.dead_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The state of an index at a commit: its number, the record's rows, how it was made, its segments."""

    number: int
    documents: int = 0
    passages: int = 0
    files: int = 0
    embedder: str = ""
    dimension: int = 0
    language: str = "english"
    segments: tuple[SegmentEntry, ...] = field(default=())

    @property
    def live(self) -> int:
        return sum(segment.live for segment in self.segments)


@contextmanager
def report_faults(path: Path, doing: str) -> Iterator[None]:
    """Raise faults of the disk and of the database as a `StoreError` of one line."""
    try:
        yield
    except (OSError, ValueError, sqlite3.Error) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        number = getattr(error, "errno", None)
        code = getattr(error, "sqlite_errorname", "")
        reason = lines[0][:200]
        if number in (errno.ENOSPC, errno.EDQUOT) or code == "SQLITE_FULL":
            reason = "the disk is full; make room and run it again"
        elif number == errno.EFBIG:
            reason = (
                "a file would be larger than may be written (ulimit -f); raise the limit and run it again"
            )
        elif code.startswith("SQLITE_IOERR"):
            reason = f"the disk refuses it, or a file would be larger than may be written ({reason})"
        elif number in (errno.EROFS, errno.EACCES, errno.EPERM) or code.startswith("SQLITE_READONLY"):
            reason = "the folder cannot be written to; make it writable, or work on a copy of it"
        elif isinstance(error, sqlite3.Error):
            reason = (
                f"{RECORD}: {reason}; copy the whole index again, or repair it with: {check_command(path)}"
            )
        raise StoreError(f"{path}: {doing} failed: {reason}") from error


def check_command(path: Path) -> str:
    return f"disputatio index check --index {path}"


def parse(raw: bytes, file: Path) -> Manifest:
    """Return the manifest in the bytes of `file`; raises `StoreError` for damage, `IndexVersion`."""
    damaged = StoreError(f"{file}: is damaged; repair it with: {check_command(file.parent)}")
    try:
        fields = json.loads(raw)
        version = fields.pop(_KEY)
        checksum = checksum_of(fields)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise damaged from error
    if version in LANCE and type(version) is int:
        raise old_version(file.parent, version)
    # A version of another program is not ours to verify: its checksum may be another.
    if isinstance(version, int) and version > FORMAT and fields.get("checksum") != checksum:
        raise IndexVersion(
            f"{file.parent}: is an index of version {version}, this program reads version {FORMAT}; "
            "use the program that wrote it, or ingest the documents into a new folder"
        )
    if version != FORMAT or fields.pop("checksum", None) != checksum:
        raise damaged
    try:
        check_manifest(fields)  # a right checksum says only that whoever wrote it knows how to make one
        segments = tuple(SegmentEntry(**entry) for entry in fields.pop("segments"))
        return Manifest(segments=segments, **fields)
    except (KeyError, TypeError, ValueError) as error:
        raise damaged from error


def written(manifest: Manifest) -> bytes:
    fields = asdict(manifest)
    return json.dumps({_KEY: FORMAT, **fields, "checksum": checksum_of(fields)}, indent=1).encode()


def checksum_of(fields: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in fields.items() if name != "checksum"}
    text = json.dumps([FORMAT, rest], sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=16).hexdigest()


def read(path: Path) -> Manifest | None:
    """Return the manifest at `path`, None without an index; raises `StoreError`, `IndexVersion`."""
    file = path / NAME
    with report_faults(path, "opening the index"):
        try:
            raw = read_bytes(file)
        except (FileNotFoundError, NotADirectoryError):
            raw = None
        if raw is not None:
            return parse(raw, file)
        if path.is_dir():
            names = [entry.name for entry in path.iterdir()]
            if FIRST_NOTE in names:
                raise old_version(path, 1)
            begun = LOCK in names and all(
                name.startswith(RECORD) or name.endswith((".part", ".lock")) or name == SEGMENTS
                for name in names
            )
            if (begun and any(path.glob(f"{SEGMENTS}/*"))) or (RECORD in names and not begun):
                raise StoreError(
                    f"{path}: has lost its {NAME}; copy the whole index again, "
                    f"or repair it with: {check_command(path)}"
                )
            if names and not begun:
                raise StoreError(f"{path}: is not an index; choose a new or an empty folder for one")
        elif path.exists():
            raise StoreError(f"{path}: is a file, not an index")
    return None


def read_note(path: Path) -> dict[str, Any] | None:
    """Return an index's embedder and dimension; None where there is no index; raises as `read` does."""
    manifest = read(path)
    if manifest is None:
        return None
    return {"embedder": manifest.embedder, "dimension": manifest.dimension or None}


def old_version(path: Path, version: int) -> IndexVersion:
    """Return the error for an index whose record is in LanceDB: one sentence that names the command."""
    return IndexVersion(
        f"{path}: is an index of version {version}, and this program reads version {FORMAT}: "
        f"convert it with: disputatio index convert {path}"
    )


def stamp(path: Path) -> tuple[int, int, int] | None:
    """Return a value that changes with the manifest, without reading it; None where there is none."""
    try:
        seen = (path / NAME).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        with report_faults(path, "opening the index"):
            raise error
    return seen.st_mtime_ns, seen.st_ino, seen.st_size


def find_missing(path: Path, manifest: Manifest) -> list[str]:
    """Return what the manifest needs and is not there; raises `StoreError` for a link."""
    named = [f"{SEGMENTS}/{segment.name}" for segment in manifest.segments]
    for name in (SEGMENTS, RECORD, *named):
        refuse_link(path / name)
    lost = [name for name in named if not (path / name).is_dir()]
    if not (path / RECORD).is_file() and not (path / MARK).exists():  # a copy may do without
        lost.append(RECORD)
    return lost


def check_whole(path: Path, manifest: Manifest) -> None:
    """Raise `StoreError` for an index that was copied only in part."""
    if lost := find_missing(path, manifest):
        are = "is" if len(lost) == 1 else f"and {len(lost) - 1} more are"
        raise StoreError(
            f"{path}: opening the index failed: {lost[0]} {are} missing; copy the whole index again, "
            f"or repair it with: {check_command(path)}"
        )


def check_embedder(path: Path, manifest: Manifest, name: str) -> None:
    """Raise `StoreError` when the index was made with another embedder than `name`."""
    if name != manifest.embedder:
        other = f"the embedder {manifest.embedder}" if manifest.embedder else "no embedder"
        raise StoreError(
            f"{path}: was made with {other}, not with {name}; open it with its own, "
            "or ingest the documents into a new folder"
        )


def publish(path: Path, manifest: Manifest) -> None:
    """Show readers a manifest that the record holds already."""
    with report_faults(path, "writing to the index"):
        replace_file(path / NAME, written(manifest))


@contextmanager
def lock_index(path: Path) -> Iterator[None]:
    """Hold the index's lock, after a moment's wait; raises `IndexBusy`, and `StoreError` for a link."""
    with contextlib.ExitStack() as stack:
        with report_faults(path, "locking the index"):
            refuse_links(path)
            lock = stack.enter_context((path / LOCK).open("ab"))
            until = time.monotonic() + PATIENCE
            while not platforms.lock(lock):
                if time.monotonic() >= until:
                    raise IndexBusy(f"{path}: another process is writing to this index; try again later")
                time.sleep(_AGAIN)
        yield


def hash_file(file: Path) -> str:
    with file.open("rb") as raw:
        return hashlib.file_digest(raw, lambda: blake2b(digest_size=16)).hexdigest()


def replace_file(file: Path, raw: bytes) -> None:
    """Put bytes in a file's place, whole or not at all, and on the disk when this returns."""
    with platforms.whole_file(file) as part:
        part.write_bytes(raw)


def after(manifest: Manifest, **changes: Any) -> Manifest:
    return replace(manifest, number=manifest.number + 1, **changes)
