"""The manifest: the one file that says what an index holds, and whose replacement is the commit.

It is written aside, flushed to the disk and renamed, so that a reader finds the old one or the new
one. It names versions of the tables, segments and files of dead rows, none of which ever changes
once it is named; it carries a checksum of itself. A copy lies beside it for `check` to restore.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from disputatio.errors import IndexVersion, StoreError
from disputatio.store.record.layout import check_manifest, read_note, refuse_link

FORMAT = 3
READABLE = (2, FORMAT)
"""Formats whose segments are searched as they are; what writes brings an index to `FORMAT` first."""
NAME = "manifest.json"
COPY = "manifest.copy.json"
FIRST_NOTE = "disputatio.json"  # what format 1 had in the manifest's place
SEGMENTS = "segments"
LOCK = "writer.lock"
CHECKSUMS = "ledger.jsonl"
COPIES = "copies"
_KEY = "disputatio index"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableVersion:
    """A table of the system of record: its name (`documents`), its version and how many rows that has."""

    name: str
    version: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentEntry:
    """A segment that is in force. `files` maps the names of its files to their BLAKE2b-128, in hex.

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
        """Rows that are found by a search."""
        return self.rows - self.dead_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What an index holds. `number` grows by one with each commit; `format` is that of its files.

    `embedder` is empty (and `dimension` 0) where passages have no vectors; `language` is that of
    stemming, or `none`.
    """

    number: int
    documents: TableVersion
    passages: TableVersion
    files: TableVersion
    embedder: str = ""
    dimension: int = 0
    language: str = "english"
    segments: tuple[SegmentEntry, ...] = field(default=())
    format: int = FORMAT

    @property
    def live(self) -> int:
        """Passages that are found by a search."""
        return sum(segment.live for segment in self.segments)


_BUILT_AT = re.compile(r",? ?/[^\s,;:]*+(?<=\.rs)(?::\d++)*+")


@contextmanager
def reported(path: Path, doing: str) -> Iterator[None]:
    """Faults of the disk and of the tables' engine as a `StoreError` of one line."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        text = str(error)
        number = getattr(error, "errno", None)
        # Where the engine was built is of no use to anyone, and none of the user's files.
        reason = _BUILT_AT.sub("", lines[0][:2_000])[:200]
        if number in (errno.ENOSPC, errno.EDQUOT) or "No space left" in text:
            reason = "the disk is full; make room and run it again"
        elif number == errno.EFBIG or "File too large" in text:
            reason = (
                "a file would be larger than may be written (ulimit -f); raise the limit and run it again"
            )
        elif number in (errno.EROFS, errno.EACCES, errno.EPERM) or "Read-only file system" in text:
            reason = "the folder cannot be written to; make it writable, or work on a copy of it"
        elif "lance" in text.lower() or text.startswith("Table '"):
            lost = "a file of its tables is missing" if "ot found" in text else reason
            reason = f"{lost}; copy the whole index again, or repair it with: {_check_command(path)}"
        raise StoreError(f"{path}: {doing} failed: {reason}") from error


def _check_command(path: Path) -> str:
    return f"disputatio index check --index {path}"


def parse(raw: bytes, file: Path, *, older: bool = False) -> Manifest:
    """Return the manifest that the bytes of `file` hold; with `older`, also one of an older format that is
    readable.

    Raises `StoreError` when it is damaged, `IndexVersion` when it is of another version.
    """
    damaged = StoreError(f"{file}: is damaged; repair it with: {_check_command(file.parent)}")
    try:
        fields = json.loads(raw)
        version = fields.pop(_KEY)
        checksum = _checksum(fields, FORMAT if version not in READABLE else version)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise damaged from error
    # A version of another program is not ours to verify: its checksum may be another.
    if isinstance(version, int) and version > FORMAT and fields.get("checksum") != checksum:
        raise IndexVersion(
            f"{file.parent}: is an index of version {version}, this program reads version {FORMAT}; "
            "use the program that wrote it, or ingest the documents into a new folder"
        )
    if version not in READABLE or fields.pop("checksum", None) != checksum:
        raise damaged
    if version != FORMAT and not older:
        raise IndexVersion(_old(file.parent, version))
    try:
        check_manifest(fields)  # a right checksum says only that whoever wrote it knows how to make one
        names = ("documents", "passages", "files")
        parts: dict[str, Any] = {name: TableVersion(**fields.pop(name)) for name in names}
        parts["segments"] = tuple(SegmentEntry(**entry) for entry in fields.pop("segments"))
        return Manifest(**parts, **fields, format=version)
    except (KeyError, TypeError, ValueError) as error:
        raise damaged from error


