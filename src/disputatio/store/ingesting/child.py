"""The child process in which strangers' files are parsed: `python -m disputatio.store.ingesting.child`.

Its standard input is a socket to the parent. A request is one line of JSON with an open file passed along;
the answer is a line of JSON for each part and one that ends it. Its time and memory are bounded; it writes no
file, starts no process, opens no connection, leaves no core, and has nothing of the parent's environment.
Limits and an audit hook see to that everywhere, Landlock and a filter of system calls (`confine.py`) where
the kernel has them.

The bound on address space (`RLIMIT_AS`) is set anew before each request at what interpreter and libraries
took when they were loaded, plus the limit: libraries map hundreds of megabytes that they never touch.
"""

from __future__ import annotations

import json
import math
import os
import socket
import sys
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

from disputatio import platforms
from disputatio.store.ingesting.confine import confine, interpreter_places
from disputatio.store.ingesting.parsers import (
    ParsedPart,
    RefusedDocument,
    kind_of,
    largest,
    parser,
    past_limit,
    refusal_part,
)
from disputatio.store.ingesting.rows import Unreadable

_LONGEST_REQUEST = 65_536
_WORN = 64 << 20  # bytes left behind by earlier files, at which a new child is better
_LOADING = 60.0  # seconds of processor time to load a library, which is none of the document's
_FORBIDDEN = ("socket.", "subprocess.Popen", "os.", "shutil.", "ctypes.dlopen", "ctypes.set_errno", "pty.")
_ALLOWED = frozenset({"os.listdir", "os.scandir", "os.walk", "os.putenv", "os.unsetenv"})


def main() -> None:
    """Answer requests until the parent closes its end."""
    import logging
    import warnings

    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    platforms.give_way()
    platforms.end_with_parent()
    parent = socket.socket(fileno=os.dup(0))
    sys.setrecursionlimit(2_000)
    bounds = _Bounds()
    fences = confine()
    sys.addaudithook(_Hook(interpreter_places()))
    while (request := _next(parent)) is not None:
        task, file = request
        with file:
            worn = _answer(parent, task, file, bounds, fences)
        if worn:
            return


class _Hook:
    """Refuses what no parser needs; a second fence, and the only one where the kernel has none."""

    def __init__(self, readable: tuple[str, ...]) -> None:
        self._readable = tuple(os.path.realpath(place) for place in readable)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            self._check_open(*arguments[:3])
        elif event.startswith(_FORBIDDEN) and event not in _ALLOWED:
            raise PermissionError(f"a parser has no use for {event}")

    def _check_open(self, path: object, mode: object, flags: object) -> None:
        if (isinstance(mode, str) and set(mode) & set("wax+")) or (
            isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        ):
            raise PermissionError("a parser writes no file")
        if isinstance(path, str | bytes):
            real = os.path.realpath(os.fsdecode(path))
            if not any(real == place or real.startswith(f"{place}/") for place in self._readable):
                raise PermissionError("a parser reads no other file")


class _Bounds:
    """Memory and processor time that the child may take, moved with what it has loaded."""

    def __init__(self) -> None:
        self._start = platforms.address_space()
        self._loaded: set[str] = set()
        self._limit = 0

    def load(self, kind: str) -> None:
        """Load the packages of a kind without a bound; what they take is not the document's."""
        if kind in self._loaded:
            return
        platforms.limit_memory(None)
        before = platforms.address_space()
        parser(kind, "")
        self._start += platforms.address_space() - before
        self._loaded.add(kind)

    def bind(self, megabytes: int, seconds: float) -> None:
        """Bound memory above what is loaded, and processor time, from here on."""
        self._limit = self._start + (megabytes << 20)
        platforms.limit_memory(self._limit if self._start else None)
        self.renew(seconds)

    def renew(self, seconds: float) -> None:
        platforms.limit_processor(math.ceil(time.process_time() + seconds) + 1)

    def were_met(self) -> bool:
        """Return whether memory came so near to its bound that this is what stopped the parser."""
        return (
            bool(self._start)
            and platforms.most_address_space() > self._limit - (self._limit - self._start) // 8
        )

    def release(self) -> bool:
        """Lift the bound on memory; return True if the child leaked too much to be reused."""
        platforms.limit_memory(None)
        return bool(self._start) and platforms.address_space() > self._start + _WORN


