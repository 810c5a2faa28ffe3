"""Uploaded documents: kept as they came, and put into the index."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, BinaryIO

from disputatio.errors import InputError
from disputatio.server.faults import shown
from disputatio.server.jobs import Job
from disputatio.store.contract import Index
from disputatio.text import one_line

_LONGEST = 150  # characters of a name
_PIECE = 1 << 20


def file_name(given: str) -> str:
    """Return the name under which an upload is kept: one part, without anything that a path could be made of.

    Raises `InputError` where nothing is left.

    >>> file_name("../../etc/pass wd.txt"), file_name("C:\\\\a\\\\b.md")
    ('pass wd.txt', 'b.md')
    """
    last = PureWindowsPath(PurePosixPath(one_line(given)).name).name
    kept = "".join(letter if letter.isalnum() or letter in " .-_()" else "_" for letter in last)
    stem, suffix = PurePosixPath(kept).stem.strip(" ."), PurePosixPath(kept).suffix
    if not stem:
        raise InputError(f"the name {given[:50]!r} of an upload is none that a file can have")
    return f"{stem[:_LONGEST]}{suffix[:20]}"


def save(folder: Path, name: str, content: BinaryIO) -> Path:
    """Keep an upload under its name, whole or not at all; what had the name before is replaced."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / file_name(name)
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as out:
        while piece := content.read(_PIECE):
            out.write(piece)
    part.replace(path)
    return path


def ingest(
    index: Index, paths: Sequence[Path], job: Job, *, source_by: str | None, shared: bool
) -> dict[str, Any]:
    """Put files into the index; what was done, and what was refused and why.

    With `shared` the documents are strangers': they have one owner, and what they say of their source is
    kept apart (`store.ingesting.source.unverified`). Raises `StoreError`, `Cancelled`.
    """
    summary = index.ingest(
        *paths,
        source_by=source_by,
        unverified=shared,
        progress=lambda done, total, _: job.progress(done, total),
    )
    return asdict(summary) | {
        "files": [path.name for path in paths],
        "refused": [{"path": shown(path), "reason": shown(reason)} for path, reason in summary.refused],
    }
