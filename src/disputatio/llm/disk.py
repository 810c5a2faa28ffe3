"""Files of a download on disk: written whole, checked by their SHA-256, and kept when a run is interrupted.

A download lies beside its target under another name, with a small JSON file that says what it is a
download of; the catalogue moves it into place once it is verified.
"""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from disputatio import platforms
from disputatio.errors import DownloadError

Report = Callable[[int], None]
"""Called with the number of bytes of the file that are there."""

CHUNK = 1 << 20


class DiskFault(DownloadError):
    """The disk is full or cannot be written: another origin would not help."""


def hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write JSON whole or not at all; it is on disk when this returns. Raises `OSError`."""
    with platforms.whole_file(path) as part:
        part.write_text(json.dumps(value, indent=1, sort_keys=True), encoding="utf-8")


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn a failed write into a `DiskFault` that says which file, and that nothing is lost."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        why = "the disk is full: make room" if full else f"{error.strerror or error}: put it right"
        raise DiskFault(f"{path} could not be written: {why} and run again, it goes on from here") from error


def write_all(handle: int, data: bytes, offset: int, path: Path) -> None:
    view = memoryview(data)
    with disk_errors(path):
        while view:
            count = platforms.write_at(handle, view, offset)
            view, offset = view[count:], offset + count


def forget(target: Path) -> None:
    target.unlink(missing_ok=True)
    target.with_name(target.name + ".json").unlink(missing_ok=True)


def check_digest(what: str, expected: str, actual: str) -> None:
    if actual != expected:
        raise DownloadError(
            f"{what}: sha256 is {actual}, expected {expected}; what came was removed and nothing else. "
            "Run again; if it stays so, that origin was changed and is not to be trusted"
        )


def git_blob_of(path: Path) -> str:
    """Compute the id that git gives a file by its content, which is what a commit of a hub pins it by."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
