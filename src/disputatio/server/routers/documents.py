"""`/api/documents` and `/api/ingest`: what is in the index, and putting more in where that is allowed."""

from __future__ import annotations

import asyncio
from pathlib import PurePath
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Query, Response, UploadFile
from pydantic import BaseModel

from disputatio.server import uploads
from disputatio.server.faults import NotAllowed
from disputatio.server.replies import json_response
from disputatio.server.routers.jobs import JobShape
from disputatio.server.service import Service
from disputatio.server.shapes import FAULTS, Name

_MOST = 1_000
_MOST_FILES = 100


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
    """What could not be read, and why."""

    path: str
    reason: str


class Documents(BaseModel):
    """Some of the `total` documents, and what the uploads of this server's time were refused for."""

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
        paths = [
            await asyncio.to_thread(uploads.save, folder, file.filename or "", file.file) for file in files
        ]
        shared = bool(service.access.token)  # others than the owner of this machine may upload
        job = service.jobs.start(
            "ingest",
            lambda job: uploads.ingest(index, paths, job, source_by=source_by, shared=shared),
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
