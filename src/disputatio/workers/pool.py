"""Workers that do one thing, many at a time on each, and are begun anew where they die.

A task whose worker died is done again. Which of the tasks in hand killed it is found out by doing the
suspects one at a time: the third worker that dies at one alone ends it, and the others are not to blame.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from disputatio.errors import ClusterFault, ConfigError, WorkerLost
from disputatio.workers.carried import Carried, carried
from disputatio.workers.cluster import reason_of, reported_faults

TRIES = 3
_BACK = 120.0  # seconds in which a worker that died is to be there again, where no other is
_BEGINNING = 900.0  # in which all workers are to be ready for the first time, models loaded
_AGAIN = 0.2  # between one try to begin a worker and the next
_ALSO = ("OPENAI_BASE_URL", "OPENAI_API_KEY")  # of the environment, beside DISPUTATIO_*
_OWN = "DISPUTATIO_CACHE"  # which machines may each have elsewhere

Make = Callable[[], Callable[[Any], Any]]


class Worker:
    """Does tasks with what it made for itself; an actor of Ray, in `Pool`."""

    def __init__(self, make: Make, folder: str, environment: Mapping[str, str]) -> None:
        self._make, self._folder, self._environment = make, folder, dict(environment)
        self._lock = threading.Lock()
        self._work: Callable[[Any], Any] | None = None

    def ready(self) -> Carried[None]:
        """Make what the tasks need, once."""
        return carried(self._make_it)

    def _make_it(self) -> None:
        self._made()

    def do(self, task: Any) -> Carried[Any]:
        """Return what a task came to."""
        return carried(lambda: self._made()(task))

    def _made(self) -> Callable[[Any], Any]:
        with self._lock:
            if self._work is None:
                if os.path.isdir(self._folder):  # noqa: PTH112 (paths may be relative to where the run was started)
                    os.chdir(self._folder)
                own = {_OWN: os.environ[_OWN]} if _OWN in os.environ else {}
                os.environ.update({**self._environment, **own})
                self._work = self._make()
            return self._work


@dataclass(slots=True)
class _Hand:
    """A worker, as the driver has it: how many tasks are with it, and whether one of them is a suspect."""

    number: int
    actor: Any
    tasks: int = 0
    suspect: bool = False
    back: float | None = None  # when it was begun anew, until it is ready
    times: int = 0  # it was begun anew


@dataclass(slots=True)
class Pool:
    """So many workers with so many tasks each at a time; threads share it. Made by `open_pool`."""

    workers: list[_Hand]
    each: int
    begin: Callable[[int], Any]
    on_death: Callable[[int], None] = lambda _: None
    deaths: int = 0
    closed: threading.Event = field(default_factory=threading.Event)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def do(self, task: Any) -> Any:
        """Return what a task came to, on any worker; raises what it raised, `WorkerLost`, `ClusterFault`."""
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
            if self.closed.is_set():  # Ray would start a cluster of its own for whoever asks it now
                raise ClusterFault("the workers have been let go")
            with self._worker(suspect=died > 0) as hand:
                times = hand.times
                try:
                    came: Carried[Any] = ray.get(hand.actor.do.remote(task))
                except (ActorDiedError, ActorUnavailableError, WorkerCrashedError, ObjectLostError):
                    # Only who was alone under suspicion is known to have done it; at first all are.
                    died += self._mourn(hand, times, suspect=died > 0)
                    continue
                except RayError as error:
                    raise ClusterFault(f"the cluster failed: {reason_of(error)}") from error
            return came.get()
        raise WorkerLost(f"{TRIES} workers died at it; is their memory too small?")

    @contextmanager
    def _worker(self, *, suspect: bool) -> Iterator[_Hand]:
        """A worker that has room, the one with the fewest tasks; one suspect at a time is with it."""
        with self._changed:
            while True:
                up = [hand for hand in self.workers if hand.back is None]
                free = [one for one in up if one.tasks < self.each and not (suspect and one.suspect)]
                if free:
                    break
                gone = [hand.back for hand in self.workers if hand.back is not None]
                if not up and gone and time.monotonic() - min(gone) > _BACK:
                    raise ClusterFault(f"no worker is left: none came back within {_BACK:.0f} s")
                self._changed.wait(0.2 if gone else None)
            hand = min(free, key=lambda one: one.tasks)
            hand.tasks += 1
            hand.suspect = hand.suspect or suspect
        try:
            yield hand
        finally:
            with self._changed:
                hand.tasks -= 1
                hand.suspect = hand.suspect and not suspect
                self._changed.notify_all()

    def _mourn(self, hand: _Hand, times: int, *, suspect: bool) -> int:
        """Begin a worker anew, once for all tasks that it took along; 1 where the task is to blame."""
        with self._changed:
            to_blame = int(suspect or not hand.suspect)
            if hand.times == times:
                hand.times += 1
                self.deaths += 1
                hand.back = time.monotonic()
                threading.Thread(target=self._begin_anew, args=(hand,), daemon=True).start()
                self.on_death(hand.number)
            return to_blame

    def _begin_anew(self, hand: _Hand) -> None:
        import ray
        from ray.exceptions import RayError

        while not self.closed.wait(_AGAIN):
            with contextlib.suppress(RayError):
                ray.kill(hand.actor)  # it may only have been out of reach
                hand.actor = self.begin(hand.number)
                if not ray.get(hand.actor.ready.remote(), timeout=_BACK).kind:
                    break
        with self._changed:
            hand.back = None
            self._changed.notify_all()


@contextmanager
def open_pool(
    make: Callable[[int], Make],
    count: int,
    *,
    each: int,
    cpus: float = 1,
    on_death: Callable[[int], None] = lambda _: None,
) -> Iterator[Pool]:
    """So many workers, ready; `make(number)` says what each is to make for itself, in words that travel.

    Raises `ClusterFault` where one cannot be ready, with its reason.
    """
    import ray

    there = int(ray.cluster_resources().get("CPU", 0))
    if count * cpus > there:
        raise ClusterFault(f"the cluster has {there} cores, fewer than the {count} workers asked for")
    environment = {
        name: value for name, value in os.environ.items() if name.startswith("DISPUTATIO_") or name in _ALSO
    }
    kind = ray.remote(Worker).options(
        num_cpus=cpus,
        max_concurrency=each + 1,
        max_restarts=0,  # it is begun anew by us, so that nothing is asked of it before it is ready
        max_task_retries=0,
        scheduling_strategy="SPREAD",
    )
    hands: list[_Hand] = []

    def begin(number: int) -> Any:
        return kind.remote(make(number), os.getcwd(), environment)  # noqa: PTH109

    pool = Pool(workers=hands, each=each, begin=begin, on_death=on_death)
    try:
        with reported_faults("the cluster", "starting a worker"):
            try:
                hands += [_Hand(number, begin(number)) for number in range(count)]
            except TypeError as error:  # of what cannot be pickled
                line = str(error).strip().splitlines()[0]
                raise ConfigError(f"what workers are to do cannot be sent to them: {line}") from error
            for came in ray.get([hand.actor.ready.remote() for hand in hands], timeout=_BEGINNING):
                if came.kind:
                    raise ClusterFault(f"a worker cannot do its work: {' '.join(came.message.split())}")
        yield pool
    finally:
        pool.closed.set()
        for hand in hands:
            ray.kill(hand.actor)
