"""One contract for all engines: the index in a folder, in PostgreSQL, and Qdrant's collection (local mode).

What an engine does not do is said in its page and left out here by name, never passed over in silence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import pytest

from disputatio.errors import InputError
from disputatio.protocols import Embedder, Retriever
from disputatio.store.index import Index
from disputatio.store.remote.qdrant import Qdrant
from disputatio.types import Hit, Passage, Source
from tests.store.hashing import HashEmbedder
from tests.store.remote.served_postgres import address
from tests.store.remote.test_qdrant import NEAR, OPTIONS, assert_same, corpus, mean_length

pytestmark = [
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact"),
]
ENGINES = ("folder", "postgres", "qdrant")
INDEXES = ("folder", "postgres")  # what reads documents, too


class Engine(Protocol):
    """What every engine has."""

    def add(self, items: Iterable[Passage], /) -> Any: ...
    def search(self, query: str, **options: Any) -> list[Hit]: ...


def made(kind: str, place: Path, embedder: Embedder | None, passages: list[Passage]) -> Engine:
    """An engine of this kind with these passages."""
    engine: Any
    if kind == "qdrant":
        engine = Qdrant.open(":memory:", "c", embedder=embedder, mean_length=mean_length(passages))
    else:
        engine = Index.open(place / "x.index" if kind == "folder" else address(), embedder=embedder)
    engine.add(passages)
    return engine  # type: ignore[no-any-return]


def opened(kind: str, place: Path, embedder: Embedder | None = None) -> Index:
    return Index.open(place / "x.index" if kind == "folder" else address(), embedder=embedder)


def without_documents(hits: list[Hit]) -> list[Hit]:
    return [
        replace(hit, passage=replace(hit.passage, document="", start=0, end=0, date_origin=""))
        for hit in hits
    ]


@pytest.fixture(scope="module", params=["keyword", "hybrid"])
def engines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Engine]:
    embedder = HashEmbedder() if request.param == "hybrid" else None
    passages = corpus()
    place = tmp_path_factory.mktemp("engines")
    return {kind: made(kind, place, embedder, passages) for kind in ENGINES}


@pytest.mark.parametrize("kind", ENGINES[1:])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_search_finds_what_the_index_in_a_folder_finds(
    engines: dict[str, Engine], kind: str, options: dict[str, Any]
) -> None:
    for query in ("the mayor denied the flood", "not not bridges"):
        served, own = (engines[each].search(query, **options) for each in (kind, "folder"))
        if kind == "qdrant":  # a point has no document of its own
            served, own = without_documents(served), without_documents(own)
        assert_same(served, own)


@pytest.mark.parametrize("kind", ENGINES)
def test_an_engine_is_a_retriever_and_refuses_what_is_out_of_range(
    engines: dict[str, Engine], kind: str
) -> None:
    assert isinstance(engines[kind], Retriever)
    assert engines[kind].search("zebra", sources=[]) == []
    assert engines[kind].search("zebra", sources=["nobody"]) == []
    for wrong in ({"query": " "}, {"query": "a", "k": 0}, {"query": "a", "alpha": 2.0}):
        with pytest.raises(InputError):
            engines[kind].search(**wrong)


def test_postgres_takes_k1_and_b_at_query_time(engines: dict[str, Engine]) -> None:
    found = {kind: engines[kind].search("mayor denied", k=100, alpha=1.0, k1=0.5, b=0.2) for kind in INDEXES}
    assert_same(found["postgres"], found["folder"])


@pytest.mark.parametrize("kind", INDEXES)
def test_files_go_in_change_and_go_out(kind: str, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.txt").write_text("The bridge did collapse in 1990.")
    (docs / "b.txt").write_text("Apples are red, and pears are green.")
    index = opened(kind, tmp_path, HashEmbedder())
    first = index.ingest(docs)
    assert (first.added, first.passages, first.refused) == (2, 2, ())
    again = index.ingest(docs)
    assert (again.added, again.unchanged, again.passages) == (0, 2, 0)
    (docs / "b.txt").write_text("A zebra walked in.")
    changed = index.ingest(docs)
    assert (changed.added, changed.unchanged, changed.replaced) == (0, 1, 1)
    assert not [hit for hit in index.search("apples", alpha=1.0) if hit.scores["bm25"] > 0]
    assert index.search("zebra")[0].passage.text == "A zebra walked in."
    for hit in index.search("bridge", per_source=9):
        text = {each.id: each.text for each in index.documents()}[hit.passage.document]
        assert text[hit.passage.start : hit.passage.end] == hit.passage.text
        assert index.passage(hit.passage.id) == hit.passage
    assert index.delete(paths=[docs / "a.txt"]) == 1
    assert (index.info().documents, index.info().passages) == (1, 1)
    assert index.delete(sources=["nobody"]) == 0


@pytest.mark.parametrize("kind", INDEXES)
def test_two_files_of_one_content_keep_it_until_both_have_changed(kind: str, tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text('{"text": "shared words", "source": "s"}\n')
    index = opened(kind, tmp_path)
    index.ingest(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert len(index.documents()) == 2
    assert len(index.search("shared")) == 1
    for name, left in (("a.jsonl", 1), ("b.jsonl", 0)):
        (tmp_path / name).write_text('{"text": "other words", "source": "s"}\n')
        index.ingest(tmp_path / name)
        assert len(index.search("shared")) == left


@pytest.mark.parametrize("kind", INDEXES)
def test_a_passage_given_again_under_its_id_is_replaced(kind: str, tmp_path: Path) -> None:
    index = opened(kind, tmp_path)
    index.add([Passage(text="A red apple.", id="p1", source="s")])
    index.add([Passage(text="A green pear.", id="p1", source="s")])
    assert index.search("apple") == []
    assert [hit.passage.id for hit in index.search("pear")] == ["p1"]
    assert index.info().passages == 1


@pytest.mark.parametrize("kind", INDEXES)
def test_estimates_are_kept_with_the_index_and_go_stale(kind: str, tmp_path: Path) -> None:
    index = opened(kind, tmp_path)
    index.add([Passage(text="A bridge.", source="a"), Passage(text="A bridge too.", source="b")])
    index.set_estimates({"a": Source(name="a", reliability=0.9), "b": Source(name="b", reliability=0.2)})
    assert index.reliabilities() == {"a": 0.9, "b": 0.2}
    assert {hit.passage.source for hit in index.search("bridge", min_reliability=0.5)} == {"a"}
    assert not index.estimates()["a"].stale
    index.add([Passage(text="A river.", source="a"), Passage(text="A lake.", source="c")])
    found = index.estimates()
    assert (found["a"].stale, found["b"].stale, found["c"].reliability) == (True, False, None)
    with pytest.raises(InputError):
        index.set_estimates({"a": Source(name="a", reliability=1.5)})
    assert index.reliabilities() == {"a": 0.9, "b": 0.2}


@pytest.mark.parametrize("kind", ENGINES)
def test_the_best_few_are_the_best_few(kind: str, tmp_path: Path) -> None:
    engine = made(kind, tmp_path, None, corpus())
    hits = engine.search("flood census people", k=3)
    assert len(hits) == 3
    assert hits[0].score == pytest.approx(1.0, abs=NEAR)
