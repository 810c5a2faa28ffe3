"""The supervisor of Ray workers, for questions and for an ingest: it begins workers anew where they die.

A task whose worker died is done again. The task that killed it is found by doing the suspects one at a time:
the third worker that dies at one alone ends the task, and the tasks beside it are not blamed.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from disputatio.errors import ClusterFault, ConfigError, WorkerLost
from disputatio.workers.cluster import reason_of, report_faults
from disputatio.workers.outcome import Outcome, capture

TRIES = 3
_RESTART = 120.0  # seconds in which a worker that died is to be ready again, if no other is
_START = 900.0  # in which workers are to be ready for the first time, models loaded
_PAUSE = 0.2  # between one try to begin a worker and the next
_CLOSING = 10.0  # that threads which begin workers are waited for
_PASSED_ON = ("OPENAI_BASE_URL", "OPENAI_API_KEY")  # of the environment, beside DISPUTATIO_*
_OWN = "DISPUTATIO_CACHE"  # which machines may each have elsewhere

Work = Callable[[Any], Any]
Make = Callable[[], Work]


class Worker:
    """Does tasks with the function that it made for itself; an actor of Ray, in `Pool`."""

    def __init__(self, make: Make, folder: str, environment: Mapping[str, str]) -> None:
        self._make, self._folder, self._environment = make, folder, dict(environment)
        self._work: Work | None = None

    def ready(self) -> Outcome[None]:
        return capture(self._get_ready)

    def do(self, task: Any) -> Outcome[Any]:
        work = self._work
        assert work is not None  # no task is sent to a worker that is not ready
        return capture(lambda: work(task))

    def _get_ready(self) -> None:
        with contextlib.suppress(OSError):  # paths may be relative to where the run was started
            os.chdir(self._folder)
        own = {_OWN: os.environ[_OWN]} if _OWN in os.environ else {}
        os.environ.update({**self._environment, **own})
        self._work = self._make()


@dataclass(slots=True)
class _Slot:
    """A worker as the driver has it: its tasks by kind, and whether one of them is a suspect."""

    number: int
    actor: Any = None
    tasks: Counter[str] = field(default_factory=Counter)
    suspect: bool = False
    down_since: float | None = field(default_factory=time.monotonic)  # None once it is ready
    lives: int = 0  # how often it was begun anew


@dataclass(slots=True)
class Pool:
    """Workers with `each` tasks of a kind at a time; threads share it. Made by `open_pool`."""

    slots: Sequence[_Slot]
    each: int
    begin: Callable[[int], Any]
    on_death: Callable[[int], None] = lambda _: None
    on_ready: Callable[[int], None] = lambda _: None
    deaths: int = 0
    closed: threading.Event = field(default_factory=threading.Event)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _starting: list[threading.Thread] = field(default_factory=list)
    _stillborn: int = 0  # deaths of workers that were not ready yet, since one was
    _fault: ClusterFault | None = None

    def do(self, task: Any, *, kind: str = "", prefer: int | None = None) -> Any:
        """Return a task's result, or raise its error; `WorkerLost` if it kills workers, `ClusterFault`."""
        import ray
        from ray.exceptions import (
            ActorDiedError,
            ActorUnavailableError,
            ObjectLostError,
            RayError,
            WorkerCrashedError,
        )

        died = 0
        while died < TRIES:
            with self._slot(kind, prefer, suspect=died > 0) as slot:
                lives = slot.lives
                try:
                    result: Outcome[Any] = ray.get(slot.actor.do.remote(task))
                except (ActorDiedError, ActorUnavailableError, WorkerCrashedError, ObjectLostError):
                    # Only a task that was the one suspect is to blame for sure; at first all are suspects.
                    died += self._replace(slot, lives, suspect=died > 0)
                    continue
                except RayError as error:
                    raise ClusterFault(f"the cluster failed: {reason_of(error)}") from error
            return result.get()
        raise WorkerLost(f"{TRIES} workers died at it; is their memory too small?")

    def wait_ready(self) -> None:
        with self._changed:
            while any(slot.down_since is not None for slot in self.slots):
                self._check()
                self._changed.wait(_PAUSE)

    def close(self) -> None:
        import ray

        self.closed.set()
        with self._changed:
            self._changed.notify_all()
        for slot in self.slots:
            if slot.actor is not None:
                ray.kill(slot.actor)
        for thread in self._starting:
            thread.join(_CLOSING)

    def start(self, slot: _Slot) -> None:
        thread = threading.Thread(target=self._start, args=(slot, slot.lives == 0), daemon=True)
        self._starting.append(thread)
        thread.start()

    @contextmanager
    def _slot(self, kind: str, prefer: int | None, *, suspect: bool) -> Iterator[_Slot]:
        """Take the preferred worker, or the one with the fewest tasks; one suspect at a time is with it."""
        with self._changed:
            while True:
                self._check()
                up = [slot for slot in self.slots if slot.down_since is None]
                preferred = [slot for slot in up if slot.number == prefer and not suspect]
                free = [
                    slot
                    for slot in preferred or up
                    if slot.tasks[kind] < self.each and not (suspect and slot.suspect)
                ]
                if free:
                    break
                self._changed.wait(_PAUSE)
            slot = min(free, key=lambda slot: slot.tasks[kind])
            slot.tasks[kind] += 1
            slot.suspect = slot.suspect or suspect
        try:
            yield slot
        finally:
            with self._changed:
                slot.tasks[kind] -= 1
                slot.suspect = slot.suspect and not suspect
                self._changed.notify_all()

    def _check(self) -> None:
        """Raise `ClusterFault` if the workers are gone, cannot work, or have not been ready for long."""
        if self.closed.is_set():  # Ray would start a cluster of its own if it were asked now
            raise ClusterFault("the workers have been let go")
        if self._fault is not None:
            raise self._fault
        down = [slot.down_since for slot in self.slots if slot.down_since is not None]
        limit = _RESTART if self.deaths else _START
        if len(down) == len(self.slots) and time.monotonic() - min(down) > limit:
            raise ClusterFault(f"no worker is left: none was ready within {limit:.0f} s")

    def _replace(self, slot: _Slot, lives: int, *, suspect: bool) -> int:
        """Begin a worker anew, once for all tasks that it had; return 1 if this task is to blame, else 0."""
        with self._changed:
            to_blame = int(suspect or not slot.suspect)
            if slot.lives == lives and not self.closed.is_set():
                slot.lives += 1
                self.deaths += 1
                slot.down_since = time.monotonic()
                self.start(slot)
                self.on_death(slot.number)
            return to_blame

    def _start(self, slot: _Slot, begun: bool) -> None:
        import ray
        from ray.exceptions import RayError

        while not self.closed.is_set() and self._fault is None:
            try:
                if not begun:
                    ray.kill(slot.actor)  # it may only have been out of reach
                    slot.actor = self.begin(slot.number)
                ready: Outcome[None] = ray.get(
                    slot.actor.ready.remote(), timeout=_RESTART if slot.lives else _START
                )
            except RayError as error:
                self._note_stillborn(reason_of(error))
            else:
                if not ready.kind:
                    self._note_ready(slot)
                    return
                if not slot.lives:
                    reason = " ".join(ready.message.split())
                    self._fail(ClusterFault(f"a worker cannot do its work: {reason}"))
            begun = False
            self.closed.wait(_PAUSE)

    def _note_ready(self, slot: _Slot) -> None:
        with self._changed:
            slot.down_since, self._stillborn = None, 0
            self.on_ready(sum(slot.down_since is None for slot in self.slots))
            self._changed.notify_all()

    def _note_stillborn(self, reason: str) -> None:
        with self._changed:
            self._stillborn += 1
            up = any(slot.down_since is None for slot in self.slots)
        if self._stillborn >= TRIES and not up and not self.closed.is_set():
            died = f"{TRIES} workers died as they began; is their memory too small?"
            self._fail(ClusterFault(f"{died} ({reason})"))

    def _fail(self, fault: ClusterFault) -> None:
        with self._changed:
            self._fault = self._fault or fault
            self._changed.notify_all()


