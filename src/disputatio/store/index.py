"""The index: documents in, passages found, on disk and crash-safe.

`Index` puts the parts together: readers -> split -> embed -> tables, and tables -> search.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from disputatio.errors import IngestError, InputError, StoreError
from disputatio.protocols import Embedder
from disputatio.store import tables
from disputatio.store.readers import (
    Document,
    check_source_by,
    clean,
    domain,
    find_files,
    open_reader,
    with_source,
)
from disputatio.store.writer import Writer
from disputatio.types import Hit, Passage

if TYPE_CHECKING:
    from disputatio.store.tables import Snapshot, Tables

DEFAULT_K = 8
ALPHA = 0.35
_PASSAGE_FIELDS = ("text", "id", "source", "owner", "title", "url", "date", "document", "start", "end")
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestSummary:
    """What an ingest did, in documents; `refused` holds (path or path:row, reason).

    `removed` counts documents that their file no longer holds, beside those replaced.
    """

    added: int = 0
    unchanged: int = 0
    replaced: int = 0
    removed: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    passages: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCount:
    """A source of the index with what it holds."""

    name: str
    owner: str
    documents: int
    passages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexInfo:
    """An index in figures; `embedder` is empty where it is searched by keyword alone."""

    path: str
    format: int
    embedder: str
    dimension: int
    documents: int
    passages: int
    sources: int


class Index:
    """Passages on disk, searched by keyword and by meaning (`Retriever`).

    Reading is open to any number of threads and processes; one process writes at a time.
    """

    def __init__(self, path: Path, embedder: Embedder | None) -> None:
        """Use `Index.open`."""
        self.path = path
        self._embedder = embedder
        self._parts: Tables | None = None
        self._note: dict[str, Any] = {"embedder": "", "dimension": None}
        self._snapshot: Snapshot | None = None
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: str | Path, *, embedder: Embedder | None = None, create: bool = True) -> Self:
        """Open an index, or promise a new one that the first ingest makes.

        Without an embedder a new index is searched by keyword alone, and one that has vectors can
        be read (by keyword) but not written to. Raises `StoreError` when the path holds something
        else, an index of another version or of another embedder, or nothing and not `create`.
        """
        index = cls(Path(path), embedder)
        if index._attach() is None and not create:
            raise StoreError(f"{path}: there is no index here; make one with: disputatio ingest PATH")
        return index

    # --- writing ------------------------------------------------------------------------------------
    def ingest(
        self, *paths: str | Path, source_by: str | None = None, progress: Progress | None = None
    ) -> IngestSummary:
        """Read files and folders and put their documents in; safe to kill and to run again.

        A file that is in already is left alone; a changed one replaces its own passages only. What
        cannot be read is listed in the summary, and the rest goes on. `source_by` says what tells
        sources apart (`readers.with_source`). `progress(done, total)` hears of each file.

        Raises `InputError` for a wrong `source_by`, `StoreError` when the index cannot be written
        to or another process is writing; batches acknowledged before that stay.
        """
        check_source_by(source_by)
        start = time.perf_counter()
        refused: list[IngestError] = []
        files: list[tuple[Path, str]] = []
        for root in paths:
            try:
                files += find_files(Path(root))
            except IngestError as error:
                refused.append(error)
        with self._writer() as writer, open_reader() as read:
            for number, (path, folder) in enumerate(files, start=1):
                documents: list[Document] = []
                try:
                    reading = read(path, folder)
                    refused += reading.refused
                    for document in reading.documents:
                        try:
                            documents.append(with_source(document, source_by))
                        except IngestError as error:
                            refused.append(error)
                except IngestError as error:
                    refused.append(error)
                if documents:
                    writer.put(str(path.resolve()), documents)
                if progress is not None:
                    progress(number, len(files))
            writer.finish()
        return _summary(writer.counts, start, refused)

    def add(self, items: Iterable[Document | Passage]) -> IngestSummary:
        """Put documents or passages in that the caller holds.

        A passage keeps its id where it has one and is short enough not to be split; given again
        under the same id with another text, it is replaced. Raises `InputError` for one without
        text, `StoreError` as `ingest` does.
        """
        start = time.perf_counter()
        queue: list[tuple[Document, str]] = []
        for number, item in enumerate(items, start=1):
            document, name = item, ""
            if isinstance(document, Passage):
                document, name = _from_passage(document), document.id
            elif document.path:
                document = with_source(document)
            document = replace(document, text=clean(document.text))
            if not document.text.strip():
                raise InputError(f"item {number}: has no text")
            queue.append((document, name))
        with self._writer() as writer:
            for document, name in queue:
                writer.put(document.path, [document], name)
            writer.finish()
        return _summary(writer.counts, start)

    def _writer(self) -> Writer:
        return Writer(self.path, self._embedder, self._ensure)

    def _ensure(self) -> Tables:
        """The tables to write to; the note comes last, so that a kill leaves no half an index."""
        parts = self._attach()
        if parts is None:
            note: dict[str, Any] = {"embedder": "", "dimension": None}
            if self._embedder is not None:
                note = {"embedder": self._embedder.name, "dimension": self._embedder.dimension}
            parts = tables.Tables(self.path, note["dimension"], make=True)
            with tables.reported(self.path, "making the index"):
                tables.write_note(self.path, note)
            self._parts, self._note = parts, note
        if self._note["embedder"] and self._embedder is None:
            raise StoreError(
                f"{self.path}: open it with its embedder {self._note['embedder']} to write to it"
            )
        return parts

    def _attach(self) -> Tables | None:
        """The tables on disk; None where there is no index yet.

        Raises `StoreError` as `open` does.
        """
        if self._parts is None:
            note = tables.read_note(self.path)
            if note is not None:
                made_with = note.get("embedder", "")
                if self._embedder is not None and self._embedder.name != made_with:
                    other = f"the embedder {made_with}" if made_with else "no embedder"
                    raise StoreError(
                        f"{self.path}: was made with {other}, not with {self._embedder.name}; "
                        "open it with its own, or ingest the documents into a new folder"
                    )
                self._parts, self._note = tables.Tables(self.path, note.get("dimension")), note
        return self._parts

    # --- reading ------------------------------------------------------------------------------------
    def search(
        self,
        query: str,
        *,
        k: int | None = None,
        alpha: float = ALPHA,
        per_source: int | None = None,
        sources: Collection[str] | None = None,
        exclude: Collection[str] = (),
    ) -> list[Hit]:
        """The best `k` passages (8 when None), or the best `per_source` of every source that matches.

        The score is alpha times the keyword score plus (1 - alpha) times that of meaning, each in
        [0, 1] over the candidates of this query; without an embedder the keyword score alone.
        Raises `InputError` for an empty query or figures out of range.
        """
        import numpy as np

        from disputatio.store.search import rank

        if not query.strip():
            raise InputError("the question is empty")
        if (k is not None and k < 1) or (per_source is not None and per_source < 1):
            raise InputError("k and per_source are at least 1")
        if not 0 <= alpha <= 1:
            raise InputError(f"alpha lies between 0 and 1, not at {alpha:g}")
        snapshot = self._current()
        if snapshot is None or not snapshot.ids:
            return []
        dense = None
        if self._embedder is not None:
            dense = snapshot.dense(self._embedder.embed([query], query=True)[0])
        allowed = np.ones(len(snapshot.ids), dtype=np.bool_)
        if sources is not None:
            wanted = np.array([name in sources for name in snapshot.names], dtype=np.bool_)
            allowed &= wanted[snapshot.sources]
        if exclude:
            hidden = frozenset(exclude)
            allowed &= np.array([one not in hidden for one in snapshot.ids], dtype=np.bool_)
        ranking = rank(
            snapshot.sparse(query),
            dense,
            k=k or DEFAULT_K,
            alpha=alpha,
            allowed=allowed,
            groups=snapshot.sources,
            per_group=per_source,
        )
        hits = []
        for at, row in enumerate(snapshot.fetch(ranking.rows)):
            scores = {"sparse": float(ranking.sparse[at])}
            if ranking.dense is not None:
                scores["dense"] = float(ranking.dense[at])
            hits.append(Hit(passage=_passage(row), score=float(ranking.scores[at]), scores=scores))
        return hits

    def passage(self, passage_id: str) -> Passage:
        """The passage of an id; raises `InputError` when there is none."""
        parts = self._attach()
        found = parts.find(f"id = {tables.quoted([passage_id])}") if parts else []
        if not found:
            raise InputError(f"{self.path}: there is no passage {passage_id!r}")
        return _passage(found[0])

    def documents(self, *, text: bool = True) -> list[Document]:
        """Every document, by path and row; `text=False` leaves the texts on disk."""
        columns = ["id", "path", "row", "title", "url", "date", "source", "owner", "metadata"]
        parts = self._attach()
        rows = parts.all_documents([*columns, "text"] if text else columns) if parts else []
        for row in rows:
            row["metadata"] = json.loads(row["metadata"])
            row.setdefault("text", "")
        return sorted((Document(**row) for row in rows), key=lambda one: (one.path, one.row, one.id))

    def sources(self) -> list[SourceCount]:
        """Every source with its owner and what it holds, by name."""
        held: dict[str, list[dict[str, Any]]] = {}
        parts = self._attach()
        for row in parts.counts() if parts else []:
            held.setdefault(row["source"], []).append(row)
        return [
            SourceCount(
                name=name,
                owner=next((row["owner"] for row in rows if row["owner"]), ""),
                documents=len({row["document"] for row in rows}),
                passages=len(rows),
            )
            for name, rows in sorted(held.items())
        ]

    def info(self) -> IndexInfo:
        """The index in figures."""
        sources = self.sources()
        return IndexInfo(
            path=str(self.path),
            format=tables.FORMAT,
            embedder=self._note.get("embedder") or "",
            dimension=self._note.get("dimension") or 0,
            documents=len(self._parts.entries()) if self._parts is not None else 0,
            passages=sum(one.passages for one in sources),
            sources=len(sources),
        )

    def _current(self) -> Snapshot | None:
        """The newest version as arrays; read again only when it has changed."""
        with self._lock:
            parts = self._attach()
            if parts is not None and (self._snapshot is None or self._snapshot.version != parts.version()):
                self._snapshot = parts.snapshot()
            return self._snapshot


def _summary(counts: Counter[str], start: float, refused: Sequence[IngestError] = ()) -> IngestSummary:
    return IngestSummary(
        added=counts["added"],
        unchanged=counts["unchanged"],
        replaced=counts["replaced"],
        removed=counts["removed"],
        refused=tuple((error.path, error.reason) for error in refused),
        passages=counts["passages"],
        seconds=round(time.perf_counter() - start, 3),
    )


def _from_passage(passage: Passage) -> Document:
    """A passage that the caller holds as a document of one."""
    return Document(
        text=passage.text,
        path=f"passage:{passage.id}" if passage.id else "",
        title=passage.title,
        url=passage.url,
        date=passage.date,
        source=passage.source or domain(passage.url),
        owner=passage.owner,
        metadata={str(name): str(value) for name, value in passage.metadata.items()},
    )


def _passage(row: Mapping[str, Any]) -> Passage:
    told = {name: row[name] for name in _PASSAGE_FIELDS}
    return Passage(**told, metadata=json.loads(row["metadata"]))
