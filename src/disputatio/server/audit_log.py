"""The log of questions and their clients, a line each; off unless the operator names a file."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from disputatio import platforms
from disputatio.errors import StoreError
from disputatio.serialisation import json_text

_BEGIN = b'{"at": "'  # of each line


class AuditLog:
    """A file of JSON lines, for the user alone; it never holds a token. A link to it is not followed."""

    def __init__(self, path: Path) -> None:
        """Open the file for appending; raises `StoreError` if that fails, or if it holds anything else."""
        try:
            handle = platforms.open_handle(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            try:
                _check(path, handle)
            except BaseException:
                os.close(handle)
                raise
        except OSError as error:
            raise StoreError(f"{path}: the audit log cannot be written: {error.strerror}") from error
        self._out = os.fdopen(handle, "ab", buffering=0)
        self._lock = threading.Lock()

    def write(self, what: str, **fields: Any) -> None:
        """Add one line, whole or not at all; raises `StoreError` if that fails."""
        line = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "what": what, **fields}
        raw = json_text(line).encode("utf-8", "backslashreplace") + b"\n"
        with self._lock:
            size = os.fstat(self._out.fileno()).st_size
            try:
                if self._out.write(raw) != len(raw):  # the disk had room for a part of it
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError as error:
                with contextlib.suppress(OSError):
                    self._out.truncate(size)
                raise StoreError(
                    f"the audit log cannot be written ({error.strerror}), and no question is asked without it"
                ) from error

    def close(self) -> None:
        self._out.close()


def _check(path: Path, handle: int) -> None:
    """Give a file to the user alone if it is a log of ours, or empty; raises `StoreError` for another."""
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode):
        raise StoreError(f"{path}: is no regular file, and so no audit log")
    if about.st_size and not platforms.read_at(handle, len(_BEGIN), 0).startswith(_BEGIN):
        raise StoreError(f"{path}: is no audit log: name another file")
    platforms.restrict(handle)
