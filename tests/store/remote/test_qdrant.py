"""A Qdrant collection finds what our own engine finds, with the same options, and says what it cannot.

The engine is qdrant-client's own in-memory mode, which searches exactly: no server was at hand, so
what a server approximates (its vector index, IDF by shard, groups in rounds) is not tested here.
"""

from __future__ import annotations

import itertools
import random
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from disputatio.errors import InputError, StoreError
from disputatio.protocols import Reranker, Retriever, Search
from disputatio.store.remote.qdrant import Qdrant
from disputatio.store.segments.searcher import Searcher
from disputatio.store.segments.segment import Segment
from disputatio.store.segments.terms import searched_text
from disputatio.types import Hit, Passage
from tests.store.hashing import HashEmbedder

pytestmark = [
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact"),
]

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
NEAR = 1e-3  # of scores in [0, 1]: segments keep vectors in 16 bits a number, the collection in 32


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
            document=f"d{row // 3}",
            metadata={"team": dice.choice(["red", "blue"])},
        )
        for row in range(rows)
    ]


def mean_length(passages: Sequence[Passage]) -> float:
    segment = Segment.build(passages, None)
    return segment.tokens / segment.rows


class Both:
    """The same passages in a collection and in a segment."""

    def __init__(self, passages: Sequence[Passage], embedder: HashEmbedder | None) -> None:
        self.passages, self.embedder = passages, embedder
        self.served = Qdrant.open(
            ":memory:",
            "c",
            embedder=embedder,
            mean_length=mean_length(passages),
            reliabilities={"s0": 0.9, "s1": 0.4},
        )
        self.served.add(passages)
        vectors = (
            embedder.embed([searched_text(one.title, one.text) for one in passages]) if embedder else None
        )
        self.own = Searcher([Segment.build(passages, vectors)])

    def search(
        self, query: str, reranker: Reranker | None = None, **options: Any
    ) -> tuple[list[Hit], list[Hit]]:
        vector = self.embedder.embed([query], query=True)[0] if self.embedder else None
        search = Search(**options)
        served = self.served.search(query, search, reranker=reranker)
        return served, self.own.search(query, vector, search, reranker=reranker)


@pytest.fixture(scope="module", params=["keyword", "hybrid"])
def both(request: pytest.FixtureRequest) -> Iterator[Both]:
    yield Both(corpus(), HashEmbedder() if request.param == "hybrid" else None)


def assert_same(served: Sequence[Hit], own: Sequence[Hit]) -> None:
    """The same passages with the same scores; in the same order but for scores that are nearly equal."""
    assert {one.passage.id for one in served} == {one.passage.id for one in own}
    expected = {one.passage.id: one for one in own}
    for one in served:
        other = expected[one.passage.id]
        assert one.passage == other.passage
        assert one.score == pytest.approx(other.score, abs=NEAR)
        assert one.scores == pytest.approx(other.scores, abs=NEAR)
    for first, second in itertools.pairwise(served):
        assert expected[first.passage.id].score >= expected[second.passage.id].score - NEAR


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


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("query", ["the mayor denied the flood", "not not bridges", "zebra ete 2021"])
def test_a_search_finds_what_our_own_engine_finds(both: Both, query: str, options: dict[str, Any]) -> None:
    assert_same(*both.search(query, **options))


def test_bm25_is_lucenes_when_the_mean_length_is_that_of_the_corpus(both: Both) -> None:
    served, own = both.search("mayor denied", k=100, alpha=1.0)
    expected = {one.passage.id: one.scores["bm25"] for one in own}
    for one in served:
        assert one.scores["bm25"] == pytest.approx(expected[one.passage.id], rel=1e-5)


@pytest.mark.parametrize("k", [1, 3, 8])
def test_the_best_few_are_the_best_few(both: Both, k: int) -> None:
    served, own = both.search("flood census people", k=k)
    assert len(served) == len(own) == k
    for one, other in zip(served, own, strict=True):
        assert one.score == pytest.approx(other.score, abs=NEAR)


def test_reciprocal_ranks_are_fused_as_ours_where_no_scores_tie() -> None:
    passages = [
        Passage(id=f"p{n}", text="river " * n + "bridge " * (12 - n) + "mayor", source="s")
        for n in range(1, 12)
    ]
    served, own = Both(passages, HashEmbedder()).search("river mayor", k=20, fusion="rrf")
    assert [one.passage.id for one in served] == [one.passage.id for one in own]
    assert [one.score for one in served] == pytest.approx([one.score for one in own], rel=1e-5)


def test_a_near_copy_of_a_better_hit_is_marked() -> None:
    text = "the old bridge over the river collapsed in the flood and the mayor denied it all"
    passages = [Passage(id="a", text=text, source="x"), Passage(id="b", text=text + ".", source="y")]
    served, own = Both(passages, None).search("bridge flood")
    assert [one.duplicate_of for one in served] == [one.duplicate_of for one in own] == ["", "a"]


def test_the_best_of_a_large_source_are_the_same_though_scores_are_over_fewer_candidates() -> None:
    served, own = Both(corpus(rows=120, sources=2), None).search("mayor flood", per_source=3)
    assert [one.passage.id for one in served] == [one.passage.id for one in own]
    assert [one.scores["bm25"] for one in served] == pytest.approx([one.scores["bm25"] for one in own])


class Shortest:
    """A reranker that likes short texts."""

    def rerank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        return [-len(one.text) for one in passages]


