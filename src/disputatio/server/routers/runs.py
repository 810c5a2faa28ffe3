"""`/api/runs`: the evaluations in the folder that the server was given, and where two strategies differ."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel

from disputatio.server.faults import NotAllowed, NotFound, shown
from disputatio.server.options import Runs
from disputatio.server.replies import in_turn
from disputatio.server.service import Service
from disputatio.server.shapes import FAULTS, AnswerShape


class RunRow(BaseModel):
    """An evaluation; `name` stands for it in addresses. `fault` says why one cannot be read."""

    name: str
    strategies: list[str]
    datasets: list[str]
    model: str
    questions: int
    recorded: int
    fault: str


def router(service: Service) -> APIRouter:
    routes = APIRouter(prefix="/api/runs", tags=["runs"], responses=FAULTS)

    @routes.get("", operation_id="runs", summary="Evaluations", response_model=list[RunRow])
    @in_turn(service)
    def runs() -> object:
        return [{**row, "fault": shown(row["fault"])} for row in _runs(service).rows()]

    @routes.get(
        "/{name}",
        operation_id="run",
        summary="The report of an evaluation, as `eval report --json` prints it",
        response_model=dict[str, Any],
    )
    @in_turn(service)
    def run(name: str) -> object:
        return _found(_runs(service).report(name), name)

    @routes.get(
        "/{name}/differences",
        operation_id="run_differences",
        summary="The questions on which two strategies differ, as `eval compare --json` prints them",
        response_model=dict[str, Any],
    )
    @in_turn(service)
    def differences(
        name: str,
        first: Annotated[str, Query(max_length=500)],
        second: Annotated[str, Query(max_length=500)],
        metric: Annotated[str | None, Query(max_length=100)] = None,
    ) -> object:
        return _found(_runs(service).differences(name, first, second, metric), name)

    @routes.get(
        "/{name}/answers/{example}",
        operation_id="run_answer",
        summary="What a strategy answered to a question of an evaluation, with the passages that it read",
        response_model=AnswerShape,
    )
    @in_turn(service)
    def answer(name: str, example: str, strategy: Annotated[str, Query(max_length=500)]) -> object:
        what = f" with an answer of {strategy!r} to {example!r}"
        return _found(_runs(service).answer(name, strategy, example), name, what)

    return routes


def _runs(service: Service) -> Runs:
    if service.keeping.runs is None:
        raise NotAllowed("this server shows no evaluations: start it with --runs DIR")
    return service.keeping.runs


def _found(found: dict[str, Any] | None, name: str, what: str = "") -> dict[str, Any]:
    if found is None:
        raise NotFound(f"there is no evaluation {name!r}{what}")
    return found
