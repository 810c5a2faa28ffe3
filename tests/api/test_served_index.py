"""An index on a server, from Python and over HTTP: named by its address wherever a folder is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import disputatio as d
from disputatio.config import read_settings
from disputatio.errors import InputError, StoreError
from disputatio.server.service import Service
from disputatio.store.opening import open_index, require_folder
from tests.server.ferry import PASSAGES, QUESTION, script, served
from tests.store.remote import served_milvus, served_postgres, served_qdrant

pytestmark = pytest.mark.long  # servers of their own are started
ADDRESSES = {
    "postgres": served_postgres.address,
    "qdrant": served_qdrant.address,
    "milvus": served_milvus.address,
}


@pytest.fixture(autouse=True)
def _nothing_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    for name in ("ENCODER", "EMBEDDER"):
        monkeypatch.setenv(f"DISPUTATIO_{name}", "none")


LOG = d.Passage(text=" ".join(f"On day {n} the ferry sailed at noon." for n in range(400)), source="log")


@pytest.fixture(params=ADDRESSES)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an index of the ferry; nothing is written to a folder of that name."""
    made: Callable[[], str] = ADDRESSES[request.param]
    place = made()
    d.Index.open(place).add(PASSAGES)
    yield place
    assert {path.name for path in tmp_path.iterdir()} <= {"cache"}


def test_an_index_is_opened_by_its_address_and_shows_itself(address: str) -> None:
    index = d.Index.open(address, create=False)
    assert isinstance(index, d.Index)
    assert index.info().passages == len(PASSAGES)
    assert index.to_dict()["passages"] == len(PASSAGES)
    assert "museum.example" in index._repr_html_()
    assert f"{len(PASSAGES)} passages, searched by keywords alone" in str(index)
    assert [hit.passage.id for hit in index.search("in May", k=1)] == ["p2"]
    assert [hit.passage.id for hit in open_index(address).search("in May", k=1)] == ["p2"]


def test_a_passage_is_shown_where_it_stands_in_its_document(address: str, tmp_path: Path) -> None:
    found = []
    for index in (d.Index.open(address), d.Index.open(tmp_path / "cache" / "x.index", embedder="none")):
        index.add([LOG])
        hit = index.search("day 200", k=1)[0].passage
        before, after = index.around(hit, 1)
        assert before[0].end <= hit.start < hit.end <= after[0].start
        assert index.around(hit, 0) == ([], [])
        found.append(([each.text for each in before], hit.text, [each.text for each in after]))
    assert found[0] == found[1]


def test_an_address_without_an_index_is_refused_in_a_line(address: str) -> None:
    with pytest.raises(StoreError, match="there is no index here"):
        d.Index.open(f"{address}x", create=False)


def test_a_question_is_asked_of_an_address(address: str) -> None:
    answer = d.ask(QUESTION, index=address, model=script(), strategy="disputation")
    assert answer.answers == ("1887",)
    assert {passage.id for passage in answer.passages} == {passage.id for passage in PASSAGES}


def test_what_only_a_folder_can_do_is_refused_in_a_line(address: str) -> None:
    with pytest.raises(InputError, match="cannot be used to read at length") as caught:
        require_folder(open_index(address), "read at length")
    assert "\n" not in str(caught.value)


def test_a_server_serves_what_an_address_holds(address: str) -> None:
    settings = read_settings(index=Path(address), model="none", journal="none", strategy="concat")
    with served(Service.open(settings)) as town:
        assert town.client.get("/api/ready").json()["index"]["passages"] == len(PASSAGES)
        hits = town.client.get("/api/search", params={"q": "ferry", "k": 3}).json()
        assert {hit["passage"]["id"] for hit in hits} == {"p1", "p2", "p3"}
        assert len(town.client.get("/api/sources").json()) == len(PASSAGES)
        assert len(town.client.get("/api/documents").json()) == len(PASSAGES)
        assert town.client.get("/api/sources/museum.example").json()["source"]["owner"] == "city"
        assert town.client.get("/api/passages/p1").json()["passage"]["text"] == PASSAGES[0].text
