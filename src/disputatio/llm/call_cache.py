"""A journal of finished model calls, to repeat them at no cost and to replay them without an engine.

A call is named by a SHA-256 over model, engine, prompt and sampling (or options); its value is the
completion or choice as JSON. A call is acknowledged only after its transaction is on disk (SQLite,
write-ahead log, full synchronisation). A faulty call is never stored. When two processes make the
same call, the first result stays and both get it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from disputatio.databases import (
    Database,
    check_private,
    connect_readonly,
    error_code,
    is_damage,
    open_private,
)
from disputatio.errors import UNREADABLE, DamagedFile, StoreError
from disputatio.types import Capabilities, Choice, Completion, Prompt, Sampling, Token, Usage

LOG = logging.getLogger("disputatio.journal")

_Result = TypeVar("_Result")
_APPLICATION = 0x44535054  # "DSPT" in the header of the file
_WAIT = 30.0  # seconds for another process's transaction
_AT_ONCE = 500  # keys a query
_MOST_IN_MEMORY = 10_000  # calls that are kept in place of a damaged file


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


_VERSION = 1  # of the tables


@dataclass(slots=True)
class _Put:
    rows: list[tuple[str, str, str, str, str, float]]
    tried: bool = False
    error: StoreError | None = None


class CallCache:
    """The calls kept in one SQLite file, made unless `readonly`; threads and processes may share it. Every
    method raises `StoreError`, naming the file, and `DamagedFile` when it is not what was written.
    """

    def __init__(self, path: Path | str, *, readonly: bool = False) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._waiting_lock = threading.Lock()
        self._waiting: list[_Put] = []
        self._readonly, self._in_memory = readonly, False
        with self._faults():
            if readonly:
                check_private(self.path, "journal", _is_journal, keep_rights=True)
            else:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                open_private(self.path, "journal", _is_journal, make=_name)
            self._db = self._open()
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    def _open(self) -> sqlite3.Connection:
        return connect_readonly(self.path) if self._readonly else _connect(str(self.path))

    def _prepare(self) -> None:
        db = self._db
        db.text_factory = _decode_text
        db.execute(f"PRAGMA busy_timeout = {int(_WAIT * 1000)}")
        db.execute("PRAGMA synchronous = FULL")
        with self._transaction("BEGIN"):  # one consistent read, also while another process makes the file
            version = self._version()
        if self._readonly:
            if version != _VERSION:
                raise StoreError(f"{self.path}: the journal is empty or of an older version")
            return
        self._use_log()
        if version == _VERSION:
            return
        with self._transaction():
            if self._version() != _VERSION:  # another process may have made them
                _create(db)
                db.execute(f"PRAGMA user_version = {_VERSION}")

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
        """Return the version of the file, 0 if it is new; raises `StoreError` for a newer program's."""
        version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        if version > _VERSION:
            raise StoreError(
                f"{self.path} was written by a newer version of Disputatio ({version}, "
                f"this one knows {_VERSION})"
            )
        return version

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            kind = DamagedFile if error_code(error) == sqlite3.SQLITE_CORRUPT else StoreError
            raise kind(f"the journal {self.path} cannot be used: {error}") from error

    def _use(self, work: Callable[[], _Result]) -> _Result:
        """Do some work, again if the file is damaged, at last in memory; the caller holds the lock."""
        with self._faults():
            for mend in (self._reopen, self._use_memory):
                try:
                    return work()
                except sqlite3.DatabaseError as error:
                    if not is_damage(error) or self._readonly or self._in_memory:
                        raise
                    mend(error)
            return work()

    def _reopen(self, _: sqlite3.Error) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._db.close()
        try:
            self._db = self._open()
            self._prepare()
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            self._use_memory(error)

    def _use_memory(self, error: sqlite3.Error) -> None:
        if self._in_memory:
            return
        self._in_memory = True
        LOG.warning(
            "the journal %s is damaged (%s) and is not used any more: calls are kept in memory until this "
            "process ends; delete the file, or restore it from a copy", self.path, error,
        )  # fmt: skip
        with contextlib.suppress(sqlite3.Error):
            self._db.close()
        self._db = _connect(":memory:")
        self._prepare()

    @contextmanager
    def _transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
        """Run a transaction, which is on disk when it ends; the caller holds the lock."""
        self._db.execute(begin)
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # a full disk has ended it already
                self._db.execute("ROLLBACK")
            raise

    def get(self, keys: Sequence[str]) -> dict[str, str]:
        """Read the values of kept calls, by key; a damaged one is deleted, or if `readonly` `DamagedFile`."""
        recorded: dict[str, str] = {}
        damaged: list[str] = []
        for start in range(0, len(keys), _AT_ONCE):
            some = tuple(keys[start : start + _AT_ONCE])
            marks = ",".join("?" * len(some))
            select = f"SELECT key, value, digest FROM calls WHERE key IN ({marks})"
            with self._lock:
                rows = self._use(partial(self._select, select, some))
            for key, value, digest in rows:
                if _is_whole(value, digest):
                    recorded[key] = value
                elif self._readonly:
                    raise make_damage_fault(self.path, f"call {key[:16]}")
                else:
                    damaged.append(key)
        if damaged:
            self._forget(damaged)
        return recorded

    def _forget(self, keys: Sequence[str]) -> None:
        """Delete those of some calls that are damaged still; another process may have mended one."""
        LOG.warning("the journal %s is damaged at %d calls: they are asked again", self.path, len(keys))

        def delete() -> None:
            with self._transaction():
                for key in keys:
                    for value, digest in self._select(
                        "SELECT value, digest FROM calls WHERE key = ?", (key,)
                    ):
                        if not _is_whole(value, digest):
                            self._db.execute("DELETE FROM calls WHERE key = ?", (key,))

        with self._lock:
            self._use(delete)

    def _select(self, statement: str, values: Sequence[str]) -> list[Any]:
        return self._db.execute(statement, tuple(values)).fetchall()

    def put(self, kind: str, model: str, values: Mapping[str, str]) -> None:
        """Keep new calls, all or none, with those of other threads; they are on disk when this returns."""
        now = time.time()
        own = _Put([(key, kind, model, value, _digest(value), now) for key, value in values.items()])
        with self._waiting_lock:
            self._waiting.append(own)
        with self._lock:
            if not own.tried:
                self._put_waiting()
        if own.error is not None:
            raise type(own.error)(str(own.error)) from own.error

    def _put_waiting(self) -> None:
        """Commit the calls of all waiting threads; the caller holds the lock."""
        with self._waiting_lock:
            together, self._waiting = self._waiting, []
        try:
            self._use(lambda: self._insert([row for put in together for row in put.rows]))
        except StoreError as error:
            for put in together:
                put.error = error
        except BaseException:  # this thread was interrupted: the calls of the others are not written either
            for put in together:
                put.error = StoreError(
                    f"the journal {self.path}: calls were not kept, as a write was interrupted"
                )
            raise
        finally:
            for put in together:
                put.tried = True

    def _insert(self, rows: Sequence[tuple[str, str, str, str, str, float]]) -> None:
        with self._transaction():
            self._db.executemany("INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?, ?, ?)", rows)
            if self._in_memory:
                oldest = "SELECT max(rowid) FROM calls"
                self._db.execute(f"DELETE FROM calls WHERE rowid <= ({oldest}) - {_MOST_IN_MEMORY}")

    def count(self) -> int:
        with self._lock:
            [count] = self._use(lambda: self._db.execute("SELECT count(*) FROM calls").fetchone())
            return int(count)

    def models(self) -> list[tuple[str, Capabilities]]:
        """List the models whose calls are kept, with their capabilities, the last used first."""
        select = "SELECT name, capabilities FROM models ORDER BY used DESC, rowid DESC"
        with self._lock:
            rows = self._use(lambda: self._db.execute(select).fetchall())
        try:
            return [(str(name), _read_capabilities(text)) for name, text in rows]
        except UNREADABLE as error:
            raise make_damage_fault(self.path, "the capabilities of a model") from error

    def note_model(self, name: str, engine: str, capabilities: Capabilities) -> None:
        text = canonical(asdict(replace(capabilities, engine=engine)))
        insert = (
            "INSERT INTO models VALUES (?, ?, ?, ?) ON CONFLICT (name, engine) DO UPDATE"
            " SET capabilities = excluded.capabilities, used = excluded.used"
        )

        def write() -> None:
            with self._transaction():
                self._db.execute(insert, (name, engine, text, time.time()))

        with self._lock:
            self._use(write)

    def close(self) -> None:
        with self._lock, self._faults():
            self._db.close()

    def __enter__(self) -> CallCache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_journal(database: sqlite3.Connection) -> bool:
    return bool(database.execute("PRAGMA application_id").fetchone()[0] == _APPLICATION)


