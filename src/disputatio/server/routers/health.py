"""`/api/health`, `/api/ready` and `/api/strategies`: version, readiness and strategies."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Response

from disputatio import __version__
from disputatio.errors import DisputatioError, InputError, MissingDependency
from disputatio.kit import NO_MODEL
from disputatio.pipeline import StrategyDescription, list_strategies
from disputatio.server.faults import shown
from disputatio.server.metrics import CONTENT_TYPE
from disputatio.server.replies import json_response
from disputatio.server.service import Service
from disputatio.server.shapes import FAULTS, Health, Ready, Strategy


def router(service: Service) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["server"], responses=FAULTS)

    @routes.get("/health", operation_id="health", summary="The process answers", response_model=Health)
    async def health() -> Response:
        return json_response({"status": "ok", "version": __version__})

    @routes.get(
        "/strategies",
        operation_id="strategies",
        summary="Strategies with their typed options",
        response_model=list[Strategy],
    )
    def strategies() -> Response:
        return json_response([_fields(each, service) for each in list_strategies()])

    @routes.get(
        "/ready",
        operation_id="ready",
        summary="Whether questions can be asked, and of what",
        response_model=Ready,
        responses={503: {"model": Ready, "description": "not yet, or no longer"}},
    )
    async def ready() -> Response:
        found = await asyncio.to_thread(_ready, service)
        return json_response(found, status=200 if found["ready"] else 503)

    return routes


def figures(service: Service) -> APIRouter:
    """Return the route `/metrics` for Prometheus."""
    routes = APIRouter()

    @routes.get("/metrics", operation_id="metrics", include_in_schema=False)
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type=CONTENT_TYPE)

    return routes


def _ready(service: Service) -> dict[str, Any]:
    """Report if there is something to search; the model is loaded by the first question."""
    why, index = "", dict.fromkeys(("documents", "passages", "sources", "commit"), 0)
    figures: dict[str, Any] = {**index, "embedder": "", "language": ""}
    try:
        info = service.require_index().info()
        figures = {name: getattr(info, name) for name in figures}
        in_process = info.embedder and not info.embedder.startswith("openai:")
        if in_process and not importlib.util.find_spec("openvino"):
            raise MissingDependency("openvino", "local")
        why = "" if info.passages else "the index holds no passages: put some in with: disputatio ingest PATH"
    except DisputatioError as error:
        why = shown(str(error))
    if service.closing:
        why = "the server is being stopped"
    return {
        "ready": not why,
        "why": why,
        "index": figures,
        "strategy": service.settings.strategy,
        "model": service.kit.model.name,
        "models": list(service.kits),
        "writing": service.access.writing,
        "running": service.turns.running,
        "waiting": service.turns.waiting,
        "notice": service.notice,
        "prices": _prices(service),
    }


def _prices(service: Service) -> dict[str, Any] | None:
    """Return the prices of the models; None if roles have models of their own, as usage is one sum."""
    if any(kit.roles for kit in service.kits.values()):
        return None
    table = service.prices
    models = {}
    for name in service.kits:
        with contextlib.suppress(InputError):
            models[name] = table.of(name).model_dump()
    return {"origin": shown(table.origin), "currency": table.currency, "as_of": table.as_of, "models": models}


def _fields(description: StrategyDescription, service: Service) -> dict[str, Any]:
    fields = asdict(description)
    for option in fields["options"]:
        words = option["type"].split(", ")
        option["choices"] = words if len(words) > 1 else [True, False] if option["type"] == "bool" else None
    with_model = [name for name, kit in service.kits.items() if kit.roles or kit.model.name != NO_MODEL]
    models = with_model if description.needs_model else list(service.kits)
    return {**fields, "default": description.name == service.settings.strategy, "models": models}
