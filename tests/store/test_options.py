"""The options of a search: one object, checked in one place, the same for every retriever."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from disputatio.errors import InputError
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.protocols import Retriever, Search, SearchOptions
from disputatio.store.contract import Index
from disputatio.store.in_memory import InMemory
from disputatio.store.opening import open_index
from disputatio.types import Hit, Passage

PASSAGES = [
    Passage(id=f"p{n}", source=f"s{n % 2}", date=f"202{n}", text=f"A ferry, number {n}.") for n in range(6)
]


@pytest.fixture(params=["index", "in memory"])
def retriever(request: pytest.FixtureRequest, tmp_path: Path) -> Index | InMemory:
    if request.param == "in memory":
        return InMemory(PASSAGES)
    index = open_index(tmp_path / "index")
    index.add(PASSAGES)
    return index


def test_keyword_arguments_are_the_fields_of_a_search() -> None:
    assert get_type_hints(SearchOptions) == get_type_hints(Search)
    assert SearchOptions.__required_keys__ == frozenset()
    assert set(SearchOptions.__annotations__) == {field.name for field in fields(Search)}


@pytest.mark.parametrize("options", [{"k": 2}, {"per_source": 1}, {"after": "2023"}], ids=str)
def test_a_search_object_finds_what_its_keywords_find(
    retriever: Index | InMemory, options: dict[str, Any]
) -> None:
    hits = retriever.search("ferry", Search(**options))
    assert hits == retriever.search("ferry", **options) != []


def test_a_keyword_replaces_a_field_of_the_object(retriever: Index | InMemory) -> None:
    search = Search(k=1, sources=["s1"])
    assert len(retriever.search("ferry", search)) == 1
    hits = retriever.search("ferry", search, k=3)
    assert [hit.passage.source for hit in hits] == ["s1"] * 3


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"k": 0}, "at least 1"),
    ({"per_source": 0}, "at least 1"),
    ({"k": 1.5}, "k is a whole number or None, not float"),
    ({"per_source": "3"}, "per_source is a whole number or None, not str"),
    ({"sources": "s1"}, r"sources is a list of texts, not one: write \['s1'\]"),
    ({"exclude": "p1"}, "exclude is a list of texts"),
    ({"alpha": 1.5}, "alpha lies between 0 and 1, not at 1.5"),
    ({"fusion": "sum"}, "fusion is one of weighted, rrf, not 'sum'"),
    ({"k1": -1.0}, "k1 is a number of at least 0"),
    ({"k1": float("inf")}, "k1 is a number of at least 0"),
    ({"b": 2.0}, "b lies between 0 and 1"),
    ({"min_reliability": 3.0}, "min_reliability lies between 0 and 1, not at 3"),
    ({"after": "in spring"}, "is not a date"),
    ({"before": datetime.date(2024, 5, 1)}, "before is a text or None, not date: write '2024-05-01'"),
]


@pytest.mark.parametrize(("options", "message"), WRONG, ids=str)
def test_an_option_out_of_range_is_refused_by_every_retriever(
    retriever: Index | InMemory, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        retriever.search("ferry", **options)


@pytest.mark.parametrize("query", ["", " \n", "\ud800", None, 5])
def test_a_query_without_text_is_refused(retriever: Index | InMemory, query: Any) -> None:
    with pytest.raises(InputError, match="the question is"):
        retriever.search(query)


def test_an_option_that_no_search_has_is_a_type_error(retriever: Index | InMemory) -> None:
    search: Callable[..., list[Hit]] = retriever.search
    with pytest.raises(TypeError, match="nearest"):
        search("ferry", nearest=3)


class Latest:
    """A retriever of a user's own."""

    def search(self, query: str, *, k: int | None = None, **_: object) -> list[Hit]:
        return [Hit(passage=passage, score=1.0) for passage in PASSAGES[-(k or 8) :]]


def test_a_class_with_three_lines_is_a_retriever() -> None:
    retriever: Retriever = Latest()
    kit = Kit(model=Scripted([]), retriever=retriever)
    assert [passage.id for passage in kit.passages("ferry", k=2)] == ["p4", "p5"]
