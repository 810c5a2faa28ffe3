"""One contract for all engines: the index in a folder, in PostgreSQL, in Qdrant and in Milvus.

PostgreSQL is a real server, Milvus the Lite edition behind its own protocol, Qdrant a stand-in that answers
by the client's local mode. What an engine does not do is left out here by name and said on its page.
"""

from __future__ import annotations

import itertools
import json
import random
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from disputatio import api
from disputatio.errors import InputError, StoreError, UnknownName
from disputatio.protocols import Embedder, Retriever
from disputatio.store.addresses import mask_secrets
from disputatio.store.contract import Index
from disputatio.store.filtered import find_muted_ids
from disputatio.store.opening import open_index
from disputatio.types import Hit, Passage, Relation, Source
from tests.shell import run
from tests.store.hashing import HashEmbedder
from tests.store.remote import served_milvus, served_postgres, served_qdrant

pytestmark = pytest.mark.long  # servers and programs of their own are started
ADDRESSES = {
    "postgres": served_postgres.address,
    "qdrant": served_qdrant.address,
    "milvus": served_milvus.address,
}
SERVED = tuple(ADDRESSES)
ENGINES = ("folder", *SERVED)
NEAR = 1e-3  # of scores in [0, 1]: segments keep vectors in 16 bits a number, servers in 32
WORDS = (
    "zebra",
    "not",
    "river",
    "bridge",
    "collapsed",
    "mayor",
    "denied",
    "census",
    "people",
    "flood",
    "été",
)
STATEMENTS: dict[str, Any] = {
    "date_origin": "text",
    "date_quote": "In force from 9 March 2021",
    "version": "2",
    "family": "flood report",
    "authority": "regulation",
    "relations": (
        Relation(kind="replaces", target="version 1", quote="It replaces version 1."),
        Relation(kind="amends", target="bylaws.pdf", by_person=True),
    ),
}
OPTIONS: list[dict[str, Any]] = [
    {"k": 100},
    {"k": 100, "alpha": 0.0},
    {"k": 100, "alpha": 1.0},
    {"per_source": 2},
    {"k": 100, "sources": ["s0", "s2"]},
    {"k": 100, "exclude": ["p1", "p7", "p20"]},
    {"k": 100, "after": "2021", "before": "2021-03"},
    {"k": 100, "before": "2020"},
    {"k": 100, "where": {"team": "red", "owner": "Acme"}},
    {"k": 100, "where": {"source": "s1"}},
    {"k": 100, "where": {"team": "nobody"}},
    {"per_source": 1, "where": {"team": "blue"}, "after": "2020"},
]


def corpus(rows: int = 60, sources: int = 6, seed: int = 1) -> list[Passage]:
    dice = random.Random(seed)
    return [
        Passage(
            id=f"p{row}",
            text=" ".join(dice.choices(WORDS, k=dice.randint(3, 40))),
            title=dice.choice(["", "Flood report"]),
            source=f"s{row % sources}",
            owner=dice.choice(["Acme", "Bolt", ""]),
            date=dice.choice(["", "2020", "2021-03", "2021-03-09", "in spring"]),
            **(STATEMENTS if row % 3 == 0 else {}),
            metadata={"team": dice.choice(["red", "blue"])},
        )
        for row in range(rows)
    ]


def assert_same(served: Sequence[Hit], own: Sequence[Hit]) -> None:
    """Assert the same passages with the same scores, in the same order but for nearly equal scores."""
    assert {one.passage.id for one in served} == {one.passage.id for one in own}
    expected = {one.passage.id: one for one in own}
    for one in served:
        other = expected[one.passage.id]
        assert one.passage == other.passage
        assert one.score == pytest.approx(other.score, abs=NEAR)
        assert one.scores == pytest.approx(other.scores, abs=NEAR)
    for first, second in itertools.pairwise(served):
        assert expected[first.passage.id].score >= expected[second.passage.id].score - NEAR


def opened(kind: str, place: Path, embedder: Embedder | None = None) -> Index:
    """Return an index of this kind that is not there yet."""
    return open_index(ADDRESSES[kind]() if kind in ADDRESSES else place / "x.index", embedder=embedder)


@pytest.fixture(scope="module", params=["keyword", "hybrid"])
def engines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Index]:
    embedder = HashEmbedder() if request.param == "hybrid" else None
    passages = corpus()
    place = tmp_path_factory.mktemp("engines")
    found = {kind: opened(kind, place, embedder) for kind in ENGINES}
    for index in found.values():
        index.add(passages)
    return found


