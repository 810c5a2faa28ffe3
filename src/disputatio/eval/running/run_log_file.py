"""The file of an evaluation's journal: its tables and their versions, transactions, and the lock.

SQLite with a write-ahead log and full sync: what was acknowledged is on disk, and a kill leaves a
transaction whole or absent.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from disputatio import platforms
from disputatio.databases import Database, is_full, open_private, tables_of
from disputatio.errors import InputError, StoreError
from disputatio.eval.running import digests, kept_passages

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
        digests.prepare(database)
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
def unsynced(database: sqlite3.Connection) -> Iterator[None]:
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
    for statement in _statements(_SCHEMA + digests.TABLE + kept_passages.TABLE):
        database.execute(statement)
    database.execute(f"PRAGMA user_version = {VERSION}")


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
