"""Answers of a long list of questions, kept in a file as they come: what was answered is not asked again.

What the calls took is kept with them, so that a budget holds over all that is asked with one file.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from hashlib import blake2b
from pathlib import Path
from typing import Any

from disputatio.api.request import Prepared
from disputatio.databases import open_private, tables_of
from disputatio.errors import UNREADABLE, DamagedFile, InputError, StoreError
from disputatio.pipeline import strategy_name
from disputatio.spending import Spent
from disputatio.store.contract import Index
from disputatio.store.filtered import Filtered
from disputatio.store.in_memory import InMemory
from disputatio.text import content_id
from disputatio.types import Answer, Usage

_APPLICATION = 0x4450414B  # in the header of the file
_TABLES = (
    "CREATE TABLE settings (one INTEGER PRIMARY KEY CHECK (one = 1), body TEXT NOT NULL)",
    "CREATE TABLE answers (question TEXT PRIMARY KEY, answer TEXT NOT NULL, digest TEXT NOT NULL)",
)
_SPENDING = (
    "CREATE TABLE IF NOT EXISTS spending (question TEXT NOT NULL, model TEXT NOT NULL, "
    "calls INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, "
    "completion_tokens INTEGER NOT NULL)"
)


class KeptAnswers:
    """The answers of one file, made by one way to ask; threads may share it.

    An answer is on the disk when `keep` returns; an error is not kept. Raises `StoreError` where the file
    cannot be used, `InputError` where it holds the answers of another way to ask.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self._path, self._lock, self._closed = path, threading.Lock(), False
        with self._reported():
            path.parent.mkdir(parents=True, exist_ok=True)
            open_private(path, "file of answers", _is_ours, keep_rights=True)
            self._db = self._connected()
        try:
            with self._reported():
                before = self._opened(json.dumps(settings, sort_keys=True, default=str))
            if changed := [name for name in settings if before.get(name) != _plain(settings[name])]:
                raise InputError(
                    f"{path}: holds answers that were asked for with another {' and '.join(changed)}; "
                    "keep these in another file"
                )
        except BaseException:
            self._db.close()
            raise

    def _connected(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=10, isolation_level=None, check_same_thread=False)

    def _opened(self, settings: str) -> dict[str, Any]:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("BEGIN IMMEDIATE")
        try:
            if not tables_of(self._db):
                for table in _TABLES:
                    self._db.execute(table)
                self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
                self._db.execute("INSERT INTO settings VALUES (1, ?)", (settings,))
            self._db.execute(_SPENDING)  # files of before there were budgets lack it
            [body] = self._db.execute("SELECT body FROM settings").fetchone()
            self._db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise
        try:
            before: dict[str, Any] = json.loads(body)
        except UNREADABLE as error:
            raise DamagedFile(f"{self._path}: is damaged at its settings") from error
        return before

    def get(self, question: str) -> Answer | None:
        """Return the answer that is kept of a question; raises `DamagedFile` where it is not what
        was written.
        """
        with self._lock, self._reported():
            row = self._db.execute(
                "SELECT answer, digest FROM answers WHERE question = ?", (question,)
            ).fetchone()
        if row is None:
            return None
        damaged = DamagedFile(f"{self._path}: is damaged at the question {question[:60]!r}")
        if not isinstance(row[0], str) or _digest(row[0]) != row[1]:
            raise damaged
        try:
            return Answer.from_dict(json.loads(row[0]))
        except (*UNREADABLE, InputError) as error:
            raise damaged from error

    def keep(self, question: str, answer: Answer) -> None:
        """Keep an answer; the first of a question stays."""
        body = answer.to_json()
        with self._lock, self._reported():
            self._db.execute(
                "INSERT OR IGNORE INTO answers VALUES (?, ?, ?)", (question, body, _digest(body))
            )

    def spend(self, question: str, _: str, model: str, usage: Usage) -> None:
        """Keep what calls of a question took; it outlives the process, and is synced with the next answer.

        A call that ends after `close`, because its question was given up, is kept too.
        """
        tokens = (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens)
        with self._lock, self._reported(), self._for_spending() as database:
            database.execute("PRAGMA synchronous = NORMAL")
            try:
                database.execute(
                    "INSERT INTO spending VALUES (?, ?, ?, ?, ?, ?)", (question, model, usage.calls, *tokens)
                )
            finally:
                database.execute("PRAGMA synchronous = FULL")

    def _for_spending(self) -> AbstractContextManager[sqlite3.Connection]:
        return closing(self._connected()) if self._closed else nullcontext(self._db)

    def spent(self) -> list[Spent]:
        """Sum the usage of all calls so far, by question and model."""
        with self._lock, self._reported():
            rows = self._db.execute(
                "SELECT question, model, sum(calls), sum(prompt_tokens), sum(cached_tokens), "
                "sum(completion_tokens) FROM spending GROUP BY question, model"
            ).fetchall()
        return [
            (
                question,
                "",
                model,
                Usage(calls=calls, prompt_tokens=read, cached_tokens=cached, completion_tokens=written),
            )
            for question, model, calls, read, cached, written in rows
        ]

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._closed = True
            self._db.close()

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{self._path}: cannot keep answers: {error}") from error


def ask_settings(prepared: Prepared) -> dict[str, Any]:
    """Return all settings that change an answer, beside the question, as JSON values."""
    strategy = prepared.strategy if isinstance(prepared.strategy, str) else strategy_name(prepared.strategy)
    kit, retriever = prepared.kit, prepared.searched
    limited = kit.retriever if isinstance(kit.retriever, Filtered) else None
    limits = None if limited is None else limited.limits()
    searched = None if retriever is None else type(retriever).__name__
    if isinstance(retriever, Index):
        searched = str(retriever.path.absolute())
    elif isinstance(retriever, InMemory):
        searched = content_id("m", *(f"{p.id} {p.text}" for p in retriever.passages))
    return {
        "strategy": strategy,
        "options": {name: _plain(value) for name, value in prepared.options.items()},
        "model": kit.model.name,
        "roles": {role: model.name for role, model in sorted(kit.roles.items())},
        "index or passages": searched,
        "limits": _plain(limits),
        **({"mute": list(limited.mute)} if limited is not None and limited.mute else {}),
        **({"each_source": True} if prepared.each_source else {}),
        "checks": [prepared.verify, prepared.strict, prepared.min_confidence],
    }


def _is_ours(database: sqlite3.Connection) -> bool:
    [owner] = database.execute("PRAGMA application_id").fetchone()
    return bool(owner == _APPLICATION or not (owner or tables_of(database)))


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, sort_keys=True, default=str))


def _digest(body: str) -> str:
    return blake2b(body.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
