"""Searches and lists have turns of their own, and nothing that takes long holds up all others."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from pydantic import BaseModel, ValidationError

from disputatio.api.indexing import Index
from disputatio.server.chat.requests import ChatBody
from disputatio.server.options import Limits
from disputatio.server.service import Service
from disputatio.server.shapes import AskBody
from tests.server.ferry import QUESTION, Served, ferry, served

FEW = Limits(reading=1, waiting=2, waiting_each=1)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Hold every search and list until the event is set."""
    free = threading.Event()
    for name in ("search", "list_documents", "sources"):
        own: Callable[..., Any] = getattr(Index, name)

        def hold(self: Index, *values: Any, own: Callable[..., Any] = own, **named: Any) -> Any:
            free.wait(20)
            return own(self, *values, **named)

        monkeypatch.setattr(Index, name, hold)
    yield free
    free.set()


def get(server: Served, path: str) -> httpx.Response:
    return httpx.get(server.url + path, timeout=30)


@pytest.mark.parametrize("path", ["/api/search?q=ferry", "/api/documents", "/api/sources"])
def test_what_reads_much_waits_for_its_turn_and_is_refused_beyond_a_bound(
    tmp_path: Path, held: threading.Event, path: str
) -> None:
    service = ferry(tmp_path, limits=FEW)
    with served(service) as server, ThreadPoolExecutor() as pool:
        first = [pool.submit(get, server, path) for _ in range(2)]  # one reads, one waits
        until = time.monotonic() + 10
        while service.readings.waiting < 1 and time.monotonic() < until:
            time.sleep(0.01)
        refused = get(server, path)
        assert refused.status_code == 429
        assert refused.json()["error"]["kind"] == "Full"
        assert "searches and lists are waiting" in refused.json()["error"]["message"]
        assert int(refused.headers["retry-after"]) >= 1
        assert get(server, "/api/health").status_code == 200
        held.set()
        assert [each.result().status_code for each in first] == [200, 200]
        assert get(server, path).status_code == 200


def is_quick_beside(server: Served, work: Callable[[], Any]) -> bool:
    """Check that the server answers others while one request is worked on."""
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(work)
        time.sleep(0.2)
        began = time.perf_counter()
        assert get(server, "/api/health").status_code == 200
        quick = time.perf_counter() - began < 0.5
        slow.result()
    return quick


@pytest.mark.long
def test_passages_of_a_question_are_prepared_beside_other_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = Service.prepare

    def slowly(self: Service, request: Any) -> Any:
        time.sleep(1.5)
        return prepare(self, request)

    with served(ferry(tmp_path)) as server:
        monkeypatch.setattr(Service, "prepare", slowly)
        passages = [{"text": "The ferry first crossed in 1887."}]
        assert is_quick_beside(server, lambda: server.ask(QUESTION, passages=passages))


@pytest.mark.long
def test_the_description_of_the_api_is_made_once_beside_other_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe, made = FastAPI.openapi, []

    def slowly(self: FastAPI) -> dict[str, Any]:
        made.append(self)
        time.sleep(1.5)
        return describe(self)

    monkeypatch.setattr(FastAPI, "openapi", slowly)
    with served(ferry(tmp_path)) as server:
        assert is_quick_beside(server, lambda: get(server, "/api/openapi.json"))
        assert get(server, "/api/openapi.json").json()["info"]["title"] == "Disputatio"
    assert len(made) == 1


def test_a_list_of_a_large_index_does_not_read_all_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("disputatio.server.routers.documents._MOST_COMPARED", 2)
    monkeypatch.delattr(Index, "documents")
    with served(ferry(tmp_path)) as server:
        page = server.client.get("/api/documents", params={"limit": 1, "offset": 1}).json()
    assert (page["total"], len(page["documents"])) == (3, 1)


def test_a_connection_that_sends_requests_on_and_on_is_closed(tmp_path: Path) -> None:
    with served(ferry(tmp_path, limits=Limits(pipelined=5))) as server:
        address = httpx.URL(server.url)
        request = f"GET /api/health HTTP/1.1\r\nHost: {address.host}:{address.port}\r\n\r\n".encode()
        with socket.create_connection((address.host, address.port or 0), timeout=20) as client:
            client.sendall(request * 40)
            replies = b""
            while piece := client.recv(65_536):
                replies += piece
        assert replies.count(b"HTTP/1.1 200") == 5
        with httpx.Client() as client:  # one after the other is as good as ever
            assert {client.get(f"{server.url}/api/health").status_code for _ in range(20)} == {200}


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (AskBody, {"question": "Who?", **{f"field{number}": 0 for number in range(5_000)}}),
        (ChatBody, {"model": "disputatio", "messages": [{"role": "user", "content": [0] * 5_000}]}),
    ],
)
def test_a_body_with_thousands_of_faults_is_told_a_few(kind: type[BaseModel], body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        kind.model_validate(body)
    assert caught.value.error_count() <= 102  # of a message: as many parts as it may have
    assert kind is ChatBody or caught.value.errors()[0]["loc"] == ("field0",)
