"""The file that a document was read from, served only where it has the hash that the index has on record."""

from __future__ import annotations

import os
import stat
from hashlib import blake2b
from pathlib import Path, PurePath
from typing import Literal
from urllib.parse import quote

from fastapi import Response

from disputatio import platforms
from disputatio.server.faults import NotFound
from disputatio.store.contract import DocumentFacts
from disputatio.store.ingesting.description import member_of
from disputatio.store.ingesting.documents import Document
from disputatio.types import PASSAGE

State = Literal["same", "member", "none", "large", "unrecorded"]
LARGEST = 64 << 20  # bytes of an original that is served
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": "private, no-store",
}


def state_of(document: Document, facts: DocumentFacts) -> State:
    """Return whether there is an original to open, without looking at the disk."""
    if not facts.hash:
        return "none" if facts.file.startswith(PASSAGE) or not facts.file else "unrecorded"
    if member_of(facts.file, document.path):
        return "member"
    return "large" if facts.size > LARGEST else "same"


def original_of(document: Document, facts: DocumentFacts) -> Response:
    """Return the file of a document as a download; raises `NotFound` where it is not what was read."""
    name = PurePath(document.path).name
    state = state_of(document, facts)
    if state != "same":
        reasons = {
            "member": "it is a part of an archive",
            "large": f"it is larger than {LARGEST >> 20} MB",
            "unrecorded": "this index keeps no hash of files, so one that has changed could not be told",
        }
        raise NotFound(
            f"there is no original of {name[:80]!r} to open: {reasons.get(state, 'it has no file')}"
        )
    content = _read(facts)
    if content is None:
        raise NotFound(
            f"the original {name[:80]!r} has changed since it was read, or is gone: ingest it again"
        )
    return download(content, name)


def download(content: bytes, name: str) -> Response:
    """Return bytes as a file to save, which no browser opens or takes for markup."""
    headers = {**HEADERS, "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
    return Response(content, media_type="application/octet-stream", headers=headers)


def _read(facts: DocumentFacts) -> bytes | None:
    """Return the bytes of a file if they have the hash on record; no link is followed, no pipe waited for."""
    try:
        handle = platforms.open_handle(Path(facts.file), os.O_RDONLY)
        with os.fdopen(handle, "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode) or about.st_size != facts.size:
                return None
            content = file.read(facts.size + 1)
    except (OSError, ValueError):
        return None
    return content if blake2b(content, digest_size=16).hexdigest() == facts.hash else None
