"""`/api/conflicts`: contradictions of the index, page by page, kept until the next commit."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from disputatio import Passage
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
    assert checks.of(index, "medium") is checks.of(index, "medium")
    index.add(DOCUMENTS)
    assert len(checks.of(index, "medium").contradictions) == 2
    assert len(counted) == 2
