"""Errors as clients see them: a status, a kind and one line, without paths of the machine."""

from __future__ import annotations

import errno
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from disputatio import errors
from disputatio.databases import error_code
from disputatio.errors import DisputatioError
from disputatio.text import one_line, shorten

_OWN = r"\b(?:DELETE|GET|PATCH|POST|PUT) /(?:api|v1)/[\w/-]*"  # an address of this server: no file's path
_PATH = re.compile(rf"(?P<own>{_OWN})|(?<![\w:/.~-])~?/[^\s'\",;:()]+")
NO_OBJECT = ("json_invalid", "model_attributes_type")  # the types of an invalid body that is no JSON object
NO_OBJECT_MESSAGE = "the body is not a JSON object sent with Content-Type: application/json"
_LONGEST = 500  # characters of a message


class Full(DisputatioError):
    """Too many questions are waiting; `retry_after` is in seconds."""

    def __init__(self, message: str, retry_after: float) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class NotFound(DisputatioError):
    """No object has that name."""


class NotAllowed(DisputatioError):
    """The server was started without the option that this needs."""


class Conflicting(DisputatioError):
    """Another job of the same kind has to end first."""


class NoRoom(DisputatioError):
    """There is no room for an upload, by the quota or on the disk."""


_STATUSES: tuple[tuple[type[DisputatioError], int], ...] = (
    (Full, 429),
    (NotFound, 404),
    (NotAllowed, 403),
    (Conflicting, 409),
    (NoRoom, 507),
    (errors.BudgetSpent, 422),
    (errors.MustAskAgain, 409),
    (errors.MissingDependency, 501),
    (errors.MissingPart, 501),
    (errors.NoLogprobs, 501),
    (errors.IndexBusy, 409),
    (errors.Cancelled, 409),
    (errors.StoreError, 503),
    (errors.RateLimited, 503),
    (errors.Timeout, 504),
    (errors.LLMError, 502),
    (errors.ReplyError, 502),
    (errors.DownloadError, 503),
    (errors.ConfigError, 400),
    (errors.InputError, 400),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An error as a client sees it."""

    status: int
    kind: str
    message: str
    more: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {"error": {"kind": self.kind, "message": self.message, **self.more}}


def fault_of(error: BaseException) -> Fault:
    """Return an error as a client sees it; the details of an unexpected one stay in the log."""
    if is_of_full_disk(error):
        words = str(error) if isinstance(error, DisputatioError) else "nothing was kept of this request"
        return Fault(status=507, kind="NoRoom", message=shown(f"the disk of the server is full: {words}"))
    if not isinstance(error, DisputatioError):
        return Fault(status=500, kind="Internal", message="the server failed; its log says why")
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)
    more: dict[str, Any] = {}
    headers: dict[str, str] = {}
    if isinstance(error, errors.UnknownName):
        more = {"name": error.name, "known": error.known[:100], "nearest": error.nearest}
    retry_after = getattr(error, "retry_after", None)
    if status in (429, 503) and retry_after is not None:
        headers["Retry-After"] = str(max(1, round(retry_after)))
    return Fault(
        status=status, kind=type(error).__name__, message=shown(str(error)), more=more, headers=headers
    )


def is_of_full_disk(error: BaseException | None) -> bool:
    """Return True if an error, or one that it came of, is that of a disk without room."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if error_code(error) == sqlite3.SQLITE_FULL:
            return True
        error = error.__cause__
    return False


def shown(message: str) -> str:
    """Shorten a message to one line of bounded length, with names of files in place of their paths.

    >>> shown("/srv/secret/town.index: there is no index here")
    'town.index: there is no index here'
    >>> shown("see https://example.org/a/b")
    'see https://example.org/a/b'
    >>> shown("no strategy 'x' (GET /api/strategies lists them)")
    "no strategy 'x' (GET /api/strategies lists them)"
    """
    named = _PATH.sub(lambda match: match["own"] or Path(match[0]).name or "a path", one_line(message))
    return shorten(named, _LONGEST)
