"""Conflicts on the page: found, opened at their words, settled, opened again, and saved."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from disputatio.api.indexing import Index
from disputatio.store.ingesting.documents import Document
from tests.page.archive import archive
from tests.page.town import town
from tests.page.views import Visit, flaws, visit
from tests.server.ferry import Served, served

pytestmark = pytest.mark.slow


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    service = archive(tmp_path)
    assert service.index is not None
    board = "The mooring fee is 15 EUR a night."
    service.index.add([Document(text=board, title="Notice board", source="board", path="board.txt")])
    with served(service) as running:
        yield running


def test_a_conflict_is_opened_at_its_words_settled_with_a_reason_and_opened_again(
    tab: Visit, page: Page, server: Served, tmp_path: Path
) -> None:
    tab.go("conflicts?severity=low")
    card = page.locator(".conflict").filter(has_text="12 EUR").first
    expect(card).to_contain_text("15 EUR")
    number = page.locator(".conflict").count()
    assert flaws(tab, "conflicts") == []
    card.get_by_text("Decide", exact=True).click()
    card.get_by_label("Why").fill("The board raised it")
    card.get_by_role("button", name="15 EUR").first.click()
    expect(page.locator(".conflict")).to_have_count(number - 1)
    kept = json.loads((tmp_path / "harbour.index.accepted.json").read_text(encoding="utf-8"))
    assert [each["why"] for each in kept["accepted"]] == ["The board raised it"]
    tab.go("conflicts?severity=low&state=accepted")
    expect(page.locator(".conflict")).to_contain_text("The board raised it")
    page.get_by_role("button", name="Open again").click()
    expect(page.locator(".conflict")).to_have_count(0)
    tab.go("conflicts?severity=low")
    page.locator(".conflict-side a").first.click()
    expect(page.locator("mark, .pdf-mark").first).to_be_visible()
    assert tab.errors == []


@pytest.mark.parametrize(
    ("form", "file", "part"),
    [
        ("JSON", "contradictions.json", '"contradictions"'),
        ("SARIF", "contradictions.sarif", '"2.1.0"'),
        ("Web page", "contradictions.html", "<!doctype html>"),
    ],
)
def test_conflicts_are_saved(tab: Visit, page: Page, form: str, file: str, part: str) -> None:
    tab.go("conflicts")
    page.get_by_role("button", name="Save").click()
    with page.expect_download() as saved:
        page.get_by_role("menuitem", name=form).click()
    assert saved.value.suggested_filename == file
    assert part in Path(saved.value.path()).read_text(encoding="utf-8").lower()


def test_five_hundred_conflicts_are_shown_a_page_at_a_time(context: BrowserContext, tmp_path: Path) -> None:
    service = town(tmp_path, passages=())
    assert isinstance(service.index, Index)
    service.index.add(
        Document(
            text=f"The fee of berth K{k} is {10 + side} EUR a night.",
            path=f"/b/{side}-{k}.txt",
            title=f"Berth K{k}",
            source=f"office {side}",
        )
        for k in range(500)
        for side in (0, 5)
    )
    with served(service) as server:
        total = server.client.get("/api/conflicts?severity=low", timeout=300).json()["total"]
        assert total >= 500
        tab = visit(context, server.url)
        tab.go("conflicts?severity=low")
        expect(tab.page.locator(".conflict")).to_have_count(40)
        tab.page.get_by_label("Search").fill("K499")
        expect(tab.page.locator(".conflict")).to_have_count(1)


def test_the_values_of_an_answer_are_shown_by_date(context: BrowserContext, tmp_path: Path) -> None:
    with served(town(tmp_path)) as server:
        tab = visit(context, server.url)
        tab.ask("Who designed the lighthouse?")
        dates = tab.page.locator(".timeline-date").all_inner_texts()
    assert dates == sorted(dates)
    assert len(dates) >= 3
