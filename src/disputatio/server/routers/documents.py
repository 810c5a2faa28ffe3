"""`/api/documents` and `/api/ingest`: list the documents of the index, and add more if that is allowed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Annotated, Any, BinaryIO

from fastapi import APIRouter, File, Form, Query, Response, UploadFile
from pydantic import BaseModel

from disputatio.errors import InputError
from disputatio.server.faults import NotAllowed, shown
from disputatio.server.jobs import Job
from disputatio.server.replies import json_response
from disputatio.server.routers.jobs import JobShape
from disputatio.server.service import Service
from disputatio.server.shapes import FAULTS, Name
from disputatio.store.contract import Index
from disputatio.text import one_line

_MOST = 1_000
_MOST_FILES = 100
_LONGEST = 150  # characters of a name
_PIECE = 1 << 20


class DocumentRow(BaseModel):
    """A document of the index; `file` is the name of the file it came from, `row` its row there or 0."""

    id: str
    file: str
    row: int
    title: str
    url: str
    date: str
    date_origin: str
    source: str
    owner: str
    hidden: int


class Refused(BaseModel):
    """A file that could not be read, and the reason."""

    path: str
    reason: str


class Documents(BaseModel):
    """Some of the `total` documents, and the files that were refused since the server started."""

    total: int
    documents: list[DocumentRow]
    refused: list[Refused]


def router(service: Service) -> APIRouter:
    """Return the router over a service."""
    routes = APIRouter(prefix="/api", tags=["index"], responses=FAULTS)

    @routes.get(
        "/documents", operation_id="documents", summary="What is in the index", response_model=Documents
    )
    async def documents(
        offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
        limit: Annotated[int, Query(ge=1, le=_MOST)] = 100,
        source: Annotated[str | None, Query(max_length=500)] = None,
    ) -> Response:
        rows = await asyncio.to_thread(service.opened_index().documents, text=False)
        wanted = [row for row in rows if source is None or row.source == source]
        return json_response(
            {
                "total": len(wanted),
                "documents": [_fields(row) for row in wanted[offset : offset + limit]],
                "refused": _refused(service),
            }
        )

    @routes.post(
        "/ingest",
        operation_id="ingest",
        summary="Put uploaded files into the index, as a job",
        response_model=JobShape,
        status_code=202,
    )
    async def ingest(
        files: Annotated[list[UploadFile], File(max_length=_MOST_FILES)],
        source_by: Annotated[Name | None, Form()] = None,
    ) -> Response:
        service.check_writing()
        folder = service.keeping.uploads
        if folder is None:
            raise NotAllowed("this server has no folder for uploads")
        index = service.opened_index()
        paths = [await asyncio.to_thread(_save, folder, file.filename or "", file.file) for file in files]
        shared = bool(service.access.token)  # others than the owner of this machine may upload
        job = service.jobs.start(
            "ingest",
            lambda job: _ingest(index, paths, job, source_by=source_by, shared=shared),
        )
        return json_response(job.to_dict(), status=202)

    return routes


def _fields(document: Any) -> dict[str, Any]:
    names = ("id", "row", "title", "url", "date", "date_origin", "source", "owner")
    hidden = str(document.metadata.get("hidden", "0"))
    return {
        **{name: getattr(document, name) for name in names},
        "file": PurePath(document.path).name,
        "hidden": int(hidden) if hidden.isascii() and hidden.isdigit() and len(hidden) < 12 else 0,
    }


def _refused(service: Service) -> list[dict[str, str]]:
    return [
        row
        for job in service.jobs.all()
        if job.kind == "ingest" and job.result is not None
        for row in job.result["refused"]
    ]


# --- uploads --------------------------------------------------------------------------------------
def file_name(given: str) -> str:
    """Return a safe file name for an upload: one part, without separators.

    Raises `InputError` if nothing is left.

    >>> file_name("../../etc/pass wd.txt"), file_name("C:\\\\a\\\\b.md")
    ('pass wd.txt', 'b.md')
    """
    last = PureWindowsPath(PurePosixPath(one_line(given)).name).name
    kept = "".join(letter if letter.isalnum() or letter in " .-_()" else "_" for letter in last)
    stem, suffix = PurePosixPath(kept).stem.strip(" ."), PurePosixPath(kept).suffix
    if not stem:
        raise InputError(f"the name {given[:50]!r} of an upload is none that a file can have")
    return f"{stem[:_LONGEST]}{suffix[:20]}"


def _save(folder: Path, name: str, content: BinaryIO) -> Path:
    """Save an upload under its name, whole or not at all; an earlier one of that name is replaced."""
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


def _ingest(
    index: Index, paths: Sequence[Path], job: Job, *, source_by: str | None, shared: bool
) -> dict[str, Any]:
    """Ingest files; return the counts, and the refused files with reasons.

    With `shared` the documents may be from anyone: they get one owner, and the sources that they state are
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