@contextmanager
def open_pool(
    make: Callable[[int], Make],
    count: int,
    *,
    each: int,
    kinds: int = 1,
    cpus: float = 1,
    on_death: Callable[[int], None] = lambda _: None,
    on_ready: Callable[[int], None] = lambda _: None,
) -> Iterator[Pool]:
    """Open a pool of workers, that begin their work; `make(number)` travels to each and is called there.

    `each` tasks of each of so many `kinds` are with a worker at a time. `on_ready` is called with the number
    of ready workers whenever one is. Raises `ClusterFault` if the cluster has too few cores, `ConfigError`
    for what cannot be sent.
    """
    import ray

    cores = int(ray.cluster_resources().get("CPU", 0))
    if count * cpus > cores:
        need = "asked for" if cpus == 1 else f"of {cpus:g} would take"
        raise ClusterFault(f"the cluster has {cores} cores, fewer than the {count} workers {need}")
    environment = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("DISPUTATIO_") or name in _PASSED_ON
    }
    actor = ray.remote(Worker).options(
        num_cpus=cpus,
        max_concurrency=each * kinds + 1,
        max_restarts=0,  # the pool begins it anew, so that no task reaches it before it is ready
        max_task_retries=0,
        scheduling_strategy="SPREAD",
    )

    def begin(number: int) -> Any:
        return actor.remote(make(number), os.getcwd(), environment)  # noqa: PTH109

    slots = [_Slot(number) for number in range(count)]
    pool = Pool(slots=slots, each=each, begin=begin, on_death=on_death, on_ready=on_ready)
    try:
        with report_faults("the cluster", "starting a worker"):
            for slot in slots:
                try:
                    slot.actor = begin(slot.number)
                except TypeError as error:  # it cannot be pickled
                    line = str(error).strip().splitlines()[0]
                    raise ConfigError(f"what workers are to do cannot be sent to them: {line}") from error
        for slot in slots:
            pool.start(slot)
        yield pool
    finally:
        pool.close()