def _next(parent: socket.socket) -> tuple[dict[str, Any], BinaryIO] | None:
    line, fds = b"", []
    while not line.endswith(b"\n"):
        data, descriptors, _, _ = socket.recv_fds(parent, _LONGEST_REQUEST, 1)
        fds += descriptors
        line += data
        if not data:
            return None
    os.lseek(fds[0], 0, os.SEEK_SET)  # the parent looked at its first bytes
    return json.loads(line), os.fdopen(fds[0], "rb")


def _answer(
    parent: socket.socket, task: dict[str, Any], file: BinaryIO, bounds: _Bounds, fences: tuple[str, ...]
) -> bool:
    """Send the parts of one file; whether the child is to end after it."""
    spent = False
    kind = str(task["kind"])
    try:
        bounds.renew(_LOADING)
        bounds.load(kind)
        if task.get("member"):
            bounds.load(kind_of(str(task["name"]), b""))
        _send(parent, {"ready": True, "fences": list(fences)})
        bounds.bind(int(task["megabytes"]), float(task["seconds"]))
        columns = {str(field): str(column) for field, column in dict(task.get("columns") or {}).items()}
        for part in _parts(kind, str(task["name"]), task.get("member") or [], columns, file):
            _send(parent, part)
            bounds.renew(float(task["seconds"]))
    except MemoryError:
        refusal: ParsedPart | None = _too_large(task)
        spent = True
    except BrokenPipeError:
        return True
    except (RefusedDocument, Unreadable) as error:
        refusal = refusal_part(error)
    except Exception as error:  # noqa: BLE001  (whatever a parser raises is the file's fault)
        refusal = {"refused": _broken(kind, error)}
        if spent := bounds.were_met():  # libraries in C have many words for it
            refusal = _too_large(task)
    else:
        refusal = None
    spent = bounds.release() or spent
    if refusal is not None:
        _send(parent, refusal)
    _send(parent, {"end": True, "spent": spent})
    return spent


def _parts(
    kind: str, name: str, member: list[int], columns: dict[str, str], file: BinaryIO
) -> Iterator[ParsedPart]:
    if kind != "zip" or not member:
        yield from parser(kind, name, columns)(file)
        return
    from disputatio.store.ingesting.parsers import archive

    raw = archive.member(file, member)
    inner = kind_of(name, raw.read(8))
    size = raw.seek(0, os.SEEK_END)
    raw.seek(0)
    limit = largest(inner)
    if not size:
        raise RefusedDocument("is empty", "no_text")
    if limit is not None and size > limit:
        raise past_limit(f"is larger than {limit >> 20} MB, the limit", limit, size=size)
    try:
        yield from parser(inner, name, columns)(raw)
    except (RefusedDocument, Unreadable, MemoryError):
        raise
    except Exception as error:  # whatever a parser raises is the file's fault, and told as such
        raise RefusedDocument(_broken(inner, error)) from error


def _too_large(task: dict[str, Any]) -> ParsedPart:
    most = int(task["megabytes"])
    reason = f"takes more than {most} MB of memory to read"
    return refusal_part(past_limit(reason, most << 20, "bytes of memory"))


def _broken(kind: str, error: Exception) -> str:
    words = " ".join(f"{type(error).__name__}: {error}".split())
    return f"is not a readable {kind.upper()} file ({words[:160]})"


def _send(parent: socket.socket, part: ParsedPart) -> None:
    parent.sendall(json.dumps(part, ensure_ascii=False).encode("utf-8", "replace") + b"\n")


if __name__ == "__main__":
    main()
