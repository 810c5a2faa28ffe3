"""Milvus Lite for tests: a file that the client opens as it is, or the same engine as a server on a port."""

from __future__ import annotations

import functools
import itertools
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

_NUMBERS = itertools.count()


@functools.cache
def file() -> Path:
    """Give a file of Milvus Lite that tests share, each in a collection of its own; skips without
    the package.
    """
    pytest.importorskip("milvus_lite")
    from pymilvus.client import grpc_handler

    # The client waits half a second for every index that it makes; here it asks a hundred times as often.
    clock = SimpleNamespace(time=time.time, sleep=lambda seconds: time.sleep(seconds / 100))
    pytest.MonkeyPatch().setattr(grpc_handler, "time", clock)
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
