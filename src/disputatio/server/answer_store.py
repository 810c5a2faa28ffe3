"""Answers by id in a SQLite file, for permalinks and for `without`, and the conversations they belong to."""

from __future__ import annotations

import contextlib
import json
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from disputatio.api.staleness import documents_of
from disputatio.databases import SharedDatabase
from disputatio.errors import UNREADABLE, DamagedFile, InputError, StoreError
from disputatio.server.faults import NotFound
from disputatio.types import Answer

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    id TEXT PRIMARY KEY, at REAL NOT NULL, question TEXT NOT NULL, strategy TEXT NOT NULL,
    answer BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS answers_at ON answers (at);
CREATE TABLE IF NOT EXISTS turns (
    id TEXT PRIMARY KEY, thread TEXT NOT NULL, follows TEXT NOT NULL, asked TEXT NOT NULL,
    client TEXT NOT NULL, at REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS turns_thread ON turns (thread, at);
CREATE TABLE IF NOT EXISTS suggestions (
    place TEXT PRIMARY KEY, commit_number INTEGER NOT NULL, questions TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS cited (
    answer TEXT NOT NULL, document TEXT NOT NULL, PRIMARY KEY (answer, document)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS cited_by_document ON cited (document);
"""
_VERSION = 2  # 1 had no turns
_TABLES = {"answers", "turns", "suggestions", "cited"}
_LEVEL = 3  # of compression: answers hold their passages and calls, and shrink to an eighth
_LARGEST = 64 << 20  # bytes of an answer as JSON
_MOST_CITING = 50  # answers that are listed of those that cite a document


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTurn:
    """A question of a conversation: what was `asked`, and the answer that it `follows` ("" for the first).

    `thread` is the id of the conversation's first answer.
    """

    id: str
    thread: str
    follows: str
    asked: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation in a list: its first question, its last answer's id, and its number of questions."""

    id: str
    question: str
    last: str
    turns: int
    at: float


class AnswerStore(SharedDatabase):
    """Answers of the last days, readable by the user alone; safe for any thread.

    An answer is on disk when `keep` returns. Raises `StoreError` if the file cannot be used, and
    `DamagedFile` if what it holds is not what was written.
    """

    def __init__(self, path: Path | None, *, days: float = 30.0, most: int = 10_000) -> None:
        """Open or create the file; None keeps answers in memory."""
        self._days, self._most = days, most
        super().__init__(
            path, what="store of answers", holds="answers", schema=_SCHEMA, tables=_TABLES, version=_VERSION
        )

    def keep(self, name: str, answer: Answer) -> None:
        """Store an answer, and drop those that are too old or too many."""
        text = answer.to_json().encode()
        if len(text) > _LARGEST:
            raise StoreError(f"an answer of {len(text) >> 20} MB is too large to be kept")
        body = zlib.compress(text, _LEVEL)
        with self._open() as db:
            db.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)",
                (name, time.time(), answer.question, answer.strategy, body),
            )
            self._prune()

    def json(self, name: str) -> str:
        """Return an answer as `ask --json` prints it; raises `NotFound`."""
        with self._open() as db:
            row = db.execute(
                "SELECT answer FROM answers WHERE id = ? AND at > ?", (name, self._oldest())
            ).fetchone()
        if row is None:
            raise NotFound(f"there is no answer {name!r}: it was never given, or is no longer kept")
        try:
            text = _unpack(row[0])
            if not isinstance(json.loads(text), dict):
                raise TypeError("an answer is an object")
        except (zlib.error, *UNREADABLE) as error:
            raise self._damage(name) from error
        return text

    def answer(self, name: str) -> Answer:
        try:
            return Answer.from_dict(json.loads(self.json(name)))
        except (*UNREADABLE, InputError) as error:
            raise self._damage(name) from error

    def find_citing(self, document: str) -> list[dict[str, Any]]:
        """Return the newest answers that cite a document: id, question and moment."""
        self._note_cited()
        with self._open() as db:
            rows = db.execute(
                "SELECT a.id, a.question, a.at FROM cited c JOIN answers a ON a.id = c.answer "
                "WHERE c.document = ? AND a.at > ? ORDER BY a.at DESC LIMIT ?",
                (document, self._oldest(), _MOST_CITING),
            ).fetchall()
        return [
            {
                "id": name,
                "question": question,
                "at": datetime.fromtimestamp(at, UTC).isoformat("T", "seconds"),
            }
            for name, question, at in rows
        ]

    def newest(self, most: int) -> list[str]:
        """Return the ids of the newest answers, the newest first."""
        with self._open() as db:
            rows = db.execute(
                "SELECT id FROM answers WHERE at > ? ORDER BY at DESC LIMIT ?", (self._oldest(), most)
            ).fetchall()
        return [name for [name] in rows]

    def _note_cited(self) -> None:
        """Note what each new answer cites, a few at a time; a row without a document: it was read."""
        new = "SELECT id, answer FROM answers WHERE id NOT IN (SELECT answer FROM cited WHERE document = '')"
        while True:
            with self._open() as db:
                rows = db.execute(f"{new} LIMIT 50").fetchall()
                for name, body in rows:
                    cited: set[str] = set()
                    with contextlib.suppress(zlib.error, *UNREADABLE):  # damage shows when it is opened
                        cited = documents_of(json.loads(_unpack(body)))
                    db.executemany(
                        "INSERT OR IGNORE INTO cited VALUES (?, ?)", [(name, each) for each in ("", *cited)]
                    )
            if not rows:
                return

    def _damage(self, name: str) -> DamagedFile:
        return DamagedFile(f"{self._path}: is damaged at the answer {name!r}; delete it, or ask again")

    def drop(self, name: str) -> bool:
        """Delete an answer; return False if there was none."""
        with self._open() as db:
            return db.execute("DELETE FROM answers WHERE id = ?", (name,)).rowcount > 0

    # --- conversations --------------------------------------------------------------------------
    def keep_turn(self, name: str, *, follows: str, asked: str, client: str) -> None:
        """Store that an answer is part of the conversation of the one it follows, or begins one."""
        with self._open() as db:
            row = db.execute("SELECT thread FROM turns WHERE id = ?", (follows,)).fetchone()
            thread, follows = (row[0], follows) if row else (name, "")
            db.execute(
                "INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?, ?, ?)",
                (name, thread, follows, asked, client, time.time()),
            )

    def conversations(self, client: str, most: int) -> list[Conversation]:
        """Return the conversations of a client, the newest first."""
        with self._open() as db:
            rows = db.execute(
                "SELECT thread, count(*), max(at) FROM turns WHERE client = ? AND at > ?"
                " GROUP BY thread ORDER BY max(at) DESC LIMIT ?",
                (client, self._oldest(), most),
            ).fetchall()
        listed = []
        for thread, count, at in rows:
            turns = self.thread(thread)
            listed.append(
                Conversation(id=thread, question=turns[0].asked, last=turns[-1].id, turns=count, at=at)
            )
        return listed

    def thread(self, name: str) -> list[KeptTurn]:
        """Return the conversation that an answer belongs to, the oldest question first; raises `NotFound`."""
        with self._open() as db:
            rows = db.execute(
                "SELECT id, thread, follows, asked, at FROM turns WHERE at > ?"
                " AND thread = (SELECT thread FROM turns WHERE id = ?) ORDER BY at",
                (self._oldest(), name),
            ).fetchall()
        if not rows:
            raise NotFound(f"there is no conversation with the answer {name!r}, or it is no longer kept")
        return [KeptTurn(id=row[0], thread=row[1], follows=row[2], asked=row[3], at=row[4]) for row in rows]

    def before(self, name: str, most: int) -> list[KeptTurn]:
        """Return the turn of an answer and those it follows, the oldest first; raises `NotFound`."""
        turns = {turn.id: turn for turn in self.thread(name)}
        chain: list[KeptTurn] = []
        while name in turns and len(chain) < most:
            chain.append(turns.pop(name))
            name = chain[-1].follows
        return chain[::-1]

    def drop_thread(self, name: str, client: str) -> int:
        """Delete a client's conversation with its answers; return how many. Raises `NotFound`."""
        thread = self.thread(name)[0].thread
        with self._open() as db:
            mine = "SELECT id FROM turns WHERE thread = ? AND client = ?"
            count = db.execute(f"DELETE FROM answers WHERE id IN ({mine})", (thread, client)).rowcount
            db.execute("DELETE FROM turns WHERE thread = ? AND client = ?", (thread, client))
        return count

    # --- questions that an index could answer ---------------------------------------------------
    def get_suggested(self, place: str, commit: int) -> list[str] | None:
        """Return the questions kept for a commit of the index at `place`; None if there are none yet."""
        with self._open() as db:
            row = db.execute(
                "SELECT questions FROM suggestions WHERE place = ? AND commit_number = ?", (place, commit)
            ).fetchone()
        return None if row is None else [str(question) for question in json.loads(row[0])]

    def keep_suggested(self, place: str, commit: int, questions: Sequence[str]) -> None:
        """Store the questions of a commit, in place of those of an earlier one."""
        with self._open() as db:
            db.execute(
                "INSERT OR REPLACE INTO suggestions VALUES (?, ?, ?)", (place, commit, json.dumps(questions))
            )

    def count(self) -> int:
        with self._open() as db:
            [number] = db.execute("SELECT count(*) FROM answers").fetchone()
        return int(number)

    def _oldest(self) -> float:
        return time.time() - self._days * 86_400

    def _prune(self) -> None:
        self._db.execute("DELETE FROM answers WHERE at <= ?", (self._oldest(),))
        self._db.execute(
            "DELETE FROM answers WHERE id IN (SELECT id FROM answers ORDER BY at DESC LIMIT -1 OFFSET ?)",
            (self._most,),
        )
        self._db.execute("DELETE FROM turns WHERE at <= ?", (self._oldest(),))
        self._db.execute("DELETE FROM cited WHERE answer NOT IN (SELECT id FROM answers)")


def _unpack(body: bytes) -> str:
    """Decompress an answer of at most `_LARGEST` bytes; zlib compares it with its checksum."""
    unpacking = zlib.decompressobj()
    raw = unpacking.decompress(body, _LARGEST)
    if not unpacking.eof:
        raise ValueError("is cut off, or too large")
    return raw.decode()
