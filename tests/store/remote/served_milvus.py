"""Milvus Lite for tests: a file that the client opens as it is, or the same engine as a server on a port."""

from __future__ import annotations

import functools
import itertools
import tempfile
from pathlib import Path

import pytest

_NUMBERS = itertools.count()


@functools.cache
def file() -> Path:
    """Give a file of Milvus Lite that tests share, each in a collection of its own; skips without
    the package.
    """
    pytest.importorskip("milvus_lite")
    return Path(tempfile.mkdtemp(prefix="milvus")) / "tests.db"


@functools.cache
def server() -> str:
    """Host and port of the engine that keeps the file."""
    from milvus_lite.server_manager import server_manager_instance

    return str(server_manager_instance.start_and_get_uri(str(file()))).removeprefix("http://")


def address() -> str:
    """Return the address of an index that is not there yet."""
    return f"milvus://{server()}/c{next(_NUMBERS)}"


def let_go(path: Path) -> None:
    """Close a file of Milvus Lite, as the end of the process does."""
    from milvus_lite.server_manager import server_manager_instance

    server_manager_instance.release_server(str(path))
