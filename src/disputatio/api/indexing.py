"""An index that brings its embedder along, and shows itself in a notebook."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from disputatio.config import read_settings
from disputatio.parts import embedder_for
from disputatio.protocols import Embedder
from disputatio.rendering.html import table
from disputatio.store import index as store


class Index(store.Index):
    """Passages on disk, searched by keyword and by meaning, with the default embedder at hand."""

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
        """Open or make an index; `embedder` is a model's name, a part of your own, or "none".

        Without one an index that exists is opened with the embedder it was made with. `language` is
        that of stemming, for a new index (English when not said; "none" for no stemming). `merge_gb` bounds
        the memory of merges, by default as the setting does. Raises `StoreError` or `ConfigError` when the
        path holds something else or needs another embedder.
        """
        if embedder is None or isinstance(embedder, str):
            settings = read_settings()
            embedder = embedder_for(settings, Path(path), named=embedder, create=create)
            merge_gb = settings.merge_gb if merge_gb is None else merge_gb
        return super().open(path, embedder=embedder, create=create, language=language, merge_gb=merge_gb)

    def to_dict(self) -> dict[str, Any]:
        """The index in figures, and its sources, as JSON values."""
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
