"""What a server is told when it starts: limits, who may ask, and where it keeps things."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that requests may take; each is there so that one person cannot take it all.

    `in_flight` questions are answered at a time, `waiting` more may wait, `waiting_each` of one client. A
    question may cost `calls`, `tokens` and `seconds`; it goes on for `abandoned` seconds when nobody listens
    any more, and its events stay for `linger` seconds after the end. `body` and `upload` are bytes. A client
    has `header_seconds` for a request's head, `body_seconds` for each piece of its body, and
    `write_seconds` to take each piece of a reply. There are `connections` at a time, and `jobs` of one kind.
    """

    in_flight: int = 16
    waiting: int = 64
    waiting_each: int = 16
    calls: int = 2_000
    tokens: int = 2_000_000
    seconds: float = 600.0
    abandoned: float = 10.0
    linger: float = 60.0
    body: int = 1 << 20
    upload: int = 64 << 20
    header_seconds: float = 10.0
    body_seconds: float = 20.0
    write_seconds: float = 30.0
    connections: int = 1_000
    grace: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Who may ask: with a `token` only who knows it. `hosts` and `origins` are allowed beside loopback."""

    token: str = field(default="", repr=False)
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    writing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """Where a server keeps things: answers in a SQLite file, for `days` and at most `most` of them.

    `uploads` is the folder of uploaded originals, `runs` that of evaluations, `audit` the log of who asked
    what; None leaves each out. Without `answers` they are kept in memory until the server ends.
    """

    answers: Path | None = None
    days: float = 30.0
    most: int = 10_000
    uploads: Path | None = None
    runs: Path | None = None
    audit: Path | None = None
