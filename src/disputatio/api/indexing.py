"""The index that the package offers: any index of the store, with the default embedder and a display."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Unpack

from disputatio.arguments import check_calls
from disputatio.config import Settings, read_settings
from disputatio.parts import embedder_for
from disputatio.protocols import Embedder, Reranker, Search, SearchOptions
from disputatio.rendering.markup import table
from disputatio.store import contract
from disputatio.store.calibration_log import CalibrationLog, Outcomes
from disputatio.store.contract import DocumentFacts, DocumentPage, IndexInfo, SourceCount, SourcePassages
from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting.description import Description
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.history import Place
from disputatio.store.ingesting.ingest import DocumentWriter
from disputatio.store.opening import open_index, require_folder
from disputatio.store.record.transaction import Planned
from disputatio.types import Hit, Passage, Source, Unsearched


@check_calls
class Index(contract.Index):
    """Passages in a folder or on a server, searched by keyword and by meaning; shows itself in a notebook.

    `store` is the index itself (`FolderIndex`, `PostgresIndex`, `VectorIndex`), to which every call goes.
    """

    def __init__(self, store: contract.Index) -> None:
        """Use `Index.open`."""
        self.store, self.path, self.paths = store, store.path, store.paths
        self.shown, self.listing = store.shown, store.listing

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        embedder: Embedder | str | None = None,
        create: bool = True,
        language: str | None = None,
        merge_gb: float | None = None,
        settings: Settings | None = None,
    ) -> Index:
        """Open or make an index in a folder, or at `postgresql://`, `qdrant://` or `milvus:`.

        `embedder` is a model's name, a part of your own, or "none"; without one an index that exists is
        opened with the embedder it was made with. `language` is that of stemming, for a new index (English
        when None; "none" for no stemming). `merge_gb` bounds the memory of merges, by default as the
        setting does; `settings` are by default those of the environment. Raises `StoreError` or `ConfigError`
        when the path holds something else or needs another embedder.
        """
        if embedder is None or isinstance(embedder, str):
            settings = settings or read_settings()
            embedder = embedder_for(settings, Path(path), named=embedder, create=create)
            merge_gb = settings.merge_gb if merge_gb is None else merge_gb
        opened = open_index(path, embedder=embedder, create=create, language=language, merge_gb=merge_gb)
        return cls(opened)

    # --- display ------------------------------------------------------------------------------------
    def to_dict(self) -> dict[str, Any]:
        """Return the index in figures, and its sources, as JSON values."""
        return {**asdict(self.info()), "by_source": [asdict(source) for source in self.sources()]}

    def __repr__(self) -> str:
        return f"Index({self.shown!r})"

    def __str__(self) -> str:
        info = self.info()
        embedder = info.embedder or "keywords alone"
        size = f"{info.documents:,} documents of {info.sources:,} sources, {info.passages:,} passages"
        return f"{info.path}: {size}, searched by {embedder}"

    def _repr_html_(self) -> str:
        rows = [(source.name, source.owner, source.documents, source.passages) for source in self.sources()]
        head = ("source", "owner", "documents", "passages")
        return table(head, rows, caption=str(self))

    # --- calls that go to the store -----------------------------------------------------------------
    def close(self) -> None:
        self.store.close()

    def open_writer(
        self, on_commit: Callable[[int], None] = lambda _: None
    ) -> AbstractContextManager[DocumentWriter]:
        return self.store.open_writer(on_commit)

    def delete(
        self,
        *,
        sources: Collection[str] = (),
        paths: Collection[str | Path] = (),
        documents: Collection[str] = (),
    ) -> int:
        return self.store.delete(sources=sources, paths=paths, documents=documents)

    def take_out(self, document: str) -> dict[str, Any] | None:
        return self.store.take_out(document)

    def put_back(self, taken: Mapping[str, Any]) -> None:
        self.store.put_back(taken)

    def describe_all(
        self, stated: Sequence[tuple[str | Path, Mapping[str, object]]], *, by: str = "python"
    ) -> int:
        return self.store.describe_all(stated, by=by)

    def descriptions(self, document: str | Path | None = None) -> list[Description]:
        return self.store.descriptions(document)

    def take_back(self, key: int) -> int:
        return self.store.take_back(key)

    def compact(self, *, keep: float = 300.0, planned: Planned = lambda _: None) -> None:
        """Free the space of what was deleted or replaced more than `keep` seconds ago.

        In a folder `planned` is called first with the disk and the memory that this takes.
        """
        if isinstance(self.store, FolderIndex):
            self.store.compact(keep=keep, planned=planned)
        else:
            self.store.compact(keep=keep)

    def reembed(
        self, embedder: Embedder | None, *, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Give every passage of an index in a folder a new vector, or none; return how many there are.

        `progress(done, total)` is called as passages are done. Raises `InputError` for an index on a server.
        """
        return require_folder(self.store, "give new vectors").reembed(embedder, progress=progress)

    def search(
        self,
        query: str,
        search: Search | None = None,
        *,
        reranker: Reranker | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[Hit]:
        return self.store.search(query, search, reranker=reranker, **options)

    def unsearched(self) -> tuple[Unsearched, ...]:
        return self.store.unsearched()

    def passage(self, passage_id: str) -> Passage:
        return self.store.passage(passage_id)

    def around(self, passage: Passage, count: int) -> tuple[list[Passage], list[Passage]]:
        return self.store.around(passage, count)

    def documents(self, *, text: bool = True) -> list[Document]:
        return self.store.documents(text=text)

    def places(self) -> Iterable[Place]:
        return self.store.places()

    def list_documents(self, *, offset: int = 0, limit: int = 100, source: str | None = None) -> DocumentPage:
        return self.store.list_documents(offset=offset, limit=limit, source=source)

    def document(self, document: str) -> Document | None:
        return self.store.document(document)

    def facts(self, documents: Collection[str]) -> dict[str, DocumentFacts]:
        return self.store.facts(documents)

    def spans(self, document: str) -> list[tuple[str, int, int]]:
        return self.store.spans(document)

    def siblings(self, document: str, count: int) -> list[Document]:
        return self.store.siblings(document, count)

    def sources(self) -> list[SourceCount]:
        return self.store.sources()

    def info(self) -> IndexInfo:
        return self.store.info()

    def estimates(self) -> dict[str, Source]:
        return self.store.estimates()

    def set_estimates(
        self, estimates: Mapping[str, Source], *, states: Mapping[str, str] | None = None
    ) -> None:
        self.store.set_estimates(estimates, states=states)

    def reliabilities(self) -> dict[str, float]:
        return self.store.reliabilities()

    def estimated_states(self) -> dict[str, str]:
        return self.store.estimated_states()

    def source_passages(self) -> SourcePassages | None:
        return self.store.source_passages()

    def records(self) -> list[Outcomes]:
        return self.store.records()

    def open_log(self) -> AbstractContextManager[CalibrationLog]:
        return self.store.open_log()
