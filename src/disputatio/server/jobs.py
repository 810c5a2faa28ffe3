"""Jobs that take longer than a request: calibrations and ingests, one of a kind at a time, with progress."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from disputatio.errors import Cancelled, DisputatioError
from disputatio.protocols import Cancel
from disputatio.server.faults import Conflicting, NotFound, fault_of
from disputatio.versions.dates import moment

LOG = logging.getLogger("disputatio.server")

Kind = Literal["calibrate", "ingest"]
State = Literal["running", "done", "failed", "stopped"]
_KEPT = 200  # finished jobs that are remembered


@dataclass(slots=True, kw_only=True)
class Job:
    """One job, with its `plan` once that is known, and its `result` or `error` at the end."""

    id: str
    kind: Kind
    state: State = "running"
    done: int = 0
    total: int = 0
    seconds_left: float | None = None
    plan: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    began: str = field(default_factory=moment)
    ended: str | None = None
    cancel: Cancel = field(default_factory=Cancel)

    def progress(self, done: int, total: int, left: float | None = None) -> None:
        self.cancel.check()
        self.done, self.total, self.seconds_left = done, total, left

    def to_dict(self) -> dict[str, Any]:
        names = ("id", "kind", "state", "done", "total", "seconds_left", "plan", "result", "error")
        return {name: getattr(self, name) for name in (*names, "began", "ended")}


Work = Callable[[Job], dict[str, Any]]


class Jobs:
    """The running and the last finished jobs; it belongs to one event loop."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._threads: list[threading.Thread] = []

    def check(self, kind: Kind) -> None:
        """Raise `Conflicting` if a job of this kind is running."""
        for other in self._jobs.values():
            if other.kind == kind and other.state == "running":
                raise Conflicting(f"a job of this kind is running ({other.id}): wait for it, or stop it")

    def start(self, kind: Kind, work: Work) -> Job:
        """Start a job in its own thread; raises `Conflicting` if one of the same kind is running."""
        self.check(kind)
        job = Job(id=f"j{secrets.token_hex(8)}", kind=kind)
        self._jobs[job.id] = job
        ended = [name for name, each in self._jobs.items() if each.state != "running"]
        for name in ended[:-_KEPT]:
            del self._jobs[name]
        thread = threading.Thread(target=_run, args=(job, work), name=f"disputatio {kind}", daemon=True)
        self._threads = [each for each in self._threads if each.is_alive()] + [thread]
        thread.start()
        return job

    def job(self, name: str) -> Job:
        if name not in self._jobs:
            raise NotFound(f"there is no job {name!r}")
        return self._jobs[name]

    def all(self) -> list[Job]:
        """Return the jobs, the newest first."""
        return list(reversed(self._jobs.values()))

    async def close(self, seconds: float) -> None:
        """Stop all jobs, and wait up to `seconds` for them."""
        for job in self._jobs.values():
            job.cancel.cancel()
        until = time.monotonic() + seconds
        for thread in self._threads:
            await asyncio.to_thread(thread.join, max(0.0, until - time.monotonic()))


def _run(job: Job, work: Work) -> None:
    state: State = "done"
    try:
        job.result = work(job)
    except Cancelled:
        state = "stopped"
    except DisputatioError as error:
        state, job.error = "failed", fault_of(error).to_dict()["error"]
    except Exception as error:
        LOG.exception("a job failed: unexpected error")
        state, job.error = "failed", fault_of(error).to_dict()["error"]
    job.ended = moment()
    job.state = state
