"""Filters hold for every search that is made through them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from disputatio.errors import InputError
from disputatio.kit import Kit
from disputatio.pipeline import load_strategy, strategy_names
from disputatio.protocols import Retriever
from disputatio.store.filtered import Filtered
from disputatio.store.in_memory import InMemory
from disputatio.types import Hit, Passage
from tests.test_strategy_contract import QUESTION, Parrot

SOURCES = ("museum.example", "almanac.example", "farm.example", "")
PASSAGES = [
    Passage(
        id=f"{source}{year}",
        text=f"The ferry first crossed the sound in 1887, says page {number} of {year}.",
        source=source,
        date=str(year),
        metadata={"true_reliability": "0.9"},
    )
    for number, source in enumerate(SOURCES)
    for year in (1990, 2000, 2010)
]


def ids(hits: Sequence[Hit]) -> list[str]:
    return sorted(hit.passage.id for hit in hits)


def test_only_passages_of_the_sources_and_dates_are_found() -> None:
    filtered = Filtered(
        InMemory(PASSAGES), sources=["museum.example", "farm.example"], after="1995", before="2005-06"
    )
    assert ids(filtered.search("ferry")) == ["farm.example2000", "museum.example2000"]
    assert ids(filtered.search("ferry", per_source=2)) == ["farm.example2000", "museum.example2000"]
    assert isinstance(filtered, Retriever)


def test_a_search_with_limits_of_its_own_gets_what_both_allow() -> None:
    filtered = Filtered(InMemory(PASSAGES), sources=["museum.example", "farm.example"], after="1995")
    assert ids(filtered.search("ferry", sources=["farm.example", "almanac.example"], after="2005")) == [
        "farm.example2010"
    ]
    assert ids(filtered.search("ferry", sources=["farm.example"], after="1980", before="2005")) == [
        "farm.example2000"
    ]
    assert filtered.search("ferry", sources=[""]) == []


def test_without_filters_everything_is_found() -> None:
    assert ids(Filtered(InMemory(PASSAGES)).search("ferry")) == sorted(one.id for one in PASSAGES)


def test_a_date_that_is_none_is_an_error_before_any_search() -> None:
    with pytest.raises(InputError, match="after: 'spring' is not a date"):
        Filtered(InMemory(PASSAGES), after="spring")


@pytest.mark.parametrize("name", strategy_names())
def test_every_strategy_keeps_to_the_filters(name: str) -> None:
    model = Parrot()
    filtered = Filtered(InMemory(PASSAGES), sources=["museum.example", ""], after="2000", before="2000")
    answer = load_strategy(name)(QUESTION, Kit(model=model, retriever=filtered))
    assert {(passage.source, passage.date) for passage in answer.passages} <= {
        ("museum.example", "2000"),
        ("", "2000"),
    }
    prompts = " ".join(message.content for prompt, _ in model.asked for message in prompt.messages)
    assert not any(f"page {number} of" in prompts for number in (1, 2))
    assert "of 1990" not in prompts
    assert "of 2010" not in prompts
