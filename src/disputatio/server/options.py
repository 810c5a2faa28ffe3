"""Options of a server: limits, access and storage."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from disputatio.spending import Budget, Meter


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of requests, so that no client can use up the server.

    `in_flight` questions are answered at a time, `waiting` more may wait, `waiting_each` of one client; of
    searches, lists and what else reads much these are `reading`, and the same numbers that wait. A
    question may cost `calls`, `tokens` and `seconds`; it goes on for `abandoned` seconds without a follower,
    and its events stay for `linger` seconds after the end. `body` and `upload` are bytes, and
    `uploads` are received at a time. A client has `header_seconds` for a request's head, `body_seconds` and a
    second for each 16 kB for its body, which may rest for `rest_seconds`, `write_seconds` to take some of a
    reply, and 20 times that to take what waits. There are `connections` at a time, of which each may send
    `pipelined` requests before it has taken the replies to those before. `suggestions` questions are written
    for the start of the page.
    """

    in_flight: int = 16
    reading: int = 4
    waiting: int = 64
    waiting_each: int = 16
    calls: int = 2_000
    tokens: int = 2_000_000
    seconds: float = 600.0
    abandoned: float = 10.0
    linger: float = 60.0
    body: int = 1 << 20
    upload: int = 64 << 20
    uploads: int = 8
    header_seconds: float = 10.0
    body_seconds: float = 20.0
    rest_seconds: float = 60.0
    write_seconds: float = 30.0
    connections: int = 1_000
    pipelined: int = 16
    suggestions: int = 0
    grace: float = 30.0

    def within(self, calls: int | None, tokens: int | None, seconds: float | None) -> Limits:
        """Return the same limits, or lower ones where a question asks for less."""
        return replace(
            self,
            calls=self.calls if calls is None else min(self.calls, calls),
            tokens=self.tokens if tokens is None else min(self.tokens, tokens),
            seconds=self.seconds if seconds is None else min(self.seconds, seconds),
        )

    def meter(self) -> Meter:
        """Return the meter of one question, which ends it after the reply that exceeds its tokens."""
        return Meter(Budget(calls=self.calls, tokens=self.tokens), reserve_tokens=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Access: clients need the `token` if there is one. `hosts` and `origins` are allowed beside loopback."""

    token: str = field(default="", repr=False)
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    writing: bool = False


class Runs(Protocol):
    """Evaluations to show by name; `disputatio.eval.reporting.run_folders` reads those below a folder.

    Each method returns None for a name that it does not know.
    """

    def rows(self) -> list[dict[str, Any]]: ...

    def report(self, name: str) -> dict[str, Any] | None: ...

    def differences(
        self, name: str, first: str, second: str, metric: str | None
    ) -> dict[str, Any] | None: ...

    def answer(self, name: str, strategy: str, example: str) -> dict[str, Any] | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageOptions:
    """Storage: answers in a SQLite file, for `days` and at most `most` of them.

    `uploads` is the folder of uploaded originals, of `upload_bytes` at most, `runs` are evaluations to show,
    `audit` is the log of who asked what; None leaves each out. `changes` records what clients changed,
    `baseline` is the file of contradictions that they accepted, as `disputatio check --baseline` reads it.
    Without `answers` and `changes` they are kept in memory until the server ends.
    """

    answers: Path | None = None
    days: float = 30.0
    most: int = 10_000
    uploads: Path | None = None
    upload_bytes: int = 20 << 30
    runs: Runs | None = None
    audit: Path | None = None
    changes: Path | None = None
    baseline: Path | None = None
