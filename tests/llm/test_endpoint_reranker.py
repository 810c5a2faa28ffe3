"""A reranker at a server: what is sent, what comes back, and that nothing but whole and sound scores does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from disputatio.config import read_settings
from disputatio.errors import ConfigError, Malformed, Refused
from disputatio.llm.connection import Connection
from disputatio.llm.endpoint_embedder import EndpointReranker
from disputatio.parts import build_kit
from disputatio.protocols import Reranker
from disputatio.store.in_memory import InMemory
from disputatio.types import Passage
from tests.llm.conftest import Serve, no_sleep
from tests.llm.fake_server import Asked, FakeServer, Wire, fails

TEXTS = ("The mill burned.", "The quay has four cranes.", "Cranes were built in 1911.")
PASSAGES = [Passage(id=f"p{at}", text=text, source="port.example") for at, text in enumerate(TEXTS)]
Make = Callable[[FakeServer], EndpointReranker]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Make a reranker for a server; it is closed with the test."""
    opened: list[EndpointReranker] = []
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def start(server: FakeServer) -> EndpointReranker:
        line = Connection("bge", base_url=server.url, api_key="sk-test", sleep=no_sleep)
        opened.append(EndpointReranker(line))
        return opened[-1]

    yield start
    for reranker in opened:
        reranker.close()


def reply(*results: dict[str, Any], **more: object) -> Wire:
    return Wire(kind="application/json", pieces=[json.dumps({"results": results, **more})])


def cranes(request: Asked) -> Wire:
    """Score documents by how often they name cranes, the best first, as servers list them."""
    scores = [
        (text.lower().count("crane") + len(text) / 1000, at)
        for at, text in enumerate(request.body["documents"])
    ]
    listed = [
        {"index": at, "relevance_score": score, "document": {"text": ""}}
        for score, at in sorted(scores)[::-1]
    ]
    return reply(*listed, model="bge", usage={"total_tokens": 40})


def test_scores_are_put_in_the_order_of_the_passages(serve: Serve, make: Make) -> None:
    server = serve(cranes)
    reranker = make(server)
    assert isinstance(reranker, Reranker)
    assert reranker.rerank("How many cranes?", PASSAGES) == pytest.approx([0.016, 1.025, 1.026])
    [request] = server.asked
    assert (request.path, request.key) == ("/v1/rerank", "Bearer sk-test")
    assert request.body == {"model": "bge", "query": "How many cranes?", "documents": list(TEXTS), "top_n": 3}
    assert reranker.rerank("How many cranes?", []) == []


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (reply(), "0 scores for 3 passages"),
        (reply({"index": 3, "relevance_score": 1}), "index is missing, out of range or there twice"),
        (reply(*[{"index": 0, "relevance_score": 1}] * 2), "index is missing, out of range or there twice"),
        (reply({"index": 0, "relevance_score": "1"}), "a score that is not a finite number"),
        (reply({"index": 0, "relevance_score": float("nan")}), "a score that is not a finite number"),
        (Wire(kind="application/json", pieces=["[]"]), "no list of results"),
        (Wire(kind="application/json", pieces=["{"]), "not JSON"),
    ],
)
def test_scores_that_are_not_whole_are_a_fault_in_one_line(
    serve: Serve, make: Make, sent: Wire, why: str
) -> None:
    with pytest.raises(Malformed, match=why) as fault:
        make(serve(lambda _: sent)).rerank("How many cranes?", PASSAGES)
    assert "\n" not in str(fault.value)


def test_a_server_without_a_reranker_is_told_by_its_refusal(serve: Serve, make: Make) -> None:
    with pytest.raises(Refused, match="no such route"):
        make(serve(lambda _: fails(404, "no such route"))).rerank("How many cranes?", PASSAGES)


def test_the_reranker_of_the_settings_orders_what_a_search_finds(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("OPENAI_BASE_URL", serve(cranes).url)
    settings = read_settings(model="none", journal="none", reranker="openai:bge")
    kit = build_kit(settings, retriever=InMemory(PASSAGES))
    hits = kit.search("How many cranes are at the quay?", k=2)
    assert [hit.passage.id for hit in hits] == ["p2", "p1"]
    assert hits[0].score == pytest.approx(1.026)
    assert "fused" in hits[0].scores
    usage = kit.trace.usage()
    assert (usage.calls, usage.prompt_tokens) == (1, 40), "its tokens are told"
    assert usage.seconds > 0


def test_a_reranker_that_is_at_no_server_is_refused() -> None:
    with pytest.raises(ConfigError, match="reranker = 'bge': write openai:NAME, the folder of"):
        build_kit(read_settings(model="none", journal="none", reranker="bge"))
