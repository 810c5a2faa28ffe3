"""`/api/documents` and `/api/ingest`: the documents of the index; add or describe some if allowed."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Coroutine
from pathlib import PurePath
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Path, Query, Request, Response, UploadFile
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from disputatio.api.indexing import Index
from disputatio.errors import InputError
from disputatio.server.faults import Conflicting, Full, NoRoom, NotAllowed, is_of_full_disk
from disputatio.server.replies import client_of, json_response
from disputatio.server.routers.jobs import JobShape
from disputatio.server.service import Service
from disputatio.server.shapes import FAULTS, Name
from disputatio.server.shapes import Request as Body
from disputatio.server.uploads import Uploads
from disputatio.store.ingesting.description import check_fields
from disputatio.store.ingesting.source import check_source_by

_MOST = 1_000
_MOST_FILES = 100
_MOST_FIELDS, _LARGEST_FIELD = 10, 8_192  # fields that are no files; bytes of one


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
    authority: str
    by_people: dict[str, str]


class Stated(BaseModel):
    """A statement of people about a document: its number, its fields, the way it came, and when."""

    key: int
    fields: dict[str, str]
    by: str
    at: str
    undone: str


class DescribeBody(Body):
    """The fields to state of a document, or a statement to `undo`; an empty text takes a field back."""

    date: Name | None = None
    owner: Name | None = None
    source: Name | None = None
    title: Name | None = None
    authority: Name | None = None
    replaces: Name | None = None
    status: Name | None = None
    mute: bool | None = None
    undo: int | None = None


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
    uploading = APIRouter(route_class=_upload_route(service))

    @routes.get(
        "/documents", operation_id="documents", summary="What is in the index", response_model=Documents
    )
    async def documents(
        request: Request,
        offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
        limit: Annotated[int, Query(ge=1, le=_MOST)] = 100,
        source: Annotated[str | None, Query(max_length=500)] = None,
    ) -> Response:
        index, refused = service.opened_index(), _refused(service)

        def read() -> Response:
            page = index.list_documents(offset=offset, limit=limit, source=source)
            rows = [_fields(row) for row in page.documents]
            return json_response({"total": page.total, "documents": rows, "refused": refused})

        return await service.read(read, client=client_of(request))

    @routes.patch(
        "/documents/{name}",
        operation_id="describe",
        summary="State date, owner, source, authority and more of a document, or take it back",
        response_model=list[Stated],
    )
    async def describe(name: Annotated[str, Path(max_length=500)], body: DescribeBody) -> Response:
        service.check_writing()
        return json_response(await asyncio.to_thread(_describe, service.opened_index(), name, body))

    @uploading.post(
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
        uploads = _uploads(service)
        check_source_by(source_by)
        index = service.opened_index()
        async with service.staging:
            service.jobs.check("ingest")
            named = [(file.filename or "", file.file) for file in files]
            batch, staged = await asyncio.to_thread(uploads.stage, named)
            shared = bool(service.access.token)  # others than the owner of this machine may upload
            try:
                job = service.jobs.start(
                    "ingest",
                    lambda job: uploads.ingest(
                        index, batch, staged, source_by=source_by, shared=shared, progress=job.progress
                    ),
                )
            except Conflicting:
                await asyncio.to_thread(shutil.rmtree, batch)
                raise
        return json_response(job.to_dict(), status=202)

    routes.include_router(uploading)
    return routes


def _uploads(service: Service) -> Uploads:
    """Return the folder of uploads; raises `NotAllowed` if clients may not upload."""
    service.check_writing()
    if service.uploads is None:
        raise NotAllowed("this server has no folder for uploads")
    return service.uploads


def _upload_route(service: Service) -> type[APIRoute]:
    """Return a route that receives few bodies at a time, with small fields beside the files."""
    under_way = 0

    class UploadRoute(APIRoute):
        """A route that checks whether an upload may come before it reads the body."""

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def bounded(request: Request) -> Response:
                nonlocal under_way
                _uploads(service)
                if under_way >= service.limits.uploads:
                    raise Full(f"{under_way} uploads are under way already: try again later", 5.0)
                under_way += 1
                try:
                    return await handle(_UploadRequest(request.scope, request.receive))
                except HTTPException as error:
                    if is_of_full_disk(error):  # where bodies are spooled
                        raise NoRoom("nothing of this upload was kept") from error
                    raise
                finally:
                    under_way -= 1

            return bounded

    return UploadRoute


class _UploadRequest(Request):
    """A request whose form has files and a few small fields."""

    def form(self, **_: Any) -> Any:
        """Read the form, with the bounds of an upload."""
        return super().form(max_files=_MOST_FILES, max_fields=_MOST_FIELDS, max_part_size=_LARGEST_FIELD)


def _describe(index: Index, name: str, body: DescribeBody) -> list[dict[str, Any]]:
    """State fields of a document, or take a statement of it back; return its history."""
    fields = check_fields(body.model_dump(exclude={"undo"}))
    if bool(fields) == (body.undo is not None):
        raise InputError("state fields, or give the number of a statement to undo")
    if fields:
        index.describe_all([(name, fields)], by="http")
    elif body.undo is not None:
        if body.undo not in {each.key for each in index.descriptions(name)}:
            raise InputError(f"there is no statement {body.undo} about this document")
        index.take_back(body.undo)
    names = Stated.model_fields
    return [{field: getattr(each, field) for field in names} for each in index.descriptions(name)]


def _fields(document: Any) -> dict[str, Any]:
    names = ("id", "row", "title", "url", "date", "date_origin", "source", "owner", "authority")
    hidden = str(document.metadata.get("hidden", "0"))
    return {
        **{name: getattr(document, name) for name in names},
        "file": PurePath(document.path).name,
        "by_people": dict(document.by_people),
        "hidden": int(hidden) if hidden.isascii() and hidden.isdigit() and len(hidden) < 12 else 0,
    }


def _refused(service: Service) -> list[dict[str, str]]:
    return [
        row
        for job in service.jobs.all()
        if job.kind == "ingest" and job.result is not None
        for row in job.result["refused"]
    ]
