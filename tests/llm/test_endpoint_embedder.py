"""An embedder at a server: what is sent, and that nothing but whole and sound vectors comes back."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disputatio.errors import (
    ConfigError,
    ContextTooLong,
    Malformed,
    QuotaExceeded,
    Refused,
    ServerFault,
    Timeout,
    Unreachable,
)
from disputatio.llm.connection import Connection
from disputatio.llm.endpoint_embedder import EndpointEmbedder, batches_of
from disputatio.llm.stream import Deadlines
from disputatio.protocols import Embedder
from tests.llm.conftest import Serve, no_sleep
from tests.llm.fake_server import Asked, FakeServer, Wire, fails

JSON = "application/json"
Make = Callable[..., EndpointEmbedder]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Make an embedder for a server; it is closed with the test."""
    opened: list[EndpointEmbedder] = []
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def start(
        server: FakeServer | str, *, line: dict[str, Any] | None = None, **options: Any
    ) -> EndpointEmbedder:
        url = server if isinstance(server, str) else server.url
        connection = Connection(
            "m", base_url=url, **{"api_key": "sk-test", "sleep": no_sleep, **(line or {})}
        )
        opened.append(EndpointEmbedder(connection, **options))
        return opened[-1]

    yield start
    for embedder in opened:
        embedder.close()


def numbers_of(text: str) -> list[float]:
    """Return a vector that tells a text: its length and its first character, never of unit length."""
    return [float(len(text)), float(ord(text[0])), 2.0]


def expected(texts: Sequence[str]) -> Any:
    rows = np.array([numbers_of(text) for text in texts])
    return pytest.approx(rows / np.linalg.norm(rows, axis=1, keepdims=True), abs=1e-6)


def reply(data: object) -> Wire:
    return Wire(kind=JSON, pieces=[json.dumps(data)])


def sound(request: Asked, *, plain: bool = False) -> Wire:
    """Return what a server answers that does as asked."""
    listed = []
    for at, text in enumerate(request.body["input"]):
        numbers = numbers_of(text)
        packed = base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()
        in_base64 = request.body.get("encoding_format") == "base64" and not plain
        listed.append({"object": "embedding", "index": at, "embedding": packed if in_base64 else numbers})
    return reply({"object": "list", "data": listed, "model": "m", "usage": {"prompt_tokens": 1}})


def vectors(*embeddings: object) -> Wire:
    return reply({"data": [{"index": at, "embedding": embedding} for at, embedding in enumerate(embeddings)]})


def test_texts_become_unit_vectors_in_their_order(serve: Serve, make: Make) -> None:
    server = serve(sound)
    embedder = make(server)
    texts = ["red apple", "green", "ü", "red apple"]
    found = embedder.embed(texts)
    assert found.dtype == np.float32
    assert found == expected(texts)
    assert embedder.dimension == 3
    assert isinstance(embedder, Embedder)
    [request] = server.asked
    assert (request.path, request.key) == ("/v1/embeddings", "Bearer sk-test")
    assert request.body == {"model": "m", "input": texts, "encoding_format": "base64"}


def test_a_server_that_sends_numbers_instead_is_understood(serve: Serve, make: Make) -> None:
    found = make(serve(lambda request: sound(request, plain=True))).embed(["red"])
    assert found == expected(["red"])


def test_a_server_that_refuses_base64_is_asked_for_numbers_from_then_on(serve: Serve, make: Make) -> None:
    def script(request: Asked) -> Wire:
        if request.body["encoding_format"] == "base64":
            return fails(400, "encoding_format must be 'float'")
        return sound(request)

    server = serve(script)
    embedder = make(server)
    assert embedder.embed(["red"]) == expected(["red"])
    assert embedder.embed(["green"]) == expected(["green"])
    assert [request.body["encoding_format"] for request in server.asked] == ["base64", "float", "float"]


def test_vectors_are_put_in_the_order_that_their_index_says(serve: Serve, make: Make) -> None:
    def script(request: Asked) -> Wire:
        listed = [
            {"index": at, "embedding": numbers_of(text)} for at, text in enumerate(request.body["input"])
        ]
        return reply({"data": listed[::-1]})

    assert make(serve(script)).embed(["red", "green", "blue sea"]) == expected(["red", "green", "blue sea"])