def _name(database: sqlite3.Connection) -> None:
    database.execute(f"PRAGMA application_id = {_APPLICATION}")


def _connect(name: str) -> sqlite3.Connection:
    return sqlite3.connect(
        name, timeout=_WAIT, isolation_level=None, check_same_thread=False, factory=Database
    )


def make_damage_fault(path: Path | str, place: str) -> DamagedFile:
    """Make the fault for a part of a journal that is not what was written."""
    return DamagedFile(
        f"the journal {path} is damaged at {place}; restore it from a copy, or name another file"
    )


def _is_whole(value: object, digest: object) -> bool:
    return isinstance(value, str) and _digest(value) == digest


def _digest(value: str) -> str:
    return hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _decode_text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")  # what is no UTF-8 is not what was written: its digest differs


def _read_capabilities(text: str) -> Capabilities:
    fields = json.loads(text)
    if any(isinstance(value, dict | list) for value in fields.values()):
        raise TypeError("a capability is a plain value")
    return Capabilities(**fields)


# --- keys and values --------------------------------------------------------------------------------
# Only what decides the result of a call enters its key: no clock, no path, no role.
FORMAT = 1
"""Part of every key: raise it when the meaning of a key or a value changes."""


def completion_key(model: str, engine: str, prompt: Prompt, sampling: Sampling) -> str:
    """Compute the key of a completion; the order of a schema's fields counts, as it does for an engine.

    >>> from disputatio.types import Message
    >>> prompt = Prompt(messages=(Message(role="user", content="Hi"),))
    >>> a = completion_key("local:m", "e 1", prompt, Sampling())
    >>> a == completion_key("local:m", "e 1", prompt, Sampling(temperature=0)), len(a)
    (True, 64)
    >>> a == completion_key("local:m", "e 2", prompt, Sampling())
    False
    """
    how = {
        "max_tokens": sampling.max_tokens,
        "temperature": float(sampling.temperature),
        "top_p": float(sampling.top_p),
        "seed": sampling.seed,
        "schema": sampling.schema,
    }
    return _key("complete", model, engine, prompt, how)


