"""The blocks of all files in their order, read and embedded by workers that are replaced when they die.

A thread hands out work while the writer writes: files to be read in tasks, each by one worker as a stream
of blocks, and blocks to be embedded by whoever is free. The earliest block goes first. A stream is read on
only while the workers lack blocks, and no more blocks are kept than a bound, so that neither a large file nor
a slow writer fills the memory. What a dead worker had in hand is done again: a block that was not embedded,
the blocks of a stream that had not come. Who killed it is found out by doing the suspects one at a time; the
third worker that dies at one ends the ingest, and so does the third that dies as it begins where no other is
ready.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from disputatio.errors import ClusterFault
from disputatio.store.ingesting.files import shown
from disputatio.store.ingesting.ray_worker import DOCUMENT, IngestWorker, Recipe
from disputatio.workers.carried import Carried

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

TRIES = 3  # workers that may die at one task
_EACH = 2  # blocks that a worker has at a time: one is embedded, one has travelled
_LACKING = 3  # a stream is read on while fewer blocks than this times the workers wait to be embedded
_MOST = 64  # blocks that are held, times the workers: some 20 MB each
_UNREAD = 2  # blocks that a stream makes before the first of them is taken
_BEGINNING = 900.0  # seconds in which the first worker is to be ready, its model loaded
_BACK = 120.0  # in which one that died is to be there again, where no other is
_PAUSE = 0.1

File = Mapping[str, Any]


@dataclass(slots=True, eq=False)
class Block:
    """What was read: a table of rows. `wanted` marks those whose passages `vectors` has, in their order."""

    table: pa.Table
    path: str
    wanted: NDArray[np.bool_] | None = None
    vectors: NDArray[np.float32] | None = None
    deaths: int = 0
    sent: bool = False
    whole: bool = False


@dataclass(slots=True, eq=False)
class _Task:
    """Files that are read as one stream, and its blocks that the writer has not had."""

    files: Sequence[File]
    blocks: deque[Block] = field(default_factory=deque)
    received: int = 0
    deaths: int = 0
    over: bool = False
    stream: Any = None

    @property
    def path(self) -> str:
        """Its first file, for messages."""
        import os

        return shown(os.fsdecode(self.files[0]["path"]))


@dataclass(slots=True, eq=False)
class _Hand:
    """A worker as the driver has it: `ready` is what it is waited for by, None once it is."""

    actor: Any
    ready: Any
    since: float
    reading: _Task | None = None
    blocks: dict[Any, Block] = field(default_factory=dict)
    alone: bool = False  # it has a suspect, and is given nothing else

    @property
    def idle(self) -> bool:
        """Whether it has nothing to do."""
        return self.reading is None and not self.blocks


class Stream:
    """The blocks of tasks of files, in order; iterate over it once. Made by `open_stream`."""

    def __init__(
        self,
        tasks: Sequence[Sequence[File]],
        hands: list[_Hand],
        begin: Callable[[], _Hand],
        wanted: Callable[[str], bool] | None,
        on_ready: Callable[[int], None],
    ) -> None:
        self._left, self._hands, self._begin, self._wanted = deque(tasks), hands, begin, wanted
        self._on_ready = on_ready
        self._tasks: deque[_Task] = deque()
        self._out: queue.SimpleQueue[Block | Exception | None] = queue.SimpleQueue()
        self._passed = 0  # blocks that the writer has not taken yet
        self._lock = threading.Lock()
        self._taken, self.closed = threading.Event(), threading.Event()
        self.deaths = 0
        self._stillborn = 0  # deaths of workers that were not ready yet, since one was

    def __iter__(self) -> Iterator[Block]:
        thread = threading.Thread(target=self._run, name="disputatio ingest", daemon=True)
        thread.start()
        try:
            while (item := self._out.get()) is not None:
                if isinstance(item, Exception):
                    raise item
                with self._lock:
                    self._passed -= 1
                self._taken.set()
                yield item
        finally:
            self.closed.set()
            self._taken.set()
            thread.join()

    # --- what the thread does -----------------------------------------------------------------------
    def _run(self) -> None:
        try:
            while (self._left or self._tasks) and not self.closed.is_set():
                self._read()
                self._embed()
                self._pass_on()
                self._await()
            self._out.put(None)
        except Exception as error:  # noqa: BLE001 (it is raised again where the blocks are taken)
            self._out.put(error)

    def _read(self) -> None:
        """Give tasks to workers that read nothing, those that a dead one left first."""
        for hand in self._hands:
            if hand.ready is not None or hand.reading is not None or hand.alone:
                continue
            task = next((task for task in self._tasks if not task.over and task.stream is None), None)
            if task is not None and task.deaths:
                if not hand.idle:
                    continue
                hand.alone = True
            elif task is None:
                if not self._left or self._is_supplied():
                    return
                task = _Task(self._left.popleft())
                self._tasks.append(task)
            hand.reading = task
            call = hand.actor.read.options(
                num_returns="streaming",
                _generator_backpressure_num_objects=_UNREAD,
                concurrency_group="reading",
            )
            task.stream = call.remote(list(task.files), task.received)

    def _embed(self) -> None:
        """Give blocks to workers that have room, the earliest first."""
        waiting = [block for task in self._tasks for block in task.blocks if not block.sent]
        for block in waiting:
            up = [hand for hand in self._hands if hand.ready is None and not hand.alone]
            free = [hand for hand in up if len(hand.blocks) < _EACH and (not block.deaths or hand.idle)]
            if not free:
                if block.deaths:
                    continue
                return
            hand = min(free, key=lambda one: len(one.blocks))
            hand.alone = block.deaths > 0
            rows = block.table if block.wanted is None else block.table.filter(_mask(block.wanted))
            hand.blocks[hand.actor.embed.options(concurrency_group="embedding").remote(rows)] = block
            block.sent = True

    def _pass_on(self) -> None:
        """Give the writer what is whole, in order."""
        while self._tasks:
            task = self._tasks[0]
            while task.blocks and task.blocks[0].whole:
                with self._lock:
                    self._passed += 1
                self._out.put(task.blocks.popleft())
            if task.blocks or not task.over:
                return
            self._tasks.popleft()

    def _is_supplied(self) -> bool:
        """Return whether there are blocks enough to be embedded, or to be written."""
        with self._lock:
            passed = self._passed
        waiting = sum(not block.sent for task in self._tasks for block in task.blocks)
        all_blocks = passed + sum(len(task.blocks) for task in self._tasks)
        return waiting >= _LACKING * len(self._hands) or all_blocks >= _MOST * len(self._hands)

    def _await(self) -> None:
        """Wait until something has come, and take it."""
        import ray

        self._check_back()
        waited: list[Any] = [hand.ready for hand in self._hands if hand.ready is not None]
        waited += [ref for hand in self._hands for ref in hand.blocks]
        with self._lock:
            behind = self._passed >= _MOST * len(self._hands)
        streams = [task.stream for task in self._tasks if task.stream is not None and not task.over]
        if self._is_supplied():
            streams = [] if behind else streams[:1]  # the first is what the writer waits for
        waited += streams
        if not waited:
            self._taken.wait(_PAUSE)
            self._taken.clear()
            return
        for reference in ray.wait(waited, num_returns=1, timeout=_PAUSE)[0]:
            self._take(reference)

    def _take(self, reference: Any) -> None:
        """Take what a worker has made; one that is dead is replaced."""
        import ray
        from ray.exceptions import ActorDiedError, ActorUnavailableError, ObjectLostError, WorkerCrashedError

        hand = next(hand for hand in self._hands if self._is_of(hand, reference))
        try:
            if reference is hand.ready:
                self._take_ready(hand, ray.get(reference))
            elif reference in hand.blocks:
                came: Carried[NDArray[np.float32]] = ray.get(reference)
                block = hand.blocks.pop(reference)
                block.vectors, block.whole = came.get(), True
                hand.alone = hand.alone and not hand.idle
            else:
                self._take_block(hand)
        except (ActorDiedError, ActorUnavailableError, WorkerCrashedError, ObjectLostError):
            self._replace(hand)

    def _is_of(self, hand: _Hand, reference: Any) -> bool:
        stream = None if hand.reading is None else hand.reading.stream
        return reference is hand.ready or reference is stream or reference in hand.blocks

    def _take_ready(self, hand: _Hand, came: Carried[None]) -> None:
        if came.kind:
            raise ClusterFault(f"a worker cannot do its work: {' '.join(came.message.split())}")
        hand.ready, self._stillborn = None, 0
        self._on_ready(sum(one.ready is None for one in self._hands))

    def _take_block(self, hand: _Hand) -> None:
        """The next block of a worker's stream, or its end."""
        import ray

        task = hand.reading
        assert task is not None  # it is of this worker, by its stream
        try:
            table: pa.Table = ray.get(next(task.stream))
        except StopIteration:
            task.over, task.stream, hand.reading, hand.alone = True, None, None, False
            return
        block = Block(table=table, path=task.path)
        if self._wanted is not None:
            block.wanted = self._marks(table, self._wanted)
        if block.wanted is None or not block.wanted.any():
            block.sent = block.whole = True
        task.blocks.append(block)
        task.received += 1

    def _marks(self, table: pa.Table, wanted: Callable[[str], bool]) -> NDArray[np.bool_]:
        import numpy as np

        rows = table.select(["kind", "document"]).to_pylist()
        return np.array([row["kind"] == DOCUMENT and wanted(row["document"]) for row in rows], dtype=np.bool_)

    # --- workers that die ---------------------------------------------------------------------------
    def _replace(self, hand: _Hand) -> None:
        """Begin a worker anew, and put what it had in hand back."""
        import ray
        from ray.exceptions import RayError

        self.deaths += 1
        if hand.ready is not None:
            self._stillborn += 1
            if self._stillborn >= TRIES and not any(one.ready is None for one in self._hands):
                raise ClusterFault(f"{TRIES} workers died as they began; is their memory too small?")
        in_hand: list[_Task | Block] = list(hand.blocks.values())
        for block in hand.blocks.values():
            block.sent = False
        if hand.reading is not None:
            hand.reading.stream = None
            in_hand.append(hand.reading)
        for one in in_hand:
            one.deaths += 1
            if one.deaths >= TRIES:
                raise ClusterFault(f"{one.path}: {TRIES} workers died at it; is their memory too small?")
        with contextlib.suppress(RayError):
            ray.kill(hand.actor)  # it may only have been out of reach
        fresh = self._begin()
        hand.actor, hand.ready, hand.since = fresh.actor, fresh.ready, fresh.since
        hand.reading, hand.blocks, hand.alone = None, {}, False

    def _check_back(self) -> None:
        """Raise `ClusterFault` when no worker is ready and none has been for long."""
        if any(hand.ready is None for hand in self._hands):
            return
        limit = _BACK if self.deaths else _BEGINNING
        if time.monotonic() - min(hand.since for hand in self._hands) > limit:
            raise ClusterFault(f"no worker is left: none was ready within {limit:.0f} s")


