"""Tests of who may ask: names, pages of other sites, tokens, and how much and how slowly."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI, Response

from disputatio.server.connections import open_listener, port_of, server_of
from disputatio.server.options import Access, Limits
from tests.server import hostile
from tests.server.ferry import Served, ferry, served

TOKEN = "tkn-0123456789abcdef0123456789"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(ferry(tmp_path_factory.mktemp("open"))) as running:
        yield running


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    access = Access(token=TOKEN, hosts=("ask.example",), origins=("https://app.example",))
    with served(ferry(tmp_path_factory.mktemp("guarded"), access=access)) as running:
        yield running


def raw(server: Served, request: bytes, *, seconds: float = 10) -> bytes:
    """Return what comes back for bytes on a connection of their own, to its end."""
    host, _, port = server.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=seconds) as line:
        line.sendall(request)
        parts = []
        try:
            while part := line.recv(65_536):
                parts.append(part)
        except (TimeoutError, ConnectionResetError):
            pass
        return b"".join(parts)


def status(server: Served, head: str, *headers: str, body: bytes = b"") -> int:
    """Return the status of a request, written by hand."""
    lines = [head, *headers, f"Content-Length: {len(body)}", "Connection: close", "", ""]
    response = raw(server, "\r\n".join(lines).encode("latin-1") + body)
    match = re.match(rb"HTTP/1\.1 (\d{3})", response)
    return int(match[1]) if match else 0


def own(server: Served) -> str:
    return server.url.removeprefix("http://")


def test_there_are_three_hundred_hostile_forms(server: Served) -> None:
    number = len(list(hostile.hosts())) + len(list(hostile.origins(own(server)))) + len(hostile.paths())
    assert number >= 300


@pytest.mark.long
def test_names_that_are_not_the_servers_are_refused(server: Served) -> None:
    passed = {}
    for names in hostile.hosts():
        got = status(server, "GET /api/health HTTP/1.1", *(f"Host: {name}" for name in names))
        if got not in (400, 421):
            passed[tuple(names)] = got
    assert passed == {}


def test_pages_of_other_sites_are_refused(server: Served) -> None:
    passed = {}
    for origin in hostile.origins(own(server)):
        got = status(server, "GET /api/health HTTP/1.1", f"Host: {own(server)}", f"Origin: {origin}")
        if got not in (400, 403):
            passed[origin] = got
    assert passed == {}


@pytest.mark.parametrize("path", hostile.paths(), ids=lambda path: path[:40])
def test_addresses_that_lead_elsewhere_are_refused(server: Served, path: str) -> None:
    assert status(server, f"GET {path} HTTP/1.1", f"Host: {own(server)}") in (400, 403, 404, 414)


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST:1234", "127.0.0.1", "[::1]:80"])
def test_names_of_loopback_are_the_servers_own(server: Served, name: str) -> None:
    assert status(server, "GET /api/health HTTP/1.1", f"Host: {name}") == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_cross_site_requests_of_a_browser_are_refused(server: Served, site: str) -> None:
    response = server.client.get("/api/search?q=ferry", headers={"Sec-Fetch-Site": site})
    assert response.status_code == 403


@pytest.mark.long
def test_the_servers_own_page_may_ask(server: Served) -> None:
    headers = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    assert server.client.get("/api/search?q=ferry", headers=headers).status_code == 200


def test_only_allowed_origins_get_cross_origin_headers(guarded: Served) -> None:
    allowed = guarded.client.options(
        "/api/ask", headers={"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    )
    assert allowed.headers["access-control-allow-origin"] == "https://app.example"
    other = guarded.client.options(
        "/api/ask", headers={"Origin": "https://b.example", "Access-Control-Request-Method": "POST"}
    )
    assert other.status_code == 403
    assert not [name for name in other.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "word",
    [
        "",
        "Bearer",
        "Bearer ",
        f"Basic {TOKEN}",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        TOKEN,
        "Bearer \xe9",
    ],
)
def test_who_does_not_know_the_token_is_refused(guarded: Served, word: str) -> None:
    headers = [f"Authorization: {word}"] if word else []
    got = status(guarded, "GET /api/search?q=ferry HTTP/1.1", f"Host: {own(guarded)}", *headers)
    assert got == 401


def test_who_knows_the_token_may_ask_by_every_name(guarded: Served) -> None:
    for name in (own(guarded), "ask.example"):
        headers = {"Authorization": f"Bearer {TOKEN}", "Host": name}
        assert guarded.client.get("/api/search?q=ferry", headers=headers).status_code == 200


@pytest.mark.parametrize("name", ["token", "access_token", "api_key", "Authorization"])
def test_a_token_in_an_address_is_refused(guarded: Served, name: str) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    response = guarded.client.get(f"/api/search?q=ferry&{name}={TOKEN}", headers=headers)
    assert response.status_code == 400
    assert TOKEN not in response.text


@pytest.mark.long
@pytest.mark.parametrize("path", ["/metrics", "/api/ready", "/api/openapi.json", "/api/jobs", "/nothing"])
def test_everything_but_health_takes_the_token(guarded: Served, path: str) -> None:
    assert guarded.client.get(path).status_code == 401
    assert guarded.client.get("/api/health").status_code == 200


@pytest.mark.parametrize("side", ["server", "guarded"])
def test_who_monitors_a_server_may_ask_for_the_head_of_its_health(
    side: str, request: pytest.FixtureRequest
) -> None:
    asked: Served = request.getfixturevalue(side)
    response = asked.client.head("/api/health")
    assert (response.status_code, response.content) == (200, b"")
    assert asked.client.head("/api/jobs").status_code != 200


def test_every_response_keeps_browsers_careful(server: Served) -> None:
    for path in ("/api/health", "/nothing", "/api/answers/x"):
        headers = server.client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers


def test_a_body_that_is_too_large_is_refused_before_it_is_read(server: Served) -> None:
    head = ["POST /api/ask HTTP/1.1", f"Host: {own(server)}", "Content-Length: 99999999", "", ""]
    assert b"413" in raw(server, "\r\n".join(head).encode())[:20]


def test_a_body_that_grows_too_large_is_refused(server: Served) -> None:
    head = ["POST /api/ask HTTP/1.1", f"Host: {own(server)}", "Transfer-Encoding: chunked", "", ""]
    chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    assert b"413" in raw(server, "\r\n".join(head).encode() + chunk * 17)[:20]


def test_headers_that_are_too_many_or_too_large_are_refused(server: Served) -> None:
    many = [f"X-{number}: 1" for number in range(200)]
    assert status(server, "GET /api/health HTTP/1.1", f"Host: {own(server)}", *many) == 431
    large = "X-Large: " + "x" * 100_000
    assert status(server, "GET /api/health HTTP/1.1", f"Host: {own(server)}", large) in (400, 431)


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[Served]:
    limits = Limits(header_seconds=0.3, body_seconds=0.3, write_seconds=0.3, connections=4)
    with served(ferry(tmp_path, limits=limits)) as running:
        yield running


@pytest.mark.long
def test_a_client_that_never_ends_its_head_is_cut(impatient: Served) -> None:
    assert raw(impatient, b"GET /api/health HTTP/1.1\r\nHost: loc") == b""


@pytest.mark.long
def test_a_body_that_never_ends_is_answered_with_a_timeout(impatient: Served) -> None:
    head = f"POST /api/ask HTTP/1.1\r\nHost: {own(impatient)}\r\nContent-Length: 100\r\n\r\n"
    assert b"408" in raw(impatient, head.encode() + b"{")[:20]


@pytest.mark.long
def test_a_connection_beyond_the_most_is_cut(impatient: Served) -> None:
    host, _, port = own(impatient).partition(":")
    lines = [socket.create_connection((host, int(port))) for _ in range(8)]
    try:
        time.sleep(0.1)
        lines[-1].settimeout(5)
        with contextlib.suppress(ConnectionResetError):
            assert lines[-1].recv(1) == b""
    finally:
        for line in lines:
            line.close()


@pytest.mark.long
@pytest.mark.parametrize("pause", [0.05, 3.0])
def test_a_reply_is_cut_only_for_a_client_that_takes_nothing_of_it(tmp_path: Path, pause: float) -> None:
    size = 8 << 20
    app = FastAPI()
    app.add_api_route("/large", lambda: Response(bytes(size)))
    listener = open_listener("127.0.0.1", 0)
    server = server_of(app, Limits(write_seconds=0.3))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    taken = 0
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        client.settimeout(10)
        client.connect(("127.0.0.1", port_of(listener)))
        client.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        time.sleep(pause)
        with contextlib.suppress(ConnectionError):
            while piece := client.recv(262_144):
                taken += len(piece)
                time.sleep(0.02)
    server.should_exit = True
    thread.join(10)
    listener.close()
    assert (taken > size) == (pause < 1)
