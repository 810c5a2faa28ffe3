"""Responses: our JSON as it is, faults, and events as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from fastapi import Request
from fastapi.responses import Response, StreamingResponse

from disputatio.rendering.data import json_text
from disputatio.server.faults import Fault, fault_of
from disputatio.server.running import Running, Told
from disputatio.server.shapes import STREAM

_HEARTBEAT = 15.0  # seconds without an event after which a comment keeps the connection


def json_response(value: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a value as JSON in which what could steer a terminal or a page is escaped."""
    return text_of_json(json_text(value), status=status, headers=headers)


def text_of_json(text: str, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return JSON text as it is."""
    return Response(
        text.encode("utf-8", "backslashreplace"),
        status_code=status,
        media_type="application/json",
        headers=dict(headers or {}),
    )


def fault_response(fault: Fault) -> Response:
    """Return a fault in the form that all of them have."""
    return json_response(fault.to_dict(), status=fault.status, headers=fault.headers)


def error_response(error: BaseException) -> Response:
    """Return an error as a fault."""
    return fault_response(fault_of(error))


def event_stream(running: Running, after: int = 0) -> Response:
    """Return the events of a question as server-sent events, from the one beyond `after` on."""
    return StreamingResponse(
        _lines(running, after),
        media_type=STREAM,
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _lines(running: Running, after: int) -> AsyncGenerator[str, None]:
    """Yield each event as its lines; a comment where nothing happens for a while."""
    async with aclosing(running.follow(after)) as events:
        following: asyncio.Task[Told] | None = None
        try:
            while True:
                following = following or asyncio.ensure_future(anext(events))
                done, _ = await asyncio.wait({following}, timeout=_HEARTBEAT)
                if not done:
                    yield ": still here\n\n"
                    continue
                try:
                    told = following.result()
                except StopAsyncIteration:
                    return
                following = None
                yield f"id: {told.number}\nevent: {told.name}\ndata: {told.data}\n\n"
        finally:
            if following is not None and not following.done():
                following.cancel()
                await asyncio.wait({following})


async def unless_gone(request: Request, running: Running) -> Any:
    """Return the answer; None where the client has gone before it came."""
    answer = asyncio.ensure_future(running.result())
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        return answer.result() if answer.done() else None
    finally:
        for task in (answer, gone):
            task.cancel()
        await asyncio.wait({answer, gone})


async def _gone(request: Request) -> None:
    """Return when the client has closed its connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
