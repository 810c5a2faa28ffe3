"""The blocks of all files in their order, read and embedded by a pool of workers while the writer writes.

Threads hand out the work: files in tasks, each read by one worker as far as blocks are needed, and blocks to
be embedded by any worker, the earliest first. Files are read on only while the workers lack blocks, and the
number of blocks kept is bounded, so that neither a large file nor a slow writer fills the memory. The task
that the writer waits for is always read on. A file at which three workers die ends the ingest.
"""

from __future__ import annotations

import itertools
import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from disputatio.errors import ClusterFault, WorkerLost
from disputatio.store.ingesting.files import shown
from disputatio.store.ingesting.ray_worker import DOCUMENT, Blocks, Read
from disputatio.workers.pool import Pool

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

EACH = 2  # blocks that a worker has at a time: one is embedded, one has travelled
KINDS = 2  # of tasks: reading and embedding
_NEEDED = 5  # files are read on while fewer blocks than this times the workers are still to be embedded
_MOST = 64  # blocks that are kept, times the workers: some 20 MB each

File = Mapping[str, Any]


@dataclass(slots=True, eq=False)
class Block:
    """A table of rows. `wanted` marks those whose passages `vectors` has, in their order."""

    table: pa.Table
    wanted: NDArray[np.bool_] | None = None
    vectors: NDArray[np.float32] | None = None


@dataclass(slots=True, eq=False)
class _Task:
    """Files that are read one after the other, and their blocks that the writer has not had.

    The end of the blocks is None, or the error that ended them.
    """

    number: int
    files: Sequence[File]
    blocks: queue.SimpleQueue[Future[Block] | Exception | None] = field(default_factory=queue.SimpleQueue)

    @property
    def path(self) -> str:
        """Its first file, for messages."""
        return shown(os.fsdecode(self.files[0]["path"]))


class BlockStream:
    """The blocks of tasks of files, in order, by the workers of a pool; iterate over it once.

    `wanted` says of a document whether it is embedded; without it nothing is.
    """

    def __init__(
        self, tasks: Sequence[Sequence[File]], pool: Pool, wanted: Callable[[str], bool] | None
    ) -> None:
        self._tasks = [_Task(number, files) for number, files in enumerate(tasks)]
        self._pool, self._wanted, self._count = pool, wanted, len(pool.slots)
        self._changed = threading.Condition()
        self._first = 0  # number of the task that the writer waits for
        self._kept = self._waiting = 0  # blocks that the writer has not had; of them, those to be embedded
        self._readers = itertools.count()
        self._reader = threading.local()

    def __iter__(self) -> Iterator[Block]:
        readers = ThreadPoolExecutor(self._count, "disputatio read", self._name_reader)
        embedders = ThreadPoolExecutor(EACH * self._count, "disputatio embed")
        try:
            for task in self._tasks:
                readers.submit(self._read, task, embedders)
            for task in self._tasks:
                self._note(first=task.number)
                while (block := task.blocks.get()) is not None:
                    if isinstance(block, Exception):
                        raise block
                    embedded = block.result()
                    self._note(kept=-1)
                    yield embedded
        finally:
            self._pool.close()
            self._note()
            readers.shutdown(cancel_futures=True)
            embedders.shutdown(cancel_futures=True)

    def _name_reader(self) -> None:
        self._reader.number = next(self._readers)

    def _note(self, *, kept: int = 0, waiting: int = 0, first: int | None = None) -> None:
        with self._changed:
            self._kept += kept
            self._waiting += waiting
            self._first = self._first if first is None else first
            self._changed.notify_all()

    def _read(self, task: _Task, embedders: ThreadPoolExecutor) -> None:
        """Read the blocks of a task as they are needed, by this thread's own worker while it lives."""
        received, over = 0, False
        try:
            while not over:
                with self._changed:
                    self._changed.wait_for(lambda: self._is_needed(task))
                with _named(task):
                    came: Blocks = self._pool.do(
                        Read(task.number, task.files, received), kind="read", prefer=self._reader.number
                    )
                received, over = received + len(came.tables), came.over
                self._note(kept=len(came.tables), waiting=len(came.tables))
                for table in came.tables:
                    task.blocks.put(embedders.submit(self._embed, task, table))
            task.blocks.put(None)
        except Exception as error:  # noqa: BLE001 (it is raised again where the blocks are taken)
            task.blocks.put(error)

    def _is_needed(self, task: _Task) -> bool:
        """Return True if a task is to be read on: workers lack blocks, or the writer waits for this task."""
        if self._pool.closed.is_set() or (task.number == self._first and task.blocks.empty()):
            return True
        return self._waiting < _NEEDED * self._count and self._kept < _MOST * self._count

    def _embed(self, task: _Task, table: pa.Table) -> Block:
        """Embed the passages of a block that are wanted."""
        try:
            block = Block(table=table)
            if self._wanted is not None:
                block.wanted = _marks(table, self._wanted)
                if block.wanted.any():
                    with _named(task):
                        block.vectors = self._pool.do(table.filter(_mask(block.wanted)), kind="embed")
            return block
        finally:
            self._note(waiting=-1)


@contextmanager
def _named(task: _Task) -> Iterator[None]:
    """Name the file at which workers died."""
    try:
        yield
    except WorkerLost as error:
        raise ClusterFault(f"{task.path}: {error}") from error


def _marks(table: pa.Table, wanted: Callable[[str], bool]) -> NDArray[np.bool_]:
    import numpy as np

    rows = table.select(["kind", "document"]).to_pylist()
    return np.array([row["kind"] == DOCUMENT and wanted(row["document"]) for row in rows], dtype=np.bool_)


def _mask(wanted: NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    return pa.array(wanted)
