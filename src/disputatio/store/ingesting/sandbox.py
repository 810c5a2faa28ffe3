"""The parent's side of the child that parses strangers' files (`child.py`). A parser that crashes, hangs or
eats memory takes the child with it, and the next file gets a new one. What the child answers comes of a
stranger's file too: it is bounded in size and every part is checked before it is used.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import math
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Self, get_args

from disputatio import platforms
from disputatio.errors import REFUSAL_DATA, IngestError, MissingDependency, RefusalCode
from disputatio.store.ingesting.options import HIDDEN
from disputatio.store.ingesting.parsers import ParsedPart, formats
from disputatio.store.ingesting.rows import NO_COLUMNS

CODES = frozenset(get_args(RefusalCode))
SECONDS = 20.0
MEGABYTES = 512
_LARGEST_ANSWER = 100_663_296  # bytes of one part: the longest text and its record
_STARTING = 90.0  # seconds that the interpreter and its libraries may take to load, once for a child
# Variables that the child gets; keys and proxies are kept from it.
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "LD_LIBRARY_PATH", "TZ", "SYSTEMROOT", "TEMP")
_ALONE = {
    "MALLOC_ARENA_MAX": "1",  # so that address space is what is used, not what each thread reserves
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


class Sandbox:
    """A child that parses one file at a time; started at the first file, ended on leaving."""

    def __init__(
        self,
        *,
        seconds: float = SECONDS,
        megabytes: int = MEGABYTES,
        columns: Mapping[str, str] = NO_COLUMNS,
    ) -> None:
        """Allow `seconds` for each part of an answer, and `megabytes` of memory for a file."""
        self._columns = dict(columns)
        self._seconds, self._megabytes = seconds, megabytes
        self._child: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._parts_open: Generator[ParsedPart, None, None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def parse(
        self, kind: str, file: BinaryIO, name: str, *, where: str = "", member: Sequence[int] = ()
    ) -> Iterator[ParsedPart]:
        """Yield the parts of a file (`parsers`), of a kind known there; `member` is one of an archive's.

        The parts come as they are parsed. A request made before they have all been taken ends them.
        Raises `IngestError` that names `where` when the file is broken or past a limit, or its parser is
        not installed.
        """
        for package, distribution in formats()[kind].packages.items():
            if importlib.util.find_spec(package) is None:
                missing = MissingDependency(distribution, "arrow" if package == "pyarrow" else "store")
                raise IngestError(
                    where or name, f"cannot be read: {missing}", "missing_package", package=distribution
                ) from missing
        where = where or name
        if not platforms.can_pass_files():
            reason = "is not read on Windows, where its parser could not be confined"
            raise IngestError(where, reason, "unconfined")
        if self._parts_open is not None:
            self._parts_open.close()  # with its child, which is still at the other file
        parts = self._parts_open = self._parts(kind, file, name, where, list(member))
        yield from parts
        if self._parts_open is not parts:
            raise IngestError(where, "was left half-read for another file: ingest it again", "changed")

    def _parts(
        self, kind: str, file: BinaryIO, name: str, where: str, member: list[int]
    ) -> Generator[ParsedPart, None, None]:
        request = {
            "kind": kind, "name": name[-500:], "member": member, "columns": self._columns,
            "seconds": self._seconds, "megabytes": self._megabytes,
        }  # fmt: skip
        finished = False
        try:
            line = self._start()
            socket.send_fds(line, [json.dumps(request).encode() + b"\n"], [file.fileno()])
            answer, rest = self._answer(line, b"", _STARTING)
            if not _parse_part(answer).get("ready"):
                raise ValueError("it did not load")
            while True:
                answer, rest = self._answer(line, rest, self._seconds)
                part = _parse_part(answer)
                if part.get("end"):
                    finished = not part.get("spent")
                    return
                if "refused" in part and not part.get("name"):
                    finished = not self._next_is_spent(line, rest)
                    raise to_refusal(where, part)
                yield part
        except TimeoutError as error:
            raise self._too_slow(where) from error
        except (BrokenPipeError, ConnectionError, EOFError) as error:
            raise self._last_words(kind, where) from error
        except ValueError as error:
            raise IngestError(where, f"is not read: its parser gave no proper answer ({error})") from error
        finally:
            if not finished:
                self._stop()

    def _next_is_spent(self, line: socket.socket, rest: bytes) -> bool:
        """Return whether the child ends itself after a refusal."""
        try:
            return bool(_parse_part(self._answer(line, rest, self._seconds)[0]).get("spent", True))
        except (OSError, EOFError, ValueError):
            return True

    def _start(self) -> socket.socket:
        if self._child is not None and self._child.poll() is not None:
            self._stop()  # it was ended from outside, between two files
        if self._line is None:
            self._line, theirs = socket.socketpair()
            with theirs:
                self._child = subprocess.Popen(
                    [sys.executable, "-P", "-B", "-m", "disputatio.store.ingesting.child"],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env=child_environment(),
                )
        return self._line

    @staticmethod
    def _answer(line: socket.socket, rest: bytes, seconds: float) -> tuple[bytes, bytes]:
        """Return a line of the child and what came after it; raises `TimeoutError`, `EOFError` or so."""
        deadline = time.monotonic() + seconds
        data = bytearray(rest)
        at = 0
        with selectors.DefaultSelector() as ready:
            ready.register(line, selectors.EVENT_READ)
            while (end := data.find(b"\n", at)) < 0:
                at = len(data)
                if at > _LARGEST_ANSWER:
                    raise ValueError(f"longer than {_LARGEST_ANSWER >> 20} MB")
                seconds_left = deadline - time.monotonic()
                if seconds_left <= 0 or not ready.select(seconds_left):
                    raise TimeoutError
                part = line.recv(1 << 20)
                if not part:
                    raise EOFError
                data += part
        return bytes(data[:end]), bytes(data[end + 1 :])

    def _too_slow(self, where: str) -> IngestError:
        seconds = self._seconds
        reason = f"took more than {seconds:g} s to read"
        return IngestError(where, reason, "too_slow", limit=math.ceil(seconds), unit="seconds")

    def _last_words(self, kind: str, where: str) -> IngestError:
        code = 0
        if self._child is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = self._child.wait(timeout=5)
        if platforms.is_out_of_time(code):
            return self._too_slow(where)
        with contextlib.suppress(ValueError):
            if code < 0:
                died = signal.Signals(-code).name
                return IngestError(where, f"is not a readable {kind.upper()} file (its parser died: {died})")
        return IngestError(where, f"is not a readable {kind.upper()} file (its parser ended, {code})")

    def _stop(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._child = None


def child_environment() -> dict[str, str]:
    """Return the variables of the child; it runs in another folder the package that its parent runs."""
    kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    root = str(Path(__file__).resolve().parents[3])
    others = kept.get("PYTHONPATH", "").split(os.pathsep)
    paths = os.pathsep.join([root, *(str(Path(path).resolve()) for path in others if path)])
    return kept | _ALONE | {"PYTHONPATH": paths}


def to_refusal(where: str, part: ParsedPart) -> IngestError:
    return IngestError(where, part["refused"], part.get("code", "unreadable"), **part.get("data", {}))


def _parse_part(answer: bytes) -> ParsedPart:
    """Return a part as `parsers` promises it; raises `ValueError` for anything else."""
    try:
        part: Any = json.loads(answer)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(part, dict):
        raise ValueError("no part")
    checks: dict[str, Callable[[Any], bool]] = {
        "document": lambda value: (
            isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
        ),
        "hidden": lambda value: type(value) is int and value >= 0,
        "pages": _are_numbers,
        "outline": _are_numbers,
        "name": lambda value: isinstance(value, str) and len(value) <= 2_000,
        "rows": lambda value: _are_rows(value, dict),
        "bad": lambda value: _are_rows(value, str),
        "member": _are_numbers,
        "refused": lambda value: isinstance(value, str) and 0 < len(value) <= 1_000,
        "code": lambda value: value in CODES,
        "data": lambda value: (
            isinstance(value, dict)
            and value.keys() <= set(REFUSAL_DATA)
            and all(
                type(each) is int or (isinstance(each, str) and len(each) <= 200) for each in value.values()
            )
        ),
        "ready": lambda value: value is True,
        "fences": lambda value: isinstance(value, list) and set(value) <= {"landlock", "seccomp"},
        "end": lambda value: value is True,
        "left_out": lambda value: isinstance(value, str) and value == HIDDEN,
        "count": lambda value: type(value) is int and value > 0,
        "spent": lambda value: isinstance(value, bool),
    }
    for name, value in part.items():
        if name not in checks or not checks[name](value):
            raise ValueError(f"a wrong {name[:40]!r}")
    return part


def _are_numbers(value: object) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _are_rows(value: object, kind: type) -> bool:
    return isinstance(value, list) and all(
        isinstance(row, list) and len(row) == 2 and type(row[0]) is int and isinstance(row[1], kind)
        for row in value
    )
