"""The system of record: three Lance tables, of documents, of their passages and of the files read.

Nothing here says what is in force: the manifest does, by naming a version of each table. A writer
brings the tables back to those versions before it begins, so that what a kill left is undone.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from disputatio.errors import IndexBusy, MissingDependency, StoreError
from disputatio.store.ingesting.fingerprint import Fingerprint
from disputatio.store.ingesting.prepare import Prepared, entry_of
from disputatio.store.record import manifest as manifests
from disputatio.store.record.layout import read_note as read_small
from disputatio.store.record.layout import refuse_links
from disputatio.store.record.manifest import LOCK, Manifest, TableVersion, reported
from disputatio.types import Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pyarrow import RecordBatch, Schema, Table

NAMES = ("documents", "passages", "files")
_ABOUT = ("title", "url", "date", "date_origin", "source", "owner", "metadata")
DATE_ORIGIN = "date_origin"  # the column that format 3 added
DOCUMENT_COLUMNS = ("entry", "id", "file", "path", "text", *_ABOUT)
PASSAGE_COLUMNS = ("id", "document", "text", *_ABOUT)
_SLICE = 5000
_KEPT_FOREVER = timedelta(days=100_000)
_SMALL_FRAGMENTS = 64


def quoted(values: Iterable[str]) -> str:
    """Return a list of values for an SQL `IN (...)`.

    >>> quoted(["it's", "b"])
    "'it''s', 'b'"
    """
    return ", ".join("'" + value.replace("'", "''") + "'" for value in values)


def read_note(path: Path) -> dict[str, Any] | None:
    """Return an index's embedder and dimension, of any version that can be migrated; None where there is
    none.

    Raises `StoreError` when something else is at the path, or an index that this program cannot read.
    """
    first = path / manifests.FIRST_NOTE
    if manifests.is_first(path):
        try:
            note = json.loads(read_small(first))
            return {"embedder": str(note.get("embedder") or ""), "dimension": note.get("dimension")}
        except (OSError, ValueError, AttributeError) as error:
            raise StoreError(f"{first}: is damaged; ingest the documents into a new folder") from error
    manifest = manifests.read(path, older=True)
    return (
        None if manifest is None else {"embedder": manifest.embedder, "dimension": manifest.dimension or None}
    )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Hold the index's lock; raises `IndexBusy` when another writer has it, `StoreError` for a link in it.

    What is written through a link would land outside of the index.
    """
    with contextlib.ExitStack() as stack:
        with reported(path, "locking the index"):
            refuse_links(path)
            lock = stack.enter_context((path / LOCK).open("ab"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise IndexBusy(
                    f"{path}: another process is writing to this index; try again later"
                ) from None
        yield


class Versions(TypedDict):
    """A version of each table, as a manifest has them."""

    documents: TableVersion
    passages: TableVersion
    files: TableVersion


class Tables:
    """The tables, open for their one writer at their newest version."""

    def __init__(self, path: Path, names: Mapping[str, str], dimension: int) -> None:
        """Open tables that are there; `names` maps documents, passages and files to table names."""
        self._path, self._db = path, connect(path)
        self.names, self.dimension = dict(names), dimension
        with reported(path, "opening the index"):
            self.documents = self._db.open_table(names["documents"])
            self.passages = self._db.open_table(names["passages"])
            self.files = self._db.open_table(names["files"])

    @classmethod
    def make(cls, path: Path, dimension: int) -> Tables:
        """New and empty tables, in place of what a kill left of an index that never came to be."""
        for name in NAMES:
            make_table(path, name, schema(name, dimension))
        return cls(path, dict(zip(NAMES, NAMES, strict=True)), dimension)

    @classmethod
    def open(cls, path: Path, manifest: Manifest, fresh: Mapping[str, str] | None = None) -> Tables:
        """Return the tables at the versions that the manifest stands for; what came later is undone.

        `fresh` names tables that take the place of those of the manifest.
        """
        named = {name: getattr(manifest, name) for name in NAMES}
        names = {name: version.name for name, version in named.items()} | dict(fresh or {})
        tables = cls(path, names, manifest.dimension)
        with reported(path, "undoing what was not committed"):
            for name, version in named.items():
                if names[name] != version.name:
                    continue
                table = getattr(tables, name)
                if table.version != version.version:
                    table.checkout(version.version)
                    table.restore()
        return tables

    def versions(self) -> Versions:
        """Return what a manifest names: each table at its newest version."""
        with reported(self._path, "reading the index"):
            now = {
                name: TableVersion(
                    name=self.names[name], version=int(table.version), rows=int(table.count_rows())
                )
                for name, table in self._each()
            }
        return Versions(documents=now["documents"], passages=now["passages"], files=now["files"])

    def add(
        self,
        documents: Sequence[Prepared],
        passages: Sequence[Passage],
        metadata: Sequence[str],
        vectors: NDArray[np.float32] | None,
    ) -> None:
        """New rows; `metadata` has one JSON text a passage, `vectors` one row a passage."""
        with reported(self._path, "writing to the index"):
            if documents:
                self.documents.add(document_rows(documents))
            if passages:
                self.passages.add(passage_rows(passages, metadata, vectors))

    def drop(self, entries: Sequence[str], documents: Sequence[str]) -> None:
        """Rows of documents by entry, and the passages of documents by id, taken out."""
        with reported(self._path, "writing to the index"):
            _delete(self.documents, "entry", entries)
            _delete(self.passages, "document", documents)

    def note_files(self, prints: Sequence[Fingerprint], gone: Sequence[str]) -> None:
        """Fingerprints put in the place of what was known of their paths; those of `gone` taken out."""
        import pyarrow as pa

        with reported(self._path, "writing to the index"):
            _delete(self.files, "path", [*gone, *(fingerprint.path for fingerprint in prints)])
            if prints:
                rows = [asdict(fingerprint) for fingerprint in prints]
                self.files.add(pa.Table.from_pylist(rows, schema=schema("files", 0)))

    def fingerprints(self) -> dict[str, Fingerprint]:
        """Return what is known of each file, by path."""
        with reported(self._path, "reading the index"):
            rows = self.files.search().to_arrow().to_pylist()
        return {row["path"]: Fingerprint(**row) for row in rows}

    def identities(self) -> tuple[list[str], list[str]]:
        """Return the file and the document id of every row of documents."""
        with reported(self._path, "reading the index"):
            rows = self.documents.search().select(["file", "id"]).to_arrow()
            return rows["file"].to_pylist(), rows["id"].to_pylist()

    def matching(self, where: str) -> list[dict[str, str]]:
        """File and id of the documents that meet a condition."""
        with reported(self._path, "reading the index"):
            rows: list[dict[str, str]] = self.documents.search().where(where).select(["file", "id"]).to_list()
        return rows

    def in_pieces(self) -> list[str]:
        """Return the tables that have more than one small file, by the names of their folders."""
        with reported(self._path, "reading the index"):
            return [
                self.names[name]
                for name, table in self._each()
                if table.stats()["fragment_stats"]["num_small_fragments"] > 1
            ]

    def needs_merging(self) -> bool:
        """Return whether there are many small files."""
        with reported(self._path, "reading the index"):
            row_counts: list[int] = [
                table.stats()["fragment_stats"]["num_small_fragments"] for _, table in self._each()
            ]
        return max(row_counts) > _SMALL_FRAGMENTS

    def merge_files(self) -> None:
        """Small files merged; every older version stays, since the manifest still names one."""
        with reported(self._path, "compacting the index"):
            for _, table in self._each():
                table.optimize(cleanup_older_than=_KEPT_FOREVER)

    def clean(self, keep: timedelta) -> None:
        """Versions older than `keep` dropped; call it only when the manifest names the newest ones.

        Nothing is left to merge then, so that the versions stay what they are.
        """
        with reported(self._path, "compacting the index"):
            for _, table in self._each():
                table.optimize(cleanup_older_than=keep, delete_unverified=True)

    def _each(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in NAMES]


class Pinned:
    """The tables at the versions that a manifest names, for reading."""

    def __init__(self, path: Path, manifest: Manifest, names: Sequence[str] = NAMES) -> None:
        """Open some of the tables; raises `StoreError` when one is missing or damaged."""
        self._path = path
        with reported(path, "opening the index"):
            database = connect(path)
            self._tables = {}
            for name in names:
                version: TableVersion = getattr(manifest, name)
                refuse_links(path / f"{version.name}.lance")
                self._tables[name] = database.open_table(version.name)
                self._tables[name].checkout(version.version)

    def batches(self, table: str, columns: Sequence[str], *, size: int = 4096) -> Iterator[RecordBatch]:
        """Yield all rows of a table in batches of at most `size`.

        A table of format 2 has no origin of dates: it is not known, and given as empty.
        """
        import pyarrow as pa

        with reported(self._path, "reading the index"):
            there = self._tables[table].schema.names
            known = [name for name in columns if name in there or name != DATE_ORIGIN]
            for batch in self._tables[table].search().select(known).to_batches(size):
                if len(known) == len(columns):
                    yield batch
                else:
                    unknown = pa.array([""] * batch.num_rows)
                    yield batch.append_column(DATE_ORIGIN, unknown).select(list(columns))

    def columns(self, table: str, columns: Sequence[str]) -> Table:
        """Return all rows of a table at once."""
        with reported(self._path, "reading the index"):
            rows: Table = self._tables[table].search().select(list(columns)).to_arrow()
        return rows

    def table(self, name: str) -> Any:
        """Return the engine's own table, at its version."""
        return self._tables[name]


def check_installed() -> None:
    """Raise `MissingDependency` for the first package without which no index can be read or written."""
    for package in ("lancedb", "pyarrow"):
        if importlib.util.find_spec(package) is None:
            raise MissingDependency(package, "store")


def connect(path: Path) -> Any:
    """Return the engine's connection to the folder of an index; raises `MissingDependency`."""
    check_installed()
    # Lance tells stderr of each file it looks for in vain; faults reach us as exceptions.
    os.environ.setdefault("LANCE_LOG", "error")
    import lancedb

    with reported(path, "opening the index"):
        # Other processes write: look at the newest version at each use.
        return lancedb.connect(str(path), read_consistency_interval=timedelta(0))


def make_table(path: Path, name: str, columns: Schema) -> Any:
    """Return a new and empty table; what a killed writer left under its name goes."""
    with reported(path, "making the index"):
        if (path / f"{name}.lance").exists():
            shutil.rmtree(path / f"{name}.lance")
        return connect(path).create_table(name, schema=columns)


def schema(table: str, dimension: int) -> Schema:
    """Return the columns of a table; `check` is a checksum of all the others of its row."""
    check_installed()
    import pyarrow as pa

    if table == "files":
        kinds = {"size": pa.int64(), "mtime_ns": pa.int64(), "seen_ns": pa.int64(), "documents": pa.int64()}
        names = ("path", "size", "mtime_ns", "seen_ns", "hash", "settings", "documents")
        return pa.schema([(name, kinds.get(name, pa.string())) for name in names])
    texts = DOCUMENT_COLUMNS if table == "documents" else PASSAGE_COLUMNS
    numbers = ("row", "check") if table == "documents" else ("start", "end", "check")
    columns: list[Any] = [pa.field(name, pa.string()) for name in texts]
    columns += [pa.field(name, pa.int64()) for name in numbers]
    if table == "passages" and dimension:
        columns.append(pa.field("vector", pa.list_(pa.float32(), dimension)))
    return pa.schema(columns)


def document_rows(documents: Sequence[Prepared]) -> Table:
    """Return rows of the table of documents."""
    import pyarrow as pa

    originals = [prepared.document for prepared in documents]
    columns: dict[str, list[Any]] = {
        name: [getattr(document, name) for document in originals]
        for name in ("id", "path", "text", *_ABOUT[:-1])
    }
    columns["file"] = [prepared.file for prepared in documents]
    columns["entry"] = [entry_of(prepared.file, prepared.document.id) for prepared in documents]
    columns["metadata"] = [prepared.metadata for prepared in documents]
    columns["row"] = [document.row for document in originals]
    texts = zip(*(columns[name] for name in (*DOCUMENT_COLUMNS, "row")), strict=True)
    columns["check"] = [row_check(row) for row in texts]
    return pa.Table.from_pydict(columns, schema=schema("documents", 0))


def passage_rows(
    passages: Sequence[Passage], metadata: Sequence[str], vectors: NDArray[np.float32] | None
) -> Table:
    """Return rows of the table of passages."""
    import pyarrow as pa

    columns: dict[str, Any] = {
        name: [getattr(passage, name) for passage in passages]
        for name in ("id", "document", "text", *_ABOUT[:-1], "start", "end")
    }
    columns["metadata"] = list(metadata)
    texts = zip(*(columns[name] for name in (*PASSAGE_COLUMNS, "start", "end")), strict=True)
    if vectors is None:
        columns["check"] = [row_check(row) for row in texts]
        return pa.Table.from_pydict(columns, schema=schema("passages", 0))
    size = int(vectors.shape[1])
    raw = memoryview(vectors.astype("<f4", copy=False).tobytes())
    step = 4 * size
    columns["check"] = [
        row_check(row, raw[number * step : (number + 1) * step]) for number, row in enumerate(texts)
    ]
    columns["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), size)
    return pa.Table.from_pydict(columns, schema=schema("passages", size))


def row_check(fields: Iterable[str | int], vector: bytes | memoryview = b"") -> int:
    """Return a 64-bit checksum of a row: BLAKE2b over its fields, in order, and the bytes of its vector."""
    digest = blake2b("\x1f".join(map(str, fields)).encode("utf-8", "surrogatepass"), digest_size=8)
    digest.update(vector)
    return int.from_bytes(digest.digest(), "little", signed=True)


def _delete(table: Any, column: str, values: Sequence[str]) -> None:
    for at in range(0, len(values), _SLICE):
        table.delete(f"{column} IN ({quoted(values[at : at + _SLICE])})")
