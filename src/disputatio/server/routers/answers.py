"""`/api/answers`: what was answered, and what it would be without some of its evidence."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Response

from disputatio.server.replies import json_response, text_of_json
from disputatio.server.service import Service
from disputatio.server.shapes import FAULTS, AnswerShape, WithoutBody


def router(service: Service) -> APIRouter:
    """Return the router over a service."""
    routes = APIRouter(prefix="/api/answers", tags=["answers"], responses=FAULTS)

    @routes.get(
        "/{name}", operation_id="answer", summary="An answer that was given", response_model=AnswerShape
    )
    async def answer(name: str) -> Response:
        return text_of_json(await asyncio.to_thread(service.answers.json, name))

    @routes.post(
        "/{name}/without",
        operation_id="without",
        summary="The answer without some sources, owners or passages; no model is called",
        response_model=AnswerShape,
    )
    async def without(name: str, body: WithoutBody) -> Response:
        decided = await asyncio.to_thread(
            lambda: service.answers.answer(name).without(
                sources=body.sources, owners=body.owners, passages=body.passages
            )
        )
        return json_response(decided.to_dict())

    return routes
