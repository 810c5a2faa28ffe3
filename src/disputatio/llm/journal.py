"""Every finished model call, kept: repeated at no cost, replayed with no engine at all.

A call is named by a SHA-256 over model, engine, prompt and sampling (or options); its value is the
completion or choice as JSON. A call is acknowledged only after its transaction is on disk (SQLite,
write-ahead log, full synchronisation). A faulty call is never stored. When two processes make the
same call, the first result stays and both get it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from disputatio.errors import BatchFault, ConfigError, Malformed, NotJournalled, StoreError
from disputatio.llm.calls import (
    canonical,
    choice_key,
    completion_key,
    decode_choice,
    decode_completion,
    encode,
)
from disputatio.protocols import LLM
from disputatio.types import Capabilities, Choice, Completion, Prompt, Sampling

_APPLICATION = 0x44535054  # "DSPT" in the header of the file
_WAIT = 30.0  # seconds for another process's transaction
_AT_ONCE = 500  # keys a query

_Word = TypeVar("_Word", Completion, Choice)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalStats:
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


class Journal:
    """The calls kept in one SQLite file; made when it is not there. Threads and processes may share it.

    `readonly` opens a file that is there already and never writes. Every method raises `StoreError`,
    naming the file, when it is damaged, locked, of another program or version, or the disk is full.
    """

    def __init__(self, path: Path | str, *, readonly: bool = False) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._hits = self._misses = 0
        with self._faults():
            if readonly:
                self._db = self._open_readonly()
            else:
                self.path.parent.mkdir(parents=True, exist_ok=True)
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
        """The version of the file, 0 if it is new; raises `StoreError` for one that is not ours."""
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
        """The values of those calls that are kept, by key."""
        found: dict[str, str] = {}
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
                    found[key] = value
        return found

    def put(self, kind: str, model: str, values: Mapping[str, str]) -> None:
        """Keep calls, all or none; a call that is kept already stays as it is."""
        now = time.time()
        rows = [(key, kind, model, value, _digest(value), now) for key, value in values.items()]
        with self._lock, self._faults(), self._transaction():
            self._db.executemany("INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?, ?, ?)", rows)

    def count(self, *, hits: int, misses: int) -> None:
        """Add to the figures of this session."""
        with self._lock:
            self._hits += hits
            self._misses += misses

    def stats(self) -> JournalStats:
        """Calls kept, and how many were answered from the file since it was opened."""
        with self._lock, self._faults():
            kept = self._db.execute("SELECT count(*) FROM calls").fetchone()[0]
            return JournalStats(kept=int(kept), hits=self._hits, misses=self._misses)

    def models(self) -> list[tuple[str, Capabilities]]:
        """The models whose calls are kept and what they can do, the last used first."""
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

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _digest(value: str) -> str:
    return hashlib.blake2b(value.encode("ascii"), digest_size=8).hexdigest()


# --- the model behind it ------------------------------------------------------------------------
class Journalled:
    """A model whose calls are kept: an `LLM` around another one.

    `engine` stands in the keys; without it the model is asked for its capabilities, which may load
    it. With `replay` the model is never touched and may be None: what the journal lacks raises
    `NotJournalled`. `name` is needed then only if the journal keeps calls of several models.
    """

    def __init__(
        self,
        llm: LLM | None,
        journal: Journal,
        *,
        replay: bool = False,
        engine: str | None = None,
        name: str | None = None,
    ) -> None:
        if llm is None and not replay:
            raise ConfigError("without a model the journal can only be replayed")
        self._llm, self._journal, self._replay = llm, journal, replay
        self._lock = threading.Lock()
        self._engine = engine
        self._capabilities: Capabilities | None = None
        self._noted = False
        self._name = name or (llm.name if llm is not None else _only_name(journal))

    @property
    def name(self) -> str:
        """The name that users give the wrapped model."""
        return self._name

    def capabilities(self) -> Capabilities:
        """What the wrapped model can do, from the journal where it is known there."""
        with self._lock:
            if self._capabilities is None:
                self._capabilities = self._recall() or self._ask_capabilities()
            return self._capabilities

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Completion]:
        """One completion a prompt, from the journal where it is there; raises `LLMError`, `StoreError`.

        The same prompt twice in a batch is asked once.
        """
        engine = self._engine_string()
        keys = [completion_key(self._name, engine, prompt, sampling) for prompt in prompts]
        return self._answer(
            "complete", prompts, keys, lambda some: self._model().complete(some, sampling), decode_completion
        )

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> list[Choice]:
        """log P of the options for each prompt, as `complete` does it."""
        engine = self._engine_string()
        keys = [choice_key(self._name, engine, prompt, options) for prompt in prompts]
        return self._answer(
            "choose", prompts, keys, lambda some: self._model().choose(some, options), decode_choice
        )

    def _answer(
        self,
        kind: str,
        prompts: Sequence[Prompt],
        keys: Sequence[str],
        ask: Callable[[Sequence[Prompt]], Sequence[_Word]],
        decode: Callable[[str], _Word],
    ) -> list[_Word]:
        found = self._journal.get(keys)
        first: dict[str, int] = {}
        for index, key in enumerate(keys):
            if key not in found:
                first.setdefault(key, index)
        if first and self._replay:
            raise self._missing(prompts[min(first.values())])
        fault: BatchFault | None = None
        fresh: Mapping[str, str] = {}
        if first:
            fresh, fault = self._make(kind, first, prompts, ask)
        self._journal.count(hits=len(keys) - len(first), misses=len(first))
        words: list[_Word | None] = []
        for index, key in enumerate(keys):
            text = found.get(key) or fresh.get(key)
            again = first.get(key) != index
            words.append(None if text is None else replace(decode(text), journalled=again))
        if fault is not None:
            raise BatchFault(words, fault.errors) from fault
        return [word for word in words if word is not None]

    def _make(
        self,
        kind: str,
        first: Mapping[str, int],
        prompts: Sequence[Prompt],
        ask: Callable[[Sequence[Prompt]], Sequence[_Word]],
    ) -> tuple[Mapping[str, str], BatchFault | None]:
        """Make the calls, keep the good ones, and give what the journal now holds of them."""
        results: Sequence[Completion | Choice | None]
        fault: BatchFault | None = None
        try:
            results = ask([prompts[index] for index in first.values()])
        except BatchFault as error:
            results, fault = error.results, error
        if len(results) != len(first):
            raise Malformed(f"{self._name}: {len(first)} calls were made and {len(results)} answered")
        good = {key: encode(word) for key, word in zip(first, results, strict=True) if word is not None}
        if good:
            self._note()
            self._journal.put(kind, self._name, good)
        return self._journal.get(list(good)), fault

    def _model(self) -> LLM:
        if self._llm is None:
            raise ConfigError("without a model the journal can only be replayed")
        return self._llm

    def _engine_string(self) -> str:
        if self._engine is None:
            self._engine = self.capabilities().engine
        return self._engine

    def _recall(self) -> Capabilities | None:
        """What the journal knows of this model under this engine; on replay, under the last one."""
        for name, capabilities in self._journal.models():
            if name == self._name and (
                capabilities.engine == self._engine or (self._engine is None and self._replay)
            ):
                return capabilities
        return None

    def _ask_capabilities(self) -> Capabilities:
        if self._replay:
            raise NotJournalled(f"the journal {self._journal.path} holds no calls of {self._name}")
        return self._model().capabilities()

    def _note(self) -> None:
        """At the first call that was made, record what is needed to replay without the model."""
        if not self._noted:
            self._journal.note_model(self._name, self._engine_string(), self._model().capabilities())
            self._noted = True

    def _missing(self, prompt: Prompt) -> NotJournalled:
        asked = [message.content for message in prompt.messages if message.role == "user"]
        words = " ".join((asked[-1] if asked else "").split())
        return NotJournalled(f"the journal holds no such call of {self._name}: {words[:60]!r}")


def _only_name(journal: Journal) -> str:
    names = {name for name, _ in journal.models()}
    if len(names) == 1:
        return names.pop()
    held = f"calls of several models ({', '.join(sorted(names))})" if names else "no calls"
    raise ConfigError(f"the journal {journal.path} holds {held}: name the model to replay")
