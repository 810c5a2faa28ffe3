"""`/v1`: models, chat completions and responses, as OpenAI's clients ask for them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from disputatio.errors import UnknownName
from disputatio.pipeline import describe, strategy_names
from disputatio.server.chat.asking import Chat
from disputatio.server.chat.faults import CHAT_FAULTS, OpenAIRoute
from disputatio.server.chat.requests import (
    AskOptions,
    ChatBody,
    Conversation,
    ResponseBody,
    check_response_supported,
    check_supported,
    conversation_of,
)
from disputatio.server.chat.response import Completion
from disputatio.server.chat.response import Response as ModelResponse
from disputatio.server.replies import CLIENT_GONE, client_of, json_response, stream_response, unless_gone
from disputatio.server.service import Service

NAME = "disputatio"  # the model that stands for the server's own strategy
_CREATED = 1_735_689_600  # clients want a time; a strategy has none that means anything


def router(service: Service) -> APIRouter:
    routes = APIRouter(prefix="/v1", tags=["chat"], route_class=OpenAIRoute, responses=CHAT_FAULTS)

    @routes.get("/models", operation_id="models", summary="Strategies, as models")
    async def models() -> Response:
        reads_alone = not (service.kit.has_model or service.kit.roles)
        names = model_names()
        if reads_alone:
            without_model = (name for name in strategy_names() if not describe(name).needs_model)
            names = [NAME, *(f"{NAME}/{name}" for name in without_model)]
        return json_response({"object": "list", "data": [_model(name) for name in names]})

    @routes.get("/models/{name:path}", operation_id="model", summary="One of them")
    async def model(name: str) -> Response:
        strategy_of(name)
        return json_response(_model(name))

    @routes.post(
        "/chat/completions",
        operation_id="complete",
        summary="Answer the last question of a chat",
        response_model=None,
    )
    async def complete(body: ChatBody, request: Request) -> Response:
        check_supported(body)
        options = body.stream_options
        chat = Completion(
            **collect_arguments(body, conversation_of(body.messages), request),
            include_usage=options is not None and options.include_usage,
        )
        return await reply(chat, request, stream=bool(body.stream))

    @routes.post(
        "/responses",
        operation_id="respond",
        summary="Answer the last question of a chat, as a response",
        response_model=None,
    )
    async def respond(body: ResponseBody, request: Request) -> Response:
        check_response_supported(body)
        chat = ModelResponse(**collect_arguments(body, conversation_of(body.messages(), "input"), request))
        return await reply(chat, request, stream=bool(body.stream))

    def collect_arguments(
        body: ChatBody | ResponseBody, conversation: Conversation, request: Request
    ) -> dict[str, Any]:
        return {
            "service": service,
            "model": body.model,
            "options": body.disputatio or AskOptions.model_validate({}),
            "conversation": conversation,
            "strategy": strategy_of(body.model),
            "base": str(request.base_url),
            "client": client_of(request),
        }

    async def reply(chat: Chat, request: Request, *, stream: bool) -> Response:
        if stream:
            service.turns.check(chat.client)  # what is full says so by its status
            return stream_response(chat.lines())
        running = await chat.begin()
        try:
            answer = await unless_gone(request, running)
        finally:
            chat.end()
        if answer is None:
            return Response(status_code=CLIENT_GONE)
        return json_response(chat.whole(answer))

    return routes


def model_names() -> list[str]:
    """Return the names under which strategies are models; the first is the server's own."""
    return [NAME, *(f"{NAME}/{name}" for name in strategy_names())]


def strategy_of(model: str) -> str | None:
    """Return the strategy that a model stands for, None for the server's own; raises `UnknownName`."""
    if model not in model_names():
        raise UnknownName("model", model, model_names(), command="client.models.list()")
    return model.partition("/")[2] or None


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": NAME}
