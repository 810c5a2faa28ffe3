"""Fake servers, and endpoints connected to them that do not wait between attempts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from disputatio.llm.connection import Connection
from disputatio.llm.endpoint import Endpoint
from tests.llm.fake_server import FakeServer, Script

Serve = Callable[[Script], FakeServer]
Connect = Callable[..., Endpoint]


async def no_sleep(_: float) -> None:
    """Let others run, and no more."""
    await asyncio.sleep(0)


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a server for a script; it ends with the test."""
    opened: list[FakeServer] = []

    def start(script: Script) -> FakeServer:
        opened.append(FakeServer(script))
        return opened[-1]

    yield start
    for server in opened:
        server.__exit__(None, None, None)


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Make an endpoint for a server (or an address); it is closed with the test."""
    opened: list[Endpoint] = []
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def start(server: FakeServer | str, **options: Any) -> Endpoint:
        url = server if isinstance(server, str) else server.url
        settings: dict[str, Any] = {"api_key": "sk-test", "sleep": no_sleep, **options}
        own = {name: settings.pop(name) for name in ("kind", "extra") if name in settings}
        opened.append(Endpoint(Connection("m", base_url=url, **settings), **own))
        return opened[-1]

    yield start
    for endpoint in opened:
        endpoint.close()
