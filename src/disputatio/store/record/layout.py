"""The files of an index's folder, and the names that its manifest may hold.

An index may come from a stranger, so what its manifest says is data: every name has one of the forms that
this program writes, every count is in bounds, and nothing in the folder is a link. A path made of such names
cannot leave the index.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Mapping
from io import BufferedReader
from pathlib import Path

from disputatio import platforms
from disputatio.errors import StoreError

LARGEST_NOTE = 67_108_864  # bytes of a manifest, a note of a segment, or estimates
LARGEST_LOG = 1_073_741_824  # bytes of the log of calibrations
MERGE_MEMORY = 1 << 30  # bytes that a merge of segments may hold, where nothing else is set
MOST_ROWS = 2**31 - 1  # a row's number is an int32
_MOST_SEGMENTS = 65_536
_MOST_FILES = 256  # of one segment
_WIDEST = 65_536  # dimensions of a vector
_LONGEST_NAME = 1_000

_SEGMENT = re.compile(r"[0-9]{8,19}-[0-9a-f]{8}")
_ARRAY = re.compile(r"[a-z][a-z_]{0,62}\.npy|segment\.json")
_DEAD = re.compile(r"dead-[0-9]{8,19}\.npy")
_HASH = re.compile(r"[0-9a-f]{32}")
_LANGUAGE = re.compile(r"[a-z_]{1,32}")


def check_manifest(fields: Mapping[str, object]) -> None:
    """Raise `ValueError` unless every name, type and count of a manifest's fields is one that we write."""
    _number(fields["number"], 1, 2**62)
    _number(fields["dimension"], 0, _WIDEST)
    embedder = fields["embedder"]
    if not isinstance(embedder, str) or len(embedder) > _LONGEST_NAME or not embedder.isprintable():
        raise ValueError("no name of an embedder")
    _match(fields["language"], _LANGUAGE)
    for table in ("documents", "passages", "files"):
        _number(fields[table], 0, 2**48)
    segments = fields["segments"]
    if not isinstance(segments, list) or len(segments) > _MOST_SEGMENTS:
        raise ValueError("no list of segments")
    names = [_check_segment(segment) for segment in segments]
    if len(set(names)) != len(names):
        raise ValueError("a segment is named twice")


def _check_segment(entry: object) -> str:
    """Return the name of a segment; raises `ValueError` unless its entry is one that we write."""
    fields = _check_fields(entry, {"name", "rows", "files", "dead", "dead_rows", "dead_hash"})
    rows = _number(fields["rows"], 0, MOST_ROWS)
    files = fields["files"]
    if not isinstance(files, dict) or len(files) > _MOST_FILES:
        raise ValueError("no list of files")
    for name, digest in files.items():
        _match(name, _ARRAY)
        _match(digest, _HASH)
    _number(fields["dead_rows"], 0, rows)
    if fields["dead"] or fields["dead_rows"]:
        _match(fields["dead"], _DEAD)
        _match(fields["dead_hash"], _HASH)
    elif fields["dead"] != "" or fields["dead_hash"] != "":
        raise ValueError("no name of dead rows")
    return _match(fields["name"], _SEGMENT)[0]


def _check_fields(value: object, names: set[str]) -> Mapping[str, object]:
    if not isinstance(value, dict) or set(value) != names:
        raise ValueError("other fields than an index has")
    return value


def _number(value: object, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError("a number that is none, or out of bounds")
    return value


def _match(value: object, form: re.Pattern[str]) -> re.Match[str]:
    match = form.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("a name of a form that no index has")
    return match


# --- files ------------------------------------------------------------------------------------------
def open_plain(file: Path) -> BufferedReader:
    """Open a file of an index; raises `OSError`, and `StoreError` for a link or no plain file."""
    try:
        handle = platforms.open_handle(file, os.O_RDONLY)
    except OSError as error:
        if file.is_symlink():
            raise StoreError(_describe_link(file)) from error
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise StoreError(_strange(str(file)))
    return os.fdopen(handle, "rb")


def read_bytes(file: Path, largest: int = LARGEST_NOTE) -> bytes:
    """Read a small file of an index; raises `FileNotFoundError`, and `StoreError` for no such file."""
    with open_plain(file) as raw:
        content = raw.read(largest + 1)
    if len(content) > largest:
        raise StoreError(f"{file}: has more than {largest:,} bytes, which no index needs")
    return content


def refuse_links(folder: Path, *, passed: Callable[[str], bool] = lambda _: False) -> None:
    """Raise `StoreError` for a link or special file below a folder, but for its `passed` entries."""
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            entries = os.scandir(here)
        except (FileNotFoundError, NotADirectoryError):
            continue
        with entries:
            for entry in entries:
                if here == folder and passed(entry.name):
                    continue
                if entry.is_symlink():
                    raise StoreError(_describe_link(Path(entry.path)))
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
                elif not entry.is_file(follow_symlinks=False):
                    raise StoreError(_strange(entry.path))


def refuse_link(file: Path) -> None:
    if file.is_symlink():
        raise StoreError(_describe_link(file))


def _strange(file: str) -> str:
    return f"{file}: is no plain file, and an index holds no others; take it away"


def _describe_link(file: Path) -> str:
    return f"{file}: is a link, and an index holds none: put the file itself in its place, or take it away"
