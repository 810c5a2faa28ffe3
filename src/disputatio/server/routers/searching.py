"""`/api/search`: search the index; `/api/passages`, `/passages`: a passage in its document, or as text."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

from disputatio.api.indexing import Index
from disputatio.errors import InputError
from disputatio.protocols import Search
from disputatio.rendering.wording import ORDERS
from disputatio.server.faults import NotFound
from disputatio.server.originals import HEADERS
from disputatio.server.replies import in_turn, json_response
from disputatio.server.service import Service
from disputatio.server.shapes import FAULTS, Name, PassageShape
from disputatio.store.filtered import check_sources
from disputatio.text import neutralise, one_line
from disputatio.types import Hit, Passage

_MOST = 200
_AROUND = 2  # passages before and after, where the request does not say


class HitRow(BaseModel):
    """A passage that a search found; `duplicate_of` is a better hit with nearly the same words."""

    score: float
    scores: dict[str, float]
    duplicate_of: str | None
    passage: PassageShape


class Around(BaseModel):
    """A passage with those that stand before and after it in its document, in order.

    `start` and `end` of each are offsets into the text of `document`.
    """

    passage: PassageShape
    before: list[PassageShape]
    after: list[PassageShape]


def router(service: Service) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["index"], responses=FAULTS)

    @routes.get(
        "/search",
        operation_id="search",
        summary="Passages by keyword and by meaning, the best first; no model is called",
        response_model=list[HitRow],
    )
    @in_turn(service)
    def search(
        q: Annotated[str, Query(max_length=4_000, description="words or a question")],
        k: Annotated[int, Query(ge=1, le=_MOST)] = 8,
        per_source: Annotated[int | None, Query(ge=1, le=_MOST)] = None,
        source: Annotated[
            list[Name] | None, Query(max_length=_MOST, description="only these sources")
        ] = None,
        after: Annotated[str | None, Query(max_length=40)] = None,
        before: Annotated[str | None, Query(max_length=40)] = None,
        alpha: Annotated[float, Query(ge=0, le=1, description="weight of keywords against meaning")] = 0.35,
        fusion: Literal["weighted", "rrf"] = "weighted",
        min_reliability: Annotated[float | None, Query(ge=0, le=1)] = None,
    ) -> Response:
        wanted = Search(
            k=k,
            per_source=per_source,
            sources=source,
            after=after,
            before=before,
            alpha=alpha,
            fusion=fusion,
            min_reliability=min_reliability,
        )
        opened = service.require_index()
        hits = found(opened, q, wanted)[: _MOST * 10]
        reply = json_response([{**hit.to_dict(), "duplicate_of": hit.duplicate_of or None} for hit in hits])
        for left_out in opened.unsearched():  # in a header: the body is a list of hits
            reply.headers.append("Disputatio-Unsearched", quote(PurePath(left_out.index).name))
        return reply

    @routes.get(
        "/passages/{name}",
        operation_id="passage",
        summary="A passage where it stands in its document",
        response_model=Around,
    )
    @in_turn(service)
    def passage(
        name: Annotated[str, Path(max_length=500)],
        around: Annotated[int, Query(ge=0, le=20, description="passages before and after")] = _AROUND,
    ) -> object:
        chosen = passage_of(service, name)
        before, after = service.require_index().around(chosen, around)
        return {
            "passage": chosen.to_dict(),
            "before": [each.to_dict() for each in before],
            "after": [each.to_dict() for each in after],
        }

    return routes


def passage_router(service: Service) -> APIRouter:
    """Return the route of a passage as plain text, which citations in chats link to."""
    routes = APIRouter(prefix="/passages", tags=["chat"], responses=FAULTS)

    @routes.get(
        "/{name:path}",
        operation_id="passage_text",
        summary="A passage as plain text; as it was read for an answer, where one is named",
        response_class=PlainTextResponse,
    )
    @in_turn(service)
    def passage(
        name: Annotated[str, Path(max_length=500)], answer: Annotated[str, Query(max_length=100)] = ""
    ) -> Response:
        return PlainTextResponse(text_of(passage_of(service, name, answer)), headers=HEADERS)

    return routes


def found(index: Index, query: str, search: Search) -> list[Hit]:
    """Return the hits of a search; raises `UnknownName` for a source that the index does not have."""
    check_sources(index, search.sources)
    return index.search(query, search)


def passage_of(service: Service, name: str, answer: str = "") -> Passage:
    if answer:
        for passage in service.answers.answer(answer).passages:
            if passage.id == name:
                return passage
    try:
        return service.require_index().passage(name)
    except InputError as error:
        raise NotFound(f"there is no passage {one_line(name)[:80]!r}") from error


def text_of(passage: Passage) -> str:
    """Return a passage as plain text: a few lines of metadata, then its text."""
    known = {
        "Title": passage.title,
        "Source": passage.source,
        "Date": passage.date + (" (of its file)" if passage.date and passage.date_origin == "file" else ""),
        "Page": passage.metadata.get("page", ""),
        "Address": passage.url,
        "Note": ORDERS if passage.gives_orders else "",
    }
    head = [f"{name}: {one_line(value)}" for name, value in known.items() if value]
    text = neutralise(passage.text)
    return "\n".join([*head, "", text, ""]) if head else f"{text}\n"