@pytest.mark.parametrize("kind", SERVED)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_search_finds_what_the_index_in_a_folder_finds(
    engines: dict[str, Index], kind: str, options: dict[str, Any]
) -> None:
    for query in ("the mayor denied the flood", "not not bridges"):
        assert_same(engines[kind].search(query, **options), engines["folder"].search(query, **options))


@pytest.mark.parametrize("kind", ENGINES)
def test_an_engine_is_a_retriever_and_refuses_what_is_out_of_range(
    engines: dict[str, Index], kind: str
) -> None:
    assert isinstance(engines[kind], Retriever)
    assert engines[kind].search("zebra", sources=[]) == []
    assert engines[kind].search("zebra", sources=["nobody"]) == []
    for wrong in ({"query": " "}, {"query": "a", "k": 0}, {"query": "a", "alpha": 2.0}):
        with pytest.raises(InputError):
            engines[kind].search(**wrong)


def test_k1_and_b_are_taken_at_query_time_or_refused(engines: dict[str, Index]) -> None:
    asked: dict[str, Any] = {"k": 100, "alpha": 1.0, "k1": 0.5, "b": 0.2}
    own = engines["folder"].search("mayor denied", **asked)
    assert_same(engines["postgres"].search("mayor denied", **asked), own)
    for kind in ("qdrant", "milvus"):
        with pytest.raises(InputError, match=r"k1 is 1\.2 in"):
            engines[kind].search("mayor denied", **asked)


@pytest.mark.parametrize("kind", ENGINES)
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


@pytest.mark.parametrize("kind", ENGINES)
def test_a_document_that_was_taken_out_comes_back_as_it_was(kind: str, tmp_path: Path) -> None:
    rows, long = tmp_path / "rows.jsonl", tmp_path / "long.txt"
    rows.write_text('{"text": "The mayor denied it.", "team": "red"}\n{"text": "A zebra walked in."}\n')
    long.write_text("\n\n".join(f"The river rose in {year}. " * 20 for year in range(1900, 1920)))
    index = opened(kind, tmp_path, HashEmbedder())
    index.ingest(rows, long)
    index.add([Passage(id="mine", text="The census counted people.", source="s", **STATEMENTS)])
    before, hits = index.documents(), index.search("river mayor census", k=100)
    for each in before:
        spans = index.spans(each.id)
        assert spans
        assert index.document(each.id) == each
        taken = index.take_out(each.id)
        assert taken is not None
        assert index.document(each.id) is None
        with pytest.raises(InputError, match="there is no document"):
            index.take_out(each.id)
        index.put_back(json.loads(json.dumps(taken)))
        assert index.spans(each.id) == spans
    assert index.documents() == before
    assert_same(index.search("river mayor census", k=100), hits)
    assert index.ingest(rows).unchanged == 2
    rows.write_text('{"text": "A zebra walked in."}\n')
    assert index.ingest(rows).removed == 1


@pytest.mark.parametrize("kind", SERVED)
def test_a_server_tells_the_file_and_the_passages_of_a_document(kind: str, tmp_path: Path) -> None:
    index, file = opened(kind, tmp_path), tmp_path / "lock.txt"
    file.write_text("The lock was widened in 1931. " * 100)
    index.ingest(file)
    index.add([Passage(id="p1", text="The lock is narrow.", source="map")])
    by_path = {document.path: document.id for document in index.documents(text=False)}
    facts = index.facts(by_path.values())
    read, added = facts[by_path[str(file)]], facts[by_path["passage:p1"]]
    assert (read.file, read.passages, read.size, read.hash, read.read) == (
        str(file),
        len(index.spans(by_path[str(file)])),
        0,
        "",
        "",
    )
    assert (added.file, added.passages) == ("passage:p1", 1)


@pytest.mark.parametrize("kind", ENGINES)
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


@pytest.mark.parametrize("kind", ENGINES)
def test_a_passage_given_again_under_its_id_is_replaced(kind: str, tmp_path: Path) -> None:
    index = opened(kind, tmp_path)
    index.add([Passage(text="A red apple.", id="p1", source="s")])
    index.add([Passage(text="A green pear.", id="p1", source="s")])
    assert index.search("apple") == []
    assert [hit.passage.id for hit in index.search("pear")] == ["p1"]
    assert index.info().passages == 1


@pytest.mark.parametrize("kind", ENGINES)
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


@pytest.mark.parametrize("kind", SERVED)
@pytest.mark.parametrize("k", [1, 3, 8])
def test_the_best_few_are_the_best_few(engines: dict[str, Index], kind: str, k: int) -> None:
    served, own = (engines[each].search("flood census people", k=k) for each in (kind, "folder"))
    assert len(served) == k
    assert [one.score for one in served] == pytest.approx([one.score for one in own], abs=NEAR)