def _mask(wanted: NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    return pa.array(wanted)


@contextmanager
def open_stream(
    tasks: Sequence[Sequence[File]],
    recipe: Recipe,
    count: int,
    *,
    wanted: Callable[[str], bool],
    on_ready: Callable[[int], None] = lambda _: None,
) -> Iterator[Stream]:
    """The blocks of tasks of files, by so many workers; `wanted` says of a document whether it is embedded.

    `on_ready` hears how many workers are ready, each time one is. Raises `ClusterFault` where the cluster has
    too few cores; iterating over it, where a worker cannot do its work or a fault persists.
    """
    import ray

    cores = int(ray.cluster_resources().get("CPU", 0))
    if count * recipe.threads > cores:
        raise ClusterFault(
            f"the cluster has {cores} cores, fewer than {count} workers of {recipe.threads} would take"
        )
    groups = {"reading": 1, "embedding": 1}
    kind = ray.remote(concurrency_groups=groups)(IngestWorker).options(
        num_cpus=recipe.threads, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD"
    )

    def begin() -> _Hand:
        actor = kind.remote(recipe)
        return _Hand(actor, actor.ready.remote(), time.monotonic())

    hands: list[_Hand] = []
    try:
        hands += [begin() for _ in range(count)]
        yield Stream(tasks, hands, begin, wanted if recipe.make is not None else None, on_ready)
    finally:
        for hand in hands:
            ray.kill(hand.actor)
