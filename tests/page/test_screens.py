"""Every screen and state: what it shows, and that everybody can use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, FilePayload, Page, expect

import disputatio as d
from disputatio.llm.scripted import NoModel
from disputatio.spending import Price, Prices
from tests.page.town import PASSAGES, QUESTION, reader, town
from tests.page.views import Visit, flaws, visit
from tests.server.ferry import Served, served

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def evaluated(tmp_path: Path) -> Path:
    """A folder of evaluations with one run in which two strategies differ."""
    rows = tmp_path / "rows.jsonl"
    texts = [passage.text for passage in PASSAGES[:2]]
    with rows.open("w", encoding="utf-8") as out:
        for number, gold in enumerate(("Ingrid Vasmer", "Barnaby Croll")):
            row = {
                "question": f"{QUESTION} ({number})",
                "gold": [gold],
                "passages": [{"text": text, "source": f"s{i}.example"} for i, text in enumerate(texts)],
            }
            out.write(json.dumps(row) + "\n")
    folder = tmp_path / "runs" / "coast"
    folder.parent.mkdir(exist_ok=True)
    d.evaluate(f"jsonl:{rows}", strategies=["disputation", "concat"], model=reader(), out=folder)
    return folder


@pytest.mark.parametrize("screen", ["ask", "compare", "sources", "documents", "runs"])
def test_axe_finds_nothing_on_a_screen_in_either_theme_on_a_phone_or_a_desk(tab: Visit, screen: str) -> None:
    tab.go(screen)
    tab.page.wait_for_load_state("networkidle")
    assert flaws(tab, screen) == []


def test_axe_finds_nothing_on_an_answer_with_everything_open(tab: Visit, page: Page) -> None:
    tab.ask(QUESTION)
    page.locator("details").evaluate_all("all => all.forEach(each => { each.open = true })")
    page.wait_for_selector("[data-panel]")
    page.click(".source-row >> nth=0 >> text=Mute")
    page.wait_for_selector(".change-line")
    found = flaws(tab, "answer")
    page.keyboard.press("?")
    page.wait_for_selector("[role=dialog]")
    assert found + flaws(tab, "keys") == []


def test_axe_finds_nothing_on_a_passage_that_is_a_sheet(tab: Visit, page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 800})
    tab.ask(QUESTION)
    page.locator(".positions .quote").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("Ingrid Vasmer")
    assert tab.violations() == []


def test_two_strategies_are_compared_and_the_difference_is_marked(tab: Visit, page: Page) -> None:
    tab.go("compare")
    page.fill("#compared", QUESTION)
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("status").filter(has_text="The answers differ")).to_be_visible()
    expect(page.locator(".compared").first).to_contain_text("Ingrid Vasmer only here")
    expect(page.locator(".compared").last).to_contain_text("No answer")  # its votes fail the scripted check
    assert tab.violations() == []


def test_a_strategy_that_needs_a_model_is_not_compared_without_one(
    context: BrowserContext, tmp_path: Path
) -> None:
    needs = "Needs a language model"
    with served(town(tmp_path, model=NoModel())) as server:
        tab = visit(context, server.url)
        tab.go("compare")
        page = tab.page
        page.fill("#compared", QUESTION)
        second = page.get_by_role("group").filter(has_text="majority_vote")
        expect(second.locator(".hint")).to_contain_text(needs)
        expect(page.get_by_role("button", name="Compare")).to_be_disabled()
        second.get_by_role("button", name="majority_vote Strategy").click()
        blocked = page.get_by_role("option", name="concat")
        expect(blocked).to_contain_text(needs)
        expect(blocked).to_have_attribute("aria-disabled", "true")
        page.get_by_role("option", name="disputation").click()
        expect(page.get_by_role("button", name="Compare")).to_be_enabled()
        assert tab.violations() == []


def test_sources_are_filtered_sorted_and_given_an_owner(tab: Visit, page: Page, server: Served) -> None:
    tab.go("sources")
    expect(page.locator(".rows tbody tr")).to_have_count(len(PASSAGES))
    page.get_by_label("Filter").fill("buzz")
    expect(page.locator(".rows tbody tr")).to_have_count(1)
    page.get_by_role("link", name="buzz.example").click()
    page.get_by_label("Change the owner").fill("Press")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".rows tbody tr")).to_contain_text("Press")
    owners = {row["name"]: row["owner"] for row in server.client.get("/api/sources").json()}
    assert owners["buzz.example"] == "Press"


def test_the_sources_that_agree_are_drawn_and_listed_once_there_are_enough_questions(
    tab: Visit, page: Page, server: Served
) -> None:
    tab.go("sources")
    page.wait_for_selector(".rows")
    expect(page.get_by_role("heading", name="Who agrees")).to_have_count(0)
    for start in ("", "Say: ", "Please: ", "Tell me: ", "Again: "):
        server.ask(f"{start}{QUESTION}")
    page.reload()
    drawn = page.get_by_role("img", name="Lines join sources that agree or differ")
    expect(drawn.locator("line.agree").first).to_be_visible()
    expect(drawn.locator("line.differ").first).to_be_visible()
    rows = page.get_by_role("region", name="Who agrees").locator("tbody tr")
    expect(rows.filter(has_text="keepers.example").filter(has_text="museum.example")).to_contain_text(
        "5 of 5"
    )
    expect(rows.filter(has_text="buzz.example").filter(has_text="museum.example")).to_contain_text("0 of 5")
    listed = page.get_by_role("region", name="Who agrees")
    assert listed.evaluate("each => each.scrollWidth - each.clientWidth") <= 0
    assert flaws(tab, "sources") == []


def test_a_calibration_shows_its_cost_before_it_begins(tab: Visit, page: Page, server: Served) -> None:
    tab.go("sources")
    page.get_by_role("button", name="What it costs").click()
    expect(page.get_by_role("status").filter(has_text="about")).to_contain_text("to 6 sources")
    assert server.service.kit.model.calls == []  # type: ignore[attr-defined]
    expect(page.get_by_role("button", name="Start")).to_be_visible()


def test_files_are_read_into_the_index_and_what_is_refused_is_said(tab: Visit, page: Page) -> None:
    tab.go("documents")
    page.wait_for_selector(".drop")
    files: list[FilePayload] = [
        {"name": "new.txt", "mimeType": "text/plain", "buffer": b"The ferry first crossed in 1887."},
        {"name": "odd.pdf", "mimeType": "application/pdf", "buffer": b"not a pdf"},
    ]
    page.locator("input[type=file]").first.set_input_files(files)
    expect(page.get_by_role("status").filter(has_text="1 document added")).to_be_visible()
    expect(page.locator(".refused")).to_contain_text("odd.pdf")
    expect(page.locator(".rows")).to_contain_text("new.txt")


def test_nothing_can_be_added_where_that_is_not_allowed(context: BrowserContext, tmp_path: Path) -> None:
    with served(town(tmp_path, writing=False)) as server:
        tab = visit(context, server.url)
        tab.go("documents")
        expect(tab.page.locator("main")).to_contain_text("only reads")
        assert tab.page.locator(".drop").count() == 0


def test_a_row_on_which_two_strategies_differ_opens_as_an_answer(
    context: BrowserContext, tmp_path: Path, evaluated: Path
) -> None:
    with served(town(tmp_path)) as server:
        tab = visit(context, server.url)
        tab.go("runs")
        tab.page.get_by_role("link", name="coast").click()
        expect(tab.page.locator("main")).to_contain_text("2 of 2 rows differ")
        tab.page.locator(".rows tbody td a").first.click()
        expect(tab.page.locator(".verdict")).to_be_visible()
        expect(tab.page.locator(".position.accepted .quote").first).to_contain_text(
            "designed by Ingrid Vasmer"
        )
        expect(tab.page.locator(".panel mark")).to_contain_text("Ingrid Vasmer")
        assert tab.violations() == []


def test_the_first_start_shows_the_next_steps(context: BrowserContext, tmp_path: Path) -> None:
    with served(town(tmp_path, passages=())) as server:
        tab = visit(context, server.url)
        expect(tab.page.locator(".start")).to_contain_text("nothing to ask yet")
        tab.page.get_by_role("link", name="Add documents").click()
        expect(tab.page.locator(".drop")).to_be_visible()


def test_the_example_is_opened_on_the_first_start_and_a_question_to_it_is_offered(
    context: BrowserContext, tmp_path: Path
) -> None:
    with served(town(tmp_path, passages=())) as server:
        tab = visit(context, server.url)
        tab.page.get_by_role("button", name="Open the example").click()
        tab.page.get_by_role("button", name="Who designed the Quillhaven lighthouse?").click()
        expect(tab.page.locator("#question")).to_be_focused()
        tab.page.keyboard.press("Enter")
        expect(tab.page.locator(".verdict")).to_be_visible()
        names = {row["name"] for row in server.client.get("/api/sources").json()}
    names.remove("mooring-rules-v2")  # a document that names no source
    assert names == {folder.name for folder in (ROOT / "examples" / "disagreement" / "sources").iterdir()}


def test_the_cost_is_shown_in_money_if_the_price_is_known(tab: Visit, page: Page, server: Served) -> None:
    model = server.service.kit.model
    server.service.prices = Prices(
        origin="your table",
        currency="EUR",
        models={model.name: Price(prompt=1_000.0, completion=4_000.0, cached=None)},
    )
    tab.go("ask")
    page.reload()
    tab.ask(QUESTION)
    page.get_by_text("Cost", exact=True).click()
    usage = server.client.get(f"/api/answers/{tab.answer}").json()["usage"]
    cost = (usage["prompt_tokens"] * 1_000 + usage["completion_tokens"] * 4_000) / 1e6
    shown = page.locator("[data-money]")
    assert float(shown.get_attribute("data-money") or 0) == pytest.approx(cost)
    expect(shown).to_contain_text("\u20ac")
    expect(shown).to_contain_text("by your table")


def test_where_nothing_answers_the_nearest_passages_are_shown(tab: Visit, page: Page) -> None:
    tab.ask("Which lighthouse is the tallest on the drawings of her letters?")
    page.locator(".source-row").first.wait_for()
    for source in ("museum.example", "keepers.example", "times.example", "buzz.example", "facts.example"):
        button = page.locator(f".source-row[data-source='{source}'] >> text=Mute")
        if button.count():
            button.click()
    expect(page.locator(".verdict-none")).to_be_visible()
    expect(page.locator(".nearest li")).not_to_have_count(0)


def test_a_server_that_is_gone_is_said_with_a_way_back(context: BrowserContext, tmp_path: Path) -> None:
    with served(town(tmp_path)) as server:
        tab = visit(context, server.url)
    tab.put(QUESTION)
    expect(tab.page.locator(".trouble")).to_contain_text("The server does not answer")
    expect(tab.page.locator(".trouble").get_by_role("button", name="Retry")).to_be_visible()


def test_the_assets_weigh_less_than_250_kilobytes_but_for_the_reader_of_pdfs() -> None:
    import gzip

    from disputatio.server.app import PAGE

    files = [file for file in PAGE.rglob("*") if file.suffix in (".js", ".css", ".html", ".svg")]
    files = [file for file in files if not file.name.startswith("PdfView")]  # loaded when a PDF is opened
    assert files
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) < 250_000


def test_the_page_comes_under_a_policy_that_allows_nothing_from_elsewhere(server: Served) -> None:
    headers = server.client.get("/").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"
