"""Tests of clients that write to an index of a database: uploads, owners, calibrations, as into a folder."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from disputatio.api.indexing import Index
from disputatio.cli.serve import _choose_storage
from disputatio.config import read_settings
from disputatio.server.options import Access, StorageOptions
from disputatio.store.ingesting.fetch import ingest_urls
from disputatio.store.ingesting.ingest import IngestSummary
from disputatio.store.ingesting.watch import watch
from tests.server.ferry import PASSAGES, Served, ferry, served
from tests.server.test_index import finished
from tests.store.loopback import page, web
from tests.store.remote import served_milvus, served_postgres, served_qdrant

pytestmark = pytest.mark.long  # servers of their own are started
ADDRESSES: Mapping[str, Callable[[], str]] = {
    "postgres": served_postgres.address,
    "qdrant": served_qdrant.address,
    "milvus": served_milvus.address,
}


@pytest.fixture(params=ADDRESSES)
def index(request: pytest.FixtureRequest) -> Index:
    return Index.open(ADDRESSES[request.param](), embedder="none")


@pytest.fixture
def server(index: Index, tmp_path: Path) -> Iterator[Served]:
    index.add(PASSAGES)
    keeping = StorageOptions(uploads=tmp_path / "uploads")
    with served(ferry(tmp_path, index=index, access=Access(writing=True), keeping=keeping)) as running:
        yield running


def test_uploads_are_found_owners_stay_and_a_calibration_is_planned(server: Served) -> None:
    files = [("files", ("notes.txt", b"The ferry was painted red in 1902."))]
    job = finished(server, server.client.post("/api/ingest", files=files).json())
    assert (job["state"], job["result"]["added"]) == ("done", 1)
    hits = server.client.get("/api/search", params={"q": "painted red"}).json()
    assert hits[0]["passage"]["source"] == "notes"
    assert server.client.get("/api/documents").json()["total"] == len(PASSAGES) + 1
    changed = server.client.patch("/api/sources/notes", json={"owner": "press"})
    assert changed.json()["owner"] == "press"
    rows = {row["name"]: row for row in server.client.get("/api/sources").json()}
    assert rows["notes"]["owner"] == "press"
    planned = finished(server, server.client.post("/api/calibrate", json={"questions": 2}).json())
    assert planned["state"] == "done", planned
    assert planned["plan"]["sources"] == 4


def test_a_document_of_a_server_says_that_its_original_is_not_on_record(server: Served) -> None:
    files = [("files", ("notes.txt", b"The ferry was painted red in 1902."))]
    finished(server, server.client.post("/api/ingest", files=files).json())
    [row] = [
        row for row in server.client.get("/api/documents").json()["documents"] if row["file"] == "notes.txt"
    ]
    assert (row["passages"], row["size"]) == (1, 0)
    assert server.client.get(f"/api/documents/{row['id']}").json()["original"] == "unrecorded"
    refused = server.client.get(f"/api/documents/{row['id']}/original")
    assert refused.status_code == 404
    assert "this index keeps no hash of files" in refused.json()["error"]["message"]


def test_a_draft_is_told_from_what_another_document_replaced(server: Served) -> None:
    files = {
        "fees-v1.txt": b"Mooring fees\nVersion 1\n\nThe fee is 9 euros.",
        "fees-v2.txt": b"Mooring fees\nVersion 2\n\nThis replaces version 1. The fee is 15 euros.",
        "fees-v3.txt": b"Mooring fees\nVersion 3\n\nStatus: draft\n\nThe fee is 20 euros.",
    }
    for name, words in files.items():
        finished(server, server.client.post("/api/ingest", files=[("files", (name, words))]).json())
    rows = {row["file"]: row for row in server.client.get("/api/documents").json()["documents"]}
    assert {name: (bool(rows[name]["superseded_by"]), rows[name]["draft"]) for name in files} == {
        "fees-v1.txt": (True, False),
        "fees-v2.txt": (False, False),
        "fees-v3.txt": (True, True),
    }


def test_a_document_is_edited_replaced_deleted_and_all_of_it_is_undone_and_on_record(server: Served) -> None:
    client = server.client
    for name, words in (
        ("fees-1.txt", b"The mooring fee is 9 euros."),
        ("fees-2.txt", b"The fee is 15 euros."),
    ):
        finished(server, client.post("/api/ingest", files=[("files", (name, words))]).json())
    rows = {row["file"]: row for row in client.get("/api/documents").json()["documents"]}
    old, new = rows["fees-1.txt"]["id"], rows["fees-2.txt"]["id"]
    [stated] = client.patch(f"/api/documents/{new}", json={"replaces": old, "date": "2024"}).json()
    assert stated["fields"] == {"replaces": old, "date": "2024"}
    shown = {row["id"]: row for row in client.get("/api/documents").json()["documents"]}
    assert (shown[new]["date"], shown[old]["superseded_by"]) == ("2024", new)
    client.patch(f"/api/documents/{old}", json={"mute": True})
    assert all(hit["passage"]["document"] != old for hit in client.get("/api/search?q=mooring fee").json())
    for name in (new, old):
        key = client.get(f"/api/documents/{name}").json()["stated"][-1]["key"]
        [undone] = client.patch(f"/api/documents/{name}", json={"undo": key}).json()
        assert undone["undone"]
    shown = {row["id"]: row for row in client.get("/api/documents").json()["documents"]}
    assert (shown[new]["date"], shown[old]["superseded_by"]) == (rows["fees-2.txt"]["date"], "")
    assert client.get("/api/search?q=mooring fee").json()[0]["passage"]["document"] == old
    deleted = client.delete(f"/api/documents/{old}").json()
    assert deleted["undoable"]
    client.post(f"/api/changes/{deleted['key']}/undo")
    assert client.get(f"/api/documents/{old}").status_code == 200
    changes = [(row["what"], row["document"]) for row in client.get("/api/changes").json()]
    assert changes[:5] == [
        ("deleted", old), ("taken back", old), ("taken back", new), ("stated", old), ("stated", new),
    ]  # fmt: skip


def test_a_folder_that_is_watched_is_kept_in_step(index: Index, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("A zebra.")
    stop, summaries = threading.Event(), list[IngestSummary]()
    watching = threading.Thread(
        target=watch,
        args=(index, [folder]),
        kwargs={"debounce": 0.1, "on_summary": summaries.append, "stop": stop},
    )
    watching.start()
    try:
        until(lambda: len(summaries) == 1)
        (folder / "b.txt").write_text("An okapi.")
        until(lambda: len(summaries) == 2)
        (folder / "a.txt").unlink()
        until(lambda: len(summaries) == 3)
    finally:
        stop.set()
        watching.join()
    assert [hit.passage.text for hit in Index.open(index.path).search("zebra okapi")] == ["An okapi."]


def test_what_addresses_give_is_put_in_and_replaced(index: Index) -> None:
    url = "http://www.x.example/a.txt"
    with web() as site:
        for text in (b"A zebra.", b"An okapi."):
            site.answers = {"/a.txt": page(text, "text/plain")}
            assert ingest_urls(index, [url], get=site.get).refused == ()
    assert [document.text for document in index.documents()] == ["An okapi."]
    assert [hit.passage.source for hit in index.search("okapi")] == ["x.example"]


def test_uploads_of_a_served_index_have_a_folder_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path))
    folders = [
        _choose_storage(read_settings(index=Path(name)), "none", 1.0, None, None).uploads
        for name in ("postgresql://a:secret@h/d?schema=x", "postgresql://a:secret@h/d?schema=y", "town.index")
    ]
    assert len(set(folders)) == 3
    assert [folder.name for folder in folders if folder] == ["uploads", "uploads", "town.index.uploads"]
    assert folders[0] is not None
    assert folders[0].parent.parent == tmp_path
    assert not any("secret" in str(folder) for folder in folders)


def until(happened: Callable[[], bool]) -> None:
    """Wait, for a minute at most."""
    end = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.02)
