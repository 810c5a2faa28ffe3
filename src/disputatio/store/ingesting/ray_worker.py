"""What a Ray worker does in an ingest: read files, divide their documents, embed the passages.

Rows go from stage to stage as Arrow tables of one schema. A file's rows stand together and in order:
its documents, the rows that were refused, and one that ends it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disputatio.errors import ConfigError, IngestError, StoreError
from disputatio.protocols import Embedder
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.files import shown
from disputatio.store.ingesting.fingerprint import Fingerprint, kept, look
from disputatio.store.ingesting.ingest import Run, file_key
from disputatio.store.ingesting.options import ReadOptions, settings_of
from disputatio.store.ingesting.prepare import Prepared, passage_at
from disputatio.store.ingesting.readers import open_reader
from disputatio.store.segments.terms import searched_text

if TYPE_CHECKING:
    import pyarrow as pa

DOCUMENT, REFUSED, BROKEN, END = "document", "refused", "broken", "end"
TRIES = 3  # of a task whose worker dies
_AT_ONCE = 64  # passages, about, that go to an embedding worker at a time: a second's work of one core


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row as it travels: what came of the file of this number. `body` is JSON, as `kind` has it."""

    number: int
    kind: str
    body: str
    metadata: str = ""
    ids: list[str]
    starts: list[int]
    ends: list[int]
    vectors: bytes | None = None


def schema() -> pa.Schema:
    """The columns of a table of rows."""
    import pyarrow as pa

    fields: list[tuple[str, pa.DataType]] = [
        ("number", pa.int64()),
        ("kind", pa.string()),
        ("body", pa.large_string()),
        ("metadata", pa.string()),
        ("ids", pa.list_(pa.string())),
        ("starts", pa.list_(pa.int64())),
        ("ends", pa.list_(pa.int64())),
        ("vectors", pa.large_binary()),
    ]
    return pa.schema(fields)


def rows_of(table: pa.Table) -> Iterator[Row]:
    """The rows of a table."""
    for batch in table.to_batches(max_chunksize=256):
        yield from (Row(**row) for row in batch.to_pylist())


def row_of(number: int, prepared: Prepared) -> Row:
    """A document as it travels: its passages as spans of its text."""
    return Row(
        number=number,
        kind=DOCUMENT,
        body=json.dumps(asdict(prepared.document)),
        metadata=prepared.metadata,
        ids=[passage.id for passage in prepared.passages],
        starts=[passage.start for passage in prepared.passages],
        ends=[passage.end for passage in prepared.passages],
    )


def prepared_of(row: Row, file: str, dimension: int) -> Prepared:
    """The document of a row, as `prepare` made it, with the vectors of its passages where it has them."""
    import numpy as np

    document = Document(**json.loads(row.body))
    spans = zip(row.ids, row.starts, row.ends, strict=True)
    passages = tuple(passage_at(document, name, start, end) for name, start, end in spans)
    vectors = None
    if row.vectors is not None:
        vectors = np.frombuffer(row.vectors, dtype=np.float32).reshape(len(passages), dimension)
    return Prepared(document=document, passages=passages, file=file, metadata=row.metadata, vectors=vectors)


class Attempts:
    """Counts how often each task has been begun; one actor for all workers, at the side of the writer."""

    def __init__(self) -> None:
        self._begun: Counter[str] = Counter()

    def begin(self, task: str) -> int:
        """How often the task has been begun, this time included."""
        self._begun[task] += 1
        return self._begun[task]


def _begin(attempts: Any, task: str, path: str) -> None:
    """Count a task; raises `StoreError` for one that has cost too many workers already."""
    import ray

    if ray.get(attempts.begin.remote(f"{task} {path}")) > TRIES:
        raise StoreError(f"{path}: {TRIES} workers died at it; is their memory too small?")


class ReadFiles:
    """Reads the files of a table (number, path, folder) and divides their documents; one an actor."""

    def __init__(self, attempts: Any, options: ReadOptions, folder: str) -> None:
        """Work in `folder`, since paths may be relative to where the ingest was started."""
        with contextlib.suppress(OSError):  # only absolute paths are found then
            os.chdir(folder)
        self._attempts, self._options = attempts, options
        self._held = contextlib.ExitStack()
        self._read = self._held.enter_context(open_reader(options))

    def __call__(self, files: pa.Table) -> Iterator[pa.Table]:
        """The rows of the files, some at a time."""
        import pyarrow as pa

        _begin(self._attempts, "read", shown(os.fsdecode(files["path"][0].as_py())))
        waiting: list[dict[str, Any]] = []
        passages = 0
        for file in files.to_pylist():
            for row in self._rows(file):
                waiting.append(asdict(row))
                passages += len(row.ids) or 1
                if passages >= _AT_ONCE:
                    yield pa.Table.from_pylist(waiting, schema=schema())
                    waiting, passages = [], 0
        if waiting:
            yield pa.Table.from_pylist(waiting, schema=schema())

    def _rows(self, file: Mapping[str, Any]) -> Iterator[Row]:
        number, path, folder = file["number"], Path(os.fsdecode(file["path"])), file["folder"]
        run, seen = Run(unverified=self._options.unverified), look(path, settings_of(self._options, folder))
        broken: IngestError | None = None
        try:
            reading = self._read(path, folder)
            try:
                for prepared in run.prepared(reading.documents, file_key(path), self._options.source_by):
                    yield row_of(number, prepared)
            finally:
                run.note(reading)
        except IngestError as error:
            broken = error
        for refused in run.refused:
            yield _told(number, REFUSED, [refused.path, refused.reason])
        if broken is not None:
            yield _told(number, BROKEN, [broken.path, broken.reason, run.hidden, run.left_out])
            return
        # Rows that were refused are to be named again, so their file is read again.
        known = seen.now if seen.now is not None and not run.refused and kept(path, seen.now) else None
        yield _told(number, END, [None if known is None else asdict(known), run.hidden, run.left_out])


class EmbedPassages:
    """Gives the documents of a table the vectors of their passages; one an actor."""

    def __init__(self, attempts: Any, make: Callable[[], Embedder], name: str) -> None:
        """Open the embedder; raises `ConfigError` when it is not the one of the index."""
        self._attempts, self._embedder = attempts, make()
        if self._embedder.name != name:
            raise ConfigError(f"a worker has the embedder {self._embedder.name}, the index {name}")

    def __call__(self, table: pa.Table) -> pa.Table:
        """The same rows with their vectors."""
        import pyarrow as pa

        rows = list(rows_of(table))
        texts: list[str] = []
        for row in rows:
            if row.kind == DOCUMENT:
                fields = json.loads(row.body)
                if not texts:
                    _begin(self._attempts, f"embed {fields['row']}", fields["path"])
                spans = zip(row.starts, row.ends, strict=True)
                texts += [searched_text(fields["title"], fields["text"][start:end]) for start, end in spans]
        if not texts:
            return table
        vectors, at, done = self._embedder.embed(texts), 0, []
        for row in rows:
            if row.kind == DOCUMENT:
                row_vectors = vectors[at : at + len(row.ids)]
                at += len(row.ids)
                done.append(asdict(replace(row, vectors=row_vectors.tobytes())))
            else:
                done.append(asdict(row))
        return pa.Table.from_pylist(done, schema=schema())


def fingerprint_of(fields: Mapping[str, Any], documents: int) -> Fingerprint:
    """The fingerprint in the row that ends a file."""
    return Fingerprint(**{**fields, "documents": documents})


def _told(number: int, kind: str, body: list[Any]) -> Row:
    return Row(number=number, kind=kind, body=json.dumps(body), ids=[], starts=[], ends=[])
