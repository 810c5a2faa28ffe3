"""An index that brings its embedder along, and shows itself in a notebook."""

from __future__ import annotations

import functools
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from disputatio.config import read_settings
from disputatio.parts import embedder_for
from disputatio.protocols import Embedder
from disputatio.rendering.html import table
from disputatio.store import index as store
from disputatio.store.folders import is_address
from disputatio.store.remote.opening import engine_of
from disputatio.store.remote.served_index import ServedIndex


class Index(store.Index):
    """Passages on disk or on a server, searched by word and by meaning, with the default embedder at hand."""

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        embedder: Embedder | str | None = None,
        create: bool = True,
        language: str | None = None,
        merge_gb: float | None = None,
    ) -> Index:
        """Open or make an index in a folder, or at `postgresql://`, `qdrant://` or `milvus:`.

        `embedder` is a model's name, a part of your own, or "none"; without one an index that exists is
        opened with the embedder it was made with. `language` is that of stemming, for a new index (English
        when not said; "none" for no stemming). `merge_gb` bounds the memory of merges, by default as the
        setting does. Raises `StoreError` or `ConfigError` when the path holds something else or needs
        another embedder.
        """
        if embedder is None or isinstance(embedder, str):
            settings = read_settings()
            embedder = embedder_for(settings, Path(path), named=embedder, create=create)
            merge_gb = settings.merge_gb if merge_gb is None else merge_gb
        if is_address(path):
            served = _served(engine_of(path))
            return served.open(path, embedder=embedder, create=create, language=language)
        return super().open(path, embedder=embedder, create=create, language=language, merge_gb=merge_gb)

    def to_dict(self) -> dict[str, Any]:
        """Return the index in figures, and its sources, as JSON values."""
        return {**asdict(self.info()), "by_source": [asdict(source) for source in self.sources()]}

    def __repr__(self) -> str:
        return f"Index({str(self.path)!r})"

    def __str__(self) -> str:
        info = self.info()
        embedder = info.embedder or "keywords alone"
        size = f"{info.documents:,} documents of {info.sources:,} sources, {info.passages:,} passages"
        return f"{info.path}: {size}, searched by {embedder}"

    def _repr_html_(self) -> str:
        rows = [(source.name, source.owner, source.documents, source.passages) for source in self.sources()]
        head = ("source", "owner", "documents", "passages")
        return table(head, rows, caption=str(self))


@functools.cache
def _served(engine: type[ServedIndex]) -> type[Index]:
    """The class of an engine's index that shows itself as `Index` does; the engine's methods come first."""
    return cast("type[Index]", type(engine.__name__, (engine, Index), {"__module__": __name__}))
