"""Ingest on Ray: workers read, divide and embed; the index's one writer commits what comes, block by block.

The result is that of `Index.ingest`, row for row: files are put in the same order, through the same
writer, with ids, offsets and texts made by the same functions. What a batch acknowledged stays; a
fault leaves nothing half-written, and running it again embeds only what had not been committed. Files are
to be found at the same path on every worker.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from disputatio.errors import ClusterFault, ConfigError, IngestError, InputError, WorkerLost
from disputatio.protocols import Embedder
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.files import display_path
from disputatio.store.ingesting.ingest import (
    Fingerprint,
    IngestSummary,
    Progress,
    Run,
    file_key,
    find_all,
    is_unchanged,
    look,
    summary_of,
)
from disputatio.store.ingesting.options import DEFAULT, ReadOptions, check_options, settings_of
from disputatio.store.ingesting.prepare import PreparedDocument, passage_at
from disputatio.store.ingesting.readers import open_reader
from disputatio.store.ingesting.source import STDIN
from disputatio.store.ingesting.statements import with_relations
from disputatio.store.ingesting.stating import read_stating
from disputatio.store.segments.terms import make_search_text
from disputatio.types import Passage
from disputatio.workers.cluster import cluster, report_faults
from disputatio.workers.pool import Pool, open_pool

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from disputatio.store.folder_index import FolderIndex
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
    stating = read_stating(paths, options, run)
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
            recipe = IngestRecipe(
                options=options,
                make=make,
                name="" if own is None else own.name,
                threads=threads,
            )
            tasks = list(_tasks(changed))
            with (
                cluster(address, None if workers is None else workers * threads) as cores,
                report_faults(index.path, "a worker's part of the ingest"),
            ):
                count = workers or max(1, cores // threads)
                count = min(count, len(tasks)) if make is None else count
                work = partial(IngestWorker, recipe)
                with open_pool(
                    lambda _: work, count, each=EACH, kinds=KINDS, cpus=threads, on_ready=on_ready
                ) as pool:
                    wanted = None if make is None else lambda document: not writer.holds(document)
                    stream = BlockStream(tasks, pool, wanted)
                    rows = itertools.chain.from_iterable(map(_rows_of, stream))
                    _put(writer, changed, rows, run, lambda: report(writer.counts["passages"]))
        writer.describe(partial(stating.of, keys, ()))
        writer.finish()
    run.notices += stating.find_unnamed(partial(index.documents, text=False))
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
    at = 0
    for number, row in enumerate(rows_of(block.table)):
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
                writer.remember(Fingerprint(**{**end[0], "documents": documents}))
        except IngestError as error:
            run.refused.append(error)
        run.done += 1
        report()


def _documents(rows: Iterator[RowVectors], file: str, run: Run, end: list[Any]) -> Iterator[PreparedDocument]:
    """Yield the documents of one file; raises `IngestError` where the worker could not read on."""
    for row, vectors in rows:
        if row.kind == DOCUMENT:
            yield to_prepared(row, file, vectors)
            continue
        body = json.loads(row.body)
        if row.kind == REFUSED:
            run.refused.append(IngestError(*body[:3], **body[3]))
            continue
        run.hidden += body[-2]
        run.left_out.update(body[-1])
        if row.kind == BROKEN:
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
    """Return a function that opens the embedder on a worker; None if only this process has it."""
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
    """Files read one after the other, and their blocks to come; None or an error ends them."""

    number: int
    files: Sequence[File]
    blocks: queue.SimpleQueue[Future[Block] | Exception | None] = field(default_factory=queue.SimpleQueue)


class BlockStream:
    """The blocks of tasks of files, in order, to be iterated once; `wanted` says what is embedded."""

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
                with _name_lost_file(task):
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
        try:
            block = Block(table=table)
            if self._wanted is not None:
                block.wanted = _marks(table, self._wanted)
                if block.wanted.any():
                    with _name_lost_file(task):
                        block.vectors = self._pool.do(table.filter(block.wanted), kind="embed")
            return block
        finally:
            self._note(waiting=-1)


@contextmanager
def _name_lost_file(task: _Task) -> Iterator[None]:
    try:
        yield
    except WorkerLost as error:
        raise ClusterFault(f"{display_path(os.fsdecode(task.files[0]['path']))}: {error}") from error


def _marks(table: pa.Table, wanted: Callable[[str], bool]) -> NDArray[np.bool_]:
    import numpy as np

    rows = table.select(["kind", "document"]).to_pylist()
    return np.array([row["kind"] == DOCUMENT and wanted(row["document"]) for row in rows], dtype=np.bool_)


# --- the work of a worker -----------------------------------------------------------------------------
DOCUMENT, REFUSED, BROKEN, END = "document", "refused", "broken", "end"
BLOCK_PASSAGES = 128  # of a block, about: fewer leave a worker's threads idle at the end of each
_BLOCK_ROWS = 1_024
_BLOCK_CHARACTERS = 4_000_000  # of a block's rows, about
_BLOCKS = 4  # that are read at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRow:
    """A row as it travels: what came of the file of this number. `body` is JSON, as `kind` has it.

    `document` is the id of a row of that kind, which has its passages as spans.
    """

    number: int
    kind: str
    body: str
    document: str = ""
    metadata: str = ""
    ids: list[str]
    starts: list[int]
    ends: list[int]


def schema() -> pa.Schema:
    import pyarrow as pa

    fields: list[tuple[str, pa.DataType]] = [
        ("number", pa.int64()),
        ("kind", pa.string()),
        ("body", pa.large_string()),
        ("document", pa.string()),
        ("metadata", pa.string()),
        ("ids", pa.list_(pa.string())),
        ("starts", pa.list_(pa.int64())),
        ("ends", pa.list_(pa.int64())),
    ]
    return pa.schema(fields)


def block_of(rows: Sequence[WorkerRow]) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pylist([asdict(row) for row in rows], schema=schema())


def rows_of(block: pa.Table) -> Iterator[WorkerRow]:
    yield from (WorkerRow(**row) for row in block.to_pylist())


def row_of(number: int, prepared: PreparedDocument) -> WorkerRow:
    return WorkerRow(
        number=number,
        kind=DOCUMENT,
        body=json.dumps(asdict(prepared.document)),
        document=prepared.document.id,
        metadata=prepared.metadata,
        ids=[passage.id for passage in prepared.passages],
        starts=[passage.start for passage in prepared.passages],
        ends=[passage.end for passage in prepared.passages],
    )


def to_prepared(row: WorkerRow, file: str, vectors: NDArray[np.float32] | None = None) -> PreparedDocument:
    """Return the document of a row, as `prepare` made it, with vectors where they are given."""
    document = Document(**with_relations(json.loads(row.body)))
    spans = zip(row.ids, row.starts, row.ends, strict=True)
    passages = tuple(passage_at(document, name, start, end) for name, start, end in spans)
    return PreparedDocument(
        document=document, passages=passages, file=file, metadata=row.metadata, vectors=vectors
    )


def texts_of(block: pa.Table) -> list[str]:
    texts: list[str] = []
    for row in rows_of(block):
        if row.kind == DOCUMENT:
            fields = json.loads(row.body)
            spans = zip(row.starts, row.ends, strict=True)
            named = {name: fields[name] for name in ("source", "title")}
            texts += [
                make_search_text(Passage(text=fields["text"][start:end], **named)) for start, end in spans
            ]
    return texts


def blocks_of(rows: Iterable[WorkerRow]) -> Iterator[list[WorkerRow]]:
    """Yield rows in runs of bounded size; the same rows are always divided at the same places."""
    waiting: list[WorkerRow] = []
    passages = characters = 0
    for row in rows:
        waiting.append(row)
        passages += len(row.ids)
        characters += len(row.body)
        if passages >= BLOCK_PASSAGES or characters >= _BLOCK_CHARACTERS or len(waiting) >= _BLOCK_ROWS:
            yield waiting
            waiting, passages, characters = [], 0, 0
    if waiting:
        yield waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRecipe:
    """The parts of a worker; `make`, if any, opens its embedder, of that `name`, on `threads` cores."""

    options: ReadOptions
    make: Callable[[], Embedder] | None = None
    name: str = ""
    threads: int = 1


class FilesToRead(NamedTuple):
    """Files to read on in (number, path, folder); `skipped` of their blocks were received before."""

    task: int
    files: Sequence[Mapping[str, Any]]
    skipped: int


class Blocks(NamedTuple):
    """The next blocks of the files of a task; the last ones if it is `over`."""

    tables: list[pa.Table]
    over: bool


class IngestWorker:
    """Reads files, from its place in them or their start, and embeds blocks, both at once; on a worker."""

    def __init__(self, recipe: IngestRecipe) -> None:
        # Tokenizers would take a thread a core in each of the workers of a machine.
        os.environ.setdefault("RAYON_NUM_THREADS", str(recipe.threads))
        self._options = recipe.options
        self._open = contextlib.ExitStack()
        self._read = self._open.enter_context(open_reader(recipe.options))
        self._reading, self._embedding = threading.Lock(), threading.Lock()
        self._place = (-1, 0)
        self._blocks: Iterator[list[WorkerRow]] = iter(())
        self._embedder = None if recipe.make is None else recipe.make()
        if self._embedder is not None:
            if self._embedder.name != recipe.name:
                raise ConfigError(f"a worker has the embedder {self._embedder.name}, the index {recipe.name}")
            self._embedder.embed(["ready"])  # load the model now, and not with the first block

    def __call__(self, task: FilesToRead | pa.Table) -> Blocks | NDArray[np.float32]:
        return self.read(task) if isinstance(task, FilesToRead) else self.embed(task)

    def read(self, task: FilesToRead) -> Blocks:
        with self._reading:
            if self._place != (task.task, task.skipped):
                self._blocks = blocks_of(row for file in task.files for row in self._rows(file))
                for _ in itertools.islice(self._blocks, task.skipped):
                    pass
            tables: list[pa.Table] = []
            characters = 0
            while len(tables) < _BLOCKS and characters < _BLOCK_CHARACTERS:
                rows = next(self._blocks, None)
                if rows is None:
                    return Blocks(tables, over=True)
                tables.append(block_of(rows))
                characters += sum(len(row.body) for row in rows)
            self._place = (task.task, task.skipped + len(tables))
            return Blocks(tables, over=False)

    def embed(self, block: pa.Table) -> NDArray[np.float32]:
        embedder = self._embedder
        assert embedder is not None  # a worker without one is sent no blocks
        with self._embedding:
            return embedder.embed(texts_of(block))

    def _rows(self, file: Mapping[str, Any]) -> Iterator[WorkerRow]:
        options = self._options
        number, path, folder = file["number"], Path(os.fsdecode(file["path"])), file["folder"]
        run, seen = Run(unverified=options.unverified), look(path, settings_of(options, folder))
        broken: IngestError | None = None
        try:
            reading = self._read(path, folder)
            try:
                for prepared in run.prepare_all(reading.documents, file_key(path), options.source_by):
                    yield row_of(number, prepared)
            finally:
                run.note(reading)
        except IngestError as error:
            broken = error
        for refused in run.refused:
            yield _note(number, REFUSED, [refused.path, refused.reason, refused.code, refused.data])
        if broken is not None:
            yield _note(
                number,
                BROKEN,
                [broken.path, broken.reason, broken.code, broken.data, run.hidden, run.left_out],
            )
            return
        # Rows that were refused are to be named again, so their file is read again.
        known = (
            seen.now if seen.now is not None and not run.refused and is_unchanged(path, seen.now) else None
        )
        yield _note(number, END, [None if known is None else asdict(known), run.hidden, run.left_out])


def _note(number: int, kind: str, body: list[Any]) -> WorkerRow:
    return WorkerRow(number=number, kind=kind, body=json.dumps(body), ids=[], starts=[], ends=[])