@pytest.mark.parametrize("options", [{"k": 4}, {"per_source": 2}], ids=str)
def test_a_reranker_has_the_last_word(both: Both, options: dict[str, Any]) -> None:
    served, own = both.search("flood people", reranker=Shortest(), **options)
    assert [one.score for one in served] == [one.score for one in own]
    assert all("fused" in one.scores for one in served)


def test_sources_below_a_reliability_are_left_out(both: Both) -> None:
    hits = both.served.search("flood", k=100, min_reliability=0.5)
    assert {one.passage.source for one in hits} == {"s0"}


def test_a_collection_is_a_retriever_and_says_nothing_where_nothing_matches(both: Both) -> None:
    assert isinstance(both.served, Retriever)
    assert both.served.search("flood", sources=[]) == []
    if both.embedder is None:
        assert both.served.search("xylophone") == []
        assert both.served.search("?!") == []


@pytest.mark.parametrize(
    ("options", "words_of_it"),
    [
        ({"k": 0}, "at least 1"),
        ({"per_source": 0}, "at least 1"),
        ({"alpha": 2.0}, "between 0 and 1"),
        ({"fusion": "sum"}, "fusion is one of"),
        ({"after": "soon"}, "not a date"),
        ({"k1": 2.0}, "settled when a collection is made"),
        ({"b": 0.1}, "settled when a collection is made"),
    ],
    ids=str,
)
def test_an_option_that_cannot_be_is_refused(both: Both, options: dict[str, Any], words_of_it: str) -> None:
    with pytest.raises(InputError, match=words_of_it):
        both.served.search("flood", **options)
    with pytest.raises(InputError, match="empty"):
        both.served.search("  ")


def local() -> Any:
    from qdrant_client import QdrantClient

    return QdrantClient(":memory:")


def test_a_passage_given_again_takes_the_place_of_the_old() -> None:
    served = Qdrant.open(":memory:", "c")
    assert served.add([Passage(id="a", text="old zebra"), Passage(id="b", text="river")]) == 2
    served.add([Passage(id="a", text="new bridge")])
    assert served.count() == 2
    assert served.search("zebra") == []
    assert [one.passage.text for one in served.search("bridge")] == ["new bridge"]


def test_passages_are_removed_by_their_ids_or_those_of_their_documents() -> None:
    served = Qdrant.open(":memory:", "c")
    served.add(Passage(id=f"p{n}", text=f"zebra {n}", document=f"d{n}") for n in range(4))
    served.remove(passages=["p0"], documents=["d2"])
    assert {one.passage.id for one in served.search("zebra")} == {"p1", "p3"}


def test_the_mean_length_is_settled_by_the_first_passages_and_kept() -> None:
    client = local()
    served = Qdrant.open(client, "c", k1=0.9)
    served.add([Passage(text="one two three"), Passage(text="one two three four five")])
    assert served.settings.mean_length == 4
    served.add([Passage(text="six " * 50)])
    again = Qdrant.open(client, "c", k1=0.9)
    assert again.settings == served.settings
    assert (again.settings.mean_length, again.settings.k1) == (4, 0.9)


def test_ids_are_made_where_passages_have_none_and_text_is_needed() -> None:
    served = Qdrant.open(":memory:", "c")
    served.add([Passage(text="zebra", source="s")])
    served.add([Passage(text="zebra", source="s")])
    assert served.count() == 1
    with pytest.raises(InputError, match="passage 2: has no text"):
        served.add([Passage(text="x"), Passage(text=" ")])


def test_a_collection_of_another_embedder_language_or_program_is_refused() -> None:
    client = local()
    Qdrant.open(client, "c", embedder=HashEmbedder())
    with pytest.raises(StoreError, match=r"made with the embedder hash-32, not with other"):
        Qdrant.open(client, "c", embedder=HashEmbedder("other"))
    with pytest.raises(StoreError, match="not with none"):
        Qdrant.open(client, "c")
    with pytest.raises(StoreError, match="language english, not with german"):
        Qdrant.open(client, "c", embedder=HashEmbedder(), language="german")
    client.create_collection("theirs", vectors_config={})
    with pytest.raises(StoreError, match="another program"):
        Qdrant.open(client, "theirs")
    with pytest.raises(StoreError, match="no such collection"):
        Qdrant.open(client, "absent", create=False)
    with pytest.raises(InputError, match="klingon"):
        Qdrant.open(client, "new", language="klingon")


def test_a_server_that_is_not_there_is_an_error_of_one_line() -> None:
    with pytest.raises(StoreError, match=r"^c: opening the collection failed: [^\n]+$"):
        Qdrant.open("http://127.0.0.1:9", "c", timeout=2)


def test_terms_that_share_a_number_are_added_up() -> None:
    from disputatio.store.remote.qdrant_points import Settings, query_weights, weights

    low, high = 5, 5 + (1 << 32)
    settings = Settings(k1=1.0, b=0.0, mean_length=1.0)
    assert weights(np.array([low, high], dtype=np.uint64), settings) == {"indices": [5], "values": [2 / 3]}
    assert query_weights({low: 1, high: 2}) == {"indices": [5], "values": [3.0]}


def test_points_are_named_by_uuids_of_the_passages_ids() -> None:
    from disputatio.store.remote.qdrant_points import point_id

    assert len({uuid.UUID(point_id(f"p{n}")) for n in range(100)}) == 100
