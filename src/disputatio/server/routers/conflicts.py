"""`/api/conflicts`: where the documents of the index contradict each other, without a question or a model."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel

from disputatio.api.checking import check
from disputatio.api.indexing import Index
from disputatio.errors import InputError
from disputatio.server.replies import client_of, json_response
from disputatio.server.service import Service
from disputatio.server.shapes import FAULTS
from disputatio.types import Check, Contradiction, Severity

MOST_PASSAGES = 30_000  # of an index that is checked while a client waits
_PAGE = 200


class ConflictsShape(BaseModel):
    """One page of what was found, the gravest first; `total` counts all, `hidden` those of lower severity."""

    contradictions: list[Contradiction]
    total: int
    hidden: int
    documents: int
    statements: int
    compared: int
    left_out: int
    seconds: float


def router(service: Service) -> APIRouter:
    """Return the router over a service."""
    routes = APIRouter(prefix="/api", tags=["index"], responses=FAULTS)
    checks = Checks()

    @routes.get(
        "/conflicts",
        operation_id="conflicts",
        summary="Where the documents contradict each other; no question, no model",
        response_model=ConflictsShape,
    )
    async def conflicts(
        request: Request,
        severity: Annotated[Severity, Query(description="the least that is listed")] = "medium",
        limit: Annotated[int, Query(ge=1, le=_PAGE)] = 50,
        offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    ) -> Response:
        opened = service.opened_index()
        found = await service.read(lambda: checks.of(opened, severity), client=client_of(request))
        listed = found.contradictions[offset : offset + limit]
        figures = {name: getattr(found, name) for name in ConflictsShape.model_fields if hasattr(found, name)}
        values = {
            **figures,
            "contradictions": [each.to_dict() for each in listed],
            "total": len(found.contradictions),
        }
        return json_response(values)

    return routes


class Checks:
    """The newest check of an index, which holds until its next commit."""

    def __init__(self) -> None:
        self._known: tuple[tuple[str, int, str], Check] | None = None

    def of(self, index: Index, severity: Severity) -> Check:
        """Return the check of an index as it is now; raises `InputError` for one that is too large."""
        info = index.info()
        key = (info.path, info.commit, severity)
        if self._known is not None and self._known[0] == key:
            return self._known[1]
        if info.passages > MOST_PASSAGES:
            raise InputError(
                f"the index has {info.passages:,} passages, more than {MOST_PASSAGES:,}: check it by "
                "disputatio check --index, which takes minutes"
            )
        found = check(index, severity=severity)
        self._known = (key, found)
        return found
