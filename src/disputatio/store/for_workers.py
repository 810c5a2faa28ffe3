"""By what name the workers of a cluster open an index."""

from __future__ import annotations

from pathlib import Path

from disputatio.errors import ConfigError
from disputatio.store.index import Index
from disputatio.store.own_passages import RetrieverLike
from disputatio.store.remote.served_index import ServedIndex


def name_for_workers(index: str | Path | RetrieverLike | None) -> Path | None:
    """Return the folders or the address of an index; names are as seen from the folder that workers go to.

    Raises `ConfigError` for a retriever that has neither, and for an opened index on a server, whose password
    is not kept.
    """
    if index is None or isinstance(index, str | Path):
        return None if index is None else Path(index)
    if isinstance(index, ServedIndex):
        raise ConfigError(f"{index.shown}: give workers the address itself: an opened index cannot be sent")
    if isinstance(index, Index):
        return Path(",".join(str(folder.absolute()) for folder in index.paths))
    raise ConfigError("workers open an index by its folder: another retriever cannot be sent to them")
