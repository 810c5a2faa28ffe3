"""MCP clients that lie: wrong types, sizes, versions and ids are answered in protocol, and harm nobody."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.chat.chats import chatting
from tests.server.ferry import Served, ferry_index

ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with chatting(tmp_path_factory.mktemp("mcp")) as running:
        yield running


def call(tool: str = "search", number: Any = 1, **arguments: Any) -> dict[str, Any]:
    """Return a request that calls a tool."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def opening(version: Any) -> dict[str, Any]:
    """Return the first request of a client."""
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


DEEP = json.loads("[" * 400 + "]" * 400)
MESSAGES: dict[str, Any] = {
    "a number": 7,
    "null": None,
    "a text": "tools/list",
    "an empty list": [],
    "a batch": [call(query="ferry"), call(query="ferry")],
    "no method": {"jsonrpc": "2.0", "id": 1},
    "no version": {"id": 1, "method": "tools/list"},
    "another JSON-RPC": {"jsonrpc": "1.0", "id": 1, "method": "tools/list"},
    "an unknown method": {"jsonrpc": "2.0", "id": 1, "method": "tools/steal", "params": {}},
    "parameters of a wrong type": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": "search"},
    "an id that is an object": call(number={"a": 1}, query="ferry"),
    "an id that is a list": call(number=[1], query="ferry"),
    "an id of 2**200": call(number=2**200, query="ferry"),
    "an id of a megabyte": call(number="x" * 900_000, query="ferry"),
    "a reply that nobody asked for": {"jsonrpc": "2.0", "id": 99, "result": {"tools": []}},
    "an error that nobody asked for": {"jsonrpc": "2.0", "id": 99, "error": {"code": -1, "message": "x"}},
    "a cancel of what is not there": {
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}
    },
    "a cancel without an id": {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}},
    "progress of nothing": {
        "jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 9}
    },
    "an unknown version": opening("1871-01-18"),
    "a version that is a number": opening(7),
    "an unknown tool": call("delete_everything"),
    "a tool without its arguments": call("search"),
    "arguments of a wrong type": call("search", query=["ferry"], k="many"),
    "k of 10**9": call("search", query="ferry", k=10**9),
    "k below zero": call("search", query="ferry", k=-1),
    "a query of nothing": call("search", query=""),
    "a query of 900 kB": call("search", query="ferry " * 150_000),
    "half a character": call("search", query="\ud800 ferry"),
    "deep arguments": call("search", query="ferry", k=DEEP),
    "unknown arguments": call("search", query="ferry", index="/etc/passwd", strategy="os:system"),
    "a resource elsewhere": {
        "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "file:///etc/passwd"}
    },
    "a resource that climbs": {
        "jsonrpc": "2.0", "id": 1, "method": "resources/read",
        "params": {"uri": "disputatio://passages/../../../etc/passwd"},
    },
}  # fmt: skip
BODIES = {
    "no JSON": b"{",
    "nothing": b"",
    "zeros": b"\x00" * 100,
    "not UTF-8": b'{"jsonrpc": "2.0", "id": 1, "method": "\xff\xfe"}',
    "two values": b"{} {}",
    "NaN": b'{"jsonrpc": "2.0", "id": NaN, "method": "tools/list"}',
    "a nest of 100,000": b"[" * 100_000,
    "5 MB": b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"x" * (5 << 20) + b'"}',
}


@pytest.mark.parametrize("name", [*MESSAGES, *BODIES])
def test_a_lie_over_http_is_answered_in_protocol(server: Served, name: str) -> None:
    body = BODIES[name] if name in BODIES else json.dumps(MESSAGES[name]).encode()
    response = httpx.post(f"{server.url}/mcp", content=body, headers=ACCEPT, timeout=30)
    assert response.status_code < 500
    assert "Traceback" not in response.text
    assert "root:" not in response.text
    assert len(response.content) < 2 << 20
    still = httpx.post(f"{server.url}/mcp", json=call(query="ferry"), headers=ACCEPT, timeout=30)
    assert (still.status_code, "1887" in still.text) == (200, True)


@pytest.mark.parametrize(
    "headers",
    [
        {"MCP-Protocol-Version": "1871-01-18"},
        {"MCP-Protocol-Version": "x" * 5_000},
        {"Mcp-Session-Id": "../../etc/passwd"},
        {"Last-Event-ID": "99999999999999999999"},
        {"Content-Type": "text/html"},
        {"Accept": "image/png"},
    ],
)
def test_headers_that_lie_are_no_fault_of_the_server(server: Served, headers: dict[str, str]) -> None:
    response = httpx.post(f"{server.url}/mcp", json=call(query="ferry"), headers={**ACCEPT, **headers})
    assert response.status_code < 500
    assert httpx.request("DELETE", f"{server.url}/mcp", headers=headers).status_code < 500


def test_an_id_that_is_used_twice_at_once_gets_its_own_replies(server: Served) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def ask(words: str) -> str:
        return httpx.post(f"{server.url}/mcp", json=call(number=5, query=words), headers=ACCEPT).text

    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(ask, ["1901", "1887"] * 8))
    for number, reply in enumerate(replies):
        first = reply.index("1901" if number % 2 == 0 else "1887")
        assert first >= 0


@pytest.mark.slow
def test_lies_over_standard_input_leave_the_next_request_answered(tmp_path: Path) -> None:
    index = ferry_index(tmp_path)
    words = [str(Path(sys.executable).with_name("disputatio")), "mcp", "--index", str(index.path)]
    lines = [json.dumps(message).encode() for message in MESSAGES.values()]
    lines += [body.replace(b"\n", b" ") for body in BODIES.values()]
    good = [opening("2025-03-26"), {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    last = {"jsonrpc": "2.0", "id": "last", "method": "tools/list", "params": {}}
    sent = b"\n".join([*(json.dumps(each).encode() for each in good), *lines, json.dumps(last).encode(), b""])
    environment = {"DISPUTATIO_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([*words, "--model", "none", "--journal", "none"], env=environment, **pipes) as run:
        process: Any = run
        writing = threading.Thread(target=lambda: (process.stdin.write(sent), process.stdin.flush()))
        writing.start()
        timer = threading.Timer(120, process.kill)
        timer.start()
        replies = []
        for line in process.stdout:
            replies.append(line)
            if b'"last"' in line:
                break
        timer.cancel()
        writing.join()
        process.stdin.close()
        assert b"Traceback" not in process.stderr.read()
    assert b'"tools"' in replies[-1], [reply[:80] for reply in replies[-3:]]
