"""Ingest on Ray: workers read, divide and embed; the index's one writer commits what comes, block by block.

The result is that of `Index.ingest`, row for row: files are put in the same order, through the same
writer, with ids, offsets and texts made by the same functions. What a batch acknowledged stays; a
fault leaves nothing half-written, and running it again embeds only what had not been committed. Files are
to be found at the same path on every worker.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disputatio.errors import ClusterFault, IngestError, InputError, WorkerLost
from disputatio.protocols import Embedder
from disputatio.store.ingesting import ray_worker
from disputatio.store.ingesting.files import display_path
from disputatio.store.ingesting.fingerprint import look
from disputatio.store.ingesting.ingest import IngestSummary, Progress, Run, file_key, find_all, summary_of
from disputatio.store.ingesting.options import DEFAULT, ReadOptions, check_options, settings_of
from disputatio.store.ingesting.prepare import PreparedDocument
from disputatio.store.ingesting.ray_worker import DOCUMENT, Blocks, FilesToRead
from disputatio.store.ingesting.source import STDIN
from disputatio.store.ingesting.stating import stating_of
from disputatio.workers.cluster import cluster, reported_faults
from disputatio.workers.pool import Pool, open_pool

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from disputatio.store.folder_index import FolderIndex
    from disputatio.store.ingesting.ray_worker import WorkerRow
    from disputatio.store.record.writer import Writer

_FILES = 256  # files in a task of reading, or
_BYTES = 4_000_000  # so many bytes of them

RowVectors = tuple["WorkerRow", "NDArray[np.float32] | None"]
"""A row with the vectors of its passages, where they were embedded."""


def ingest_with_ray(
    index: FolderIndex,
    paths: Sequence[str | Path],
    *,
    address: str,
    options: ReadOptions = DEFAULT,
    workers: int | None = None,
    threads: int = 1,
    progress: Progress | None = None,
    on_ready: Callable[[int], None] = lambda _: None,
    embedder: Callable[[], Embedder] | None = None,
) -> IngestSummary:
    """Read files and folders and put their documents in, as `Index.ingest` does, by Ray workers.

    `address` is that of a cluster; `local` starts one in this process for as long as the ingest takes.
    `workers` embed on `threads` cores each (by default as many workers as the cluster has cores for).
    `embedder` makes the index's embedder on a worker; without it a model in a folder is opened there, at the
    same path, and the vectors of another embedder are asked for by this process. `on_ready` hears, from
    another thread, how many workers are ready.

    What a worker had in hand when it died is done again, thrice at most. Raises `ClusterFault` when the
    cluster cannot be reached or a fault persists (batches acknowledged before that stay; run it again), and
    what `Index.ingest` does.
    """
    check_options(options)
    if (workers is not None and workers < 1) or threads < 1:
        raise InputError("workers are at least 1, and so are their threads")
    if any(str(path) == STDIN for path in paths):
        raise InputError("standard input is not read by workers: give a file")
    start = time.perf_counter()
    run = Run()
    stating = stating_of(paths, options, run)
    files = find_all(paths, run, options)
    run.total = len(files)
    keys = {file_key(path) for path, _ in files}
    run.notices += stating.idle(paths, keys)

    def report(passages: int) -> None:
        if progress is not None:
            progress(run.done, run.total, passages)

    own = index.embedder
    with index.open_writer(report) as writer:
        changed = []
        for path, folder in files:
            if _is_unchanged(writer, path, folder, options):
                run.done += 1
            else:
                changed.append((path, folder))
        report(0)
        if changed:
            make = None if own is None else embedder or _maker(own, threads)
            recipe = ray_worker.IngestRecipe(
                options=options,
                make=make,
                name="" if own is None else own.name,
                threads=threads,
            )
            tasks = list(_tasks(changed))
            with (
                cluster(address, None if workers is None else workers * threads) as cores,
                reported_faults(index.path, "a worker's part of the ingest"),
            ):
                count = workers or max(1, cores // threads)
                count = min(count, len(tasks)) if make is None else count

                def is_wanted(document: str) -> bool:
                    return not writer.holds(document)

                work = partial(ray_worker.IngestWorker, recipe)
                with open_pool(
                    lambda _: work, count, each=EACH, kinds=KINDS, cpus=threads, on_ready=on_ready
                ) as pool:
                    stream = BlockStream(tasks, pool, is_wanted if make is not None else None)
                    rows = itertools.chain.from_iterable(map(_rows_of, stream))
                    _put(writer, changed, rows, run, lambda: report(writer.counts["passages"]))
        writer.describe(partial(stating.of, keys, ()))
        writer.finish()
    return summary_of(writer.counts, start, run)


def _is_unchanged(writer: Writer, path: Path, folder: str, options: ReadOptions) -> bool:
    """Return True if a file is in already; a new one is not looked at here, but by the worker."""
    known = writer.fingerprints.get(file_key(path))
    if known is None:
        return False
    seen = look(path, settings_of(options, folder), known)
    if seen.now is None or not seen.unchanged:
        return False
    writer.keep(seen.now)
    return True


def _rows_of(block: Block) -> Iterator[RowVectors]:
    """Yield the rows of a block, each with its part of the vectors."""
    at = 0
    for number, row in enumerate(ray_worker.rows_of(block.table)):
        vectors = None
        if block.vectors is not None and block.wanted is not None and block.wanted[number]:
            vectors = block.vectors[at : at + len(row.ids)]
            at += len(row.ids)
        yield row, vectors


def _put(
    writer: Writer,
    files: Sequence[tuple[Path, str]],
    rows: Iterable[RowVectors],
    run: Run,
    report: Callable[[], None],
) -> None:
    """Put what came of each file, in their order; `report` is called after each."""
    for number, own_rows in itertools.groupby(rows, key=lambda came: came[0].number):
        file = file_key(files[number][0])
        end: list[Any] = []
        try:
            documents = writer.put(file, _documents(own_rows, file, run, end))
            if end and end[0] is not None:
                writer.remember(ray_worker.fingerprint_of(end[0], documents))
        except IngestError as error:
            run.refused.append(error)
        run.done += 1
        report()


def _documents(rows: Iterator[RowVectors], file: str, run: Run, end: list[Any]) -> Iterator[PreparedDocument]:
    """Yield the documents of one file; raises `IngestError` where the worker could not read on."""
    for row, vectors in rows:
        if row.kind == ray_worker.DOCUMENT:
            yield ray_worker.prepared_of(row, file, vectors)
            continue
        body = json.loads(row.body)
        if row.kind == ray_worker.REFUSED:
            run.refused.append(IngestError(*body[:3], **body[3]))
            continue
        run.hidden += body[-2]
        run.left_out.update(body[-1])
        if row.kind == ray_worker.BROKEN:
            raise IngestError(*body[:3], **body[3])
        end += body


def _tasks(files: Sequence[tuple[Path, str]]) -> Iterator[list[dict[str, Any]]]:
    """Yield the files in tasks of reading, each of bounded size."""
    task: list[dict[str, Any]] = []
    size = 0
    for number, (path, folder) in enumerate(files):
        try:
            file_size = path.stat().st_size
        except OSError:  # the reader will say what is wrong with it
            file_size = 0
        if task and (len(task) >= _FILES or size + file_size > _BYTES):
            yield task
            task, size = [], 0
        task.append({"number": number, "path": os.fsencode(path), "folder": folder})  # it may be no UTF-8
        size += file_size
    if task:
        yield task


def _maker(embedder: Embedder, threads: int) -> Callable[[], Embedder] | None:
    """Return a function that opens the embedder on a worker, on so many threads; None if only this process
    has it.
    """
    from disputatio.store.embed import OnnxEmbedder

    if not isinstance(embedder, OnnxEmbedder):
        return None
    cache = None if embedder.cache is None else str(embedder.cache)
    return partial(OnnxEmbedder, str(embedder.folder.resolve()), cache=cache, threads=threads)


# --- blocks ---------------------------------------------------------------------------------------
# The blocks of all files in their order, read and embedded by a pool of workers while the writer writes.
#
# Threads hand out the work: files in tasks, each read by one worker as far as blocks are needed, and
# blocks to be embedded by any worker, the earliest first. Files are read on only while the workers lack
# blocks, and the number of blocks kept is bounded, so that neither a large file nor a slow writer fills
# the memory. The task that the writer waits for is always read on. A file at which three workers die
# ends the ingest.

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
        return display_path(os.fsdecode(self.files[0]["path"]))


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
                        FilesToRead(task.number, task.files, received),
                        kind="read",
                        prefer=self._reader.number,
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
