"""`/api/health`, `/api/ready` and `/api/strategies`: what is here, and whether it is ready."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Response

from disputatio import __version__
from disputatio.api.describing import strategies as described
from disputatio.server.replies import json_response
from disputatio.server.service import Service
from disputatio.server.shapes import FAULTS, Health, Strategy


def router(service: Service) -> APIRouter:
    """The router over a service."""
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
        return json_response([_fields(each, service.settings.strategy) for each in described()])

    return routes


def _fields(description: Any, default: str) -> dict[str, Any]:
    fields = asdict(description)
    for option in fields["options"]:
        words = option["type"].split(", ")
        option["choices"] = words if len(words) > 1 else [True, False] if option["type"] == "bool" else None
    return {**fields, "default": description.name == default}
