"""`/api/ask`: ask, follow and stop a question; `/api/answers`: its stored answer, and what-if."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response

from disputatio.agents.follow_up import Turn
from disputatio.server.chat.requests import Conversation, standalone
from disputatio.server.faults import NotFound
from disputatio.server.replies import (
    CLIENT_GONE,
    client_of,
    event_stream,
    in_turn,
    json_response,
    text_of_json,
    unless_gone,
)
from disputatio.server.service import AskRequest, Service
from disputatio.server.shapes import EVENT, FAULTS, STREAM, AnswerShape, AskBody, Stopped, WithoutBody

_TURNS = 4  # questions and answers before a follow-up that are shown to the model


def router(service: Service) -> APIRouter:
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
        asked = body.to_request(body.question, body.strategy)
        if body.follows is not None:
            asked = replace(asked, asked=body.question, follows=body.follows)
        if body.follows:
            asked = await _complete_follow_up(service, asked, body.follows, client_of(request))
        running = await service.ask(asked, client=client_of(request))
        if STREAM in request.headers.get("accept", ""):
            return event_stream(running)
        answer = await unless_gone(request, running)
        if answer is None:
            return Response(status_code=CLIENT_GONE)
        kept = {"Content-Location": f"/api/answers/{running.id}"} if running.kept else {}
        return json_response(answer.to_dict(), headers=kept)

    @routes.get(
        "/{name}",
        operation_id="follow",
        summary="Follow a question that is under way, from its beginning or from an event on",
        response_class=Response,
        responses={200: {"content": EVENT, "description": "Its events, one a `data` line."}},
    )
    async def follow(name: str, last_event_id: Annotated[str, Header(max_length=20)] = "0") -> Response:
        running = service.find_running(name)
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

    @routes.post(
        "/{name}/finish",
        operation_id="finish",
        summary="Answer a question that was asked with `within` from what was read by now",
        response_model=Stopped,
    )
    async def finish(name: str) -> Response:
        running = service.finish(name)
        return json_response({"id": running.id, "state": running.state})

    return routes


async def _complete_follow_up(service: Service, request: AskRequest, follows: str, client: str) -> AskRequest:
    """Return a follow-up with what it leaves out, so that it can be asked alone."""

    def said() -> tuple[Turn, ...]:
        kept = service.answers.before(follows, _TURNS)
        answers = [service.answers.answer(turn.id) for turn in kept]
        return tuple(
            turn
            for answer in answers
            for turn in (
                Turn(role="user", text=answer.question),
                Turn(role="assistant", text=answer.text or "; ".join(answer.answers) or "no answer"),
            )
        )

    conversation = Conversation(question=request.question, earlier=await service.read(said, client=client))
    if any(turn.role == "user" and turn.text == request.question for turn in conversation.earlier):
        return request  # the same again, such as source by source: it was understood before
    alone = await standalone(conversation, service, model=request.model, client=client)
    return replace(request, question=alone.question, note=alone.note)


def answers_router(service: Service) -> APIRouter:
    answers = APIRouter(prefix="/api/answers", tags=["answers"], responses=FAULTS)

    @answers.get(
        "/{name}", operation_id="answer", summary="An answer that was given", response_model=AnswerShape
    )
    @in_turn(service)
    def answer(name: str) -> Response:
        return text_of_json(service.answers.json(name))

    @answers.post(
        "/{name}/without",
        operation_id="without",
        summary="The answer without some sources, owners or passages; no model is called",
        response_model=AnswerShape,
    )
    @in_turn(service)
    def without(name: str, body: WithoutBody) -> object:
        return service.answers.answer(name).without(**body.model_dump()).to_dict()

    return answers
