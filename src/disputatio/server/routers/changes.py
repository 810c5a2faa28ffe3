"""`/api/changes`: what clients changed, and its undoing; `/api/refused`: files that could not be read."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from disputatio.errors import RefusalCode
from disputatio.server.changes import RefusedBy
from disputatio.server.replies import in_turn
from disputatio.server.service import Service
from disputatio.server.shapes import FAULTS

_MOST = 10_000


class ChangeRow(BaseModel):
    """A change that a client made; `undone` is the moment at which it was taken back."""

    key: int
    at: str
    client: str
    what: str
    document: str
    title: str
    detail: str
    undone: str
    undoable: bool


class Refused(BaseModel):
    """A file or a row (`path:row`) that was refused, the reason, and when; it stays until it was read.

    `code` is of what kind the reason is, and `remedy` what to do about that; `data` has what the reason names
    (`limit`, `size` and `unit`, `package`, `column`, `suffix`, ...), for words of a client's own.
    """

    path: str
    reason: str
    code: RefusalCode
    remedy: str
    data: dict[str, str | int]
    by: RefusedBy
    at: str


def router(service: Service) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["index"], responses=FAULTS)

    @routes.get(
        "/changes",
        operation_id="changes",
        summary="What clients changed, the newest first",
        response_model=list[ChangeRow],
    )
    @in_turn(service)
    def changes(limit: Annotated[int, Query(ge=1, le=_MOST)] = 100) -> object:
        return service.changes.newest(limit)

    @routes.post(
        "/changes/{key}/undo",
        operation_id="undo",
        summary="Undo a deletion: the document comes back under its id",
        response_model=ChangeRow,
    )
    @in_turn(service)
    def undo(key: Annotated[int, Path(ge=1, le=2**53)]) -> object:
        service.check_writing()
        service.require_index().put_back(service.changes.undo_of(key))
        service.changes.mark_undone(key)
        return change_of(service, key)

    @routes.delete(
        "/refused",
        operation_id="forget_refused",
        summary="Forget that a file was refused, or with no name that any was",
        response_model=list[Refused],
    )
    @in_turn(service)
    def forget(path: Annotated[str, Query(max_length=500)] = "") -> object:
        service.check_writing()
        service.changes.forget_refused(path)
        return service.changes.list_refused()

    return routes


def change_of(service: Service, key: int) -> dict[str, Any]:
    return next(each for each in service.changes.newest(_MOST) if each["key"] == key)