@pytest.mark.long
def test_many_texts_go_in_bounded_calls_some_at_a_time(serve: Serve, make: Make) -> None:
    def script(request: Asked) -> Wire:
        wire = sound(request)
        return Wire(kind=JSON, pieces=wire.pieces, delay=0.05 if request.body["input"][0] == "x0" else 0.02)

    server = serve(script)
    texts = [f"x{n}" for n in range(300)]
    assert make(server, line={"in_flight": 3}).embed(texts) == expected(texts)
    assert max(len(request.body["input"]) for request in server.asked) <= 32
    assert len(server.asked) == 10
    assert 2 <= server.most <= 3


@given(st.lists(st.text(max_size=3) | st.just("x" * 30_000), max_size=100))
def test_calls_hold_every_text_once_in_order_and_stay_within_their_bounds(texts: list[str]) -> None:
    batches = batches_of(texts)
    assert [text for batch in batches for text in batch] == [text or " " for text in texts]
    assert all(1 <= len(batch) <= 32 for batch in batches)
    assert all(len(batch) == 1 or sum(map(len, batch)) <= 60_032 for batch in batches)


def test_prefixes_are_put_before_queries_and_passages(serve: Serve, make: Make) -> None:
    server = serve(sound)
    embedder = make(server, query_prefix="query: ", passage_prefix="passage: ")
    embedder.embed(["red"], query=True)
    embedder.embed(["red"])
    assert [request.body["input"] for request in server.asked] == [["query: red"], ["passage: red"]]


def test_what_no_encoding_carries_and_what_servers_refuse_is_not_sent(serve: Serve, make: Make) -> None:
    server = serve(sound)
    make(server).embed(["a\ud800b", ""])
    assert server.asked[0].body["input"] == ["a?b", " "]


def test_nothing_is_asked_to_embed_nothing_where_the_length_is_known(serve: Serve, make: Make) -> None:
    server = serve(sound)
    assert make(server, dimension=3).embed([]).shape == (0, 3)
    assert server.asked == []


def test_the_dimension_is_asked_once_where_it_is_not_known(serve: Serve, make: Make) -> None:
    server = serve(sound)
    embedder = make(server)
    assert (embedder.dimension, embedder.dimension) == (3, 3)
    assert len(server.asked) == 1


def test_the_name_is_that_of_the_model_and_what_makes_other_vectors(make: Make) -> None:
    secret = "http://me:hidden@models.example/v1?token=hidden"
    plain = make(secret)
    assert plain.name == make("http://other.example/v1").name == "openai:m"
    assert make(secret, dimensions=256).name == "openai:m@256"
    e5 = {"query_prefix": "query: ", "passage_prefix": "passage: "}
    names = {plain.name, make(secret, **e5).name, make(secret, **{**e5, "query_prefix": "q: "}).name}
    assert len(names) == 3
    assert make(secret, **e5, usual_prefixes=("query: ", "passage: ")).name == "openai:m"
    assert "hidden" not in repr(plain)


def test_dimensions_are_asked_for_and_held_to(serve: Serve, make: Make) -> None:
    server = serve(sound)
    assert make(server, dimensions=3).embed(["red"]).shape == (1, 3)
    assert server.asked[0].body["dimensions"] == 3
    with pytest.raises(Malformed, match="gave vectors of 3 numbers for openai:m@2, which has 2"):
        make(server, dimensions=2).embed(["red"])
    with pytest.raises(ConfigError, match="at least 1"):
        make(server, dimensions=0)


def test_another_length_than_the_index_has_is_a_fault(serve: Serve, make: Make) -> None:
    with pytest.raises(Malformed, match="which has 384; is it another model"):
        make(serve(sound), dimension=384).embed(["red"])


def test_a_length_that_changes_between_calls_is_a_fault(serve: Serve, make: Make) -> None:
    embedder = make(serve([vectors([1, 2]), vectors([1, 2, 3])]))
    embedder.embed(["red"])
    with pytest.raises(Malformed, match="gave vectors of 3 numbers"):
        embedder.embed(["red"])


NAN = base64.b64encode(struct.pack("<2f", 1.0, float("nan"))).decode()


