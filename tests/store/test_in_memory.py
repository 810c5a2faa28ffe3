"""Passages in hand: all in order, or the best by BM25."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from disputatio.errors import InputError
from disputatio.protocols import Retriever
from disputatio.store.folder_index import FolderIndex
from disputatio.store.in_memory import InMemory, passage_of
from disputatio.store.ingesting.documents import document_of
from disputatio.types import Passage

_BRIDGE = [
    Passage(text="The bridge did collapse.", source="a"),
    Passage(text="The bridge did not collapse.", source="b"),
    Passage(text="Apples are red.", source="b"),
]


def test_all_passages_come_back_in_their_order() -> None:
    hits = InMemory(_BRIDGE).search("anything")
    assert [hit.passage.text for hit in hits] == [one.text for one in _BRIDGE]
    assert {hit.score for hit in hits} == {1.0}


def test_it_is_a_retriever() -> None:
    assert isinstance(InMemory([]), Retriever)
    assert InMemory([]).search("x") == []
    assert InMemory([]).search("x", k=3) == []


def test_ids_are_given_by_content_and_copies_kept_once() -> None:
    held = InMemory(
        [*_BRIDGE, Passage(text="Apples are red.", source="b"), Passage(text="Apples are red.", source="c")]
    )
    ids = [one.id for one in held.passages]
    assert len(ids) == len(set(ids)) == 4
    assert ids == [
        one.id for one in InMemory([*_BRIDGE, Passage(text="Apples are red.", source="c")]).passages
    ]


def test_a_date_that_the_caller_gives_counts_as_stated_unless_its_passage_says_otherwise() -> None:
    given = [
        Passage(text="a", date="2021"),
        Passage(text="b", date="2021", date_origin="file"),
        Passage(text="c", date="2021", document="d", end=1),  # found in an index that does not know
        Passage(text="d"),
    ]
    assert [one.date_origin for one in InMemory(given).passages] == ["stated", "file", "", ""]


def test_a_number_that_is_none_counts_as_not_given() -> None:
    row = {"text": "It rained.", "source": "a", "date": math.nan, "title": math.nan}
    passage = passage_of(row, "row 1")
    assert (passage.date, passage.title) == ("", "")
    assert document_of(row, "rain.parquet", 1).date == ""


def test_one_id_for_two_texts_is_an_input_error() -> None:
    with pytest.raises(InputError, match="passage 2"):
        InMemory([Passage(text="a", id="x"), Passage(text="b", id="x")])


def test_a_ranked_search_finds_a_negation() -> None:
    (hit,) = InMemory(_BRIDGE).search("did the bridge not collapse?", k=1)
    assert hit.passage.source == "b"


def test_bm25_is_lucenes() -> None:
    held = InMemory([Passage(text="red red apple"), Passage(text="green pear")])
    idf = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    expected = idf * 2 / (2 + 1.2 * (1 - 0.75 + 0.75 * 3 / 2.5))
    hits = held.search("red", k=2)
    assert [hit.scores["bm25"] for hit in hits] == pytest.approx([expected, 0.0])


def test_filters_and_per_source() -> None:
    held = InMemory(_BRIDGE)
    first = held.passages[0].id
    assert [hit.passage.source for hit in held.search("bridge", exclude=[first])] == ["b", "b"]
    assert [hit.passage.source for hit in held.search("bridge", sources=["a"])] == ["a"]
    assert sorted(hit.passage.source for hit in held.search("bridge collapse", per_source=1)) == ["a", "b"]


def test_a_long_passage_is_divided_with_offsets_into_it() -> None:
    text = (
        "Filler words stand here in a row. " * 150
        + "The 🎉 secret number is 42. "
        + "More filler words. " * 50
    )
    held = InMemory([Passage(text=text, id="long", source="s")])
    assert len(held.passages) > 3
    for one in held.passages:
        assert text[one.start : one.end] == one.text
        assert (one.document, one.source) == ("long", "s")


def test_a_passage_of_a_hundred_thousand_characters_gives_the_best_parts_in_order() -> None:
    sentence = "Nothing of note happened in the town that day, as people later said. "
    text = sentence * 1000 + "The secret number of Broken Bow is 42. " + sentence * 500
    hits = InMemory([Passage(text=text)]).search("secret number of Broken Bow")
    assert len(hits) == 24
    assert any("is 42" in hit.passage.text for hit in hits)
    starts = [hit.passage.start for hit in hits]
    assert starts == sorted(starts)
    assert len(InMemory([Passage(text="x" * 100_000)]).search("x")) == 24


def test_many_short_passages_all_come_back() -> None:
    assert len(InMemory([Passage(text=f"passage {n}") for n in range(60)]).search("none")) == 60


@pytest.mark.parametrize("query", ["", "  \n"])
def test_an_empty_question_is_an_input_error(query: str) -> None:
    with pytest.raises(InputError, match="the question is empty"):
        InMemory(_BRIDGE).search(query)


@pytest.mark.parametrize("query", ["?!", "🎉", "人口", '"(OR', "не"])
def test_no_question_makes_it_fail(query: str) -> None:
    assert len(InMemory(_BRIDGE).search(query, k=2)) == 2


@pytest.mark.parametrize("query", ["", " \n", "\udcff\udcfe", "caf\udce9"])
def test_a_query_that_is_no_text_is_refused_here_and_by_an_index(query: str, tmp_path: Path) -> None:
    passages = [Passage(id="a", text="A zebra.", source="s")]
    index = FolderIndex.open(tmp_path / "index")
    index.add(passages)
    for one in (InMemory(passages), index):
        with pytest.raises(InputError, match="the question is"):
            one.search(query)
