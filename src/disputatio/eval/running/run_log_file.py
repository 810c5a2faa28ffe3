"""The file of an evaluation's journal: its tables and their versions, transactions, and the lock."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

from disputatio import platforms
from disputatio.databases import Database, is_full, open_private, tables_of
from disputatio.errors import InputError, StoreError
from disputatio.types import Passage

FILE = "records.sqlite"
LOCK = "records.lock"

_SCHEMA = """
CREATE TABLE manifest (one INTEGER PRIMARY KEY CHECK (one = 1), body TEXT NOT NULL);
CREATE TABLE runs (n INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE entrants (n INTEGER PRIMARY KEY, label TEXT NOT NULL UNIQUE, body TEXT NOT NULL);
CREATE TABLE examples (id TEXT PRIMARY KEY, dataset TEXT NOT NULL, row INTEGER NOT NULL, body TEXT NOT NULL);
CREATE TABLE records (
  n INTEGER PRIMARY KEY,
  example TEXT NOT NULL REFERENCES examples (id),
  entrant TEXT NOT NULL REFERENCES entrants (label),
  state TEXT NOT NULL CHECK (state IN ('done', 'fault', 'bug')),
  body TEXT NOT NULL,
  answer TEXT NOT NULL,
  detail TEXT NOT NULL
);
CREATE UNIQUE INDEX done_once ON records (example, entrant) WHERE state = 'done';
CREATE TRIGGER records_stay BEFORE UPDATE ON records
BEGIN SELECT RAISE(ABORT, 'records are never changed'); END;
CREATE TRIGGER records_last BEFORE DELETE ON records
BEGIN SELECT RAISE(ABORT, 'records are never deleted'); END;
CREATE TABLE traces (record INTEGER PRIMARY KEY REFERENCES records (n), body TEXT NOT NULL);
CREATE TABLE spending (
  n INTEGER PRIMARY KEY,
  example TEXT NOT NULL,
  entrant TEXT NOT NULL,
  model TEXT NOT NULL,
  calls INTEGER NOT NULL,
  prompt_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL
);
CREATE TABLE digests (
  name TEXT NOT NULL, key NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (name, key)
) WITHOUT ROWID;
CREATE TABLE passages (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
"""
VERSION = 4


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection for writing, which threads may share; raises `InputError`."""
    try:
        open_private(path, "journal", lambda db: not tables_of(db) or "manifest" in tables_of(db))
    except StoreError as error:
        raise InputError(str(error)) from error
    except (OSError, sqlite3.Error):
        pass  # SQLite says below why a file cannot be written
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=Database)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA foreign_keys = ON")
        database.create_function("digest_of", -1, digest_of, deterministic=True)
    except sqlite3.DatabaseError as error:
        database.close()
        if is_full(error):
            raise
        raise InputError(f"{path}: not a journal that can be written ({error})") from error
    return database


@contextmanager
def report_disk_faults(out: Path) -> Iterator[None]:
    """Run a block in which a disk that is full or fails raises a `StoreError` that says what is kept."""
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        reason = f"{error}; what was recorded is kept, and running again goes on there"
        raise StoreError(f"{out}: {reason}") from error


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Run a block as a transaction: all or nothing, and on disk when it ends."""
    database.execute("BEGIN IMMEDIATE")
    committed = False
    try:
        yield
        database.execute("COMMIT")
        committed = True
    finally:
        if not committed and database.in_transaction:
            database.execute("ROLLBACK")


@contextmanager
def write_unsynced(database: sqlite3.Connection) -> Iterator[None]:
    """Run a block as a transaction that a kill cannot undo, and that waits for no disk.

    Should the machine itself fail, it may be lost, unless a synced one came after it.
    """
    database.execute("PRAGMA synchronous = NORMAL")
    try:
        with transaction(database):
            yield
    finally:
        database.execute("PRAGMA synchronous = FULL")


def lock(file: IO[str], out: Path) -> None:
    """Hold the directory until the file is closed, which the end of the process does too."""
    if not platforms.lock(file):
        raise InputError(f"{out}: another evaluation is writing there")


def version_of(database: sqlite3.Connection) -> int:
    """Return the version of the tables, 0 before there are any."""
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def check_version(database: sqlite3.Connection, out: Path) -> None:
    """Raise `InputError` for a file without tables, or of a version that this program does not know."""
    version = version_of(database)
    if version == 0:
        raise InputError(f"{out}: no evaluation here ({FILE} was never begun)")
    if version != VERSION:
        raise InputError(f"{out / FILE}: a journal of version {version}, this is version {VERSION}")


def create_tables(database: sqlite3.Connection) -> None:
    """Make the tables, within the caller's transaction."""
    for statement in _statements(_SCHEMA):
        database.execute(statement)
    database.execute(f"PRAGMA user_version = {VERSION}")


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


# --- digests: so that a changed bit is no result --------------------------------------------------
# SQLite's own check sees damaged pages, not a changed digit in a text. Each row is hashed when it is written,
# by a trigger of the writer's connection, and compared when it is read.
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
    # `default` is for damage, which turns text to bytes.
    text = json.dumps(values, ensure_ascii=True, separators=(",", ":"), default=repr)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def keep_digests(database: sqlite3.Connection) -> None:
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
        raise InputError(_describe_damage(file, "its structure,", " ".join(str(problem).split())))
    for table in tables:
        known = dict(database.execute("SELECT key, digest FROM digests WHERE name = ?", (table,)))
        for row in database.execute(f"SELECT {', '.join(_COLUMNS[table])} FROM {table}"):
            if known.pop(row[0], "") != digest_of(table, *row):
                raise InputError(_describe_damage(file, table, row[0]))
        if known:
            raise InputError(_describe_damage(file, table, next(iter(known))))


def verify_row(database: sqlite3.Connection, file: Path, table: str, *values: object) -> None:
    """Raise `InputError` where a row, its key first, is not what was written, as `verify` does."""
    row = database.execute("SELECT digest FROM digests WHERE name = ? AND key = ?", (table, values[0]))
    if row.fetchone() != (digest_of(table, *values),):
        raise InputError(_describe_damage(file, table, values[0]))


def _describe_damage(file: Path, table: str, key: object) -> str:
    return (
        f"{file}: {table} {key!r:.60} is not what was written: the file is damaged; restore it from a copy, "
        "or evaluate anew into another folder"
    )


# --- passages: those that answers name, each kept once --------------------------------------------
def keep_passages(database: sqlite3.Connection, passages: Iterable[Passage]) -> None:
    """Add those that are not there yet, within the caller's transaction."""
    rows = ((passage.id, json.dumps(passage.to_dict(), sort_keys=True)) for passage in passages)
    database.executemany("INSERT OR IGNORE INTO passages (id, body) VALUES (?, ?)", rows)


def read_passages(
    database: sqlite3.Connection, file: Path, names: Iterable[str]
) -> dict[str, Mapping[str, Any]]:
    """Return those of some ids that are kept, as `Passage.to_dict` writes them.

    Raises `InputError` where one is not what was written.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for name in names:
        row = database.execute("SELECT id, body FROM passages WHERE id = ?", (name,)).fetchone()
        if row is not None:
            verify_row(database, file, "passages", *row)
            found[name] = json.loads(row[1])
    return found
