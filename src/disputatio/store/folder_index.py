"""The index in a folder: documents in, passages out, on disk and crash-safe.

`FolderIndex` connects the parts: readers -> prepare -> writer -> transaction, and view -> searcher.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from disputatio.errors import InputError, StoreError
from disputatio.protocols import Embedder, Reranker, Search, SearchOptions
from disputatio.store import calibration_file
from disputatio.store.addresses import require_one, split_paths
from disputatio.store.calibration_log import CalibrationLog, Outcomes
from disputatio.store.contract import (
    DEFAULT_LANGUAGE,
    DocumentFacts,
    DocumentPage,
    Index,
    IndexInfo,
    SourceCount,
    SourcePassages,
)
from disputatio.store.folders import Folders, View
from disputatio.store.ingesting.description import Description
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.history import Place, targets_of
from disputatio.store.ingesting.stating import check_all
from disputatio.store.options import check_search, search_of
from disputatio.store.record import manifest as manifests
from disputatio.store.record.layout import MERGE_MEMORY
from disputatio.store.record.transaction import Planned
from disputatio.store.record.writer import (
    Writer,
    document_of,
    facts_of,
    find_muted_documents,
    history_of,
    siblings_of,
    taken_of,
)
from disputatio.store.reliabilities import read_states, reliable_sources, write_estimates
from disputatio.store.segments.terms import stemmer
from disputatio.types import Hit, Passage, Source, Unsearched

if TYPE_CHECKING:
    from disputatio.store.record.database import RecordFile
    from disputatio.store.record.transaction import Transaction


class FolderIndex(Index):
    """Passages in a folder that one process at a time writes to, or in several, searched as one."""

    listing = "disputatio index export documents.jsonl --what documents"

    def __init__(
        self,
        path: Path,
        embedder: Embedder | None,
        language: str | None = None,
        merge_memory: int = MERGE_MEMORY,
    ) -> None:
        self.shown, self.path, self.paths = str(path), path, split_paths(path)
        self.embedder = embedder
        self._language = language
        self._folders, self._merge_memory = Folders(self.paths), merge_memory
        self._muted_at: tuple[object, list[str]] | None = None  # a state, and the documents muted in it
        self._sources: tuple[manifests.Manifest | None, list[SourceCount]] = None, []  # of a commit

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        embedder: Embedder | None = None,
        create: bool = True,
        language: str | None = None,
        merge_gb: float | None = None,
    ) -> Self:
        if language not in (None, "none"):
            stemmer(language or "")
        if merge_gb is not None and not merge_gb > 0:
            raise InputError(f"merge_gb is a number above 0, not {merge_gb:g}")
        memory = MERGE_MEMORY if merge_gb is None else int(merge_gb * 2**30)
        index = cls(Path(path), embedder, language, memory)
        note = index._folders.note()
        if note is None and not create:
            raise StoreError(f"{path}: there is no index here; make one with: disputatio ingest PATH")
        if embedder is not None and note is not None and embedder.name != note["embedder"]:
            made_with = note["embedder"]
            other = f"the embedder {made_with}" if made_with else "no embedder"
            raise StoreError(
                f"{path}: was made with {other}, not with {embedder.name}; open it with its own, give every "
                "passage a new vector with: disputatio index reembed, or ingest into a new folder"
            )
        if len(index.paths) > 1 or note is not None:
            index._folders.view()
        return index

    def close(self) -> None:
        self._folders = Folders(self.paths)

    # --- writing ------------------------------------------------------------------------------------
    def delete(
        self,
        *,
        sources: Collection[str] = (),
        paths: Collection[str | Path] = (),
        documents: Collection[str] = (),
    ) -> int:
        conditions: list[tuple[str, str]] = [("d.source = ?", name) for name in sources]
        conditions += [("d.id = ?", identity) for identity in documents]
        for path in map(str, paths):
            for name in {path, str(Path(path).resolve())}:
                conditions.append(("?1 IN (e.path, e.file)", name))
                conditions.append(("substr(e.file, 1, length(?1)) = ?1", name.rstrip("/") + "/"))
        if not conditions or manifests.read_note(require_one(self.path)) is None:
            return 0
        with self.open_writer(adding=False) as writer:
            count = sum(writer.remove(condition, [value]) for condition, value in conditions)
            writer.finish()
        return count

    def take_out(self, document: str) -> dict[str, Any] | None:
        with self.open_writer(adding=False) as writer:
            taken = taken_of(writer.transaction.record, document)
            writer.remove("d.id = ?", [document])
            writer.finish()
        return taken

    # --- what people state --------------------------------------------------------------------------
    def describe_all(
        self, stated: Sequence[tuple[str | Path, Mapping[str, object]]], *, by: str = "python"
    ) -> int:
        self._require()
        checked = check_all(stated, partial(self.documents, text=False))
        with self.open_writer(adding=False) as writer:
            record = writer.transaction.record
            found = targets_of([document for document, _ in checked], record.places(), listing=self.listing)
            fresh = [
                Description(target=target, fields=fields, by=by)
                for document, fields in checked
                for target in found[str(document)]
            ]
            writer.state(history_of(record).rows_of(fresh))
            writer.finish()
        return writer.counts["described"]

    def descriptions(self, document: str | Path | None = None) -> list[Description]:
        known: list[Description] = []
        for record in self._folders.records():
            history = history_of(record)
            if document is None:
                known += history.descriptions
            else:
                found = targets_of([document], record.places(), listing=self.listing)
                known += history.of(found[str(document)])
        return known

    def take_back(self, key: int) -> int:
        self._require()
        with self.open_writer(adding=False) as writer:
            writer.state([history_of(writer.transaction.record).row_of_undo(key)])
            writer.finish()
        return writer.counts["described"]

    def places(self) -> Iterator[Place]:
        for record in self._folders.records():
            yield from record.places()

    def _require(self) -> None:
        if manifests.read_note(require_one(self.path)) is None:
            raise StoreError(f"{self.path}: there is no index here; make one with: disputatio ingest PATH")

    def _find_muted(self, view: View) -> list[str]:
        """Return the ids of the documents that people muted, as of a state of the index."""
        number = (view.manifest.number, tuple(part.path for part in view.parts))
        if self._muted_at is None or self._muted_at[0] != number:
            muted: list[str] = []
            with contextlib.suppress(StoreError):  # a copy may lack the record, which no search needs
                muted = [name for record in self._folders.records() for name in find_muted_documents(record)]
            self._muted_at = number, muted
        return self._muted_at[1]

    def reembed(
        self, embedder: Embedder | None, *, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Give every passage a new vector; a search sees all old vectors or all new ones."""
        from disputatio.store.record.writer import reembed

        with self.open_writer(adding=False) as writer:
            count = reembed(writer.transaction, embedder, progress or (lambda *_: None))
        self.embedder = embedder
        return count

    def compact(self, *, keep: float = 300.0, planned: Planned = lambda _: None) -> None:  # noqa: ARG002
        """Merge all segments, and write the record without what was deleted; `planned` gets the plan."""
        if manifests.read_note(require_one(self.path)) is not None:
            with manifests.lock_index(self.path), contextlib.closing(self._ensure(False)) as transaction:
                transaction.compact(planned)

    def open_writer(
        self, on_commit: Callable[[int], None] = lambda _: None, *, adding: bool = True
    ) -> Writer:
        """Open the one writer; with `adding` the index's own embedder is needed."""
        return Writer(require_one(self.path), self.embedder, lambda: self._ensure(adding), on_commit)

    def _ensure(self, adding: bool) -> Transaction:
        """Return the index open for writing, made where there is none."""
        from disputatio.store.record.transaction import Transaction

        manifest = manifests.read(self.path)
        if manifest is None:
            return Transaction.make(
                self.path,
                embedder="" if self.embedder is None else self.embedder.name,
                dimension=0 if self.embedder is None else self.embedder.dimension,
                language=self._language or DEFAULT_LANGUAGE,
                memory=self._merge_memory,
            )
        if self._language is not None and self._language != manifest.language:
            raise StoreError(f"{self.path}: was made for {manifest.language}, not for {self._language}")
        if self.embedder is not None:
            manifests.check_embedder(self.path, manifest, self.embedder.name)
        elif adding and manifest.embedder:
            raise StoreError(f"{self.path}: open it with its embedder {manifest.embedder} to write to it")
        return Transaction.open(self.path, manifest, memory=self._merge_memory)

    # --- reading ------------------------------------------------------------------------------------
    def search(
        self,
        query: str,
        search: Search | None = None,
        *,
        reranker: Reranker | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[Hit]:
        search = search_of(search, options)
        check_search(query, search)
        least = search.min_reliability
        allowed = (
            search.sources if least is None else reliable_sources(self.reliabilities(), least, search.sources)
        )
        view = self.view()
        if view is None:
            return []
        if not view.manifest.live or (allowed is not None and not allowed):
            return []
        vector = None
        if self.embedder is not None:
            manifests.check_embedder(self.path, view.manifest, self.embedder.name)
            vector = self.embedder.embed([query], query=True)[0]
        search = replace(search, sources=allowed, exclude=[*search.exclude, *self._find_muted(view)])
        return view.searcher.search(query, vector, search, reranker=reranker)

    def unsearched(self) -> tuple[Unsearched, ...]:
        return self._folders.unsearched

    def passage(self, passage_id: str) -> Passage:
        view = self.view()
        if view is None:
            raise InputError(f"{self.path}: there is no passage {passage_id!r}")
        return view.passage(passage_id)

    def around(self, passage: Passage, count: int) -> tuple[list[Passage], list[Passage]]:
        return ([], []) if (view := self.view()) is None else view.around(passage, count)

    def documents(self, *, text: bool = True) -> list[Document]:
        rows = [row for record in self._folders.records() for row in record.documents(text=text)]
        return sorted((Document(**{"text": "", **row}) for row in rows), key=_by_place)

    def list_documents(self, *, offset: int = 0, limit: int = 100, source: str | None = None) -> DocumentPage:
        total, found = 0, []
        is_single = len(self.paths) == 1
        for record in self._folders.records():
            first, most = (offset, limit) if is_single else (0, offset + limit)
            count, rows = record.page(first, most, source)
            total += count
            found += [Document(text="", **row) for row in rows]
        found.sort(key=_by_place)
        return DocumentPage(total, found[:limit] if is_single else found[offset : offset + limit])

    def document(self, document: str) -> Document | None:
        for record in self._folders.records():
            for row in document_of(record, document):
                return Document(**row)
        return None

    def facts(self, documents: Collection[str]) -> dict[str, DocumentFacts]:
        found: dict[str, DocumentFacts] = {}
        for record in self._folders.records():
            for name, file, size, digest, seen_ns, passages in facts_of(record, list(documents)):
                seen = datetime.fromtimestamp(seen_ns / 1e9, UTC) if seen_ns else None
                read = "" if seen is None else seen.isoformat(timespec="seconds")
                found[name] = DocumentFacts(file, size or 0, digest or "", read, passages)
        return found

    def spans(self, document: str) -> list[tuple[str, int, int]]:
        for record in self._folders.records():
            rows = sorted((row[3], row[4], row[1]) for row in record.rows_of(document))
            if rows:
                return [(name, start, end) for start, end, name in rows]
        return []

    def siblings(self, document: str, count: int) -> list[Document]:
        for record in self._folders.records():
            rows = [Document(**row) for row in siblings_of(record, document, count)]
            if rows:
                return rows
        return []

    def open_record(self) -> AbstractContextManager[RecordFile]:
        """Open the record for reading; raises `InputError` where several folders are named."""
        require_one(self.path)
        return contextmanager(self._folders.records)()

    def sources(self) -> list[SourceCount]:
        if len(self.paths) == 1:
            return self._count_sources()
        owners: dict[str, str] = {}
        documents: dict[str, set[str]] = {}
        passages: dict[str, int] = {}
        for record in self._folders.records():
            for name, owner, document, count in record.sources():
                owners[name] = owners.get(name) or owner
                documents.setdefault(name, set()).add(document)
                passages[name] = passages.get(name, 0) + count
        return [
            SourceCount(name=name, owner=owners[name], documents=len(ids), passages=passages[name])
            for name, ids in sorted(documents.items())
        ]

    def _count_sources(self) -> list[SourceCount]:
        """Return the sources of the one folder, counted once for each commit."""
        for record in self._folders.records():
            state = record.manifest()
            if self._sources[0] != state:
                counted = [
                    SourceCount(name=name, owner=owner, documents=documents, passages=passages)
                    for name, owner, documents, passages in record.source_counts()
                ]
                self._sources = state, counted
            return list(self._sources[1])
        return []

    def info(self) -> IndexInfo:
        view = self._folders.view()
        empty = manifests.Manifest(number=0, language=self._language or DEFAULT_LANGUAGE)
        manifest = empty if view is None else view.manifest
        return IndexInfo(
            path=str(self.path),
            format=manifests.FORMAT,
            embedder=manifest.embedder,
            dimension=manifest.dimension,
            language=manifest.language,
            documents=manifest.documents,
            passages=manifest.live,
            sources=0 if view is None else len(view.counts()),
            segments=len(manifest.segments),
            dead=sum(entry.dead_rows for entry in manifest.segments),
            commit=manifest.number,
            unsearched=() if view is None else view.unsearched,
        )

    def estimates(self) -> dict[str, Source]:
        return self._folders.estimates()

    def set_estimates(
        self, estimates: Mapping[str, Source], *, states: Mapping[str, str] | None = None
    ) -> None:
        self._require()
        view = self._folders.view()
        if states is None:
            states = {} if view is None else view.states()
        write_estimates(self.path, estimates, states)

    def reliabilities(self) -> dict[str, float]:
        return self._folders.reliabilities()

    def estimated_states(self) -> dict[str, str]:
        return read_states(self.path)

    def source_passages(self) -> SourcePassages | None:
        return self.view()

    def records(self) -> list[Outcomes]:
        return [calibration_file.read_outcomes(path) for path in self.paths]

    def open_log(self) -> AbstractContextManager[CalibrationLog]:
        return calibration_file.open_log(self.path)

    def view(self) -> View | None:
        """Return the newest state, compared with its hashes (`View.check`); None where there is no index."""
        return self._folders.check_view()


def _by_place(document: Document) -> tuple[str, int, str]:
    return document.path, document.row, document.id
