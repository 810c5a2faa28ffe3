"""Responses: JSON, faults, and server-sent events."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial, wraps
from typing import Any, TypeVar

from fastapi import Request
from fastapi.responses import Response, StreamingResponse

from disputatio.serialisation import json_text
from disputatio.server.faults import Fault, fault_of
from disputatio.server.running import Running
from disputatio.server.service import Service
from disputatio.server.shapes import STREAM
from disputatio.types import Answer

CLIENT_GONE = 499  # status of a response whose reader has gone
HEARTBEAT = ": still here\n\n"  # a comment that keeps the connection open
_HEARTBEAT_SECONDS = 15.0
_Item = TypeVar("_Item")


def json_response(value: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a value as JSON; control characters and marks of direction are escaped."""
    return text_of_json(json_text(value), status=status, headers=headers)


def text_of_json(text: str, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        text.encode("utf-8", "backslashreplace"),
        status_code=status,
        media_type="application/json",
        headers=dict(headers or {}),
    )


def fault_response(fault: Fault) -> Response:
    return json_response(fault.to_dict(), status=fault.status, headers=fault.headers)


def error_response(error: BaseException) -> Response:
    return fault_response(fault_of(error))


def event_stream(running: Running, after: int = 0) -> Response:
    """Return the frames of a question after number `after` as server-sent events."""
    return stream_response(_lines(running, after))


def stream_response(lines: AsyncGenerator[str, None]) -> Response:
    """Return lines as a stream of server-sent events, which no proxy stores."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(lines, media_type=STREAM, headers=headers)


async def _lines(running: Running, after: int) -> AsyncGenerator[str, None]:
    async with aclosing(running.follow(after)) as frames, aclosing(with_heartbeat(frames)) as beats:
        async for frame in beats:
            yield (
                HEARTBEAT
                if frame is None
                else (f"id: {frame.number}\nevent: {frame.name}\ndata: {frame.data}\n\n")
            )


async def with_heartbeat(items: AsyncIterator[_Item]) -> AsyncGenerator[_Item | None, None]:
    """Yield items as they come, and None when none has come for a while."""
    following: asyncio.Task[_Item] | None = None
    try:
        while True:
            following = following or asyncio.create_task(_next(items))
            done, _ = await asyncio.wait({following}, timeout=_HEARTBEAT_SECONDS)
            if not done:
                yield None
                continue
            try:
                item = following.result()
            except StopAsyncIteration:
                return
            following = None
            yield item
    finally:
        if following is not None:
            following.cancel()
            await asyncio.wait({following})
            if not following.cancelled():
                following.exception()  # the end of the items, which came as the client left


async def _next(items: AsyncIterator[_Item]) -> _Item:
    return await anext(items)


def in_turn(service: Service) -> Callable[[Callable[..., object]], Callable[..., Awaitable[Response]]]:
    """Make an endpoint of a function that takes long: it is called in a thread, when the client has its turn.

    What it returns is sent as JSON, unless it is a response. It may take the `request`.
    """

    def endpoint_of(work: Callable[..., object]) -> Callable[..., Awaitable[Response]]:
        signature = inspect.signature(work, eval_str=True)
        takes_request = "request" in signature.parameters

        def respond(given: Mapping[str, Any]) -> Response:
            result = work(**given)
            return result if isinstance(result, Response) else json_response(result)

        @wraps(work)
        async def endpoint(request: Request, **given: Any) -> Response:
            given |= {"request": request} if takes_request else {}
            return await service.read(partial(respond, given), client=client_of(request))

        others = [each for name, each in signature.parameters.items() if name != "request"]
        first = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)
        keywords = [first, *(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in others)]
        described: Any = endpoint
        described.__signature__ = inspect.Signature(keywords, return_annotation=Response)
        return endpoint

    return endpoint_of


def client_of(request: Request) -> str:
    """Return the address of the client, which shares turns with others of the same address."""
    return request.client.host if request.client else ""


async def unless_gone(request: Request, running: Running) -> Answer | None:
    """Wait for the answer; None if the client has closed its connection first."""
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
    while (await request.receive())["type"] != "http.disconnect":
        pass
