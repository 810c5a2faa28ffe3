"""The application: every router over one service, the page, and the guard before them."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from disputatio import __version__
from disputatio.errors import DisputatioError
from disputatio.serialisation import json_text
from disputatio.server.chat import router as completions
from disputatio.server.faults import NO_OBJECT, NO_OBJECT_MESSAGE, Fault
from disputatio.server.guard import Guard
from disputatio.server.mcp.tools import agents_door, http_routes
from disputatio.server.replies import error_response, fault_response, in_turn, text_of_json
from disputatio.server.routers import (
    asking,
    changes,
    conflicts,
    documents,
    health,
    jobs,
    runs,
    searching,
    sources,
    threads,
)
from disputatio.server.service import Service
from disputatio.server.shapes import event_schemas

# --- files of the page --------------------------------------------------------------------------------
# No inline script or style, nothing from elsewhere, no frame, no form; and no text ever becomes markup, as
# the browser refuses every sink of it, but for the address of the worker that reads PDFs, which is one of
# these files. The guard adds the other headers.
_POLICY = "; ".join((
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "font-src 'self'",
    "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    "require-trusted-types-for 'script'", "trusted-types pdf-worker",
))  # fmt: skip
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_KEPT = "public, max-age=31536000, immutable"  # names of assets change with their content


class PageFiles(StaticFiles):
    """Files of the page with its headers; browsers request `index.html` each time."""

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Return a file with the headers of the page."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(_HEADERS)
        assets = scope["path"].rpartition("/")[0].endswith("/assets")
        response.headers["Cache-Control"] = _KEPT if assets else "no-cache"
        return response


PAGE = Path(__file__).parent / "page"  # the built page, where there is one
UNBUILT = (
    "the page at / was not built: a checkout has only its source; run `make page` there, and start again"
)
_ELSEWHERE = "What is served without it: the API at /api (described at /api/openapi.json), /v1 and /mcp."

_SWITCH = 0.001  # seconds that a thread computes before the loop that answers all is let in


def create_app(service: Service, *, page: Path = PAGE) -> FastAPI:
    """Create the application over a service, which it closes on shutdown."""
    agents = agents_door(service)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None, None]:
        interval = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH)
        async with agents.session_manager.run():
            await service.sweep_uploads()
            try:
                yield
            finally:
                await service.close()
                sys.setswitchinterval(interval)

    app = FastAPI(
        title="Disputatio",
        version=__version__,
        description="Answers questions over sources that disagree: cited claims, every position, the cost.",
        openapi_url=None,  # ours is built once, in a thread
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    for module in (asking, searching, sources, documents, changes, conflicts, jobs, runs, threads, health):
        app.include_router(module.router(service))
    app.include_router(asking.answers_router(service))
    app.include_router(threads.suggestions_router(service))
    app.include_router(health.figures(service))
    app.include_router(completions.router(service))
    app.include_router(searching.passage_router(service))
    app.router.routes.extend(http_routes(agents, service.access, body=service.limits.body))
    app.include_router(_description(app, service))
    _mount_page(app, page)
    app.add_exception_handler(DisputatioError, _own_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _framework_error)
    app.add_middleware(
        Guard, access=service.access, limits=service.limits, metrics=service.metrics, files=_files(page)
    )
    _describe_events(app)
    return app


def _description(app: FastAPI, service: Service) -> APIRouter:
    """Return the route of the API description, which is built once."""
    routes = APIRouter()

    @cache
    def text() -> str:
        return json_text(app.openapi())

    @routes.get("/api/openapi.json", include_in_schema=False)
    @in_turn(service)
    def describe_api() -> Response:
        return text_of_json(text())

    return routes


def _describe_events(app: FastAPI) -> None:
    """Add the events of streams to the API description; no response model includes them."""
    described = app.openapi

    @cache  # it takes a tenth of a second of the loop that serves all
    def whole() -> dict[str, Any]:
        document = described()
        known = document["components"]["schemas"]
        known.update({name: part for name, part in event_schemas().items() if name not in known})
        return document

    app.openapi = whole  # type: ignore[method-assign]  # FastAPI's documented way to extend the description


def _mount_page(app: FastAPI, page: Path) -> None:
    if is_built(page):
        app.mount("/", PageFiles(directory=page, html=True), name="page")
        return

    @app.get("/", include_in_schema=False)
    async def unbuilt() -> Response:
        return PlainTextResponse(f"{UNBUILT[0].upper()}{UNBUILT[1:]}.\n\n{_ELSEWHERE}\n")


def is_built(page: Path = PAGE) -> bool:
    return (page / "index.html").is_file()


def _files(page: Path) -> set[str]:
    """Return the addresses of the page's files."""
    files = {f"/{path.relative_to(page).as_posix()}" for path in page.rglob("*") if path.is_file()}
    return files | {"/"}


async def _own_error(_: Request, error: Exception) -> Response:
    return error_response(error)


async def _invalid(_: Request, error: Exception) -> Response:
    """Report the first invalid field of a request, in one line."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] in NO_OBJECT:
        return fault_response(Fault(status=400, kind="InputError", message=NO_OBJECT_MESSAGE))
    where = ".".join(str(part) for part in first["loc"] if part != "body") or "the body"
    wrong = "is no field of this request" if first["type"] == "extra_forbidden" else first["msg"]
    return fault_response(Fault(status=400, kind="InputError", message=f"{where}: {wrong}"))


async def _framework_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kinds = {404: "NotFound", 405: "NotAllowed"}
    fault = Fault(
        status=error.status_code,
        kind=kinds.get(error.status_code, "InputError"),
        message=f"{request.method} {request.url.path[:200]}: {str(error.detail).lower()}",
        headers=dict(error.headers or {}),
    )
    return fault_response(fault)
