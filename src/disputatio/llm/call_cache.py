"""Every finished model call, kept: repeated at no cost, replayed with no engine at all.

A call is named by a SHA-256 over model, engine, prompt and sampling (or options); its value is the
completion or choice as JSON. A call is acknowledged only after its transaction is on disk (SQLite,
write-ahead log, full synchronisation). A faulty call is never stored. When two processes make the
same call, the first result stays and both get it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from urllib.parse import quote

from disputatio.errors import StoreError
from disputatio.llm.calls import canonical
from disputatio.types import Capabilities

_APPLICATION = 0x44535054  # "DSPT" in the header of the file
_WAIT = 30.0  # seconds for another process's transaction
_AT_ONCE = 500  # keys a query


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStats:
    """Calls kept in the file, and those answered from it or not since it was opened."""

    kept: int
    hits: int
    misses: int


# --- the file -----------------------------------------------------------------------------------
def _create(connection: sqlite3.Connection) -> None:
    connection.execute(
        "CREATE TABLE calls (key TEXT PRIMARY KEY, kind TEXT NOT NULL, model TEXT NOT NULL,"
        " value TEXT NOT NULL, digest TEXT NOT NULL, created REAL NOT NULL)"
    )
    connection.execute(
        "CREATE TABLE models (name TEXT NOT NULL, engine TEXT NOT NULL, capabilities TEXT NOT NULL,"
        " used REAL NOT NULL, PRIMARY KEY (name, engine))"
    )


_MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_create,)
"""Each brings the file from the version of its index to the next."""


@dataclass(slots=True)
class _Put:
    """Calls that a thread waits to have kept, and what came of it."""

    rows: list[tuple[str, str, str, str, str, float]]
    tried: bool = False
    error: StoreError | None = None


class CallCache:
    """The calls kept in one SQLite file; made when it is not there. Threads and processes may share it.

    `readonly` opens a file that is there already and never writes. Every method raises `StoreError`,
    naming the file, when it is damaged, locked, of another program or version, or the disk is full.
    """

    def __init__(self, path: Path | str, *, readonly: bool = False) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._waiting_lock = threading.Lock()
        self._waiting: list[_Put] = []
        self._hits = self._misses = 0
        with self._faults():
            if readonly:
                self._db = self._open_readonly()
            else:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                # For the user alone, and so are the log and the index that SQLite puts beside it.
                with contextlib.suppress(OSError):  # what cannot be opened SQLite tells of
                    os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
                    self.path.chmod(0o600)  # made by an earlier version
                self._db = self._connect(str(self.path), uri=False)
        try:
            with self._faults():
                self._prepare(readonly)
        except StoreError:
            self._db.close()
            raise

    def _connect(self, name: str, *, uri: bool) -> sqlite3.Connection:
        return sqlite3.connect(name, timeout=_WAIT, isolation_level=None, check_same_thread=False, uri=uri)

    def _open_readonly(self) -> sqlite3.Connection:
        """Without a log beside it the file is all there is, and needs no shared memory to be read."""
        log = self.path.with_name(self.path.name + "-wal")
        how = "mode=ro" if log.exists() else "mode=ro&immutable=1"
        return self._connect(f"file:{quote(str(self.path.absolute()))}?{how}", uri=True)

    def _prepare(self, readonly: bool) -> None:
        db = self._db
        db.execute(f"PRAGMA busy_timeout = {int(_WAIT * 1000)}")
        db.execute("PRAGMA synchronous = FULL")
        with self._transaction("BEGIN"):  # one look at the file, whoever is making it
            version = self._version()
        if readonly:
            if version != len(_MIGRATIONS):
                raise StoreError(f"{self.path}: the journal is empty or of an older version")
            return
        self._use_log()
        if version == len(_MIGRATIONS):
            return
        with self._transaction():
            for migrate in _MIGRATIONS[self._version() :]:
                migrate(db)
            db.execute(f"PRAGMA application_id = {_APPLICATION}")
            db.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")

    def _use_log(self) -> None:
        """Switch to the write-ahead log; SQLite does not wait for others here, so we do."""
        deadline = time.monotonic() + _WAIT
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                return

    def _version(self) -> int:
        """Return the version of the file, 0 if it is new; raises `StoreError` for one that is not ours."""
        owner = int(self._db.execute("PRAGMA application_id").fetchone()[0])
        version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        tables = int(self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
        if owner != _APPLICATION and (owner or version or tables):
            raise StoreError(f"{self.path} is a database of another program, not a journal")
        if version > len(_MIGRATIONS):
            raise StoreError(
                f"{self.path} was written by a newer version of Disputatio ({version}, this one knows "
                f"{len(_MIGRATIONS)})"
            )
        return version

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"the journal {self.path} cannot be used: {error}") from error

    @contextmanager
    def _transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
        """All or nothing, and on disk when it ends; the caller holds the lock."""
        self._db.execute(begin)
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # a full disk has ended it already
                self._db.execute("ROLLBACK")
            raise

    def get(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the values of those calls that are kept, by key."""
        recorded: dict[str, str] = {}
        with self._lock, self._faults():
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                rows = self._db.execute(
                    f"SELECT key, value, digest FROM calls WHERE key IN ({marks})", tuple(some)
                )
                for key, value, digest in rows:
                    if _digest(value) != digest:
                        raise StoreError(f"the journal {self.path} is damaged at call {key[:16]}")
                    recorded[key] = value
        return recorded

    def put(self, kind: str, model: str, values: Mapping[str, str]) -> None:
        """Keep calls, all or none; a call that is kept already stays as it is.

        They are on the disk when this returns. What other threads bring meanwhile goes there with them, in
        one transaction: the disk is waited for once for all of them.
        """
        now = time.time()
        own = _Put([(key, kind, model, value, _digest(value), now) for key, value in values.items()])
        with self._waiting_lock:
            self._waiting.append(own)
        with self._lock:
            if not own.tried:
                self._put_waiting()
        if own.error is not None:
            raise StoreError(str(own.error)) from own.error

    def _put_waiting(self) -> None:
        """Commit what all threads have brought; the caller holds the lock."""
        with self._waiting_lock:
            together, self._waiting = self._waiting, []
        try:
            with self._faults(), self._transaction():
                for one in together:
                    self._db.executemany("INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?, ?, ?)", one.rows)
        except StoreError as error:
            for one in together:
                one.error = error
        except BaseException:  # an interrupt of this thread: what the others brought is not kept either
            for one in together:
                one.error = StoreError(
                    f"the journal {self.path}: calls were not kept, as a write was interrupted"
                )
            raise
        finally:
            for one in together:
                one.tried = True

    def count(self, *, hits: int, misses: int) -> None:
        """Add to the figures of this session."""
        with self._lock:
            self._hits += hits
            self._misses += misses

    def stats(self) -> CacheStats:
        """Calls kept, and how many were answered from the file since it was opened."""
        with self._lock, self._faults():
            count = self._db.execute("SELECT count(*) FROM calls").fetchone()[0]
            return CacheStats(kept=int(count), hits=self._hits, misses=self._misses)

    def models(self) -> list[tuple[str, Capabilities]]:
        """Return the models whose calls are kept and what they can do, the last used first."""
        with self._lock, self._faults():
            rows = self._db.execute("SELECT name, capabilities FROM models ORDER BY used DESC, rowid DESC")
            return [(name, Capabilities(**json.loads(text))) for name, text in rows]

    def note_model(self, name: str, engine: str, capabilities: Capabilities) -> None:
        """Record what a model can do under the engine string that stands in its keys."""
        text = canonical(asdict(replace(capabilities, engine=engine)))
        with self._lock, self._faults(), self._transaction():
            self._db.execute(
                "INSERT INTO models VALUES (?, ?, ?, ?) ON CONFLICT (name, engine) DO UPDATE"
                " SET capabilities = excluded.capabilities, used = excluded.used",
                (name, engine, text, time.time()),
            )

    def close(self) -> None:
        """Let go of the file."""
        with self._lock, self._faults():
            self._db.close()

    def __enter__(self) -> CallCache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _digest(value: str) -> str:
    return hashlib.blake2b(value.encode("ascii"), digest_size=8).hexdigest()
