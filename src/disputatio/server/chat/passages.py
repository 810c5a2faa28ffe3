"""`/passages/ID`: the address of a passage that a citation links to, as plain text for people."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import PlainTextResponse

from disputatio.errors import InputError
from disputatio.server.faults import NotFound
from disputatio.server.service import Service
from disputatio.server.shapes import FAULTS
from disputatio.text import neutralise, one_line
from disputatio.types import Passage

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": "private, no-store",
}


def router(service: Service) -> APIRouter:
    """Return the router over a service."""
    routes = APIRouter(prefix="/passages", tags=["chat"], responses=FAULTS)

    @routes.get(
        "/{name:path}",
        operation_id="passage_text",
        summary="A passage as plain text; as it was read for an answer, where one is named",
        response_class=PlainTextResponse,
    )
    async def passage(
        name: Annotated[str, Path(max_length=500)],
        answer: Annotated[str, Query(max_length=100)] = "",
    ) -> Response:
        read = await asyncio.to_thread(passage_of, service, name, answer)
        return PlainTextResponse(text_of(read), headers=_HEADERS)

    return routes


def passage_of(service: Service, name: str, answer: str = "") -> Passage:
    """Return a passage by its id, from an answer or from the index; raises `NotFound`."""
    if answer:
        for passage in service.answers.answer(answer).passages:
            if passage.id == name:
                return passage
    if service.index is not None:
        try:
            return service.index.passage(name)
        except InputError:
            pass
    raise NotFound(f"there is no passage {one_line(name)[:80]!r}")


def text_of(passage: Passage) -> str:
    """Return a passage as plain text: what is known of it in a few lines, then its words."""
    known = {
        "Title": passage.title,
        "Source": passage.source,
        "Date": passage.date,
        "Page": passage.metadata.get("page", ""),
        "Address": passage.url,
    }
    head = [f"{name}: {one_line(value)}" for name, value in known.items() if value]
    text = neutralise(passage.text)
    return "\n".join([*head, "", text, ""]) if head else f"{text}\n"
