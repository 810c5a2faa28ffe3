"""`/api/runs`: the evaluations in the folder that the server was given, and where two strategies differ."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from disputatio.errors import DisputatioError, InputError
from disputatio.eval.reporting.answers import read_answer
from disputatio.eval.reporting.compare import compare, sides
from disputatio.eval.reporting.report import report
from disputatio.eval.running.run_log import read_journal
from disputatio.eval.running.run_log_file import FILE
from disputatio.server.faults import NotAllowed, NotFound, shown
from disputatio.server.replies import json_response
from disputatio.server.service import Service
from disputatio.server.shapes import FAULTS, AnswerShape

_DEPTH = 3  # folders below the one that was named
_MOST = 1_000


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
    """Return the router over a service."""
    routes = APIRouter(prefix="/api/runs", tags=["runs"], responses=FAULTS)

    @routes.get("", operation_id="runs", summary="Evaluations", response_model=list[RunRow])
    async def runs() -> Response:
        return json_response(await asyncio.to_thread(_runs, service))

    @routes.get(
        "/{name}",
        operation_id="run",
        summary="The report of an evaluation, as `eval report --json` prints it",
        response_model=dict[str, Any],
    )
    async def run(name: str) -> Response:
        return json_response(await asyncio.to_thread(lambda: report(_folder(service, name), resamples=1_000)))

    @routes.get(
        "/{name}/differences",
        operation_id="run_differences",
        summary="The questions on which two strategies differ, as `eval compare --json` prints them",
        response_model=dict[str, Any],
    )
    async def differences(
        name: str,
        first: Annotated[str, Query(max_length=500)],
        second: Annotated[str, Query(max_length=500)],
        metric: Annotated[str | None, Query(max_length=100)] = None,
    ) -> Response:
        return json_response(await asyncio.to_thread(_differences, service, name, first, second, metric))

    @routes.get(
        "/{name}/answers/{example}",
        operation_id="run_answer",
        summary="What a strategy answered to a question of an evaluation, with the passages that it read",
        response_model=AnswerShape,
    )
    async def answer(name: str, example: str, strategy: Annotated[str, Query(max_length=500)]) -> Response:
        return json_response(await asyncio.to_thread(_answer, service, name, example, strategy))

    return routes


def _found(service: Service) -> dict[str, Path]:
    """Return the folders of evaluations by name: their path below the folder of all, with `~`
    between parts.
    """
    top = service.keeping.runs
    if top is None:
        raise NotAllowed("this server shows no evaluations: start it with --runs DIR")
    folders = {top, *(path for depth in range(1, _DEPTH + 1) for path in top.glob("/".join("*" * depth)))}
    found = [path for path in sorted(folders) if (path / FILE).is_file() and not path.is_symlink()]
    return {"~".join(path.relative_to(top).parts) or top.name: path for path in found[:_MOST]}


def _folder(service: Service, name: str) -> Path:
    folders = _found(service)
    if name not in folders:
        raise NotFound(f"there is no evaluation {name!r}")
    return folders[name]


def _runs(service: Service) -> list[dict[str, Any]]:
    return [_row(name, folder) for name, folder in _found(service).items()]


def _row(name: str, folder: Path) -> dict[str, Any]:
    row = {"name": name, "strategies": [], "datasets": [], "model": "", "questions": 0, "recorded": 0}
    try:
        journal = read_journal(folder)
    except DisputatioError as error:
        return {**row, "fault": shown(str(error))}
    return {
        "name": name,
        "strategies": [entrant.label for entrant in journal.entrants],
        "datasets": list(journal.manifest.datasets),
        "model": journal.manifest.model,
        "questions": len(journal.examples),
        "recorded": len(journal.entries),
        "fault": "",
    }


def _differences(service: Service, name: str, first: str, second: str, metric: str | None) -> dict[str, Any]:
    folder = _folder(service, name)
    labels = [entrant.label for entrant in read_journal(folder).entrants]
    for label in (first, second):
        if label not in labels:
            raise InputError(f"no strategy {label!r} in this evaluation; it has {', '.join(labels)}")
    found = compare(*sides([folder], f"{first},{second}"), metric=metric)
    for side in ("one", "other"):
        found[side]["folder"] = name
    return found


def _answer(service: Service, name: str, example: str, strategy: str) -> dict[str, Any]:
    answer = read_answer(_folder(service, name), strategy, example)
    if answer is None:
        raise NotFound(f"{strategy!r} has no answer to {example!r} in this evaluation")
    return answer
