"""Decisions of clients about contradictions, in a baseline that `disputatio check --baseline` reads, too."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from disputatio import platforms
from disputatio.contradictions.baseline import entry_of, read_entries, text_of_entries
from disputatio.errors import InputError, StoreError
from disputatio.types import Contradiction

Holds = Literal["", "first", "second"]


class Decisions:
    """The contradictions that were accepted or settled, by id; safe for any thread of one process."""

    def __init__(self, path: Path | None) -> None:
        """Read the file when it is first asked for; None keeps decisions in memory."""
        self._path, self._lock = path, threading.Lock()
        self._seen: tuple[int, int] | None = None
        self._entries: dict[str, dict[str, Any]] = {}

    def all(self) -> dict[str, dict[str, Any]]:
        """Return the entries as the file has them now; raises `StoreError` for a file that is no baseline."""
        with self._lock:
            return dict(self._read())

    def put(self, contradiction: Contradiction, *, holds: Holds, why: str) -> dict[str, Any]:
        """Accept a contradiction: one side holds, or none, and why. Raises `StoreError`."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        entry = {**entry_of(contradiction), "holds": holds, "why": why, "at": at}
        with self._lock:
            self._write({**self._read(), contradiction.id: entry})
        return entry

    def drop(self, name: str) -> bool:
        """Take a decision back; False where there was none. Raises `StoreError`."""
        with self._lock:
            entries = dict(self._read())
            found = entries.pop(name, None)
            if found is not None:
                self._write(entries)
        return found is not None

    def _read(self) -> dict[str, dict[str, Any]]:
        if self._path is None:
            return self._entries
        try:
            about = self._path.stat()
        except FileNotFoundError:
            self._seen, self._entries = None, {}
            return self._entries
        if self._seen != (about.st_mtime_ns, about.st_size):
            try:
                entries = read_entries(self._path)
                self._entries = {str(entry["id"]): entry for entry in entries}
            except InputError as error:
                raise StoreError(str(error)) from error
            self._seen = about.st_mtime_ns, about.st_size
        return self._entries

    def _write(self, entries: dict[str, dict[str, Any]]) -> None:
        if self._path is not None:
            try:
                with platforms.whole_file(self._path) as part:
                    part.write_text(text_of_entries(entries.values()), encoding="utf-8")
            except OSError as error:
                raise StoreError(f"{self._path}: cannot be written: {error.strerror}") from error
        self._entries, self._seen = entries, None
