"""`/api/conflicts`: contradictions of the index, page by page, kept until the next commit."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

import disputatio as d
from disputatio import Passage
from disputatio.server.options import Access, StorageOptions
from disputatio.server.routers import conflicts
from tests.server.ferry import ferry, served

DOCUMENTS = [
    Passage(text="The mooring fee is 12 EUR a night.", source="a", title="Harbour rules", id="h1"),
    Passage(text="The mooring fee is 15 EUR a night.", source="b", title="Harbour web page", id="h2"),
    Passage(text="Swimming in the basin is not allowed.", source="a", title="Basin rules", id="h3"),
    Passage(text="Swimming in the basin is allowed.", source="b", title="Basin web page", id="h4"),
]


def test_contradictions_are_listed_page_by_page(tmp_path: Path) -> None:
    service = ferry(tmp_path)
    assert service.index is not None
    service.index.add(DOCUMENTS)
    with served(service) as server:
        reply = httpx.get(server.url + "/api/conflicts?limit=1", timeout=30)
        assert reply.status_code == 200
        first = reply.json()
        assert first["total"] == 2
        assert len(first["contradictions"]) == 1
        one = first["contradictions"][0]
        assert one["first"]["quote"] in [document.text for document in DOCUMENTS]
        second = httpx.get(server.url + "/api/conflicts?limit=1&offset=1", timeout=30).json()
        assert second["contradictions"][0]["id"] != one["id"]
        assert httpx.get(server.url + "/api/conflicts?severity=grave", timeout=30).status_code == 400


def test_an_index_that_is_too_large_to_wait_for_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conflicts, "MOST_PASSAGES", 1)
    with served(ferry(tmp_path)) as server:
        reply = httpx.get(server.url + "/api/conflicts", timeout=30)
        assert reply.status_code in (400, 422)
        assert "disputatio check --index" in reply.json()["error"]["message"]


def test_a_check_holds_until_the_next_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []
    from disputatio.api.checking import check as own

    def count(*values, **named):  # type: ignore[no-untyped-def]
        counted.append(1)
        return own(*values, **named)

    monkeypatch.setattr(conflicts, "check", count)
    index = ferry(tmp_path).index
    assert index is not None
    checks = conflicts.Checks()
    assert checks.of(index, "medium") == checks.of(index, "medium")
    assert counted == [1]
    index.add(DOCUMENTS)
    assert len(checks.of(index, "medium").contradictions) == 2
    assert len(counted) == 2


def test_a_contradiction_is_settled_kept_in_a_baseline_and_opened_again(tmp_path: Path) -> None:
    baseline = tmp_path / "quay.accepted.json"
    keeping = StorageOptions(baseline=baseline)
    service = ferry(tmp_path, access=Access(writing=True), keeping=keeping)
    assert service.index is not None
    service.index.add(DOCUMENTS)
    with served(service) as server:
        one = server.client.get("/api/conflicts").json()["contradictions"][0]
        settled = server.client.put(
            f"/api/conflicts/{one['id']}", json={"holds": "second", "why": "signed later"}
        )
        assert settled.json()["holds"] == "second"
        listed = server.client.get("/api/conflicts").json()
        assert [each["new"] for each in listed["contradictions"]] == [False, True]
        assert listed["decisions"][one["id"]]["why"] == "signed later"
        assert d.check(service.index, baseline=baseline).new[0].id != one["id"]
        assert server.client.put("/api/conflicts/c0", json={}).status_code == 404
        assert server.client.delete(f"/api/conflicts/{one['id']}").status_code == 204
        assert server.client.get("/api/conflicts").json()["decisions"] == {}
        changes = [each["what"] for each in server.client.get("/api/changes").json()]
        assert changes == ["reopened", "accepted"]


def test_a_server_that_only_reads_settles_nothing(tmp_path: Path) -> None:
    with served(ferry(tmp_path)) as server:
        assert server.client.put("/api/conflicts/c0", json={}).status_code == 403
        assert server.client.delete("/api/conflicts/c0").status_code == 403


@pytest.mark.parametrize(
    ("form", "name", "part"),
    [
        ("json", "contradictions.json", '"contradictions"'),
        ("sarif", "contradictions.sarif", '"runs"'),
        ("html", "contradictions.html", "<blockquote>"),
        ("baseline", "contradictions.accepted.json", '"accepted": []'),
    ],
)
def test_contradictions_are_saved_as_a_file_that_no_browser_opens(
    tmp_path: Path, form: str, name: str, part: str
) -> None:
    service = ferry(tmp_path)
    assert service.index is not None
    service.index.add(DOCUMENTS)
    with served(service) as server:
        reply = server.client.get(f"/api/conflicts/export?format={form}")
    assert part in reply.text
    assert reply.headers["content-type"] == "application/octet-stream"
    assert reply.headers["content-disposition"].endswith(name)


def test_the_contradictions_of_one_document_are_listed(tmp_path: Path) -> None:
    service = ferry(tmp_path)
    assert service.index is not None
    service.index.add(DOCUMENTS)
    with served(service) as server:
        every = server.client.get("/api/conflicts").json()["contradictions"]
        document = every[0]["first"]["document"]
        own = server.client.get("/api/conflicts", params={"document": document}).json()
    assert own["total"] == 1
    assert own["contradictions"][0]["id"] == every[0]["id"]


def test_a_copy_of_what_is_contradicted_is_contradicted_too(tmp_path: Path) -> None:
    service, papers = ferry(tmp_path), tmp_path / "papers"
    assert service.index is not None
    for source, name, year in (("a", "first", 1887), ("b", "second", 1901), ("c", "third", 1901)):
        (papers / source).mkdir(parents=True)
        text = f"The Orrin ferry first crossed to the old island in {year}.\n\nIt is the {name} to say so.\n"
        (papers / source / f"{name}.md").write_text(text, encoding="utf-8")
    service.index.ingest(papers)
    with served(service) as server:
        rows = {row["file"]: row["id"] for row in server.client.get("/api/documents").json()["documents"]}
        totals = {
            name: server.client.get("/api/conflicts", params={"document": rows[f"{name}.md"]}).json()["total"]
            for name in ("first", "second", "third")
        }
    assert totals == {"first": 1, "second": 1, "third": 1}


def test_whole_copies_of_what_is_contradicted_show_it_too(tmp_path: Path) -> None:
    service = ferry(tmp_path)
    assert service.index is not None
    service.index.add(
        Passage(
            id=f"fare{number}",
            text=f"The Sallow ferry costs {6 if number else 4} crowns for a handcart.",
            title="Fares",
            source=f"board{number}",
        )
        for number in range(31)
    )
    with served(service) as server:
        listed = [each.id for each in service.index.documents(text=False) if each.title == "Fares"]
        found = [server.client.get("/api/conflicts", params={"document": name}).json() for name in listed]
    assert [each["total"] for each in found] == [1] * 31
    [side] = (
        each for each in map(found[0]["contradictions"][0].get, ("first", "second")) if "6" in each["value"]
    )
    assert {side["document"], *side["copies"]} == {*listed} - {listed[0]}


def test_rows_that_say_the_same_show_what_they_contradict(tmp_path: Path) -> None:
    service, table = ferry(tmp_path), tmp_path / "fares.csv"
    assert service.index is not None
    fares = "".join(f"{n},The Sallow ferry costs {fare} crowns.\n" for n, fare in enumerate((4, 6, 6)))
    table.write_text(f"id,text\n{fares}", encoding="utf-8")
    service.index.ingest(table)
    with served(service) as server:
        rows = [each.id for each in service.index.documents(text=False) if each.path == str(table)]
        totals = [
            server.client.get("/api/conflicts", params={"document": name}).json()["total"] for name in rows
        ]
    assert totals == [1, 1, 1]


def test_a_file_that_is_no_baseline_is_a_fault_and_stays_as_it_is(tmp_path: Path) -> None:
    baseline = tmp_path / "quay.accepted.json"
    baseline.write_text("[]", encoding="utf-8")
    with served(ferry(tmp_path, keeping=StorageOptions(baseline=baseline))) as server:
        assert server.client.get("/api/conflicts").status_code == 503
    assert baseline.read_text(encoding="utf-8") == "[]"
