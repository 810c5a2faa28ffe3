"""The indexes whose embedder on a server may be used: a file of this user, outside of every index.

The manifest of a stranger's index can name `openai:MODEL`, to which every query would go with the user's
key. So the user allows that once for each index; an index that the user makes is allowed as it is made.
"""

from __future__ import annotations

from pathlib import Path

from disputatio.errors import ConfigError
from disputatio.store.addresses import is_served, mask_secrets, split_paths
from disputatio.store.allowed import read_allowed, record


def trust(index: str | Path, embedder: str) -> None:
    """Allow the embedder for the index, or for each of several; raises `OSError` if it cannot be recorded."""
    record(_names(index), embedder.partition("#")[0])


def check_trusted(index: str | Path, embedder: str) -> None:
    """Raise `ConfigError` unless the user allows the embedder for the index, or for one of several."""
    known, model = read_allowed(), embedder.partition("#")[0]
    if any((name, model) in known for name in _names(index)):
        return
    shown = mask_secrets(index)
    raise ConfigError(
        f"{shown}: names an embedder on a server, {model}, which would get every query and your key: if you "
        f"trust this index, allow it with: disputatio index trust {shown} (or set DISPUTATIO_EMBEDDER: to "
        f"{model} if you choose it, to none for a search by keyword)"
    )


def _names(index: str | Path) -> list[str]:
    """Return the names under which an index is recorded: whole paths, or the address without its secret."""
    if is_served(index):
        return [mask_secrets(index)]
    return [str(path.resolve()) for path in split_paths(index)]
