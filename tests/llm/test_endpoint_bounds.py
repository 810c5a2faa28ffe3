"""Bounds on an endpoint: what it may send, where it may send us, how long it may be silent."""

from __future__ import annotations

import base64
import gzip
import threading
import tracemalloc
from collections.abc import Callable

import pytest

from disputatio.errors import LLMError, Malformed, ServerFault
from disputatio.llm.connection import Connection
from disputatio.llm.endpoint import Endpoint
from disputatio.llm.endpoint_embedder import EndpointEmbedder
from disputatio.llm.faults import Address
from disputatio.types import Sampling
from tests.llm.conftest import Connect, Serve
from tests.llm.fake_server import Wire, ask, chunk, says

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
    serve: Serve, connect: Connect, name: str
) -> None:
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
    assert peak < 200 * MEGABYTE
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
