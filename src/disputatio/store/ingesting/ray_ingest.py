"""Ingest as a Ray Data job: workers read, divide and embed; the index's one writer commits.

The result is that of `Index.ingest`, row for row: files are put in the same order, through the same
writer, with ids, offsets and texts made by the same functions. What a batch acknowledged stays; a
fault leaves nothing half-written. Files are to be found at the same path on every worker.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disputatio.errors import IngestError, InputError
from disputatio.protocols import Embedder
from disputatio.store.ingesting import ray_worker
from disputatio.store.ingesting.fingerprint import look
from disputatio.store.ingesting.ingest import IngestSummary, Progress, Run, file_key, find_all, summary_of
from disputatio.store.ingesting.options import DEFAULT, ReadOptions, check_options, settings_of
from disputatio.store.ingesting.prepare import Prepared
from disputatio.store.ingesting.source import STDIN
from disputatio.workers.cluster import cluster, reported_faults

if TYPE_CHECKING:
    from disputatio.store.index import Index
    from disputatio.store.ingesting.ray_worker import Row
    from disputatio.store.record.writer import Writer

_FILES = 64  # files in a task of reading, or
_BYTES = 4_000_000  # so many bytes of them
_BLOCK = 65_536  # bytes of rows, about, that go from worker to worker at a time: some 64 passages


def ingest_with_ray(
    index: Index,
    paths: Sequence[str | Path],
    *,
    address: str,
    options: ReadOptions = DEFAULT,
    workers: int | None = None,
    progress: Progress | None = None,
    embedder: Callable[[], Embedder] | None = None,
) -> IngestSummary:
    """Read files and folders and put their documents in, as `Index.ingest` does, by Ray workers.

    `address` is that of a cluster; `local` starts one in this process for as long as the ingest takes.
    `workers` embed, one core each (by default as many as the cluster has cores). `embedder` makes the
    index's embedder on a worker; without it a model in a folder is opened there, at the same path, and
    the vectors of another embedder are asked for by this process.

    A worker that dies has its task done again, thrice at most. Raises `ClusterFault` when the cluster
    cannot be reached or a fault persists (batches acknowledged before that stay; run it again), and
    what `Index.ingest` does.
    """
    check_options(options)
    if workers is not None and workers < 1:
        raise InputError("workers are at least 1")
    if any(str(path) == STDIN for path in paths):
        raise InputError("standard input is not read by workers: give a file")
    start = time.perf_counter()
    run = Run()
    files = find_all(paths, run, options)
    run.total = len(files)

    def told(passages: int) -> None:
        if progress is not None:
            progress(run.done, run.total, passages)

    own = index._embedder
    with index.writer(told) as writer:
        changed = []
        for path, folder in files:
            if _is_unchanged(writer, path, folder, options):
                run.done += 1
            else:
                changed.append((path, folder))
        told(0)
        if changed:
            make = None if own is None else embedder or _maker(own)
            name, dimension = ("", 0) if own is None else (own.name, own.dimension)
            with (
                cluster(address, workers) as count,
                reported_faults(index.path, "a worker's part of the ingest"),
            ):
                rows = _job(changed, options, count, make, name)
                _put(writer, changed, rows, dimension, run, lambda: told(writer.counts["passages"]))
        writer.finish()
    return summary_of(writer.counts, start, run)


def _is_unchanged(writer: Writer, path: Path, folder: str, options: ReadOptions) -> bool:
    """Whether a file is in already; one that is new is not looked at here, but by the worker."""
    known = writer.fingerprints.get(file_key(path))
    if known is None:
        return False
    seen = look(path, settings_of(options, folder), known)
    if seen.now is None or not seen.unchanged:
        return False
    writer.keep(seen.now)
    return True


def _put(
    writer: Writer,
    files: Sequence[tuple[Path, str]],
    rows: Iterable[Row],
    dimension: int,
    run: Run,
    told: Callable[[], None],
) -> None:
    """Put what came of each file, in their order; `told` is called after each."""
    for number, own_rows in itertools.groupby(rows, key=lambda row: row.number):
        file = file_key(files[number][0])
        end: list[Any] = []
        try:
            documents = writer.put(file, _documents(own_rows, file, dimension, run, end))
            if end and end[0] is not None:
                writer.remember(ray_worker.fingerprint_of(end[0], documents))
        except IngestError as error:
            run.refused.append(error)
        run.done += 1
        told()


def _documents(
    rows: Iterator[Row], file: str, dimension: int, run: Run, end: list[Any]
) -> Iterator[Prepared]:
    """The documents of one file; raises `IngestError` where the worker could not read on."""
    for row in rows:
        if row.kind == ray_worker.DOCUMENT:
            yield ray_worker.prepared_of(row, file, dimension)
            continue
        body = json.loads(row.body)
        if row.kind == ray_worker.REFUSED:
            run.refused.append(IngestError(*body))
            continue
        run.hidden += body[-2]
        run.left_out.update(body[-1])
        if row.kind == ray_worker.BROKEN:
            raise IngestError(*body[:2])
        end += body


def _job(
    files: Sequence[tuple[Path, str]],
    options: ReadOptions,
    workers: int,
    make: Callable[[], Embedder] | None,
    name: str,
) -> Iterator[Row]:
    """The rows of all files, in order, as they come from the workers; `name` is the embedder's."""
    import pyarrow as pa
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # its faults are raised as well
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True
    context.target_max_block_size, context.target_min_block_size = _BLOCK, 1
    tasks = [pa.Table.from_pylist(task_rows) for task_rows in _tasks(files)]
    readers = workers if make is None else max(1, workers // 8)
    this_node = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    attempts = ray.remote(num_cpus=0, scheduling_strategy=this_node)(ray_worker.Attempts).remote()
    rows = ray.data.from_arrow(tasks).map_batches(
        ray_worker.ReadFiles,
        fn_constructor_args=(attempts, options, str(Path.cwd())),
        compute=ray.data.ActorPoolStrategy(size=min(readers, len(tasks))),
        num_cpus=1 if make is None else 0.01,
        batch_size=None,
        batch_format="pyarrow",
    )
    if make is not None:
        rows = rows.map_batches(
            ray_worker.EmbedPassages,
            fn_constructor_args=(attempts, make, name),
            compute=ray.data.ActorPoolStrategy(size=workers),
            num_cpus=1,
            batch_size=None,
            batch_format="pyarrow",
        )
    for table in rows.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=1):
        yield from ray_worker.rows_of(table)


def _tasks(files: Sequence[tuple[Path, str]]) -> Iterator[list[dict[str, Any]]]:
    """The files in tasks of reading, each of bounded size."""
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


def _maker(embedder: Embedder) -> Callable[[], Embedder] | None:
    """What opens an embedder on a worker, with one thread; None for one that only this process has."""
    from disputatio.store.embed import OnnxEmbedder

    if not isinstance(embedder, OnnxEmbedder):
        return None
    cache = None if embedder.cache is None else str(embedder.cache)
    return partial(OnnxEmbedder, str(embedder.folder.resolve()), cache=cache, threads=1)
