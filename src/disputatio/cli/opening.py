"""Opens the named or the usual index for a command that reads it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from disputatio.errors import InputError
from disputatio.text import content_id

if TYPE_CHECKING:
    from disputatio.cli.screen import Waiting
    from disputatio.config import Settings
    from disputatio.protocols import Embedder
    from disputatio.store.contract import Index


def locate_index(index: Path | None) -> Path:
    """Return the folder or address that `--index` names, or the usual one; raises `InputError`."""
    from disputatio.config import read_settings
    from disputatio.store.addresses import require_one

    return require_one(read_settings(index=index).index)


def check_writable(option: str, file: Path | None) -> None:
    """Raise `InputError` before the work is done whose outcome could not be written to a file."""
    if file is None:
        return
    folder = file.resolve().parent
    if not folder.is_dir():
        raise InputError(f"{option} {file}: there is no folder {folder}")
    if file.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(f"{option} {file}: no file can be written there")


def path_beside(settings: Settings, ending: str) -> Path:
    """Return the file or folder beside an index that has this ending; in the cache for one on a server."""
    from disputatio.parts import cache_folder
    from disputatio.store.addresses import is_served, mask_secrets

    if is_served(settings.index):  # which names no folder
        return cache_folder(settings) / content_id("served", mask_secrets(settings.index)) / ending
    return settings.index.with_name(f"{settings.index.name}.{ending}")


def open_named(index: Path | None) -> Index:
    """Open the index, or several, to read without a search; raises `StoreError` if there is none."""
    from disputatio.config import read_settings
    from disputatio.store.opening import open_index

    settings = read_settings(index=index)
    return open_index(settings.index, create=False, merge_gb=settings.merge_gb)


def is_there(settings: Settings) -> bool:
    """Return True if the index of the settings exists, or something else in its place."""
    from disputatio.store.addresses import is_served, split_paths

    return is_served(settings.index) or any(folder.exists() for folder in split_paths(settings.index))


def open_for_search(settings: Settings, waiting: Waiting) -> Index:
    """Open the index of the settings, or several as one, with the embedder that it was made with.

    Raises `StoreError` where there is none, `ConfigError` where the embedder cannot be had.
    """
    from disputatio.parts import embedder_for
    from disputatio.store.opening import open_index

    embedder: Embedder | None = None
    if is_there(settings):
        embedder = embedder_for(settings, settings.index, say=waiting.say, progress=waiting.show_download)
    return open_index(settings.index, embedder=embedder, create=False)
