"""The page in German says in German what went wrong and what it waits for; the server's English follows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from disputatio.errors import Unreachable
from disputatio.llm.scripted import Scripted
from tests.page.archive import archive
from tests.page.town import QUESTION, town
from tests.page.views import Visit
from tests.server.ferry import Served, served

pytestmark = pytest.mark.slow
ENGLISH = "the words of the server"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(archive(tmp_path)) as running:
        yield running


@pytest.fixture
def german(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(locale="de-AT", viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


def opened(page: Page, server: Served, screen: str = "ask") -> Page:
    """Return the page, opened at a screen."""
    page.goto(f"{server.url}/#/{screen}")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    return page


def fails(page: Page, path: str, kind: str, status: int) -> None:
    """Let requests to a path fail with a fault of the server."""
    body = json.dumps({"error": {"kind": kind, "message": ENGLISH}})
    page.route(f"**/api/{path}", lambda route: route.fulfill(status=status, body=body))


def expect_said(place: Locator, german: str) -> None:
    """Expect the German words, and after them the server's, which are marked as English."""
    expect(place).to_contain_text(german)
    expect(place.locator("[lang=en]")).to_have_text(ENGLISH)


def test_what_the_server_waits_for(german: Page, server: Served) -> None:
    server.service.note(ENGLISH)
    expect_said(opened(german, server).locator(".banner"), "Wartet auf ein Modell.")
    server.service.note(ENGLISH, 300_000_000, 1_100_000_000)
    german.reload()
    expect_said(german.locator(".banner"), "Ein Modell wird heruntergeladen.")
    expect(german.get_by_role("progressbar")).to_have_accessible_name(
        f"Ein Modell wird heruntergeladen. {ENGLISH}"
    )


def test_a_model_that_is_not_reached_is_not_taken_for_the_server(german: Page, tmp_path: Path) -> None:
    lost = Scripted([Unreachable(ENGLISH)] * 200, name="lost")
    with served(town(tmp_path, model=lost)) as server:
        Visit(opened(german, server), server.url).put(QUESTION)
        expect(german.locator(".trouble")).to_contain_text("Der Modelldienst ist nicht erreichbar.")
        expect(german.locator(".trouble")).not_to_contain_text("disputatio serve")


def test_conflicts_that_cannot_be_saved(german: Page, server: Served) -> None:
    fails(german, "conflicts/export*", "IndexBusy", 409)
    opened(german, server, "conflicts?severity=low")
    german.get_by_role("button", name="Sichern").click()
    german.get_by_role("menuitem", name="JSON").click()
    expect_said(german.get_by_role("alert"), "Der Index wird gerade beschrieben.")


def test_a_file_that_cannot_be_put_in(german: Page, server: Served) -> None:
    fails(german, "ingest", "NoRoom", 507)
    opened(german, server, "documents")
    german.locator("input[type=file]").first.set_input_files(
        {"name": "fee.txt", "mimeType": "text/plain", "buffer": b"The fee is 2 EUR."}
    )
    expect_said(german.locator(".upload .notice"), "Auf der Platte ist kein Platz mehr.")
    expect_said(german.locator(".upload-files li"), "Auf der Platte ist kein Platz mehr.")


@pytest.mark.parametrize("shown", ["pages", "text"])
def test_a_pdf_whose_file_is_gone(german: Page, server: Served, shown: str) -> None:
    fails(german, "documents/*/original", "NotFound", 404)
    rows = server.client.get("/api/documents").json()["documents"]
    pdf = next(row["id"] for row in rows if row["type"] == "pdf")
    opened(german, server, f"documents/{pdf}?as={shown}")
    if shown == "text":
        german.get_by_role("button", name="Original sichern").click()
    expect_said(german.get_by_role("alert"), "Das gibt es hier nicht.")


def test_changes_that_cannot_be_listed_or_undone(german: Page, server: Served) -> None:
    name = server.client.get("/api/documents").json()["documents"][0]["id"]
    assert server.client.delete(f"/api/documents/{name}").status_code == 200
    fails(german, "changes?*", "StoreError", 503)
    opened(german, server, "documents").get_by_text("Änderungen").click()
    expect_said(german.get_by_role("alert"), "Der Index lässt sich nicht lesen oder beschreiben.")
    german.unroute("**/api/changes?*")
    fails(german, "changes/*/undo", "InputError", 400)
    german.get_by_role("button", name="Noch einmal").click()
    german.get_by_role("button", name="Rückgängig").click()
    expect_said(german.locator(".changes").get_by_role("alert"), "Etwas an der Anfrage stimmt nicht.")


def test_a_job_that_failed(german: Page, server: Served) -> None:
    job = {
        "id": "j1",
        "kind": "calibrate",
        "state": "failed",
        "error": {"kind": "LLMError", "message": ENGLISH},
    }
    german.route("**/api/calibrate", lambda route: route.fulfill(json=job))
    german.route("**/api/jobs/j1", lambda route: route.fulfill(json=job))
    opened(german, server, "sources")
    german.get_by_role("button", name="Was es kostet").click()
    expect_said(german.get_by_role("status").filter(has_text=ENGLISH), "Das Modell hat versagt.")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("MustAskAgain", "Das Modell müsste dies neu lesen."),
        ("StoreError", "Der Index lässt sich nicht lesen"),
    ],
)
def test_what_cannot_be_decided_again(german: Page, tmp_path: Path, kind: str, words: str) -> None:
    with served(town(tmp_path)) as server:
        Visit(opened(german, server), server.url).ask(QUESTION)
        fails(german, "answers/*/without", kind, 409)
        german.get_by_role("button", name="stumm schalten").first.click()
        german.get_by_role("menuitem").first.click()
        expect_said(german.locator(".what-changed"), words)
        again = german.get_by_role("button", name="Mit dem Rest neu fragen")
        expect(again).to_have_count(1 if kind == "MustAskAgain" else 0)
