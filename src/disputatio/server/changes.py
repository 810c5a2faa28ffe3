"""The record of what clients changed: deletions with what undoes them, statements, and refused files."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from disputatio.databases import SharedDatabase
from disputatio.errors import UNREADABLE, InputError, StoreError
from disputatio.rendering.refusals import REMEDIES
from disputatio.store.ingesting.ingest import Refusal
from disputatio.versions.dates import moment

RefusedBy = Literal["upload", "command line"]
Shown = Callable[[str], str]
What = Literal["deleted", "stated", "taken back", "uploaded", "accepted", "reopened"]
_SCHEMA = """
CREATE TABLE IF NOT EXISTS changes (
    key INTEGER PRIMARY KEY, at TEXT NOT NULL, client TEXT NOT NULL, what TEXT NOT NULL,
    document TEXT NOT NULL, title TEXT NOT NULL, detail TEXT NOT NULL, undone TEXT NOT NULL, undo BLOB
);
CREATE TABLE IF NOT EXISTS refused (
    path TEXT PRIMARY KEY, reason TEXT NOT NULL, at TEXT NOT NULL, code TEXT NOT NULL, shown TEXT NOT NULL,
    by TEXT NOT NULL, data TEXT NOT NULL
);
"""
_WITHIN = "substr(path, 1, length(?1) + 1) IN (?1 || '/', ?1 || ':')"  # a folder, an archive, a table
_NAME = "CASE shown WHEN '' THEN path ELSE shown END"  # as clients see it
_DAYS = 30  # for which a deletion can be undone
_LARGEST = 1 << 30  # bytes of a deleted document
_MOST = 10_000  # changes and refusals that are remembered


class ChangeLog(SharedDatabase):
    """The changes that clients made, the newest first; safe for any thread. Raises `StoreError`."""

    def __init__(self, path: Path | None) -> None:
        """Open or create the file; None keeps changes in memory."""
        super().__init__(
            path, what="record of changes", holds="changes", schema=_SCHEMA, tables=("changes", "refused")
        )

    def add(
        self,
        what: What,
        *,
        client: str,
        document: str = "",
        title: str = "",
        detail: str = "",
        undo: Mapping[str, Any] | None = None,
    ) -> int:
        """Record one change; `undo` is what undoes it. Returns its number."""
        body = None if undo is None else zlib.compress(json.dumps(undo, ensure_ascii=False).encode(), 6)
        oldest = (datetime.now(UTC) - timedelta(days=_DAYS)).isoformat(timespec="seconds")
        with self._open() as db:
            key = db.execute(
                "INSERT INTO changes VALUES (NULL, ?, ?, ?, ?, ?, ?, '', ?)",
                (moment(), client, what, document, title, detail, body),
            ).lastrowid
            db.execute("UPDATE changes SET undo = NULL WHERE at < ?", (oldest,))
            db.execute("DELETE FROM changes WHERE key <= ?", ((key or 0) - _MOST,))
        return int(key or 0)

    def newest(self, limit: int) -> list[dict[str, Any]]:
        """Return changes as a client sees them, the newest first."""
        names = ("key", "at", "client", "what", "document", "title", "detail", "undone")
        with self._open() as db:
            rows = db.execute(
                f"SELECT {', '.join(names)}, undo IS NOT NULL FROM changes ORDER BY key DESC LIMIT ?",
                (limit,),
            ).fetchall()
        return [
            {**dict(zip(names, row[:-1], strict=True)), "undoable": bool(row[-1]) and not row[-2]}
            for row in rows
        ]

    def undo_of(self, key: int) -> dict[str, Any]:
        """Return what undoes a change; raises `InputError` where nothing does, or where it was undone."""
        with self._open() as db:
            row = db.execute("SELECT undo, undone FROM changes WHERE key = ?", (key,)).fetchone()
        if row is None or row[0] is None or row[1]:
            raise InputError(f"there is no change {key} that can be undone")
        try:
            found = json.loads(zlib.decompressobj().decompress(row[0], _LARGEST))
            if not isinstance(found, dict):
                raise TypeError("what undoes a change is an object")
        except (zlib.error, *UNREADABLE) as error:
            raise StoreError(f"{self._path}: is damaged at change {key}") from error
        return found

    def mark_undone(self, key: int) -> None:
        """Record that a change was undone; what undid it is dropped."""
        with self._open() as db:
            db.execute("UPDATE changes SET undone = ?, undo = NULL WHERE key = ?", (moment(), key))

    def note_refused(
        self, refused: Iterable[Refusal], *, read: Iterable[str], by: RefusedBy, shown: Shown = str
    ) -> None:
        """Record what was refused, in place of what had been refused of the files and folders now `read`.

        `shown` makes of a path what clients see.
        """
        now = moment()
        with self._open() as db:
            for name in read:
                db.execute(f"DELETE FROM refused WHERE path = ?1 OR {_WITHIN}", (name,))
            rows = [
                (path, reason, now, code, shown(path), by, json.dumps(data, ensure_ascii=False))
                for path, reason, code, data in refused
            ]
            db.executemany("INSERT OR REPLACE INTO refused VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            db.execute(
                "DELETE FROM refused WHERE path IN "
                "(SELECT path FROM refused ORDER BY at DESC LIMIT -1 OFFSET ?)",
                (_MOST,),
            )

    def list_refused(self) -> list[dict[str, Any]]:
        """Return what was refused and not read since, the newest first, with what to do about it."""
        with self._open() as db:
            rows = db.execute(
                f"SELECT {_NAME}, reason, code, by, at, data FROM refused ORDER BY at DESC, path LIMIT 1000"
            ).fetchall()
        names = ("path", "reason", "code", "by", "at")
        return [
            {
                **dict(zip(names, row, strict=True)),
                "remedy": REMEDIES.get(row[2], ""),
                "data": json.loads(data),
            }
            for *row, data in rows
        ]

    def forget_refused(self, path: str) -> None:
        """Forget that a file was refused; an empty name forgets all."""
        with self._open() as db:
            db.execute(f"DELETE FROM refused WHERE {_NAME} = ?1 OR ?1 = ''", (path,))
