"""The index on disk: two Lance tables, a note of their format, and a lock for the one writer.

`passages` is the truth: one commit puts new passages in and takes replaced ones out. A row of
`documents` is written before its passages and taken out after them, so that a kill at any moment
leaves each batch whole or absent; `mend` clears what a kill left behind.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disputatio.errors import MissingDependency, StoreError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pyarrow import Table

FORMAT = 1
NOTE = "disputatio.json"
_LOCK = "writer.lock"
_DOCUMENT_COLUMNS = ("entry", "id", "path", "text", "title", "url", "date", "source", "owner", "metadata")
_PASSAGE_COLUMNS = ("id", "document", "text", "words", "source", "owner", "title", "url", "date", "metadata")
_SLICE = 500


@contextmanager
def reported(path: Path, doing: str) -> Iterator[None]:
    """Faults of the disk and of Lance as a `StoreError` of one line."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        words = str(error).strip().splitlines() or [type(error).__name__]
        full = getattr(error, "errno", None) == errno.ENOSPC or "No space left" in str(error)
        reason = "the disk is full" if full else words[0][:200]
        raise StoreError(f"{path}: {doing} failed: {reason}") from error


def quoted(values: Iterable[str]) -> str:
    """A list of values for an SQL `IN (...)`.

    >>> quoted(["it's", "b"])
    "'it''s', 'b'"
    """
    return ", ".join("'" + value.replace("'", "''") + "'" for value in values)


def read_note(path: Path) -> dict[str, Any] | None:
    """What an index says of itself; None where there is no index yet.

    Raises `StoreError` when something else is at the path, or an index of another version.
    """
    with reported(path, "opening the index"):
        if not path.exists():
            return None
        if not path.is_dir():
            raise StoreError(f"{path}: is a file, not an index")
        file = path / NOTE
        if not file.exists():
            names = [entry.name for entry in path.iterdir()]
            begun = _LOCK in names and all(name.endswith((".lance", ".part", ".lock")) for name in names)
            if names and not begun:
                raise StoreError(f"{path}: is not an index; choose a new or an empty folder for one")
            return None
        raw = file.read_bytes()
    try:
        note = json.loads(raw)
        version = note["disputatio index"]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{file}: is damaged; ingest the documents into a new folder") from error
    if version != FORMAT:
        raise StoreError(
            f"{path}: is an index of version {version}, this program writes version {FORMAT}; "
            "ingest the documents into a new folder"
        )
    return {"embedder": str(note.get("embedder") or ""), "dimension": note.get("dimension")}