@pytest.mark.long
@pytest.mark.parametrize(
    ("wire", "why"),
    [
        (vectors([1, 0]), "1 vectors for 2 texts"),
        (vectors([1, 0], [1, 0], [1, 0]), "3 vectors for 2 texts"),
        (vectors(), "0 vectors for 2 texts"),
        (reply({"data": None}), "no list of vectors"),
        (reply([1]), "no list of vectors"),
        (reply({"data": [{"embedding": [1, 0]}, {"embedding": [1, 0]}]}), "index is missing"),
        (reply({"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}), "there twice"),
        (reply({"data": [{"index": 1, "embedding": [1]}, {"index": 2, "embedding": [1]}]}), "out of range"),
        (reply({"data": [{"index": True, "embedding": [1]}, {"index": 0, "embedding": [1]}]}), "is missing"),
        (reply({"data": [1, 2]}), "is missing"),
        (vectors([1, 0], [1, 0, 0]), "several lengths"),
        (vectors([1, 0], [0, 0]), "zero or not of finite numbers"),
        (vectors([1, 0], [1, float("nan")]), "not of finite numbers"),
        (vectors([1, 0], [1, 1e300]), "not of finite numbers"),
        (vectors([1, 0], [1, 10**400]), "not JSON|out of range"),
        (vectors([1, 0], NAN), "not of finite numbers"),
        (vectors([1, 0], "@@@@"), "not base64"),
        (vectors([1, 0], "AAA="), "not of float32"),
        (vectors([1, 0], ""), "not of float32"),
        (vectors([1, 0], []), "not a list of numbers"),
        (vectors([1, 0], ["1", "0"]), "not a list of numbers"),
        (vectors([1, 0], [True, False]), "not a list of numbers"),
        (vectors([1, 0], None), "not a list of numbers"),
        (vectors([1, 0], [[1, 0]]), "not a list of numbers"),
        (Wire(kind=JSON, pieces=["{"]), "not JSON"),
        (Wire(kind=JSON, pieces=[b"\xff\xfe\xfd"]), "not JSON"),
        (Wire(kind=JSON, pieces=["[" * 100_000]), "not JSON"),
        (Wire(kind="text/html", pieces=["<html>"]), "not JSON"),
    ],
)
def test_vectors_that_are_not_whole_and_sound_are_a_fault(
    serve: Serve, make: Make, wire: Wire, why: str
) -> None:
    server = serve([wire])
    with pytest.raises(Malformed, match=why):
        make(server).embed(["red", "green"])
    assert len(server.asked) == 1, "asking again would bring the same"


@pytest.mark.parametrize(
    "fault",
    [fails(429), fails(503), Wire(silent=True), Wire(kind=JSON, pieces=['{"data": ['], cut=True)],
    ids=["429", "503", "closed without a word", "broken off"],
)
def test_a_passing_fault_is_overcome(serve: Serve, make: Make, fault: Wire) -> None:
    answers = iter([fault])
    assert make(serve(lambda request: next(answers, None) or sound(request))).embed(["red"]) == expected(
        ["red"]
    )


@pytest.mark.parametrize(
    ("wire", "error"),
    [
        (fails(401, "bad key sk-test"), Refused),
        (fails(404, "no such model"), Refused),
        (fails(400, "this model does not support dimensions"), Refused),
        (fails(402), QuotaExceeded),
        (fails(500), ServerFault),
        (fails(400, "maximum context length is 512 tokens"), ContextTooLong),
        (reply({"error": {"message": "overloaded", "code": 503}}), ServerFault),
    ],
)
def test_a_lasting_fault_is_raised_and_holds_no_key(
    serve: Serve, make: Make, wire: Wire, error: type[Exception]
) -> None:
    with pytest.raises(error) as caught:
        make(serve([wire]), dimensions=2, line={"retries": 1}).embed(["red"])
    assert "sk-test" not in str(caught.value)


def test_one_fault_among_many_calls_is_a_fault_of_all(serve: Serve, make: Make) -> None:
    def script(request: Asked) -> Wire:
        return fails(400, "no") if "x40" in request.body["input"] else sound(request)

    with pytest.raises(Refused):
        make(serve(script)).embed([f"x{n}" for n in range(100)])


def test_an_address_without_a_server_is_reported(make: Make) -> None:
    with pytest.raises(Unreachable, match="is OPENAI_BASE_URL right"):
        make("http://127.0.0.1:9/v1").embed(["red"])


@pytest.mark.long
def test_a_slow_server_is_given_up(serve: Serve, make: Make) -> None:
    line = {"deadlines": Deadlines(first_byte=0.1, between_tokens=0.1), "retries": 0}
    for wire in (Wire(delay=5.0), Wire(kind=JSON, pieces=["{", 5.0])):
        with pytest.raises(Timeout):
            make(serve([wire]), line=line).embed(["red"])


@pytest.mark.long
def test_threads_may_share_an_embedder(serve: Serve, make: Make) -> None:
    embedder = make(serve(sound))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: embedder.embed([f"text {n}"]), range(12)))
    for n, vector in enumerate(found):
        assert vector == expected([f"text {n}"])