class Shortest:
    """A reranker that likes short texts."""

    def rerank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        return [-len(one.text) for one in passages]


@pytest.mark.parametrize("kind", SERVED)
@pytest.mark.parametrize("options", [{"k": 4}, {"per_source": 2}], ids=str)
def test_a_reranker_has_the_last_word(engines: dict[str, Index], kind: str, options: dict[str, Any]) -> None:
    served, own = (
        engines[each].search("flood people", reranker=Shortest(), **options) for each in (kind, "folder")
    )
    assert [one.score for one in served] == [one.score for one in own]
    assert all("fused" in one.scores for one in served)


@pytest.mark.parametrize("kind", ENGINES)
def test_a_near_copy_of_a_better_hit_is_marked(kind: str, tmp_path: Path) -> None:
    text = "the old bridge over the river collapsed in the flood and the mayor denied it all"
    index = opened(kind, tmp_path)
    index.add([Passage(id="a", text=text, source="x"), Passage(id="b", text=text + ".", source="y")])
    assert [hit.duplicate_of for hit in index.search("bridge flood")] == ["", "a"]


@pytest.mark.parametrize("kind", ENGINES)
def test_what_was_made_with_another_embedder_or_language_is_refused(kind: str, tmp_path: Path) -> None:
    place = ADDRESSES[kind]() if kind in ADDRESSES else str(tmp_path / "x.index")
    with pytest.raises(StoreError, match="there is no index here"):
        open_index(place, create=False)
    open_index(place).add([Passage(text="A bridge.", source="a")])
    with pytest.raises(StoreError, match="made with no embedder"):
        open_index(place, embedder=HashEmbedder())
    with pytest.raises(StoreError, match="was made for english, not for german"):
        open_index(place, language="german").add([Passage(text="Eine Brücke.", source="a")])
    assert open_index(place).info().passages == 1


@pytest.mark.parametrize("kind", SERVED)
def test_a_batch_that_fails_leaves_what_was_there(kind: str) -> None:
    index = open_index(ADDRESSES[kind]())
    index.add([Passage(text="A red apple.", id="p1", source="s")])
    with pytest.raises(InputError):
        index.add([Passage(text="Fine.", source="t"), Passage(text=" ", source="t")])
    assert index.info().passages == 1
    assert [hit.passage.source for hit in index.search("apple fine")] == ["s"]


@pytest.mark.parametrize("kind", SERVED)
def test_several_may_write_at_the_same_time(kind: str) -> None:
    place = ADDRESSES[kind]()
    faults: list[Exception] = []

    def write(number: int) -> None:
        try:
            own = [Passage(text=f"Bridge {n} of {number}.", source=f"s{number}") for n in range(10)]
            shared = [Passage(text=f"Shared river {n}.", source="all") for n in range(10)]
            index = open_index(place, embedder=HashEmbedder())
            for passage in (*own, *shared):
                index.add([passage])
        except Exception as error:  # noqa: BLE001 - the thread's own
            faults.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    index = open_index(place, embedder=HashEmbedder())
    assert not faults
    assert index.info().passages == 3 * 10 + 10
    assert index.check() == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", SERVED)
def test_the_command_line_prints_the_address_of_an_index_whole(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = ADDRESSES[kind]()
    whole, cut = mask_secrets(address), str(Path(mask_secrets(address)))
    (tmp_path / "notes.txt").write_text("The lock was widened in 1931.")
    for command in (
        ["ingest", tmp_path / "notes.txt", "--embedder", "none"],
        ["index", "check", "--json"],
        ["sources"],
        ["index", "info"],
    ):
        printed = run(capsys, *command, "--index", address)
        assert whole in printed.out + printed.err
        assert cut not in printed.out + printed.err
        assert ("the server's affair" in printed.out) == (command[-1] == "info")
    assert repr(api.Index.open(address, embedder="none")) == f"Index({whole!r})"


@pytest.mark.parametrize("kind", ENGINES)
def test_an_unknown_document_is_refused_with_what_lists_those_of_this_index(
    kind: str, tmp_path: Path
) -> None:
    index = opened(kind, tmp_path)
    index.add(Passage(id=f"p{row}", text=f"Mooring {row} is let.", source="harbour") for row in range(30))
    listed = "disputatio index export" if kind == "folder" else r"Index\.list_documents\(\) in Python"
    with pytest.raises(UnknownName, match=f"all are listed by: {listed}"):
        index.describe("p77", owner="port")
    with pytest.raises(UnknownName, match=f"all are listed by: {listed}"):
        find_muted_ids(index, ["p77"])
