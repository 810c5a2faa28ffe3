"""`/api/threads`: conversations that are kept; `/api/suggestions`: questions to begin one with."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel

from disputatio.server.faults import NotFound
from disputatio.server.replies import client_of, in_turn, json_response
from disputatio.server.service import Service
from disputatio.server.shapes import FAULTS


class ThreadRow(BaseModel):
    """A conversation: its first question, the id of its newest answer, and when that was given."""

    id: str
    question: str
    last: str
    turns: int
    at: float


class ThreadTurn(BaseModel):
    """A question as it was `asked`, and as it was understood (`question`), with its answers."""

    id: str
    follows: str
    asked: str
    question: str
    answers: list[str]
    abstained: str | None
    at: float


class Thread(BaseModel):
    """A conversation, the oldest question first; several may follow one answer."""

    id: str
    turns: list[ThreadTurn]


class Suggested(BaseModel):
    """Questions that the index could answer; `writing` is true while more are being written."""

    questions: list[str]
    writing: bool


class Dropped(BaseModel):
    """The number of answers that were deleted."""

    answers: int


def router(service: Service) -> APIRouter:
    routes = APIRouter(prefix="/api/threads", tags=["ask"], responses=FAULTS)

    @routes.get(
        "",
        operation_id="threads",
        summary="Conversations that were asked for from this address, the newest first",
        response_model=list[ThreadRow],
    )
    @in_turn(service)
    def threads(request: Request, limit: Annotated[int, Query(ge=1, le=200)] = 20) -> object:
        return [asdict(each) for each in service.answers.conversations(client_of(request), limit)]

    @routes.get(
        "/{name}",
        operation_id="thread",
        summary="The conversation that an answer belongs to",
        response_model=Thread,
    )
    @in_turn(service)
    def thread(name: str) -> object:
        return _thread(service, name)

    @routes.delete(
        "/{name}",
        operation_id="drop_thread",
        summary="Delete a conversation, with its answers",
        response_model=Dropped,
    )
    @in_turn(service)
    def drop(name: str, request: Request) -> object:
        count = service.answers.drop_thread(name, client_of(request))
        if not count:
            raise NotFound(f"the conversation {name!r} was asked for from another address")
        return {"answers": count}

    return routes


def suggestions_router(service: Service) -> APIRouter:
    routes = APIRouter(prefix="/api/suggestions", tags=["ask"], responses=FAULTS)

    @routes.get(
        "",
        operation_id="suggestions",
        summary="Questions that the index could answer, written in the background and kept",
        response_model=Suggested,
    )
    async def suggestions() -> Response:
        questions = await service.suggestions.of(service.require_index())
        return json_response({"questions": questions, "writing": service.suggestions.is_writing})

    return routes


def _thread(service: Service, name: str) -> dict[str, object]:
    turns = service.answers.thread(name)
    listed = []
    for turn in turns:
        try:
            answer = service.answers.answer(turn.id)
        except NotFound:  # it was deleted by itself, or there were too many
            continue
        fields = {each: getattr(turn, each) for each in ("id", "follows", "asked", "at")}
        listed.append(
            {
                **fields,
                "question": answer.question,
                "answers": list(answer.answers),
                "abstained": answer.abstained,
            }
        )
    return {"id": turns[0].thread, "turns": listed}
