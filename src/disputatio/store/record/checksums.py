"""The checksums: a hash of every file of the tables, so that a flipped bit can be found.

The engine's files never change once they are written. Before a commit each new file is flushed to the
disk and hashed, and a line is added to the checksums; small files that cannot be made again (the lists of
a version's files and of deleted rows) are copied. A line carries a checksum of itself.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from disputatio.store.record.layout import LARGEST_CHECKSUMS, is_table_file, read_note
from disputatio.store.record.manifest import CHECKSUMS, COPIES, replace_file, reported, sync_folder

_FOLDERS = ("data", "_versions", "_deletions", "_transactions")
_COPIED = ("_versions", "_deletions")
_BLOCK = 1 << 20
_KEPT_VERSIONS = 6  # a commit makes some versions of a table, and only the last is named


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file of the tables: its path in the index, its size in bytes and its BLAKE2b-128, in hex."""

    file: str
    size: int
    hash: str


def hash_file(file: Path, *, sync: bool = False) -> str:
    """Return the BLAKE2b-128 of a file, in hex; with `sync` its bytes are on the disk when this returns."""
    digest = blake2b(digest_size=16)
    with file.open("rb") as raw:
        while block := raw.read(_BLOCK):
            digest.update(block)
        if sync:
            os.fsync(raw.fileno())
    return digest.hexdigest()


def immutable_files(path: Path, tables: Collection[str]) -> Iterator[str]:
    """Yield the files of the tables that never change, relative to the index."""
    for table in tables:
        for folder in _FOLDERS:
            table_folder = f"{table}.lance/{folder}"
            try:
                with os.scandir(path / table_folder) as entries:
                    names = [entry.name for entry in entries]
            except FileNotFoundError:
                continue
            # The hint of the newest version is rewritten; it is a hint only.
            yield from (f"{table_folder}/{name}" for name in names if not name.endswith((".json", ".tmp")))


def read_checksums(path: Path) -> tuple[dict[str, Entry], int]:
    """Return the entries by file, and how many lines are damaged; one that a kill cut short is not."""
    try:
        raw = read_note(path / CHECKSUMS, LARGEST_CHECKSUMS)
    except FileNotFoundError:
        return {}, 0
    return parse_checksums(raw)


def parse_checksums(raw: bytes) -> tuple[dict[str, Entry], int]:
    """As `read_checksums`, of the bytes of the file."""
    *lines, rest = raw.split(b"\n")
    entries = [_entry(line) for line in lines]
    damaged = entries.count(None)
    if rest and _entry(rest[:-1]) is not None:  # a whole line, whose end has changed
        damaged += 1
    return {entry.file: entry for entry in entries if entry is not None}, damaged


def _entry(line: bytes) -> Entry | None:
    """Return the entry that a line of the checksums holds; None where it is damaged."""
    try:
        file, size, digest, check = json.loads(line)
    except (ValueError, TypeError, RecursionError):
        return None
    # A name that leaves the tables' folders is damage too, however right its checksum.
    if not (isinstance(file, str) and is_table_file(file) and type(size) is int and isinstance(digest, str)):
        return None
    entry = Entry(file=file, size=size, hash=digest)
    return entry if check == _line_check(entry) else None


class Checksums:
    """The checksums, open for the index's one writer."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with reported(path, "reading the index"):
            self._known = read_checksums(path)[0]
            if (path / CHECKSUMS).exists():
                raw = read_note(path / CHECKSUMS, LARGEST_CHECKSUMS)
                if not raw.endswith(b"\n"):  # a kill cut the last line short
                    os.truncate(path / CHECKSUMS, raw.rfind(b"\n") + 1)

    def note(self, tables: Collection[str]) -> None:
        """Flush, hash and note the files of the tables that are new."""
        with reported(self._path, "writing to the index"):
            fresh = [name for name in immutable_files(self._path, tables) if name not in self._known]
            if not fresh:
                return
            lines = []
            for name in fresh:
                file = self._path / name
                entry = Entry(file=name, size=file.stat().st_size, hash=hash_file(file, sync=True))
                lines.append(_line(entry))
                self._known[name] = entry
            for folder in sorted({os.path.dirname(name) for name in fresh}):  # noqa: PTH120 - many strings
                sync_folder(self._path / folder)
                sync_folder((self._path / folder).parent)
            self._copy(fresh)
            with (self._path / CHECKSUMS).open("ab") as out:
                out.write(b"".join(lines))
                out.flush()
                os.fsync(out.fileno())

    def forget_gone(self, tables: Collection[str]) -> None:
        """Write the checksums anew without the files that are there no longer, and drop their copies."""
        with reported(self._path, "writing to the index"):
            there = set(immutable_files(self._path, tables))
            self._known = {name: entry for name, entry in self._known.items() if name in there}
            replace_file(self._path / CHECKSUMS, b"".join(map(_line, self._known.values())))
            copies = self._path / COPIES
            for file in sorted(copies.rglob("*")) if copies.exists() else []:
                if file.is_file() and str(file.relative_to(copies)) not in there:
                    file.unlink()

    def _copy(self, fresh: Collection[str]) -> None:
        folders = set()
        for name in fresh:
            if name.split("/")[1] in _COPIED:
                copy = self._path / COPIES / name
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self._path / name, copy)
                folders.add(copy.parent)
        for folder in folders:
            if folder.name == "_versions":  # their names fall as versions grow
                for old in sorted(folder.iterdir())[_KEPT_VERSIONS:]:
                    old.unlink()


def _line(entry: Entry) -> bytes:
    fields = [entry.file, entry.size, entry.hash, _line_check(entry)]
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def _line_check(entry: Entry) -> str:
    text = f"{entry.file}\x1f{entry.size}\x1f{entry.hash}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
