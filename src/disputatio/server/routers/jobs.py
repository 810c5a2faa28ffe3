"""`/api/jobs` and `/api/calibrate`: jobs that take longer than a request."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from disputatio.calibration.calibrate import CalibrationPlan, Listener
from disputatio.calibration.calibrate import calibrate as calibrate_index
from disputatio.errors import Cancelled
from disputatio.server.jobs import Job
from disputatio.server.replies import json_response
from disputatio.server.service import Service
from disputatio.server.shapes import FAULTS, Request
from disputatio.versions.dates import today


class Plan(BaseModel):
    """The plan of a calibration; `calls` and `seconds` are estimates, `seconds` null before a first call."""

    questions: int
    write: int
    done: int
    sources: int
    calls: int
    seconds: float | None


class JobShape(BaseModel):
    """A job: `done` of `total` steps; `result` when it is done, `error` when it failed."""

    id: str
    kind: Literal["calibrate", "ingest"]
    state: Literal["running", "done", "failed", "stopped"]
    done: int
    total: int
    seconds_left: float | None
    plan: Plan | None
    result: dict[str, Any] | None
    error: dict[str, Any] | None
    began: str
    ended: str | None


class CalibrateBody(Request):
    """A calibration; without `confirm` only its plan."""

    questions: int = Field(40, ge=0, le=10_000, description="how many to draw from the passages")
    seed: int = Field(0, ge=0, le=2**31)
    half_life: float | None = Field(None, gt=0, le=1e6, description="days after which a result counts half")
    confirm: bool = Field(False, description="false: say what it would take, and ask nothing")


def router(service: Service) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["jobs"], responses=FAULTS)

    @routes.post(
        "/calibrate",
        operation_id="calibrate",
        summary="Estimate how reliable each source is, as a job; first what that takes",
        response_model=JobShape,
        status_code=202,
    )
    async def calibrate(body: CalibrateBody) -> Response:
        if body.confirm:
            service.check_writing()
        job = service.jobs.start("calibrate", lambda job: _calibrate(service, job, body))
        return json_response(job.to_dict(), status=202)

    @routes.get("/jobs", operation_id="jobs", summary="Jobs, the newest first", response_model=list[JobShape])
    async def jobs() -> Response:
        return json_response([job.to_dict() for job in service.jobs.all()])

    @routes.get("/jobs/{name}", operation_id="job", summary="How far a job is", response_model=JobShape)
    async def job(name: str) -> Response:
        return json_response(service.jobs.job(name).to_dict())

    @routes.delete(
        "/jobs/{name}",
        operation_id="stop_job",
        summary="Stop a job; what it did stays",
        response_model=JobShape,
    )
    async def stop(name: str) -> Response:
        service.check_writing()
        job = service.jobs.job(name)
        job.cancel.cancel()
        return json_response(job.to_dict())

    return routes


def _calibrate(service: Service, job: Job, body: CalibrateBody) -> dict[str, Any]:
    planned = False

    def plan(found: CalibrationPlan) -> None:
        nonlocal planned
        job.plan = asdict(found)
        planned = True
        if not body.confirm:
            raise Cancelled

    try:
        report = calibrate_index(
            service.require_index(),
            replace(service.kit, cancel=job.cancel),
            day=today().isoformat(),
            count=body.questions,
            half_life=body.half_life if body.confirm else None,
            seed=body.seed,
            listener=Listener(planned=plan, progress=job.progress),
        )
    except Cancelled:
        if planned and not body.confirm:
            return {"planned": True}
        raise
    names = ("questions", "anchors", "cross_checked", "calls", "seconds", "notices")
    return {name: getattr(report, name) for name in names}
