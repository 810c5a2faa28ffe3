"""`/api/ask`: a question answered at once or as events, followed again, and stopped."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Request, Response

from disputatio.server.faults import NotFound
from disputatio.server.replies import event_stream, json_response, unless_gone
from disputatio.server.service import Asking, Service
from disputatio.server.shapes import EVENT, FAULTS, STREAM, AnswerShape, AskBody, Stopped

_CLIENT_GONE = 499  # nobody reads it


def client_of(request: Request) -> str:
    """Return who shares a turn: the address that asks."""
    return request.client.host if request.client else ""


def asking_of(body: AskBody) -> Asking:
    """Return the question of a body."""
    fields = {name: getattr(body, name) for name in AskBody.model_fields}
    for name in ("sources", "passages"):
        fields[name] = None if fields[name] is None else tuple(fields[name])
    return Asking(**fields)


def router(service: Service) -> APIRouter:
    """Return the router over a service."""
    routes = APIRouter(prefix="/api/ask", tags=["ask"], responses=FAULTS)

    @routes.post(
        "",
        operation_id="ask",
        summary="Answer a question",
        responses={
            200: {
                "model": AnswerShape,
                "content": EVENT,
                "description": "The answer; or with `Accept: text/event-stream` its events as they happen.",
            }
        },
    )
    async def ask(body: AskBody, request: Request) -> Response:
        running = service.ask(asking_of(body), client=client_of(request))
        if STREAM in request.headers.get("accept", ""):
            return event_stream(running)
        answer = await unless_gone(request, running)
        if answer is None:
            return Response(status_code=_CLIENT_GONE)
        return json_response(answer.to_dict(), headers={"Content-Location": f"/api/answers/{running.id}"})

    @routes.get(
        "/{name}",
        operation_id="follow",
        summary="Follow a question that is under way, from its beginning or from an event on",
        response_class=Response,
        responses={200: {"content": EVENT, "description": "Its events, one a `data` line."}},
    )
    async def follow(name: str, last_event_id: Annotated[str, Header(max_length=20)] = "0") -> Response:
        running = service.running(name)
        if not last_event_id.isascii() or not last_event_id.isdigit():
            raise NotFound(f"no event {last_event_id!r}: Last-Event-ID is the number of the last one seen")
        return event_stream(running, int(last_event_id))

    @routes.delete(
        "/{name}",
        operation_id="stop",
        summary="Stop a question and end its model calls",
        response_model=Stopped,
    )
    async def stop(name: str) -> Response:
        running = service.stop(name)
        return json_response({"id": running.id, "state": running.state})

    return routes
