"""The indexes whose embedder on a server may be used: a file of this user, outside of every index.

The manifest of a stranger's index can name `openai:MODEL`, to which every query would go with the user's
key. So the user allows that once for each index; an index that the user makes is allowed as it is made.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from disputatio.errors import ConfigError
from disputatio.store.addresses import is_served, mask_secrets, split_paths

_MOST = 1 << 24  # bytes that are read of the file


def file_of_user() -> Path:
    """Return the file of allowed indexes, in the user's folder of configuration."""
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "disputatio" / "trusted-indexes.jsonl"


def trust(index: str | Path, embedder: str) -> None:
    """Allow the embedder for the index, or for each of several; raises `OSError` if it cannot be recorded."""
    file, model = file_of_user(), embedder.partition("#")[0]
    recorded = _recorded()
    lines = [json.dumps([name, model]) + "\n" for name in _names(index) if (name, model) not in recorded]
    if not lines:
        return
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    how = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
    handle = os.open(file, how, 0o600)
    try:
        os.write(handle, "".join(lines).encode())  # at once, so that lines of two processes do not mix
    finally:
        os.close(handle)


def check_trusted(index: str | Path, embedder: str) -> None:
    """Raise `ConfigError`, which names the command that allows it, unless the user allows the embedder.

    Several indexes are searched with one embedder: one of them that is allowed will do.
    """
    recorded, model = _recorded(), embedder.partition("#")[0]
    if any((name, model) in recorded for name in _names(index)):
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


def _recorded() -> set[tuple[str, str]]:
    """Read which model is allowed for which index; lines that are damaged allow nothing."""
    pairs = set()
    try:
        with file_of_user().open("rb") as file:
            lines = file.read(_MOST).splitlines()
    except OSError:
        return set()
    for line in lines:
        try:
            name, model = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            continue
        if isinstance(name, str) and isinstance(model, str):
            pairs.add((name, model))
    return pairs
