"""Bounds on an endpoint: what it may send, where it may send us, how long it may be silent."""

from __future__ import annotations

import base64
import gzip
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from disputatio.errors import LLMError, Malformed, ServerFault
from disputatio.llm import connection
from disputatio.llm.connection import Connection
from disputatio.llm.endpoint import Endpoint
from disputatio.llm.endpoint_embedder import EndpointEmbedder
from disputatio.llm.faults import Address
from disputatio.llm.stream import Deadlines
from disputatio.types import Sampling
from tests.llm.conftest import Connect, Serve
from tests.llm.fake_server import Asked, Wire, ask, chunk, says
from tests.store.loopback import Play, listening

MEGABYTE = 1 << 20
BLOCK = b"a" * MEGABYTE
JSON = "application/json"


def flood(before: bytes, kind: str, *, status: int = 200, megabytes: int = 400) -> Wire:
    """Return a reply of some hundred megabytes."""
    return Wire(pieces=[before, *[BLOCK] * megabytes], kind=kind, status=status)


def bomb(kind: str) -> Wire:
    """Return a reply of a few kilobytes that unpacks to hundreds of megabytes."""
    packed = gzip.compress(b'{"choices": [' + b"[]," * (100 * MEGABYTE), compresslevel=9)
    return Wire(pieces=[packed], kind=kind, headers={"Content-Encoding": "gzip"})


FLOODS: dict[str, Callable[[], Wire]] = {
    "a line": lambda: flood(b"data: ", "text/event-stream"),
    "comments": lambda: Wire(pieces=[b": on the way\n" * 80_000] * 400),
    "one JSON value": lambda: flood(b'{"choices": "', JSON),
    "an error": lambda: flood(b'{"error": "', JSON, status=400),
    "a page": lambda: flood(b"<html>", "text/html", status=404),
    "packed JSON": lambda: bomb(JSON),
    "packed stream": lambda: bomb("text/event-stream"),
    "packed twice": lambda: Wire(pieces=["{}"], kind=JSON, headers={"Content-Encoding": "gzip, gzip"}),
}


