"""Passages and retrievers in the shapes that people have them in, also of other libraries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from disputatio.errors import ConfigError, InputError
from disputatio.protocols import Retriever
from disputatio.store.in_memory import InMemory
from disputatio.store.own_passages import as_passages, as_retriever
from disputatio.types import Hit, Passage


@dataclass
class Document:
    """A document of LangChain's shape."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str | None = None


class Node:
    """A node with a score, of LlamaIndex's shape."""

    def __init__(self, text: str, score: float | None = None, **metadata: Any) -> None:
        self.metadata, self.score, self.node_id = metadata, score, f"n-{text[:3]}"
        self._text = text

    def get_content(self) -> str:
        return self._text


class LangChain:
    """A retriever of LangChain's shape."""

    def __init__(self, *documents: Document) -> None:
        self.documents, self.queries = list(documents), list[str]()

    def invoke(self, query: str) -> list[Document]:
        self.queries.append(query)
        return self.documents


class LlamaIndex:
    """A retriever of LlamaIndex's shape."""

    def __init__(self, *nodes: Node) -> None:
        self.nodes = list(nodes)

    def retrieve(self, query: str) -> list[Node]:
        return self.nodes


def test_passages_of_every_shape_become_passages() -> None:
    hit = Hit(passage=Passage(text="Of a hit.", source="h"), score=1.0)
    items: list[Any] = [
        "A text.",
        {"text": "A row.", "source": "r", "date": 1901, "metadata": {"page": 4}},
        Passage(text="Ours.", source="o"),
        hit,
        Document("LangChain's.", {"source": "l", "title": "T", "page": 7, "nested": {"a": 1}}),
        Node("LlamaIndex's.", url="https://www.museum.example/x"),
    ]
    passages = as_passages(items)
    assert [passage.text for passage in passages] == [
        "A text.",
        "A row.",
        "Ours.",
        "Of a hit.",
        "LangChain's.",
        "LlamaIndex's.",
    ]
    assert [passage.source for passage in passages] == ["", "r", "o", "h", "l", "museum.example"]
    assert (passages[1].date, passages[1].metadata) == ("1901", {"page": "4"})
    assert (passages[4].title, passages[4].metadata) == ("T", {"page": "7"})
    assert passages[5].id == "n-Lla"


def test_a_langchain_shape_is_a_retriever() -> None:
    chain = LangChain(
        Document("The ferry crossed in 1887.", {"source": "a"}),
        Document("The ferry crossed in 1901.", {"source": "b"}),
        Document("It crossed in May.", {"source": "a"}),
    )
    retriever = as_retriever(chain)
    assert isinstance(retriever, Retriever)
    hits = retriever.search("When did it cross?")
    assert chain.queries == ["When did it cross?"]
    assert [hit.passage.text[-5:] for hit in hits] == ["1887.", "1901.", " May."]
    assert [round(hit.score, 2) for hit in hits] == [1.0, 0.5, 0.33]
    assert [len(retriever.search("q", k=2)), len(retriever.search("q", per_source=1))] == [2, 2]
    assert [hit.passage.source for hit in retriever.search("q", sources=["b"])] == ["b"]
    first = hits[0].passage.id
    assert first not in [hit.passage.id for hit in retriever.search("q", exclude=[first])]


def test_a_llamaindex_shape_is_a_retriever_with_its_own_scores() -> None:
    hits = as_retriever(LlamaIndex(Node("one", 0.8), Node("two", 0.0), Node("three"))).search("q")
    assert [hit.score for hit in hits] == [0.8, 0.0, 1 / 3]


def test_a_long_passage_of_a_retriever_is_divided_and_keeps_its_score() -> None:
    text = " ".join(f"Sentence number {n} is here." for n in range(300))
    hits = as_retriever(LlamaIndex(Node(text, 0.7))).search("q")
    assert len(hits) > 1
    assert {hit.score for hit in hits} == {0.7}


def test_what_can_make_a_retriever_is_asked_for_it() -> None:
    class Store:
        def as_retriever(self) -> LangChain:
            return LangChain(Document("From a store."))

        def search(self, query: str, search_type: str) -> None:
            raise AssertionError("a vector store's own search is another one")

    assert as_retriever(Store()).search("q")[0].passage.text == "From a store."


def test_a_retriever_of_ours_is_used_as_it_is() -> None:
    ours = InMemory([Passage(text="x")])
    assert as_retriever(ours) is ours

    class Short:
        def search(self, query: str, *, k: int | None = None, **_: Any) -> list[Hit]:
            return []

    short = Short()
    assert as_retriever(short) is short


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (7, r"int cannot be searched: it needs a method search\(query, \*\*options\)"),
        (InMemory, "InMemory is a class"),
        ({"a": 1}, "one dict cannot be searched"),
    ],
)
def test_what_cannot_be_searched_is_told_what_it_needs(thing: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        as_retriever(thing)


def test_a_bad_passage_of_a_retriever_is_named() -> None:
    with pytest.raises(InputError, match="passage 2 of the retriever: has no text"):
        as_retriever(LangChain(Document("good"), Document(" "))).search("q")
    with pytest.raises(InputError, match="passage 1 of the retriever: is object"):
        as_retriever(LlamaIndex(object())).search("q")  # type: ignore[arg-type]  # no node
    with pytest.raises(InputError, match="the question is empty"):
        as_retriever(LangChain(Document("good"))).search(" ")
