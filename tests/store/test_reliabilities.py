"""Estimates beside an index: whole records, checked, stale when passages have changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from disputatio.errors import InputError, StoreError
from disputatio.store.folder_index import FolderIndex
from disputatio.store.reliabilities import NAME, estimates_with_staleness
from disputatio.types import Passage, Source

MUSEUM = Source(
    name="museum",
    owner="town",
    reliability=0.9,
    low=0.6,
    high=0.98,
    questions=12,
    answered=9.5,
    agreed=8.5,
    group="g1",
    updated="2026-11-21",
)


def estimates(reliabilities: Mapping[str, float]) -> dict[str, Source]:
    """Estimates of which nothing but the reliability is known."""
    return {name: Source(name=name, reliability=value) for name, value in reliabilities.items()}


@pytest.fixture
def index(tmp_path: Path) -> FolderIndex:
    made = FolderIndex.open(tmp_path / "x.index")
    made.add(
        [
            Passage(text="The ferry first crossed in 1887.", source="museum"),
            Passage(text="The mill ground barley.", source="museum"),
            Passage(text="The ferry first crossed in 1902.", source="buzz"),
        ]
    )
    return made


def test_a_whole_record_comes_back_as_it_was_stored(index: FolderIndex) -> None:
    index.set_estimates({"museum": MUSEUM, "buzz": Source(name="buzz", reliability=0.2)})
    assert index.estimates()["museum"] == MUSEUM
    assert index.reliabilities() == {"museum": 0.9, "buzz": 0.2}
    assert FolderIndex.open(index.path).estimates() == index.estimates()


def test_a_reliability_alone_can_be_stored_and_filters_a_search(index: FolderIndex) -> None:
    index.set_estimates(estimates({"museum": 0.9, "buzz": 0.2}))
    assert index.reliabilities() == {"museum": 0.9, "buzz": 0.2}
    assert {hit.passage.source for hit in index.search("ferry crossed", min_reliability=0.5)} == {"museum"}


def test_no_index_takes_no_estimates(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no index"):
        FolderIndex.open(tmp_path / "none").set_estimates({"museum": MUSEUM})
    assert FolderIndex.open(tmp_path / "none").estimates() == {}


@pytest.mark.parametrize("figure", [-0.1, 1.1, True, "much"])
def test_what_is_no_probability_is_refused(index: FolderIndex, figure: float) -> None:
    with pytest.raises(InputError, match="museum"):
        index.set_estimates(estimates({"museum": figure}))
    assert index.estimates() == {}


def test_a_damaged_file_is_told_wherever_it_is_damaged(index: FolderIndex) -> None:
    index.set_estimates({"museum": MUSEUM})
    raw = bytearray((index.path / NAME).read_bytes())
    for at in range(0, len(raw), 7):
        damaged = bytearray(raw)
        damaged[at] ^= 0x10
        (index.path / NAME).write_bytes(damaged)
        try:
            read = estimates_with_staleness(index.path, dict)
        except StoreError as error:
            assert "disputatio calibrate" in str(error)
        else:  # white space between the fields bears nothing
            assert read == {"museum": replace(MUSEUM, stale=True)}  # of a source that holds nothing now


def test_only_the_source_whose_passages_changed_is_stale(index: FolderIndex) -> None:
    index.set_estimates({"museum": MUSEUM, "buzz": Source(name="buzz", reliability=0.2)})
    index.add([Passage(text="The ferry sank in 1951.", source="buzz")])
    assert {name: one.stale for name, one in index.estimates().items()} == {"museum": False, "buzz": True}


def test_a_replaced_text_under_the_same_id_makes_a_source_stale(tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "x.index")
    index.add([Passage(id="p1", text="It opened in 1901.", source="museum")])
    index.set_estimates(estimates({"museum": 0.9}))
    index.add([Passage(id="p1", text="It opened in 1902.", source="museum")])
    assert index.estimates()["museum"].stale


def test_merging_reopening_and_ingesting_again_make_nothing_stale(index: FolderIndex) -> None:
    index.add([Passage(text=f"Fact {n} of the almanac.", source="almanac") for n in range(3)])
    index.set_estimates(estimates({"museum": 0.9, "buzz": 0.2, "almanac": 0.5}))
    index.compact()
    index.add([Passage(text="The mill ground barley.", source="museum")])
    assert not any(one.stale for one in FolderIndex.open(index.path).estimates().values())


@pytest.mark.long
def test_a_source_that_came_since_has_no_reliability_and_one_that_went_is_stale(index: FolderIndex) -> None:
    index.set_estimates(estimates({"museum": 0.9, "buzz": 0.2}))
    index.add([Passage(text="The almanac says 1887.", source="almanac")])
    index.delete(sources=["buzz"])
    found = index.estimates()
    assert found["almanac"] == Source(name="almanac")
    assert found["buzz"].stale
    assert not found["museum"].stale
