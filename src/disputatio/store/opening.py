"""Opening the index that a path or an address names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from disputatio.errors import ConfigError, InputError
from disputatio.protocols import Embedder
from disputatio.store.addresses import is_served, server_class, split_paths
from disputatio.store.contract import Index
from disputatio.store.folder_index import FolderIndex
from disputatio.store.folders import Folders
from disputatio.store.own_passages import RetrieverLike


def open_index(
    address: str | Path,
    *,
    embedder: Embedder | None = None,
    create: bool = True,
    language: str | None = None,
    merge_gb: float | None = None,
) -> Index:
    """Open the index at an address, or promise a new one that the first ingest makes.

    Several folders, divided by commas, are searched as one, and none is written to. An address of a server
    has one of the schemes of `addresses.SERVERS`. Without an embedder a new index is searched by keyword
    alone, and one that has vectors can be read (by keyword) but not added to. `language` is that of stemming
    for a new index: english (when None), another that PyStemmer knows, or none. `merge_gb` bounds the memory
    of merges in a folder (1 when None). Raises `StoreError` when the address holds something else, an index
    of another version, embedder or language, or nothing and not `create`, and for faults of a server;
    `InputError` for an unknown language or address.
    """
    if is_served(address):
        opener = server_class(address)
        return opener.open(address, embedder=embedder, create=create, language=language)
    return FolderIndex.open(address, embedder=embedder, create=create, language=language, merge_gb=merge_gb)


def require_folder(index: Index, doing: str) -> FolderIndex:
    """Return an index as one in a folder; raises `InputError`, with what it is needed for, for another."""
    if not isinstance(index, FolderIndex):
        raise InputError(f"{index.shown}: an index on a server cannot be used to {doing}")
    return index


def read_index_note(path: str | Path) -> dict[str, Any] | None:
    """Return the settings of an index, or of the first folder that can be read; None where there is none."""
    if is_served(path):
        index = server_class(path).at(path)
        try:
            return index.note()
        finally:
            index.close()
    return Folders(split_paths(path)).note()


def name_for_workers(index: str | Path | RetrieverLike | None) -> Path | None:
    """Return the name by which workers open an index; raises `ConfigError` for a secret, or none."""
    if index is None or isinstance(index, str | Path):
        return None if index is None else Path(index)
    if not isinstance(index, Index):
        raise ConfigError("workers open an index by its folder: another retriever cannot be sent to them")
    if is_served(index.path):
        raise ConfigError(f"{index.shown}: give workers the address itself: an opened index cannot be sent")
    return Path(",".join(str(folder.absolute()) for folder in index.paths))
