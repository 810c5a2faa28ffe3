"""Documents on the page: found, opened at a quote, described, deleted and put back; and files put in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from disputatio.api.indexing import Index
from disputatio.store.ingesting.documents import Document
from tests.page.archive import QUOTE, archive
from tests.page.town import town
from tests.page.views import Visit, flaws, visit
from tests.server.ferry import Served, served

pytestmark = pytest.mark.slow


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(archive(tmp_path)) as running:
        yield running


def row_of(server: Served, file: str, row: int = 0) -> str:
    """Return the id of a document."""
    rows = server.client.get("/api/documents?limit=1000").json()["documents"]
    return str(next(each["id"] for each in rows if (each["file"], each["row"]) == (file, row)))


def place_of(server: Served, file: str, words: str) -> str:
    """Return the address of some words of a document."""
    document = row_of(server, file)
    text = server.client.get(f"/api/documents/{document}").json()["text"]
    start = " ".join(text.split("\n")).index(words)
    return f"documents/{document}?start={start}&end={start + len(words)}"


def test_the_list_is_searched_filtered_and_sorted_and_its_address_keeps_that(tab: Visit, page: Page) -> None:
    tab.go("documents")
    expect(page.locator(".rows tbody tr")).to_have_count(7)
    heads = page.locator(".rows thead th").all_inner_texts()
    assert "Owner" not in heads  # nobody has one
    page.get_by_label("Search").fill("harbour rules")
    expect(page.locator(".rows tbody tr")).to_have_count(2)
    page.get_by_role("button", name="Date").click()
    page.get_by_role("button", name="Date").click()
    expect(page.locator(".rows tbody tr").first).to_contain_text("harbour-rules-v2.pdf")
    expect(page.locator(".rows tbody tr").last).to_contain_text("superseded")
    page.reload()
    expect(page.locator(".rows tbody tr").first).to_contain_text("harbour-rules-v2.pdf")
    assert flaws(tab, "documents") == []


def test_a_pdf_opens_at_its_page_with_the_words_marked_and_the_address_survives_a_reload(
    tab: Visit, page: Page, server: Served
) -> None:
    tab.go(place_of(server, "harbour-rules-v2.pdf", QUOTE))
    for _ in range(2):
        expect(page.locator(".pdf-page[data-painted='2']")).to_be_visible()
        expect(page.locator(".pdf-mark")).to_have_count(2)  # the words go over the end of a line
        expect(page.get_by_text("Page 2 of 2")).to_be_visible()
        page.reload()
    assert tab.errors == []
    assert tab.elsewhere == []
    page.get_by_role("button", name="Text", exact=True).click()
    expect(page.locator("mark").first).to_contain_text("The mooring fee is 15")


def test_the_reader_of_pdfs_is_loaded_only_for_a_pdf(tab: Visit, page: Page, server: Served) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    tab.go(place_of(server, "harbour-rules-2019.md", "The mooring fee is 12 EUR"))
    expect(page.locator("mark")).to_have_text("The mooring fee is 12 EUR")
    assert not [url for url in asked if "pdf" in url.lower()]


def test_a_row_of_a_table_is_marked_among_its_neighbours(tab: Visit, page: Page, server: Served) -> None:
    tab.go(f"documents/{row_of(server, 'fares.csv', 3)}")
    expect(page.locator(".marked-row")).to_contain_text("Harbour")
    expect(page.locator(".source-rows-table tbody tr")).to_have_count(3)
    assert flaws(tab, "a row") == []


def test_a_web_page_is_drawn_as_text_and_nothing_of_it_runs(tab: Visit, page: Page, server: Served) -> None:
    tab.go(f"documents/{row_of(server, 'visitors.html')}")
    expect(page.locator(".rendition")).to_contain_text("The lighthouse opens at ten")
    assert page.evaluate("window.hit") is None
    assert tab.errors == []


@pytest.mark.parametrize(
    ("form", "part"),
    [
        ("Plain text", "The mooring fee is 12 EUR a night”"),
        ("Markdown", "> The mooring fee is 12 EUR a night"),
        ("BibTeX", "date = {2019-04-01}"),
        ("CSL-JSON", '"date-parts"'),
    ],
)
def test_a_citation_is_copied(
    context: BrowserContext, tab: Visit, page: Page, server: Served, form: str, part: str
) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.go(place_of(server, "harbour-rules-2019.md", "The mooring fee is 12 EUR a night"))
    page.get_by_role("button", name="Copy a citation").click()
    page.get_by_role("menuitem", name=form).click()
    expect(page.get_by_text("Citation copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert part in copied
    if form == "CSL-JSON":
        assert json.loads(copied)[0]["issued"] == {"date-parts": [[2019, 4, 1]]}


def test_a_date_is_stated_and_taken_back(tab: Visit, page: Page, server: Served) -> None:
    document = row_of(server, "harbour-rules-2019.md")
    tab.go(f"documents/{document}")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Date", exact=True).fill("2024-05")
    page.get_by_label("Owner", exact=True).fill("Harbour office")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".about")).to_contain_text("2024-05")
    expect(page.locator(".about")).to_contain_text("Harbour office")
    page.get_by_role("button", name="Take back").click()
    expect(page.locator(".about")).to_contain_text("2019-04-01")
    what = [each["what"] for each in server.client.get("/api/changes").json()]
    assert what == ["taken back", "stated"]


def test_a_document_is_muted_deleted_and_put_back(tab: Visit, page: Page, server: Served) -> None:
    document = row_of(server, "visitors.html")
    tab.go(f"documents/{document}")
    page.get_by_role("button", name="Mute", exact=True).click()
    expect(page.locator("h1 .tag")).to_have_text("muted")
    assert not server.client.get("/api/search", params={"q": "September"}).json()
    page.get_by_role("button", name="Unmute").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("status").filter(has_text="is deleted")).to_be_visible()
    expect(page.locator(".rows tbody tr")).to_have_count(6)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".rows tbody tr")).to_have_count(7)
    page.get_by_text("Changes", exact=True).click()
    expect(page.locator(".changes")).to_contain_text("Deleted")
    assert server.client.get(f"/api/documents/{document}").status_code == 200


def test_a_draft_is_marked_as_one_and_not_as_superseded(
    tab: Visit, page: Page, server: Served, tmp_path: Path
) -> None:
    draft = tmp_path / "harbour-rules-v3.md"
    draft.write_text(
        "# Harbour rules, version 3\n\nStatus: draft\n\nThe mooring fee is 20 EUR.", encoding="utf-8"
    )
    Index.open(tmp_path / "harbour.index").ingest(draft)
    tab.go("documents?state=draft")
    expect(page.locator(".rows tbody tr")).to_have_count(1)
    expect(page.locator(".rows tbody tr .tag")).to_have_text("draft")


def test_a_newer_file_stands_in_the_place_of_a_document(
    tab: Visit, page: Page, server: Served, tmp_path: Path
) -> None:
    document = row_of(server, "visitors.html")
    newer = tmp_path / "guests.txt"
    newer.write_text("Swimming in the basin is allowed all year.", encoding="utf-8")
    tab.go(f"documents/{document}")
    page.locator(".document-acts input[type=file]").set_input_files(newer)
    expect(page.get_by_role("status").filter(has_text="stands in the place")).to_be_visible()
    expect(page.locator("h1 .tag")).to_have_text("superseded")
    expect(page.locator(".about")).to_contain_text("guests")


def test_a_folder_is_put_in_with_each_file_told_of(
    tab: Visit, page: Page, server: Served, tmp_path: Path
) -> None:
    folder = tmp_path / "harbour"
    for part in ("north", "south"):
        (folder / part).mkdir(parents=True)
        (folder / part / "README.txt").write_text(f"The {part} quay has nine berths.", encoding="utf-8")
    (folder / "scan.pdf").write_bytes(b"no pdf")
    (folder / ".hidden").write_text("x", encoding="utf-8")
    tab.go("documents")
    page.locator("input[webkitdirectory]").set_input_files(folder)
    expect(page.get_by_role("status").filter(has_text="2 files read, 1 refused")).to_be_visible()
    expect(page.locator(".upload-files li")).to_have_count(3)
    expect(page.locator(".refused")).to_contain_text("is not a readable PDF file")
    texts = [hit["passage"]["text"] for hit in server.client.get("/api/search?q=quay+nine+berths").json()]
    assert {"The north quay has nine berths.", "The south quay has nine berths."} <= set(texts)
    page.reload()
    expect(page.locator(".refused")).to_contain_text("scan.pdf")  # on record
    expect(page.locator(".refused")).to_contain_text("save it anew, and drop it here again")
    page.get_by_role("button", name="Clear the list").click()
    expect(page.locator(".refused")).to_have_count(0)


def test_two_thousand_documents_are_listed_without_a_stutter(context: BrowserContext, tmp_path: Path) -> None:
    service = town(tmp_path, passages=())
    assert isinstance(service.index, Index)
    service.index.add(
        Document(
            text=f"Berth {k} is {k % 40} metres long.",
            path=f"/b/berth-{k}.txt",
            source=f"s{k % 50}",
            date="2020",
        )
        for k in range(2_000)
    )
    with served(service) as server:
        tab = visit(context, server.url)
        tab.go("documents")
        expect(tab.page.locator(".rows tbody tr")).to_have_count(100)
        expect(tab.page.get_by_text("Page 1 of 20").first).to_be_visible()
        tab.page.get_by_label("Search").fill("berth-1999")
        expect(tab.page.locator(".rows tbody tr")).to_have_count(1)
