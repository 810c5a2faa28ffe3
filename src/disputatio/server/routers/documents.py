"""`/api/documents` and `/api/ingest`: the documents of the index; add or describe some if allowed."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path as FilePath
from pathlib import PurePath
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Path, Query, Request, Response, UploadFile
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from disputatio.api.indexing import Index
from disputatio.api.staleness import find_superseded
from disputatio.errors import InputError, UnknownName
from disputatio.server.changes import What
from disputatio.server.faults import Conflicting, Full, NoRoom, NotAllowed, NotFound, is_of_full_disk
from disputatio.server.jobs import Job
from disputatio.server.originals import State, original_of, state_of
from disputatio.server.replies import client_of, in_turn, json_response
from disputatio.server.routers.changes import ChangeRow, Refused, change_of
from disputatio.server.routers.jobs import JobShape
from disputatio.server.service import Service
from disputatio.server.shapes import FAULTS, Name
from disputatio.server.shapes import Request as Body
from disputatio.server.uploads import Staged, Uploads
from disputatio.store.contract import DocumentFacts
from disputatio.store.ingesting.description import check_fields
from disputatio.store.ingesting.documents import Document, hidden_in, page_of
from disputatio.store.ingesting.ingest import Refusal
from disputatio.store.ingesting.source import check_source_by
from disputatio.text import one_line
from disputatio.versions.dates import today

_MOST = 1_000
_MOST_FILES = 100
_MOST_COMPARED = 20_000  # documents that are looked through for versions of each other
_PART = 120_000  # characters of a document that one reply holds
_SIBLINGS, _LONGEST_ROW = 12, 2_000  # rows of a table on either side, and characters of one
_MOST_FIELDS, _LARGEST_FIELD = 10, 8_192  # fields that are no files; bytes of one

DocumentName = Annotated[str, Path(max_length=500)]


class DocumentRow(BaseModel):
    """A document of the index; `file` is the name of the file it came from, `row` its row there or 0.

    `size` is that of the file in bytes, `read` the moment at which it was read, `superseded_by` names the
    document that stands in its place. `draft` is true where it says that it is one.
    """

    id: str
    file: str
    row: int
    title: str
    url: str
    date: str
    date_origin: str
    draft: bool
    source: str
    owner: str
    hidden: int
    authority: str
    by_people: dict[str, str]
    version: str
    family: str
    type: str
    size: int
    passages: int
    read: str
    superseded_by: str


class Stated(BaseModel):
    """A statement of people about a document: its number, its fields, the way it came, and when."""

    key: int
    fields: dict[str, str]
    by: str
    at: str
    undone: str


class Span(BaseModel):
    """A passage of a document: characters `start` to `end` of its text, on a page where it has pages."""

    id: str
    start: int
    end: int
    page: str


class TableRow(BaseModel):
    """A row of the table that a document is a row of."""

    id: str
    row: int
    text: str


class CitingAnswer(BaseModel):
    """A kept answer that cites a document."""

    id: str
    question: str
    at: str


class OpenedDocument(BaseModel):
    """A document with a part of its text, from character `offset` of `length`, and what is known of it.

    `page` is the one on which the character that was asked for stands, where the document has pages.
    `original` says whether `/api/documents/{id}/original` has its file: `same`, or why not.
    """

    document: DocumentRow
    text: str
    offset: int
    length: int
    page: str
    passages: list[Span]
    rows: list[TableRow]
    stated: list[Stated]
    answers: list[CitingAnswer]
    original: State


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


class Documents(BaseModel):
    """Some of the `total` documents, and the files that were refused."""

    total: int
    documents: list[DocumentRow]
    refused: list[Refused]


def router(service: Service) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["index"], responses=FAULTS)
    newer = Newer()

    @routes.get(
        "/documents", operation_id="documents", summary="What is in the index", response_model=Documents
    )
    @in_turn(service)
    def documents(
        offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
        limit: Annotated[int, Query(ge=1, le=_MOST)] = 100,
        source: Annotated[str | None, Query(max_length=500)] = None,
    ) -> object:
        index = service.require_index()
        page = index.list_documents(offset=offset, limit=limit, source=source)
        rows = rows_of(index, page.documents, newer.of(index))
        return {"total": page.total, "documents": rows, "refused": service.changes.list_refused()}

    @routes.get(
        "/documents/{name}",
        operation_id="document",
        summary="A document: a part of its text, its passages, what people stated, which answers cite it",
        response_model=OpenedDocument,
    )
    @in_turn(service)
    def document(
        name: DocumentName,
        at: Annotated[int, Query(ge=0, description="a character that the part has to hold")] = 0,
    ) -> object:
        index = service.require_index()
        return _open_part(service, index, name, at, newer.of(index))

    @routes.get(
        "/documents/{name}/original",
        operation_id="original",
        summary="The file that a document was read from, byte for byte, as a download",
        response_class=Response,
        responses={200: {"content": {"application/octet-stream": {}}}},
    )
    @in_turn(service)
    def original(name: DocumentName) -> Response:
        index = service.require_index()
        return original_of(_found(index, name), index.facts([name]).get(name, DocumentFacts()))

    @routes.delete(
        "/documents/{name}",
        operation_id="delete",
        summary="Delete a document; the change that is returned can be undone",
        response_model=ChangeRow,
    )
    @in_turn(service)
    def delete(request: Request, name: DocumentName) -> object:
        service.check_writing()
        index = service.require_index()
        document = _found(index, name)
        title = document.title or PurePath(document.path).name
        taken, client = index.take_out(name), client_of(request)
        key = service.note_change("deleted", client=client, document=name, title=title, undo=taken)
        return change_of(service, key)

    @routes.patch(
        "/documents/{name}",
        operation_id="describe",
        summary="State date, owner, source, authority and more of a document, or take it back",
        response_model=list[Stated],
    )
    async def describe(request: Request, name: DocumentName, body: DescribeBody) -> Response:
        service.check_writing()
        history = await asyncio.to_thread(_describe, service.require_index(), name, body)
        fields = body.model_dump(exclude={"undo"}, exclude_none=True)
        detail = "; ".join(f"{field}: {value}" for field, value in fields.items()) or f"statement {body.undo}"
        what: What = "taken back" if body.undo is not None else "stated"
        service.note_change(what, client=client_of(request), document=name, detail=one_line(detail)[:500])
        return json_response(history)

    routes.include_router(_make_upload_routes(service))
    return routes


def _make_upload_routes(service: Service) -> APIRouter:
    uploading = APIRouter(route_class=_upload_route(service))

    @uploading.post(
        "/ingest",
        operation_id="ingest",
        summary="Put uploaded files into the index, as a job",
        response_model=JobShape,
        status_code=202,
    )
    async def ingest(
        request: Request,
        files: Annotated[list[UploadFile], File(max_length=_MOST_FILES)],
        source_by: Annotated[Name | None, Form()] = None,
    ) -> Response:
        uploads = _uploads(service)
        check_source_by(source_by)
        index, client = service.require_index(), client_of(request)

        def put_in(job: Job, batch: FilePath, staged: list[Staged], shared: bool) -> dict[str, Any]:
            result = uploads.ingest(
                index, batch, staged, source_by=source_by, shared=shared, progress=job.progress
            )
            refused = [Refusal(*(each[name] for name in Refusal._fields)) for each in result["refused"]]
            service.changes.note_refused(refused, read=result["files"], by="upload")
            detail = f"{len(result['files'])} files, {len(refused)} refused"
            service.note_change("uploaded", client=client, detail=detail)
            return result

        async with service.staging:
            service.jobs.check("ingest")
            named = [(file.filename or "", file.file) for file in files]
            batch, staged = await asyncio.to_thread(uploads.stage, named)
            shared = bool(service.access.token)  # others than the owner of this machine may upload
            try:
                job = service.jobs.start("ingest", lambda job: put_in(job, batch, staged, shared))
            except Conflicting:
                await asyncio.to_thread(shutil.rmtree, batch)
                raise
        return json_response(job.to_dict(), status=202)

    return uploading


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

            async def handle_bounded(request: Request) -> Response:
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

            return handle_bounded

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
    try:
        known = {each.key for each in index.descriptions(name)}
    except UnknownName as error:
        raise NotFound(str(error)) from error
    if fields:
        index.describe_all([(name, fields)], by="http")
    elif body.undo is not None:
        if body.undo not in known:
            raise InputError(f"there is no statement {body.undo} about this document")
        index.take_back(body.undo)
    return _history(index, name)


class Newer:
    """The documents that stand in the place of others, as of the newest commit and day."""

    def __init__(self) -> None:
        self._known: tuple[tuple[str, int, str], dict[str, str]] | None = None

    def of(self, index: Index) -> dict[str, str]:
        """Return the document that supersedes each one, by id; of a large index none."""
        info, day = index.info(), today().isoformat()
        key = (info.path, info.commit, day)
        if self._known is None or self._known[0] != key:
            documents = index.documents(text=False) if info.documents <= _MOST_COMPARED else []
            claims = find_superseded(list({each.id: each for each in documents}.values()), day)
            self._known = key, {name: claim.newer.document for name, claim in claims.items()}
        return self._known[1]


def rows_of(index: Index, documents: Sequence[Document], newer: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return documents as rows, with what the index has on record of their files."""
    facts = index.facts([each.id for each in documents])
    return [_fields(each, facts.get(each.id, DocumentFacts()), newer.get(each.id, "")) for each in documents]