def written(manifest: Manifest) -> bytes:
    """Return the bytes of a manifest, its checksum included."""
    fields = {name: value for name, value in asdict(manifest).items() if name != "format"}
    return json.dumps({_KEY: FORMAT, **fields, "checksum": _checksum(fields, FORMAT)}, indent=1).encode()


def _checksum(fields: Mapping[str, Any], version: int) -> str:
    rest = {name: value for name, value in fields.items() if name != "checksum"}
    text = json.dumps([version, rest], sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=16).hexdigest()


def read(path: Path, *, older: bool = False) -> Manifest | None:
    """Return the manifest of the index at `path` (`older` as in `parse`); None where there is no index yet.

    Raises `StoreError` when something else is there, when it is damaged, or of another version.
    """
    file = path / NAME
    with reported(path, "opening the index"):
        try:
            raw = read_note(file)
        except (FileNotFoundError, NotADirectoryError):
            raw = None
        if raw is not None:
            return parse(raw, file, older=older)
        if path.is_dir():
            names = [entry.name for entry in path.iterdir()]
            if FIRST_NOTE in names:
                raise IndexVersion(_old(path, 1))
            if COPY in names:
                raise StoreError(
                    f"{path}: has lost its {NAME}; copy the whole index again, "
                    f"or repair it with: {_check_command(path)}"
                )
            begun = LOCK in names and all(
                name.endswith((".lance", ".part", ".lock")) or name in (CHECKSUMS, SEGMENTS, COPIES)
                for name in names
            )
            if begun and any([*path.glob(f"{SEGMENTS}/*"), *path.glob("*.lance/data/*")]):
                raise StoreError(
                    f"{path}: has lost its {NAME} and the copy of that; copy the whole index again, "
                    "or ingest the documents into a new folder"
                )
            if names and not begun:
                raise StoreError(f"{path}: is not an index; choose a new or an empty folder for one")
        elif path.exists():
            raise StoreError(f"{path}: is a file, not an index")
    return None


def _old(path: Path, version: int) -> str:
    return (
        f"{path}: is an index of version {version}; bring it to version {FORMAT} with: "
        f"disputatio index migrate --index {path}"
    )


def is_first(path: Path) -> bool:
    """Return whether there is an index of format 1 at a path."""
    return (path / FIRST_NOTE).is_file() and not (path / NAME).exists()


def stamp(path: Path) -> tuple[int, int, int] | None:
    """Return what tells one manifest from the next without reading it; None where there is none."""
    try:
        seen = (path / NAME).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        with reported(path, "opening the index"):
            raise error
    return seen.st_mtime_ns, seen.st_ino, seen.st_size


def missing(path: Path, manifest: Manifest) -> list[str]:
    """Folders that the manifest names and that are not there, relative to the index.

    Raises `StoreError` where one is a link.
    """
    named = [f"{SEGMENTS}/{segment.name}" for segment in manifest.segments]
    named += [f"{table.name}.lance" for table in (manifest.documents, manifest.passages, manifest.files)]
    for name in (SEGMENTS, *named):
        refuse_link(path / name)
    return [name for name in named if not (path / name).is_dir()]


def check_whole(path: Path, manifest: Manifest) -> None:
    """Raise `StoreError` for an index that was copied only in part."""
    if lost := missing(path, manifest):
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        raise StoreError(
            f"{path}: opening the index failed: {lost[0]}{more} is missing; copy the whole index again, "
            f"or repair it with: {_check_command(path)}"
        )


def check_embedder(path: Path, manifest: Manifest, name: str) -> None:
    """Raise `StoreError` when the index was made with another embedder than `name`."""
    if name != manifest.embedder:
        other = f"the embedder {manifest.embedder}" if manifest.embedder else "no embedder"
        raise StoreError(
            f"{path}: was made with {other}, not with {name}; open it with its own, "
            "or ingest the documents into a new folder"
        )


def switch(path: Path, manifest: Manifest) -> None:
    """Put a manifest in force: after this the commit has happened, and is on the disk.

    The copy goes first: all that it names is on the disk already, so it may be ahead but never wrong.
    The first manifest of all has none, or a kill between the two would look like a loss.
    """
    raw = written(manifest)
    with reported(path, "writing to the index"):
        if manifest.number > 1:
            replace_file(path / COPY, raw)
        replace_file(path / NAME, raw)


def replace_file(file: Path, raw: bytes) -> None:
    """Put bytes in a file's place, whole or not at all, and on the disk when this returns."""
    part = file.with_name(file.name + ".part")
    try:
        with part.open("wb") as out:
            out.write(raw)
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    sync_folder(file.parent)


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def after(manifest: Manifest, **changes: Any) -> Manifest:
    """Return the manifest that follows, with what has changed."""
    return replace(manifest, number=manifest.number + 1, format=FORMAT, **changes)