def choice_key(model: str, engine: str, prompt: Prompt, options: Sequence[str]) -> str:
    return _key("choose", model, engine, prompt, list(options))


def _key(kind: str, model: str, engine: str, prompt: Prompt, how: object) -> str:
    messages = [[message.role, message.content] for message in prompt.messages]
    text = canonical([FORMAT, model, engine, kind, messages, how])
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def canonical(value: object) -> str:
    """Write canonical JSON: ASCII, no spaces, mappings in their own order."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "item"):  # a number of numpy's
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot stand in a journal")


def encode(result: Completion | Choice) -> str:
    """Write a completion or choice as canonical JSON, without the mark that it came from the journal."""
    value: dict[str, object]
    if isinstance(result, Completion):
        tokens = [[token.text, token.logprob] for token in result.tokens]
        value = {"text": result.text, "finish_reason": result.finish_reason, "tokens": tokens}
    else:
        value = {"options": result.options, "logprobs": result.logprobs, "bounded": result.bounded}
    return canonical({**value, "usage": asdict(result.usage)})


def decode_completion(text: str) -> Completion:
    value = json.loads(text)
    tokens = tuple(Token(text=token, logprob=logprob) for token, logprob in value["tokens"])
    if not isinstance(value["text"], str):
        raise TypeError("the text of a completion is a string")
    return Completion(
        text=value["text"],
        finish_reason=value["finish_reason"],
        usage=Usage(**value["usage"]),
        tokens=tokens,
    )


def decode_choice(text: str) -> Choice:
    value = json.loads(text)
    return Choice(
        options=tuple(value["options"]),
        logprobs=tuple(value["logprobs"]),
        bounded=tuple(value["bounded"]),
        usage=Usage(**value["usage"]),
    )
