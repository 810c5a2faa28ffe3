"""SQLite files of ours: for their user alone, and looked at before they get rights or tables.

Only SQLite opens them. A process that closes any descriptor of a file loses all its locks on that file, those
of a connection that it has open there too; another process may then delete the log under that connection, and
what is committed through it is lost.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from urllib.parse import quote

from disputatio import platforms
from disputatio.errors import DamagedFile, StoreError

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_CANNOT_READ = (sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_IOERR_CORRUPTFS)
_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


def open_private(
    path: Path,
    what: str,
    is_ours: Callable[[sqlite3.Connection], bool],
    *,
    make: Callable[[sqlite3.Connection], object] = lambda _: None,
    keep_rights: bool = False,
) -> None:
    """Make a file unless there is one; else check it, and give it to its user alone.

    A file that is made is put in its place whole, after `make` has marked it. Raises `StoreError` for a link
    and for what is not ours, which stays as it is, `OSError` and `sqlite3.Error`.
    """
    if not os.path.lexists(path):
        _make(path, make)
    check_private(path, what, is_ours, keep_rights=keep_rights)


def check_private(
    path: Path, what: str, is_ours: Callable[[sqlite3.Connection], bool], *, keep_rights: bool = False
) -> None:
    """Check a file that is there, as `open_private` does."""
    about = path.lstat()
    if stat.S_ISLNK(about.st_mode):
        raise StoreError(f"{path}: is a link; name the {what} that it leads to")
    if not stat.S_ISREG(about.st_mode):
        raise StoreError(f"{path}: is no regular file, and so no {what}")
    try:
        with contextlib.closing(connect_readonly(path)) as database:
            ours = is_ours(database)
        if not ours:
            if not about.st_size:
                raise StoreError(f"{path}: is empty, and no {what}: delete it, or name another file")
            raise StoreError(f"{path}: is a database of another program, not a {what}")
    except sqlite3.DatabaseError as error:
        if error_code(error) != sqlite3.SQLITE_NOTADB:
            raise
        raise StoreError(f"{path}: is not a database, and so no {what}: name another file") from error
    if not keep_rights and stat.S_IMODE(about.st_mode) != 0o600:
        with contextlib.suppress(PermissionError):  # of another user, who shares it
            platforms.restrict_path(path, about)


def connect_readonly(path: Path) -> sqlite3.Connection:
    """Open a file for reading; without a log beside it no process has it open: no shared memory is needed."""
    log = path.with_name(f"{path.name}-wal")
    mode = "mode=ro" if log.exists() else "mode=ro&immutable=1"
    name = f"file:{quote(str(path.absolute()))}?{mode}"
    return sqlite3.connect(
        name, timeout=30.0, isolation_level=None, check_same_thread=False, uri=True, factory=Database
    )


class SharedDatabase:
    """A SQLite file beside what it belongs to, for its user alone; one thread uses it at a time."""

    def __init__(
        self,
        path: Path | None,
        *,
        what: str,
        holds: str,
        schema: str,
        tables: Collection[str],
        version: int = 0,
    ) -> None:
        """Open or create the file, a `what`, of an earlier version too; None keeps it in memory."""
        self._path, self._holds, self._lock = path, holds, threading.Lock()
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                open_private(path, what, lambda db: tables_of(db) <= set(tables))
            self._db = sqlite3.connect(
                path or ":memory:", check_same_thread=False, timeout=10, factory=Database
            )
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            [found] = self._db.execute("PRAGMA user_version").fetchone()
            if found > version:
                raise StoreError(f"{path}: is a {what} of another version ({found})")
            self._db.executescript(schema)
            self._db.execute(f"PRAGMA user_version={version}")
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{path}: cannot keep {holds}: {error}") from error

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection to one thread at a time, and commit; raises `StoreError` for its faults."""
        with self._lock:
            try:
                yield self._db
                self._db.commit()
            except sqlite3.Error as error:
                with contextlib.suppress(sqlite3.Error):
                    self._db.rollback()
                kind = DamagedFile if error_code(error) == sqlite3.SQLITE_CORRUPT else StoreError
                raise kind(f"{self._path}: cannot keep {self._holds}: {error}") from error

    def close(self) -> None:
        with self._lock:
            self._db.close()


class Database(sqlite3.Connection):
    """A connection that is closed with its last reference; Python 3.13 and later warn of any other."""

    def __del__(self) -> None:
        """Close it, unless it never was opened."""
        with contextlib.suppress(sqlite3.ProgrammingError):
            self.close()


def tables_of(database: sqlite3.Connection) -> set[str]:
    return {str(name) for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def error_code(error: BaseException) -> int:
    """Return SQLite's primary code of an error; 0 for those that Python's own module raises."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def is_damage(error: BaseException) -> bool:
    """Return True if SQLite takes its file for damaged, or cannot read it; a full disk is no damage."""
    return error_code(error) in _DAMAGE or getattr(error, "sqlite_errorcode", 0) in _CANNOT_READ


def is_full(error: BaseException) -> bool:
    """Return True if SQLite could not write, as the disk is full or fails."""
    return error_code(error) in _FULL


def _make(path: Path, mark: Callable[[sqlite3.Connection], object]) -> None:
    handle, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    part = Path(name)
    try:
        with contextlib.closing(sqlite3.connect(part, isolation_level=None)) as database:
            mark(database)
        try:
            os.link(part, path)
        except FileExistsError:
            return
        except OSError:  # a disk without hard links
            platforms.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
