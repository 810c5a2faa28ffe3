"""A digest of every row of an evaluation's journal, so that a changed bit is no result.

SQLite's own check sees damaged pages, not a changed digit in a text. Each row is hashed when it is written,
by a trigger of the writer's connection, and compared when it is read.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

from disputatio.errors import InputError

TABLE = """
CREATE TABLE digests (
  name TEXT NOT NULL, key NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (name, key)
) WITHOUT ROWID;
"""
_TOKENS = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens")
# Table -> its columns, the key first.
_COLUMNS: Mapping[str, Sequence[str]] = {
    "manifest": ("one", "body"),
    "runs": ("n", "body"),
    "entrants": ("n", "label", "body"),
    "examples": ("id", "dataset", "row", "body"),
    "records": ("n", "example", "entrant", "state", "body", "answer", "detail"),
    "traces": ("record", "body"),
    "spending": ("n", "example", "entrant", "model", *_TOKENS),
    "passages": ("id", "body"),
}
RESULTS = ("manifest", "runs", "entrants", "examples", "records")
"""The tables that a report is made from."""


def digest_of(*values: object) -> str:
    """Return the BLAKE2b-128, in hex, of a table's name and the values of a row."""
    text = json.dumps(
        values, ensure_ascii=True, separators=(",", ":"), default=repr
    )  # damage turns text to bytes
    return blake2b(text.encode(), digest_size=16).hexdigest()


def prepare(database: sqlite3.Connection) -> None:
    """Let a connection compute digests."""
    database.create_function("digest_of", -1, digest_of, deterministic=True)


def keep(database: sqlite3.Connection) -> None:
    """Give every row that is written through this connection its digest from now on."""
    for table, columns in _COLUMNS.items():
        values = ", ".join(f"NEW.{column}" for column in columns)
        database.execute(
            f"CREATE TEMP TRIGGER IF NOT EXISTS keep_{table} AFTER INSERT ON main.{table} BEGIN "
            f"INSERT INTO digests VALUES ('{table}', NEW.{columns[0]}, digest_of('{table}', {values})); END"
        )


def verify(database: sqlite3.Connection, file: Path, tables: Sequence[str] = RESULTS) -> None:
    """Raise `InputError` for the first row of some tables that is not what was written, or that is gone."""
    # Digests are of rows; that the tables' indexes say the same, SQLite knows.
    problem = database.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if problem != "ok":
        raise InputError(_damaged(file, "its structure,", " ".join(str(problem).split())))
    for table in tables:
        known = dict(database.execute("SELECT key, digest FROM digests WHERE name = ?", (table,)))
        for row in database.execute(f"SELECT {', '.join(_COLUMNS[table])} FROM {table}"):
            if known.pop(row[0], "") != digest_of(table, *row):
                raise InputError(_damaged(file, table, row[0]))
        if known:
            raise InputError(_damaged(file, table, next(iter(known))))


def verify_row(database: sqlite3.Connection, file: Path, table: str, *values: object) -> None:
    """Raise `InputError` where a row, its key first, is not what was written, as `verify` does."""
    row = database.execute("SELECT digest FROM digests WHERE name = ? AND key = ?", (table, values[0]))
    if row.fetchone() != (digest_of(table, *values),):
        raise InputError(_damaged(file, table, values[0]))


def _damaged(file: Path, table: str, key: object) -> str:
    return (
        f"{file}: {table} {key!r:.60} is not what was written: the file is damaged; restore it from a copy, "
        "or evaluate anew into another folder"
    )
