"""Every error that Disputatio raises on purpose, in one tree.

Exceptions carry data and do nothing. A fault is never an answer, an abstention or a zero.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any, Literal, TypeAlias

UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""The errors of Python that reading JSON of another shape than ours raises; caught to raise one of ours."""


RefusalCode: TypeAlias = Literal[
    "unreadable", "encrypted", "too_large", "too_slow", "no_text", "scan", "unknown_type", "encoding",
    "missing_package", "missing_column", "bad_row", "unsafe", "not_found", "changed", "not_fetched",
    "unconfined",
]  # fmt: skip
"""Why a file or a row of it was refused; `rendering.refusals` says what to do about each."""
RefusalData: TypeAlias = Mapping[str, str | int]
"""What a refusal names, where it is known (`REFUSAL_DATA`).

`limit` and `size` are numbers of `unit` (bytes, characters, seconds, files, ...), `package` is to be
installed, `type` is a content type or a kind of file, `status` that of HTTP.
"""
REFUSAL_DATA = ("limit", "size", "unit", "package", "column", "field", "suffix", "type", "status")


class DisputatioError(Exception):
    """Root of the tree; its message is one line that a user can act on."""

    exit_code = 2


class ConfigError(DisputatioError):
    """The request cannot be carried out as it was asked."""


class UnknownName(ConfigError):
    """A name that is not known, with the nearest one that is.

    The message ends with all known names, or where these are many with the command that lists them.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], *, command: str = "") -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        near = difflib.get_close_matches(name, self.known, n=1, cutoff=0.5)
        self.nearest = near[0] if near else None
        hint = f"did you mean {near[0]!r}? " if near else ""
        names = f"all are listed by: {command}" if command else f"known: {', '.join(self.known) or 'none'}"
        super().__init__(f"unknown {kind} {name!r}: {hint}{names}")


class MissingDependency(ConfigError):
    """An optional package is needed; the message holds the exact install line."""

    def __init__(self, package: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"{package} is not installed: run pip install 'disputatio[{extra}]'")


@contextmanager
def require_package(package: str, extra: str) -> Iterator[None]:
    """Raise `MissingDependency` where an import in the block fails."""
    try:
        yield
    except ImportError as error:
        raise MissingDependency(package, extra) from error


class MissingPart(ConfigError):
    """The kit lacks a part that the strategy needs."""


class MustAskAgain(ConfigError):
    """An answer cannot be decided again from what it keeps: a model would have to read something new."""


class InputError(DisputatioError):
    """Something the user gave is wrong: the message names the file, row or option."""


class IngestError(InputError):
    """A document could not be read; `path` names it, `reason` says why, `code` is the kind of reason.

    `data` holds what the reason names, for programs: see `RefusalData`.
    """

    def __init__(self, path: str, reason: str, code: RefusalCode = "unreadable", **data: str | int) -> None:
        self.path, self.reason, self.code, self.data = path, reason, code, data
        if code == "unknown_type" and not data:
            self.data = {"suffix": PurePath(path).suffix.lower()[:40]}
        super().__init__(f"{path}: {reason}")


class StoreError(DisputatioError):
    """The index is damaged, or cannot be read or written."""


class DamagedFile(StoreError):
    """A journal of model calls, or the file of a server's answers, is not what was written."""

    exit_code = 3


class BucketFault(StoreError):
    """A bucket cannot be reached, is full, or fails."""

    exit_code = 3


class IndexBusy(StoreError):
    """Another process is writing to the index; the same call works once that is done."""


class IndexServerFault(StoreError):
    """The server that keeps the index cannot be reached, refuses, fails, or is of another version."""

    exit_code = 3


class IndexVersion(StoreError):
    """The index is of a version that this program does not read."""


class ClusterFault(DisputatioError):
    """A cluster cannot be reached, or its workers cannot do their work."""

    exit_code = 3


class ReplyError(DisputatioError):
    """An agent's reply does not keep its contract; `raw` is the whole reply."""

    exit_code = 3

    def __init__(self, reason: str, raw: str) -> None:
        self.reason, self.raw = reason, raw
        super().__init__(f"the model's reply was not usable: {reason}")


class LLMError(DisputatioError):
    """A fault of a model or of the way to it."""

    exit_code = 3
    retryable = False


class Unreachable(LLMError):
    """No connection could be made, or it broke."""

    retryable = True


class Timeout(LLMError):
    """A deadline passed; `deadline` is connect, first_byte, between_tokens or total."""

    retryable = True

    def __init__(self, deadline: str, seconds: float, where: str) -> None:
        self.deadline, self.seconds = deadline, seconds
        words = deadline.replace("_", " ")
        super().__init__(f"{where}: the {words} deadline of {seconds:g} s passed")


class RateLimited(LLMError):
    """The endpoint asks to wait; `retry_after` is in seconds when it said how long."""

    retryable = True

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class QuotaExceeded(LLMError):
    """The account behind the key is exhausted; waiting does not help."""


class Refused(LLMError):
    """The endpoint will not do this (4xx); `status` is the HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        self.status = status
        super().__init__(message)


class ServerFault(LLMError):
    """The endpoint failed (5xx); `status` is the HTTP status."""

    retryable = True

    def __init__(self, message: str, status: int) -> None:
        self.status = status
        super().__init__(message)


class Malformed(LLMError):
    """The reply is not what the protocol promises: HTML, half a stream, an empty choice."""


class ContextTooLong(LLMError):
    """The prompt does not fit the model's context."""


class NoLogprobs(LLMError):
    """Log-probabilities are needed and this model or endpoint does not give them."""


class NotRecorded(NoLogprobs):
    """An answer is decided again, and the model was not asked this when it was given."""


class WorkerLost(LLMError):
    """A question was asked on several workers, and each of them died."""


class NotJournalled(LLMError):
    """A replay met a call that the journal does not hold."""


class BatchFault(LLMError):
    """Some calls of a batch failed.

    `results` has one item a prompt, in order: the `Completion` (or `Choice`), or None where the call failed;
    `errors` has the faults. The journal keeps the good ones, so that running again repeats only what failed.
    """

    def __init__(self, results: Sequence[Any], errors: Sequence[LLMError]) -> None:
        self.results, self.errors = tuple(results), tuple(errors)
        failed = sum(result is None for result in self.results)
        super().__init__(f"{failed} of {len(self.results)} calls failed; the first: {errors[0]}")


class BudgetSpent(DisputatioError):
    """A model call was not made, because it might exceed the budget, or the last one exceeded it.

    A strategy that catches it cannot answer without the call: the question ends with it all the same.
    """


class NotAsked(DisputatioError):
    """A question was not asked, or was given up, because the budget of all questions is spent."""


class DownloadError(DisputatioError):
    """A model could not be fetched, or what came does not match its checksum."""

    exit_code = 3


class TooLate(DisputatioError):
    """A model call was ended or not made, because the question's deadline has passed."""


class Cancelled(DisputatioError):
    """The question was cancelled before it was answered."""

    exit_code = 130

    def __init__(self) -> None:
        super().__init__("the question was cancelled")
