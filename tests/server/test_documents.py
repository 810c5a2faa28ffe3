"""A document through the server: opened, its original, described, deleted and put back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from disputatio.api.indexing import Index
from disputatio.rendering.refusals import REMEDIES
from disputatio.server.changes import ChangeLog
from disputatio.server.options import Access, StorageOptions
from disputatio.store.ingesting.ingest import Refusal
from tests.server.ferry import Served, ferry, served

RULES = "# Mooring rules\n\nBoats longer than 12 metres moor at the north quay.\n"
FARES = "route,fare\nisland,4\nharbour,9\nlighthouse,6\n"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "rules.md").write_text(RULES, encoding="utf-8")
    (folder / "fares.csv").write_text(FARES, encoding="utf-8")
    return folder


@pytest.fixture
def server(tmp_path: Path, docs: Path) -> Iterator[Served]:
    index = Index.open(tmp_path / "quay.index", embedder="none")
    index.ingest(docs)
    keeping = StorageOptions(
        uploads=tmp_path / "uploads",
        changes=tmp_path / "changes.sqlite",
        audit=tmp_path / "audit.jsonl",
        answers=tmp_path / "answers.sqlite",
    )
    with served(ferry(tmp_path, index=index, keeping=keeping, access=Access(writing=True))) as running:
        yield running


def row(server: Served, part: str) -> dict[str, Any]:
    rows = server.client.get("/api/documents").json()["documents"]
    return next(each for each in rows if part in each["file"])


def test_a_row_says_type_size_passages_and_when_it_was_read(server: Served) -> None:
    rules = row(server, "rules")
    assert (rules["type"], rules["size"], rules["passages"]) == ("md", len(RULES), 1)
    assert rules["read"].startswith("20")


def test_a_document_opens_with_its_text_its_passages_and_its_history(server: Served) -> None:
    rules = row(server, "rules")["id"]
    server.client.patch(f"/api/documents/{rules}", json={"owner": "Harbour office"})
    opened = server.client.get(f"/api/documents/{rules}").json()
    assert "north quay" in opened["text"]
    assert opened["length"] == len(opened["text"])
    [span] = opened["passages"]
    assert opened["text"][span["start"] : span["end"]] == opened["text"]
    assert opened["stated"][0]["fields"] == {"owner": "Harbour office"}
    assert opened["original"] == "same"
    assert opened["rows"] == []


def test_a_row_of_a_table_opens_among_its_neighbours(server: Served) -> None:
    rows = server.client.get("/api/documents").json()["documents"]
    harbour = next(each for each in rows if each["row"] == 3)
    opened = server.client.get(f"/api/documents/{harbour['id']}").json()
    assert [each["row"] for each in opened["rows"]] == [2, 3, 4]
    assert "harbour" in opened["rows"][1]["text"]


def test_the_answers_that_cite_a_document_are_named(server: Served) -> None:
    answer = server.ask("Where do boats longer than 12 metres moor?", passages=None)
    assert answer.status_code == 200
    cited = {
        passage["document"]
        for passage in answer.json()["passages"]
        for claim in answer.json()["claims"]
        for citation in claim["citations"]
        if citation["passage"] == passage["id"]
    }
    for document in server.client.get("/api/documents").json()["documents"]:
        found = server.client.get(f"/api/documents/{document['id']}").json()["answers"]
        assert bool(found) == (document["id"] in cited)


def test_the_original_comes_as_a_download_that_no_browser_opens(server: Served) -> None:
    rules = row(server, "rules")["id"]
    response = server.client.get(f"/api/documents/{rules}/original")
    assert response.text == RULES
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["content-disposition"] == "attachment; filename*=UTF-8''rules.md"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in response.headers["content-security-policy"]


def test_an_original_that_has_changed_or_became_a_link_is_not_served(server: Served, docs: Path) -> None:
    rules = row(server, "rules")["id"]
    (docs / "rules.md").write_text(RULES.replace("12", "13"), encoding="utf-8")
    assert server.client.get(f"/api/documents/{rules}/original").status_code == 404
    secret = docs.parent / "copy.md"
    secret.write_text(RULES, encoding="utf-8")
    (docs / "rules.md").unlink()
    (docs / "rules.md").symlink_to(secret)
    assert server.client.get(f"/api/documents/{rules}/original").status_code == 404


@pytest.mark.parametrize("name", ["%2e%2e%2fsecret", "..%2f..%2fetc%2fpasswd", "d0000"])
def test_a_name_that_is_no_document_reaches_no_file(server: Served, name: str) -> None:
    assert server.client.get(f"/api/documents/{name}/original").status_code in (400, 404)


@pytest.mark.parametrize(
    ("name", "body", "status", "message"),
    [
        ("rulse.md", {"owner": "x"}, 404, "unknown document 'rulse.md': did you mean 'rules.md'?"),
        ("rulse.md", {"undo": 1}, 404, "unknown document 'rulse.md'"),
        ("", {"datum": "2024"}, 400, "datum: is no field of this request"),
        ("", {"date": "31.02.2025"}, 400, "date: '31.02.2025' is not a date"),
        ("", {"authority": "offical"}, 400, "unknown authority 'offical': did you mean 'official'?"),
        ("", {"replaces": "fare.csv"}, 400, "replaces 'fare.csv': no document here has that name; did you"),
    ],
)
def test_what_cannot_be_stated_is_refused_and_changes_nothing(
    server: Served, name: str, body: dict[str, Any], status: int, message: str
) -> None:
    address = f"/api/documents/{row(server, 'rules')['id']}"
    refused = server.client.patch(f"/api/documents/{name}" if name else address, json=body)
    assert refused.status_code == status
    assert refused.json()["error"]["message"].startswith(message)
    assert server.client.get(address).json()["stated"] == []
    assert server.client.get("/api/changes").json() == []


def test_a_deleted_document_is_put_back_with_what_people_stated(server: Served, tmp_path: Path) -> None:
    rules = row(server, "rules")["id"]
    server.client.patch(f"/api/documents/{rules}", json={"date": "2024-05"})
    before = server.client.get("/api/documents").json()["documents"]
    change = server.client.delete(f"/api/documents/{rules}").json()
    assert (change["what"], change["undoable"]) == ("deleted", True)
    assert server.client.get(f"/api/documents/{rules}").status_code == 404
    assert not server.client.get("/api/search", params={"q": "north quay"}).json()
    undone = server.client.post(f"/api/changes/{change['key']}/undo").json()
    assert undone["undone"]
    assert server.client.get("/api/documents").json()["documents"] == before
    assert server.client.get("/api/search", params={"q": "north quay"}).json()
    assert server.client.post(f"/api/changes/{change['key']}/undo").status_code == 400
    listed = [each["what"] for each in server.client.get("/api/changes").json()]
    assert listed == ["deleted", "stated"]
    assert '"what": "deleted"' in (tmp_path / "audit.jsonl").read_text(encoding="utf-8")


def test_one_row_of_a_table_is_deleted_and_put_back_without_the_others(server: Served) -> None:
    before = server.client.get("/api/documents").json()["documents"]
    harbour = next(each for each in before if each["row"] == 3)
    change = server.client.delete(f"/api/documents/{harbour['id']}").json()
    left = server.client.get("/api/documents").json()["documents"]
    assert [each["id"] for each in left] == [each["id"] for each in before if each != harbour]
    server.client.post(f"/api/changes/{change['key']}/undo")
    back = server.client.get("/api/documents").json()["documents"]
    assert [each["id"] for each in back] == [each["id"] for each in before]


def test_a_server_that_only_reads_deletes_nothing(tmp_path: Path, docs: Path) -> None:
    index = Index.open(tmp_path / "quay.index", embedder="none")
    index.ingest(docs)
    with served(ferry(tmp_path, index=index)) as running:
        rules = row(running, "rules")["id"]
        assert running.client.delete(f"/api/documents/{rules}").status_code == 403
        assert running.client.delete("/api/refused").status_code == 403
        assert running.client.post("/api/changes/1/undo").status_code == 403
        assert row(running, "rules")["id"] == rules


def test_what_was_refused_stays_on_record_until_it_was_read(tmp_path: Path) -> None:
    log = ChangeLog(tmp_path / "changes.sqlite")
    data = {"field": "text"}
    found = [Refusal("a.pdf", "has no text", "scan", {}), Refusal("b.csv:7", "is no row", "bad_row", data)]
    log.note_refused(found, read=[], by="upload")
    log.close()
    again = ChangeLog(tmp_path / "changes.sqlite")
    again.note_refused([], read=["a.pdf", "b"], by="upload")
    [left] = again.list_refused()
    assert (left["path"], left["code"], left["remedy"]) == ("b.csv:7", "bad_row", REMEDIES["bad_row"])
    assert left["data"] == data
    again.note_refused([], read=["b.csv"], by="upload")
    assert again.list_refused() == []
    again.note_refused(found, read=[], by="upload")
    again.forget_refused("")
    assert again.list_refused() == []
    again.close()
