"""The passages that the answers of an evaluation name, each kept once, so that a row can be looked at."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from disputatio.eval.running import digests
from disputatio.types import Passage

TABLE = "CREATE TABLE passages (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;"


def keep(database: sqlite3.Connection, passages: Iterable[Passage]) -> None:
    """Add those that are not there yet, within the caller's transaction."""
    rows = ((passage.id, json.dumps(passage.to_dict(), sort_keys=True)) for passage in passages)
    database.executemany("INSERT OR IGNORE INTO passages (id, body) VALUES (?, ?)", rows)


def read(database: sqlite3.Connection, file: Path, names: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """Return those of some ids that are kept, as `Passage.to_dict` writes them.

    Raises `InputError` where one is not what was written.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for name in names:
        row = database.execute("SELECT id, body FROM passages WHERE id = ?", (name,)).fetchone()
        if row is not None:
            digests.verify_row(database, file, "passages", *row)
            found[name] = json.loads(row[1])
    return found
