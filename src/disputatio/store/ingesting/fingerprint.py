"""Fingerprints that show an unchanged file without parsing it: size, time, content, and reading options."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from disputatio.store.ingesting.files import display_path
from disputatio.store.ingesting.parsers import kind_of, largest

_RACY_NS = 2_000_000_000
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """A file as it was when it was read whole, at `seen_ns` (nanoseconds since 1970, as `mtime_ns`).

    `hash` is the BLAKE2b-128 of its bytes, `documents` how many it gave.
    """

    path: str
    size: int
    mtime_ns: int
    seen_ns: int
    hash: str
    settings: str
    documents: int = 0

    def proves(self, size: int, mtime_ns: int, settings: str) -> bool:
        """Return whether size and time alone show that the file is the same.

        One that was touched less than two seconds before it was seen could have changed again
        without its time changing (what git calls racy).
        """
        same = (self.size, self.mtime_ns, self.settings) == (size, mtime_ns, settings)
        return same and abs(self.seen_ns - self.mtime_ns) >= _RACY_NS


class Look(NamedTuple):
    """A file's fingerprint now (None where it cannot be had), and whether the file is unchanged."""

    now: Fingerprint | None
    unchanged: bool


def look(path: Path, settings: str, known: Fingerprint | None = None) -> Look:
    """Look at a file; its content is read where size and time alone prove nothing."""
    digest = blake2b(digest_size=16)
    try:
        if not path.is_file():  # a pipe would wait for ever
            return Look(None, False)
        with path.open("rb") as file:
            seen_ns = time.time_ns()
            seen = os.fstat(file.fileno())
            if known is not None and known.proves(seen.st_size, seen.st_mtime_ns, settings):
                return Look(known, True)
            limit = largest(kind_of(path.name, file.read(8)))
            if limit is not None and seen.st_size > limit:  # it will be refused: no need to read it all
                return Look(None, False)
            file.seek(0)
            while block := file.read(_BLOCK):
                digest.update(block)
            after = os.fstat(file.fileno())
    except OSError:
        return Look(None, False)
    if (seen.st_size, seen.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        return Look(None, False)
    now = Fingerprint(
        path=display_path(path.resolve()),
        size=seen.st_size,
        mtime_ns=seen.st_mtime_ns,
        seen_ns=seen_ns,
        hash=digest.hexdigest(),
        settings=settings,
    )
    if known is None or (known.hash, known.settings) != (now.hash, now.settings):
        return Look(now, False)
    return Look(replace(now, documents=known.documents), True)


def is_unchanged(path: Path, now: Fingerprint) -> bool:
    """Return whether a file has the size and time that it was seen with."""
    try:
        seen = path.stat()
    except OSError:
        return False
    return (seen.st_size, seen.st_mtime_ns) == (now.size, now.mtime_ns)
