"""The log of questions and their clients, a line each; off unless the operator names a file."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from disputatio.errors import StoreError
from disputatio.serialisation import json_text


class AuditLog:
    """A file of JSON lines, for the user alone; it never holds a token."""

    def __init__(self, path: Path) -> None:
        """Open the file for appending; raises `StoreError` if that fails."""
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
            path.chmod(0o600)
        except OSError as error:
            raise StoreError(f"{path}: the audit log cannot be written: {error.strerror}") from error
        self._out = os.fdopen(handle, "ab", buffering=0)
        self._lock = threading.Lock()

    def write(self, what: str, **fields: Any) -> None:
        """Add one line."""
        line = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "what": what, **fields}
        with self._lock:
            self._out.write(json_text(line).encode("utf-8", "backslashreplace") + b"\n")

    def close(self) -> None:
        """Close the file."""
        self._out.close()
