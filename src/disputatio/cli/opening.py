"""Opening the index that is named or usual, for a command that reads it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from disputatio.cli.screen import Waiting
    from disputatio.config import Settings
    from disputatio.protocols import Embedder
    from disputatio.store.index import Index


def index_folder(index: Path | None) -> Path:
    """The folder of the index that `--index` names, or of the usual one."""
    from disputatio.config import read_settings

    return read_settings(index=index).index


def open_index(index: Path | None) -> Index:
    """The index, for reading without a search; raises `StoreError` where there is none."""
    from disputatio.store.index import Index

    return Index.open(index_folder(index), create=False)


def open_for_search(settings: Settings, waiting: Waiting) -> Index:
    """The index of the settings with the embedder that it was made with.

    Raises `StoreError` where there is none, `ConfigError` where the embedder cannot be had.
    """
    from disputatio.parts import embedder_for
    from disputatio.store.index import Index

    embedder: Embedder | None = None
    if settings.index.exists():
        embedder = embedder_for(settings, settings.index, say=waiting.say, progress=waiting.show_download)
    return Index.open(settings.index, embedder=embedder, create=False)
