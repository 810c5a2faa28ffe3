"""The work of a Ray worker in an ingest: read files, divide their documents, embed passages.

Rows travel in blocks, Arrow tables of one schema. The rows of a file stand together and in order: its
documents, the rows that were refused, and one that ends it. The vectors of a block travel apart.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from disputatio.errors import ConfigError, IngestError
from disputatio.protocols import Embedder
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.fingerprint import Fingerprint, is_unchanged, look
from disputatio.store.ingesting.ingest import Run, file_key
from disputatio.store.ingesting.options import ReadOptions, settings_of
from disputatio.store.ingesting.prepare import PreparedDocument, passage_at
from disputatio.store.ingesting.readers import open_reader
from disputatio.store.ingesting.statements import with_relations
from disputatio.store.segments.terms import searched_text
from disputatio.types import Passage

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

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
    """Return the columns of a block."""
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
    """Return rows as a block."""
    import pyarrow as pa

    return pa.Table.from_pylist([asdict(row) for row in rows], schema=schema())


def rows_of(block: pa.Table) -> Iterator[WorkerRow]:
    """Yield the rows of a block."""
    yield from (WorkerRow(**row) for row in block.to_pylist())


def row_of(number: int, prepared: PreparedDocument) -> WorkerRow:
    """Return a document as it travels: its passages as spans of its text."""
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


def prepared_of(row: WorkerRow, file: str, vectors: NDArray[np.float32] | None = None) -> PreparedDocument:
    """Return the document of a row, as `prepare` made it, with the vectors of its passages where they are
    given.
    """
    document = Document(**with_relations(json.loads(row.body)))
    spans = zip(row.ids, row.starts, row.ends, strict=True)
    passages = tuple(passage_at(document, name, start, end) for name, start, end in spans)
    return PreparedDocument(
        document=document, passages=passages, file=file, metadata=row.metadata, vectors=vectors
    )


def texts_of(block: pa.Table) -> list[str]:
    """Return the texts to embed for the passages of a block, in their order."""
    texts: list[str] = []
    for row in rows_of(block):
        if row.kind == DOCUMENT:
            fields = json.loads(row.body)
            spans = zip(row.starts, row.ends, strict=True)
            named = {name: fields[name] for name in ("source", "title")}
            texts += [searched_text(Passage(text=fields["text"][start:end], **named)) for start, end in spans]
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
    """The parts of a worker: `make` opens its embedder, which is to have that `name`, on `threads` cores.

    Without `make` a worker only reads.
    """

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
    """Reads files and embeds blocks, one of each at a time and both at once; made on a worker of a pool.

    It keeps its place in the files that it reads. Those that another worker began are read from their start,
    and the blocks that were received are skipped.
    """

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
        """Read on in files, or embed the passages of a block."""
        return self.read(task) if isinstance(task, FilesToRead) else self.embed(task)

    def read(self, task: FilesToRead) -> Blocks:
        """Return the next blocks of some files."""
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
        """Return the vectors of the passages of a block."""
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
                for prepared in run.prepared(reading.documents, file_key(path), options.source_by):
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


def fingerprint_of(fields: Mapping[str, Any], documents: int) -> Fingerprint:
    """Return the fingerprint in the row that ends a file."""
    return Fingerprint(**{**fields, "documents": documents})


def _note(number: int, kind: str, body: list[Any]) -> WorkerRow:
    return WorkerRow(number=number, kind=kind, body=json.dumps(body), ids=[], starts=[], ends=[])
