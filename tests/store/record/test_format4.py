"""Indexes as they were written in November 2026 (format 4): every later version reads them as this one does.

Do not make the fixtures anew: a version that cannot read them takes a migration.
"""

from __future__ import annotations

import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from disputatio.store.folder_index import FolderIndex
from disputatio.store.record.check import check
from disputatio.types import Passage, Relation
from tests.store.hashing import HashEmbedder

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture(params=["keywords", "vectors"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> FolderIndex:
    with tarfile.open(FIXTURES / f"format4_{request.param}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    embedder = HashEmbedder() if request.param == "vectors" else None
    return FolderIndex.open(tmp_path / str(request.param), embedder=embedder)


def test_an_index_of_format_4_is_searched_listed_and_weighed(index: FolderIndex) -> None:
    best = index.search("when did the ferry first cross", k=2)
    assert {hit.passage.id for hit in best} == {"crossing", "rumour"}
    [zebra] = index.search("a zebra in hand", k=1)
    assert zebra.passage == Passage(
        id="given",
        document=zebra.passage.document,
        text="A zebra in hand.",
        date="2018",
        date_origin=zebra.passage.date_origin,
        source="zoo",
        owner="city",
        title="Zebras",
        url="https://zoo.example/zebra",
        start=0,
        end=16,
        metadata={"page": "7"},
    )
    for hit in best:  # nothing was read of dates and versions then
        assert (hit.passage.date_quote, hit.passage.family, hit.passage.relations) == ("", "", ())
    assert ("dense" in zebra.scores) == (index.embedder is not None)
    documents = [(document.source, document.owner, document.text) for document in index.documents()]
    assert sorted(documents) == [
        ("buzz", "", "They say the ferry first crossed in 1901."),
        ("museum", "city", "The ferry first crossed in 1887."),
        ("zoo", "city", "A zebra in hand."),
    ]
    assert [(source.name, source.documents, source.passages) for source in index.sources()] == [
        ("buzz", 1, 1),
        ("museum", 1, 1),
        ("zoo", 1, 1),
    ]
    assert index.reliabilities() == {"museum": 0.8, "zoo": 0.9}
    assert index.estimates()["zoo"].reliability == 0.9


@pytest.mark.long
def test_an_index_of_format_4_is_whole_and_is_written_to(index: FolderIndex) -> None:
    assert check(index.path).damaged == ()
    assert index.add([Passage(id="more", text="Another zebra.", source="zoo")]).added == 1
    assert index.delete(sources=["buzz"]) == 1
    [more] = index.search("another zebra", k=1)
    newer = replace(more.passage, id="newer", relations=(Relation(kind="replaces", target="given"),))
    index.add([replace(newer, text="A third zebra.", document="")])
    assert index.passage("newer").relations == (Relation(kind="replaces", target="given"),)
    assert {document.source for document in index.documents()} == {"museum", "zoo"}
    assert check(index.path).damaged == ()
