"""The index that the package offers: any index of the store, with the default embedder and a display."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import wraps
from inspect import isfunction
from pathlib import Path
from typing import Any

from disputatio.config import Settings, read_settings
from disputatio.parts import embedder_for
from disputatio.protocols import Embedder
from disputatio.rendering.markup import table
from disputatio.store import contract
from disputatio.store.folder_index import FolderIndex
from disputatio.store.opening import open_index, require_folder
from disputatio.store.record.transaction import Planned


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

    # --- calls that are not of every index ----------------------------------------------------------
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


def _at_the_store(name: str, described: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(described)
    def call(index: Index, *arguments: Any, **options: Any) -> Any:
        return getattr(index.store, name)(*arguments, **options)

    return call


for _name, _described in vars(contract.Index).items():
    if isfunction(_described) and not _name.startswith("_") and _name not in vars(Index):
        setattr(Index, _name, _at_the_store(_name, _described))