def write_note(path: Path, note: Mapping[str, Any]) -> None:
    """Write the note, whole or not at all."""
    part = path / (NOTE + ".part")
    with part.open("w", encoding="utf-8") as file:
        json.dump({"disputatio index": FORMAT, **note}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path / NOTE)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Hold the index's lock; raises `StoreError` when another writer has it."""
    with contextlib.ExitStack() as held:
        with reported(path, "locking the index"):
            lock = held.enter_context((path / _LOCK).open("ab"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StoreError(
                    f"{path}: another process is writing to this index; try again later"
                ) from None
        yield


class Tables:
    """The two Lance tables of an index, opened or made."""

    def __init__(self, path: Path, dimension: int | None, *, make: bool = False) -> None:
        """Open the tables; `make` creates what is missing, with vectors of `dimension` if given."""
        os.environ.setdefault("LANCE_LOG", "error")
        try:
            import lancedb
            import pyarrow as pa
        except ImportError as error:
            raise MissingDependency(error.name or "lancedb", "store") from error
        self._path = path
        text: list[pa.Field[Any]] = [pa.field(name, pa.string()) for name in _DOCUMENT_COLUMNS]
        self._document_schema = pa.schema([*text, pa.field("row", pa.int64())])
        text = [pa.field(name, pa.string()) for name in _PASSAGE_COLUMNS]
        numbers: list[pa.Field[Any]] = [pa.field("start", pa.int64()), pa.field("end", pa.int64())]
        vector: list[pa.Field[Any]] = (
            [pa.field("vector", pa.list_(pa.float32(), dimension))] if dimension else []
        )
        self._passage_schema = pa.schema([*text, *numbers, *vector])
        with reported(path, "opening the index"):
            # Other processes write: look at the newest version at each use.
            self._db = lancedb.connect(str(path), read_consistency_interval=timedelta(0))
            if make:
                self._make()
            self.documents = self._db.open_table("documents")
            self.passages = self._db.open_table("passages")

    def _make(self) -> None:
        from lancedb.index import FTS

        there = self._db.list_tables().tables
        if "documents" not in there:
            self._db.create_table("documents", schema=self._document_schema)
        if "passages" in there:
            self._db.drop_table("passages")
        passages = self._db.create_table("passages", schema=self._passage_schema)
        # Stop words stay in, or "not" and "no" could not be searched; ICU finds the words of
        # scripts without spaces.
        passages.create_index(
            "words", config=FTS(base_tokenizer="icu", stem=True, remove_stop_words=False, ascii_folding=True)
        )

    def commit(
        self,
        documents: Sequence[Mapping[str, object]],
        passages: Sequence[Mapping[str, object]],
        *,
        drop_documents: Sequence[str] = (),
        drop_entries: Sequence[str] = (),
    ) -> None:
        """One batch: documents and their passages in, those of `drop_documents` (ids) out.

        Passages that are in already may be among those given only where something is dropped.
        """
        import pyarrow as pa

        with reported(self._path, "writing to the index"):
            if documents:
                self.documents.add(pa.Table.from_pylist(list(documents), schema=self._document_schema))
            rows = pa.Table.from_pylist(list(passages), schema=self._passage_schema)
            if drop_entries:
                merge = self.passages.merge_insert("id").when_matched_update_all()
                merge = merge.when_not_matched_insert_all()
                if drop_documents:
                    merge = merge.when_not_matched_by_source_delete(f"document IN ({quoted(drop_documents)})")
                merge.execute(rows)
            elif passages:
                self.passages.add(rows)
            self._drop_entries(drop_entries)

    def entries(self) -> list[dict[str, str]]:
        """Which documents are in: `entry`, `id` and `path` of each that has its passages."""
        with reported(self._path, "reading the index"):
            whole = {row["document"] for row in self._all(self.passages, ["document"]).to_pylist()}
            rows = self._all(self.documents, ["entry", "id", "path"]).to_pylist()
        return [row for row in rows if row["id"] in whole]

    def mend(self) -> None:
        """Clear the documents that a kill left without their passages."""
        live = {row["entry"] for row in self.entries()}
        with reported(self._path, "mending the index"):
            rows = [row["entry"] for row in self._all(self.documents, ["entry"]).to_pylist()]
            self._drop_entries([entry for entry in rows if entry not in live])

    def tidy(self) -> None:
        """Bring unindexed rows into the full-text index and merge small files."""
        with reported(self._path, "optimising the index"):
            state = self.passages.index_stats("words_idx")
            if state is None or state.num_unindexed_rows:
                self.passages.optimize()
                self.documents.optimize()

    def all_documents(self, columns: Sequence[str]) -> list[dict[str, Any]]:
        """The given columns of every document that has its passages."""
        live = {row["entry"] for row in self.entries()}
        with reported(self._path, "reading the index"):
            rows = self._all(self.documents, ["entry", *columns]).to_pylist()
        return [row for row in rows if row.pop("entry") in live]

    def counts(self) -> list[dict[str, Any]]:
        """Source, owner and document of every passage."""
        with reported(self._path, "reading the index"):
            found: list[dict[str, Any]] = self._all(
                self.passages, ["source", "owner", "document"]
            ).to_pylist()
        return found

    def find(self, where: str) -> list[dict[str, Any]]:
        """The passages, without vectors, that meet a condition."""
        with reported(self._path, "reading the index"):
            columns = [*_PASSAGE_COLUMNS, "start", "end"]
            found: list[dict[str, Any]] = self.passages.search().where(where).select(columns).to_list()
        return found

    def snapshot(self) -> Snapshot:
        """The index as it is now, for searching."""
        with reported(self._path, "reading the index"):
            table = self._db.open_table("passages")
            table.checkout(table.version)
            return Snapshot(table, self._path, vectors="vector" in self._passage_schema.names)

    def version(self) -> int:
        """A number that changes with every commit to the passages."""
        with reported(self._path, "reading the index"):
            return int(self.passages.version)

    def _drop_entries(self, entries: Sequence[str]) -> None:
        for at in range(0, len(entries), _SLICE):
            self.documents.delete(f"entry IN ({quoted(entries[at : at + _SLICE])})")

    def _all(self, table: Any, columns: Sequence[str]) -> Table:
        found: Table = table.search().select(list(columns)).to_arrow()
        return found


class Snapshot:
    """One version of the passages as arrays, one row a passage: the engine behind the search.

    `ids`, `sources` (a number a row, into `names`) and, where passages have vectors, their matrix
    stay in memory; texts are fetched for the rows that won.
    """

    def __init__(self, table: Any, path: Path, *, vectors: bool) -> None:
        import numpy as np

        self._table, self._path = table, path
        self.version = int(table.version)
        columns = ["id", "source", *(["vector"] if vectors else [])]
        rows = table.search().with_row_id(True).select(columns).to_arrow().sort_by("_rowid")
        self._row_ids = rows["_rowid"].to_numpy()
        self.ids: list[str] = rows["id"].to_pylist()
        names, sources = np.unique(np.array(rows["source"].to_pylist(), dtype=object), return_inverse=True)
        self.names: list[str] = names.tolist()
        self.sources: NDArray[np.int64] = sources.reshape(-1).astype(np.int64)
        self._vectors: NDArray[np.float32] | None = None
        if vectors:
            flat = rows["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
            self._vectors = flat.reshape(len(self.ids), -1).astype(np.float32, copy=False)

    def sparse(self, query: str) -> NDArray[np.float32]:
        """BM25 of every passage; 0 where no word of the query matches."""
        import numpy as np
        from lancedb.query import MatchQuery

        scores = np.zeros(len(self.ids), dtype=np.float32)
        with reported(self._path, "searching the index"):
            search = self._table.search(MatchQuery(query, "words"), query_type="fts")
            found = search.with_row_id(True).select(["_score"]).limit(max(1, len(self.ids))).to_arrow()
        rows = np.searchsorted(self._row_ids, found["_rowid"].to_numpy())
        scores[rows] = found["_score"].to_numpy()
        return scores

    def dense(self, vector: NDArray[np.float32]) -> NDArray[np.float32] | None:
        """The cosine of every passage with a unit vector; None where passages have no vectors."""
        return None if self._vectors is None else self._vectors @ vector

    def fetch(self, rows: NDArray[np.int64]) -> list[dict[str, Any]]:
        """The passages of the given rows, in that order."""
        with reported(self._path, "reading the index"):
            columns = [*_PASSAGE_COLUMNS, "start", "end"]
            wanted = self._row_ids[rows].tolist()
            found = self._table.take_row_ids(wanted).select(columns).to_list() if wanted else []
        by_id = {row["id"]: row for row in found}
        return [by_id[self.ids[row]] for row in rows.tolist()]
