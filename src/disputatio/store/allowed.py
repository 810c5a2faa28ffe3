"""The user's list of what is allowed, outside of every index and of every folder of documents.

A line is a pair of a place and a word: an index with the embedder that it may use (`trust`), or a sidecar
that is the user's own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from disputatio import platforms

_MOST = 1 << 24  # bytes that are read of the file
_SIDECAR = "sidecar:"  # in the place of an embedder: no model is called so


def file_of_user() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "disputatio" / "trusted-indexes.jsonl"


def allow_sidecar(path: Path) -> None:
    """Take a sidecar for the user's own from now on; raises `OSError` if that cannot be recorded."""
    record([str(path.resolve())], _SIDECAR)


def is_allowed_sidecar(path: Path) -> bool:
    return (str(path.resolve()), _SIDECAR) in read_allowed()


def record(places: Sequence[str], word: str) -> None:
    """Add a line for each place that has none with this word; raises `OSError` if it cannot be written."""
    file, known = file_of_user(), read_allowed()
    lines = [json.dumps([place, word]) + "\n" for place in places if (place, word) not in known]
    if not lines:
        return
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = platforms.open_handle(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(handle, "".join(lines).encode())  # at once, so that lines of two processes do not mix
    finally:
        os.close(handle)


def read_allowed() -> set[tuple[str, str]]:
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