def _fields(document: Document, facts: DocumentFacts, newer: str) -> dict[str, Any]:
    names = ("id", "row", "title", "url", "date", "date_origin", "source", "owner", "authority")
    file = PurePath(document.path).name
    return {
        **{name: getattr(document, name) for name in (*names, "version", "family")},
        "file": file,
        "type": PurePath(file).suffix.lstrip(".").lower()[:12],
        "by_people": dict(document.by_people),
        "draft": any(relation.kind == "draft" for relation in document.relations),
        "hidden": hidden_in(document),
        "size": facts.size,
        "passages": facts.passages,
        "read": facts.read,
        "superseded_by": newer,
    }


def _found(index: Index, name: str) -> Document:
    document = index.document(name)
    if document is None:
        raise NotFound(f"there is no document {one_line(name)[:80]!r}")
    return document


def _open_part(
    service: Service, index: Index, name: str, at: int, newer: Mapping[str, str]
) -> dict[str, Any]:
    """Return a document with the part of its text that holds a character."""
    document = _found(index, name)
    facts = index.facts([name]).get(name, DocumentFacts())
    text = document.text
    offset = max(0, min(at - _PART // 2, len(text) - _PART))
    end = offset + _PART
    spans = [
        {"id": passage, "start": first, "end": last, "page": page_of(document, first)}
        for passage, first, last in index.spans(name)
        if first < end and last > offset
    ]
    rows = index.siblings(name, _SIBLINGS) if document.row else []
    return {
        "document": rows_of(index, [document], newer)[0],
        "text": text[offset:end],
        "offset": offset,
        "length": len(text),
        "page": page_of(document, at),
        "passages": spans,
        "rows": [{"id": each.id, "row": each.row, "text": each.text[:_LONGEST_ROW]} for each in rows],
        "stated": _history(index, name),
        "answers": service.answers.find_citing(name),
        "original": state_of(document, facts),
    }


def _history(index: Index, name: str) -> list[dict[str, Any]]:
    names = Stated.model_fields
    return [{field: getattr(each, field) for field in names} for each in index.descriptions(name)]