@pytest.mark.long
@pytest.mark.parametrize("name", FLOODS)
def test_a_reply_without_end_is_a_fault_and_takes_little_memory(
    serve: Serve, connect: Connect, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LARGEST_STREAM", 8 * MEGABYTE)  # 64 are as many seconds of short lines
    wire = FLOODS[name]()
    server = serve(lambda _: wire)
    endpoint = connect(server, retries=0)
    tracemalloc.start()
    try:
        with pytest.raises(LLMError) as caught:
            endpoint.complete([ask()], Sampling())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert not isinstance(caught.value, ServerFault)
    assert peak < 60 * MEGABYTE
    assert len(str(caught.value)) < 600


@pytest.mark.long
def test_embeddings_without_end_are_a_fault(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    connection = Connection("m", base_url=serve([bomb(JSON)]).url, api_key="sk-test", retries=0)
    try:
        with pytest.raises(Malformed, match="more than 8,388,608 bytes"):
            EndpointEmbedder(connection).embed(["x"])
    finally:
        connection.close()


def test_a_packed_reply_of_usual_size_is_read(serve: Serve, connect: Connect) -> None:
    stream = b"".join(piece.encode() for piece in says("yes").pieces if isinstance(piece, str))
    packed = Wire(pieces=[gzip.compress(stream)], headers={"Content-Encoding": "gzip"})
    [completion] = connect(serve([packed])).complete([ask()], Sampling())
    assert completion.text == "yes"


# --- elsewhere --------------------------------------------------------------------------------------
def test_a_redirect_to_another_origin_is_not_followed(serve: Serve, connect: Connect) -> None:
    other = serve([says("stolen")])
    home = serve([Wire(status=307, headers={"Location": f"{other.url}/chat/completions"})])
    with pytest.raises(LLMError, match="redirects to"):
        connect(home, retries=0).complete([ask("a private question")], Sampling())
    assert other.asked == []


def test_a_redirect_within_the_origin_is_followed(serve: Serve, connect: Connect) -> None:
    server = serve([Wire(status=307, headers={"Location": "/v2/chat/completions"}), says("here")])
    [completion] = connect(server).complete([ask()], Sampling())
    assert completion.text == "here"
    assert [asked.path for asked in server.asked] == ["/v1/chat/completions", "/v2/chat/completions"]


@pytest.mark.parametrize(
    "form",
    [
        "p%40ss%2Fword",
        "p@ss/word",
        base64.b64encode(b"me:p@ss/word").decode(),
        base64.urlsafe_b64encode(b"me:p@ss/word").decode().rstrip("="),
        base64.b64encode(b"p@ss/word").decode(),
        base64.b64encode(b"sk-0123").decode(),
        "sk-0123",
    ],
)
def test_a_secret_is_masked_in_whatever_form_a_server_sends_it_back(form: str) -> None:
    at = Address(model="m", base_url="https://me:p%40ss%2Fword@models.example/v1", key="sk-0123")
    assert at.words(f"wrong credentials: {form}.") == "wrong credentials: ***."


# --- heads ------------------------------------------------------------------------------------------
@contextmanager
def raw(play: Play) -> Iterator[str]:
    """Serve what writes to the line as it likes, once the request has come; the address."""

    def once_asked(line: socket.socket) -> None:
        line.recv(1 << 16)
        play(line)

    with listening(once_asked) as port:
        yield f"http://127.0.0.1:{port}/v1"


def drip(text: bytes) -> Play:
    """Return a player that sends a byte each 20 ms, up to five seconds."""

    def play(line: socket.socket) -> None:
        for byte in text[:250]:
            line.sendall(bytes([byte]))
            time.sleep(0.02)

    return play


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
HEADS: dict[str, Play] = {
    "a header of 50 MB": lambda line: line.sendall(HEAD + b"X: " + BLOCK * 50),
    "a million headers": lambda line: line.sendall(HEAD + b"X: y\r\n" * 1_000_000),
    "a first line of 5 MB": lambda line: line.sendall(b"HTTP/1.1 200 " + BLOCK * 5),
    "no HTTP": lambda line: line.sendall(b"\x00\xff" * 5_000),
    "a head that drips": drip(HEAD + b"X: " + b"y" * 500),
    "a body that drips": drip(HEAD + b"Content-Length: 500\r\n\r\n" + b" " * 500),
    "1xx without end": lambda line: line.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100_000),
    "a negative length": lambda line: line.sendall(HEAD + b"Content-Length: -1\r\n\r\n{}"),
    "two lengths": lambda line: line.sendall(HEAD + b"Content-Length: 2\r\nContent-Length: 9\r\n\r\n{}"),
    "a chunk of 2**70": lambda line: line.sendall(
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n{}" % 2**70
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", HEADS)
def test_a_reply_that_is_no_http_or_drips_is_a_fault(connect: Connect, name: str) -> None:
    deadlines = Deadlines(connect=2, first_byte=1, between_tokens=1, total=3)
    with raw(HEADS[name]) as url:
        tracemalloc.start()
        begun = time.monotonic()
        try:
            with pytest.raises(LLMError) as caught:
                connect(url, retries=0, deadlines=deadlines).complete([ask()], Sampling())
            assert time.monotonic() - begun < 30
            assert tracemalloc.get_traced_memory()[1] < 200 * MEGABYTE
        finally:
            tracemalloc.stop()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("kind", ["image/png", "text/plain", "", "application/octet-stream", "text/event"])
def test_a_reply_of_another_type_is_read_as_what_it_is_or_a_fault(
    serve: Serve, connect: Connect, kind: str
) -> None:
    with pytest.raises(LLMError):
        connect(serve([Wire(pieces=[b"\x89PNG" * 50], kind=kind)]), retries=0).complete([ask()], Sampling())


def test_a_key_goes_to_no_other_port_and_no_cookie_comes_back(serve: Serve, connect: Connect) -> None:
    cookies: list[str] = []
    other = serve([says("stolen")])

    def play(request: Asked) -> Wire:
        cookies.append(request.cookie)
        return Wire(**{**wire_of(says("yes")), "headers": {"Set-Cookie": "track=1; Path=/"}})

    endpoint = connect(serve(play))
    endpoint.complete([ask("one"), ask("two")], Sampling())
    endpoint.complete([ask("three")], Sampling())
    assert set(cookies) == {""}
    for status in (301, 302, 303, 307, 308):
        home = serve([Wire(status=status, headers={"Location": other.url + "/chat/completions"})])
        with pytest.raises(LLMError):
            connect(home, retries=0).complete([ask()], Sampling())
    assert other.asked == []


def wire_of(wire: Wire) -> dict[str, Any]:
    """Return the fields of a reply."""
    return {name: getattr(wire, name) for name in ("pieces", "status", "kind", "delay", "cut", "silent")}


# --- silence ----------------------------------------------------------------------------------------
@pytest.mark.long
def test_a_silent_server_is_reported_during_the_wait(serve: Serve, connect: Connect) -> None:
    messages: list[str] = []
    spoken = threading.Event()

    def say(words: str) -> None:
        messages.append(words)
        spoken.set()

    endpoint: Endpoint = connect(
        serve([Wire(pieces=[0.5, chunk("a"), *says("yes").pieces])]), say=say, patience=0.05
    )
    endpoint.complete([ask()], Sampling())
    assert spoken.is_set()
    assert "no reply for 0.05 s" in messages[0]
    assert "total_seconds" in messages[0]


def test_a_server_that_answers_in_time_is_not_reported(serve: Serve, connect: Connect) -> None:
    messages: list[str] = []
    connect(serve([says("yes")]), say=messages.append, patience=30).complete([ask()], Sampling())
    assert messages == []
