"""Tests of the index over HTTP: search, passages, sources, documents, uploads, calibration, readiness."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from disputatio import Index
from disputatio.llm.scripted import NoModel
from disputatio.server.app import create_app
from disputatio.server.options import Access, StorageOptions
from disputatio.types import Passage
from tests.server.ferry import PASSAGES, Served, ferry, ferry_index, served
from tests.store.hashing import HashEmbedder

LONG = " ".join(
    f"Sentence number {number} tells of the ferry and its {number} ropes." for number in range(400)
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    service = ferry(
        tmp_path, access=Access(writing=True), keeping=StorageOptions(uploads=tmp_path / "uploads")
    )
    with served(service) as running:
        yield running


def finished(server: Served, job: dict[str, Any]) -> dict[str, Any]:
    """Return a job at its end."""
    while job["state"] == "running":
        time.sleep(0.02)
        job = server.client.get(f"/api/jobs/{job['id']}").json()
    return job


def test_a_search_gives_the_hits_of_the_library(server: Served) -> None:
    hits = server.client.get("/api/search", params={"q": "ferry crossed", "k": 2}).json()
    expected = server.service.require_index().search("ferry crossed", k=2)
    assert [hit["passage"]["id"] for hit in hits] == [hit.passage.id for hit in expected]
    assert hits[0]["score"] == expected[0].score


def test_a_search_keeps_to_sources(server: Served) -> None:
    hits = server.client.get("/api/search", params={"q": "ferry", "source": "buzz.example"}).json()
    assert [hit["passage"]["id"] for hit in hits] == ["p3"]


@pytest.mark.parametrize("path", ["/api/search?q=ferry&source=buz.example", "/api/ask"])
def test_a_source_that_is_not_there_is_refused_with_the_nearest_name(server: Served, path: str) -> None:
    body = {"question": "When did the ferry cross?", "sources": ["buz.example"]}
    reply = server.client.post(path, json=body) if path == "/api/ask" else server.client.get(path)
    assert reply.status_code in (400, 404, 422)
    assert reply.json()["error"]["nearest"] == "buzz.example"


@pytest.mark.long
def test_a_passage_is_shown_with_those_around_it(tmp_path: Path) -> None:
    index = ferry_index(tmp_path, [*PASSAGES, Passage(text=LONG, source="long.example")])
    with served(ferry(tmp_path, index=index)) as server:
        hits = server.client.get("/api/search", params={"q": "number 200", "source": "long.example"}).json()
        found = server.client.get(f"/api/passages/{hits[0]['passage']['id']}?around=1").json()
        [before], [after] = found["before"], found["after"]
        assert before["end"] <= found["passage"]["start"] < found["passage"]["end"] <= after["start"]
        assert LONG[found["passage"]["start"] : found["passage"]["end"]] == found["passage"]["text"]


def test_a_passage_that_is_not_there_is_not_found(server: Served) -> None:
    response = server.client.get("/api/passages/p99")
    assert (response.status_code, response.json()["error"]["kind"]) == (404, "NotFound")


def test_the_sources_are_listed_with_what_the_index_holds_of_them(server: Served) -> None:
    rows = {row["name"]: row for row in server.client.get("/api/sources").json()}
    assert rows["museum.example"]["owner"] == "city"
    assert rows["buzz.example"]["passages"] == 1
    assert rows["buzz.example"]["reliability"] is None


def test_an_owner_is_named_and_stays(server: Served) -> None:
    changed = server.client.patch("/api/sources/buzz.example", json={"owner": "press"})
    assert changed.json()["owner"] == "press"
    rows = {row["name"]: row for row in server.client.get("/api/sources").json()}
    assert rows["buzz.example"]["owner"] == "press"


def test_an_owner_that_passages_state_is_not_overruled(server: Served) -> None:
    refused = server.client.patch("/api/sources/museum.example", json={"owner": "press"})
    assert refused.status_code == 400
    assert "city" in refused.json()["error"]["message"]


@pytest.mark.long
def test_uploads_are_put_in_as_a_job_and_refusals_are_said(server: Served) -> None:
    files = [
        ("files", ("notes.txt", b"The ferry was painted red in 1902.")),
        ("files", ("../../broken.pdf", b"no pdf")),
    ]
    response = server.client.post("/api/ingest", files=files)
    assert response.status_code == 202
    job = finished(server, response.json())
    assert job["state"] == "done"
    assert job["result"]["added"] == 1
    [refused] = job["result"]["refused"]
    assert refused["path"] == "broken.pdf"
    listed = server.client.get("/api/documents").json()
    assert "notes.txt" in [row["file"] for row in listed["documents"]]
    assert [{name: each[name] for name in refused} for each in listed["refused"]] == [refused]
    hits = server.client.get("/api/search", params={"q": "painted red"}).json()
    assert hits[0]["passage"]["source"] == "notes"


@pytest.mark.long
def test_uploads_of_others_share_one_owner(tmp_path: Path) -> None:
    access = Access(writing=True, token="t" * 32)
    service = ferry(tmp_path, access=access, keeping=StorageOptions(uploads=tmp_path / "uploads"))
    with served(service, token="t" * 32) as server:
        files = [("files", (f"{name}.jsonl", b'{"text": "The ferry is %s.", "owner": "me"}' % name.encode()))
                 for name in ("red", "blue")]  # fmt: skip
        finished(server, server.client.post("/api/ingest", files=files).json())
        rows = {row["name"]: row["owner"] for row in server.client.get("/api/sources").json()}
        assert rows["uploads/red"] == rows["uploads/blue"] == "uploads"


@pytest.mark.long
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "/api/sources/buzz.example", {"owner": "press"}),
        ("POST", "/api/calibrate", {"confirm": True}),
    ],
)
def test_nothing_is_written_where_that_is_not_allowed(
    tmp_path: Path, method: str, path: str, body: dict[str, Any]
) -> None:
    with served(ferry(tmp_path)) as server:
        assert server.client.request(method, path, json=body).status_code == 403
        files = [("files", ("notes.txt", b"text"))]
        assert server.client.post("/api/ingest", files=files).status_code == 403


@pytest.mark.long
def test_a_calibration_reports_its_plan_before_it_asks(server: Served) -> None:
    calls = server.service.kit.model.calls  # type: ignore[attr-defined]
    job = finished(server, server.client.post("/api/calibrate", json={"questions": 2}).json())
    assert job["state"] == "done"
    assert job["result"] == {"planned": True}
    assert job["plan"]["sources"] == 3
    assert calls == []


def test_readiness_lists_the_index_and_the_models(server: Served) -> None:
    ready = server.client.get("/api/ready").json()
    assert ready["ready"]
    assert ready["index"]["passages"] == 3
    assert ready["model"] == "script"


@pytest.mark.long
def test_a_server_over_an_empty_index_is_not_ready_and_gives_the_reason(tmp_path: Path) -> None:
    index = ferry_index(tmp_path, [])
    with served(ferry(tmp_path, index=index)) as server:
        response = server.client.get("/api/ready")
        assert response.status_code == 503
        assert "disputatio ingest" in response.json()["why"]


def test_a_server_without_the_engine_of_its_embedder_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index.open(tmp_path / "vectors.index", embedder=HashEmbedder())
    index.add(PASSAGES)
    with served(ferry(tmp_path, index=index)) as server:
        assert server.client.get("/api/ready").json()["ready"]
        monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
        response = server.client.get("/api/ready")
        assert response.status_code == 503
        assert response.json()["why"] == "openvino is not installed: run pip install 'disputatio[local]'"


def test_metrics_count_questions_by_their_end(server: Served) -> None:
    server.ask()
    lines = server.client.get("/metrics").text.splitlines()
    assert 'disputatio_questions_total{end="answered",strategy="disputation"} 1.0' in lines


@pytest.mark.long
def test_strategies_have_typed_options(server: Served) -> None:
    strategies = {each["name"]: each for each in server.client.get("/api/strategies").json()}
    assert strategies["disputation"]["default"]
    options = {each["name"]: each for each in strategies["disputation"]["options"]}
    assert options["expect"]["choices"] == ["auto", "one", "several"]


def test_strategies_have_the_models_that_they_run_with(tmp_path: Path) -> None:
    with served(ferry(tmp_path, model=NoModel())) as server:
        found = {each["name"]: each for each in server.client.get("/api/strategies").json()}
    assert (found["disputation"]["needs_model"], found["disputation"]["models"]) == (False, ["none"])
    assert (found["concat"]["needs_model"], found["concat"]["models"]) == (True, [])


def test_a_notice_ends_with_what_it_was_about(tmp_path: Path) -> None:
    service = ferry(tmp_path)
    with served(service) as server:

        def notice() -> Any:
            return server.client.get("/api/ready").json()["notice"]

        service.note("loading a model")
        assert notice()["message"] == "loading a model"
        service.note("")
        assert notice() is None
        service.note("the model", 5, 10)
        assert (notice()["done"], notice()["total"]) == (5, 10)
        service.note("the model", 10, 10)
        assert notice() is None


def test_a_checkout_without_the_page_says_so_and_how_to_build_it(tmp_path: Path) -> None:
    client = TestClient(create_app(ferry(tmp_path), page=tmp_path), base_url="http://localhost")
    reply = client.get("/")
    assert (reply.status_code, reply.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert "was not built" in reply.text
    assert "make page" in reply.text
    assert client.get("/elsewhere").status_code == 404


def test_a_document_is_described_by_people_and_it_is_taken_back(tmp_path: Path) -> None:
    with served(ferry(tmp_path, access=Access(writing=True))) as server:
        [row] = [
            row for row in server.client.get("/api/documents").json()["documents"] if "buzz" in row["source"]
        ]
        path = f"/api/documents/{row['id']}"
        stated = server.client.patch(path, json={"authority": "official", "date": "2024-05"})
        assert stated.status_code == 200
        [statement] = stated.json()
        assert (statement["fields"], statement["by"]) == (
            {"authority": "official", "date": "2024-05"},
            "http",
        )
        hits = server.client.get("/api/search", params={"q": "ferry", "source": "buzz.example"}).json()
        assert hits[0]["passage"]["authority"] == "official"
        sources = {row["name"]: row for row in server.client.get("/api/sources").json()}
        assert sources["buzz.example"]["declared"] == {"official": 1}
        assert server.client.patch(path, json={"undo": statement["key"]}).json()[0]["undone"]
        [row] = [
            each
            for each in server.client.get("/api/documents").json()["documents"]
            if each["id"] == row["id"]
        ]
        assert (row["authority"], row["by_people"]) == ("", {})
        for wrong in ({}, {"authority": "royal"}, {"colour": "red"}, {"undo": 99}, {"date": "soon"}):
            assert server.client.patch(path, json=wrong).status_code in (400, 422), wrong
        unknown = server.client.patch("/api/documents/d0", json={"mute": True})
        assert (unknown.status_code, unknown.json()["error"]["kind"]) == (404, "NotFound")


def test_a_server_that_does_not_write_takes_no_statement(tmp_path: Path) -> None:
    with served(ferry(tmp_path)) as server:
        refused = server.client.patch("/api/documents/x", json={"authority": "binding"})
    assert refused.status_code == 403
