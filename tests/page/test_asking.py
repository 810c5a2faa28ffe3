"""Asking on the page: what streams, what is shown, what is cited, and how it is stopped."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from disputatio.llm.scripted import Scripted
from disputatio.server.options import Limits
from disputatio.types import Passage
from tests.page.town import PASSAGES, QUESTION, says, town
from tests.page.views import Visit, visit
from tests.server.ferry import Served, served

pytestmark = pytest.mark.slow


def test_an_answer_is_shown_with_its_positions_passages_and_copies(tab: Visit) -> None:
    tab.ask(QUESTION)
    expect(tab.page.locator(".verdict-answers")).to_have_text("Ingrid Vasmer")
    expect(tab.page.locator(".position.accepted .passage-card")).to_have_count(3)
    expect(tab.page.locator(".position.rejected .bracket-label")).to_contain_text("2 passages, 1 vote")
    expect(tab.page.locator(".position.rejected .position-reason")).to_contain_text("Ingrid Vasmer")
    assert tab.errors == []
    assert tab.elsewhere == []


def test_every_citation_marks_exactly_the_characters_that_are_cited(tab: Visit, server: Served) -> None:
    tab.ask(QUESTION)
    answer = server.client.get(f"/api/answers/{tab.answer}").json()
    texts = {passage["id"]: passage["text"] for passage in answer["passages"]}
    cited = [citation for claim in answer["claims"] for citation in claim["citations"]]
    assert len(cited) == 3
    for citation in cited:
        tab.page.click(f".cite[data-cite='{citation['n']}']")
        expect(tab.page.locator(f"[data-panel='{citation['passage']}'] mark")).to_have_text(citation["quote"])
        before = tab.page.evaluate(
            "() => { const mark = document.getElementById('quoted'); const range = document.createRange();"
            " range.setStart(mark.parentElement, 0); range.setEndBefore(mark); return range.toString(); }"
        )
        assert before == texts[citation["passage"]][: citation["start"]]


def test_a_passage_is_shown_with_its_page_its_link_and_what_was_taken_out(tab: Visit) -> None:
    tab.ask(QUESTION)
    tab.page.click("[data-passage=times1] .quote")
    expect(tab.page.locator(".panel")).to_contain_text("page 4")
    expect(tab.page.locator(".panel")).to_contain_text("12 hidden characters taken out")
    tab.page.click("[data-passage=museum1] .quote")
    link = tab.page.locator(".panel a.address")
    expect(link).to_have_attribute("href", "https://museum.example/tower")
    expect(link).to_have_attribute("rel", "noopener noreferrer")


def test_stop_ends_the_calls_and_shows_what_had_been_read(context: BrowserContext, tmp_path: Path) -> None:
    with served(town(tmp_path, delay=0.4)) as server:
        tab = visit(context, server.url)
        tab.put(QUESTION)
        tab.page.wait_for_selector(".readings .tick")
        tab.page.get_by_role("button", name="Stop").click()
        expect(tab.page.locator(".status")).to_contain_text("Stopped")
        tab.page.wait_for_timeout(600)
        made = len(server.service.kit.model.calls)  # type: ignore[attr-defined]
        tab.page.wait_for_timeout(1_000)
        assert len(server.service.kit.model.calls) == made  # type: ignore[attr-defined]
        assert server.client.get("/api/ready").json()["running"] == 0


def test_a_reload_in_the_midst_of_an_answer_follows_it_to_its_end(
    context: BrowserContext, tmp_path: Path
) -> None:
    with served(town(tmp_path, delay=0.3)) as server:
        tab = visit(context, server.url)
        tab.put(QUESTION)
        tab.page.wait_for_selector(".readings .tick")
        tab.page.reload()
        expect(tab.page.locator(".verdict-answers")).to_have_text("Ingrid Vasmer")
        expect(tab.page.locator("#question")).to_have_value(QUESTION)


def test_an_answer_is_found_again_by_its_address(tab: Visit, context: BrowserContext) -> None:
    tab.ask(QUESTION)
    other = context.new_page()
    other.goto(tab.page.url)
    expect(other.locator(".verdict-answers")).to_have_text("Ingrid Vasmer")


def test_two_tabs_have_their_own_questions(context: BrowserContext, server: Served) -> None:
    one, other = visit(context, server.url), visit(context, server.url)
    one.put(QUESTION)
    other.put("Who designed the lighthouse, in short?")
    expect(one.page.locator(".verdict-answers")).to_have_text("Ingrid Vasmer")
    expect(other.page.locator(".verdict-answers")).to_have_text("Ingrid Vasmer")
    assert one.answer != other.answer
    expect(one.page.locator("#question")).to_have_value(QUESTION)


def test_fifty_passages_and_a_text_from_right_to_left_are_shown(
    context: BrowserContext, tmp_path: Path
) -> None:
    many = tuple(
        Passage(
            id=f"w{n}",
            text=f"Note {n}: the lighthouse was designed by Ingrid Vasmer, says note {n}.",
            source=f"w{n}.example",
        )
        for n in range(50)
    )
    with served(town(tmp_path, passages=(*PASSAGES, *many))) as server:
        tab = visit(context, server.url)
        tab.ask(QUESTION)
        expect(tab.page.locator(".verdict-answers")).to_have_text("Ingrid Vasmer")
        assert tab.errors == []


def test_the_keys_go_through_quotes_and_positions(tab: Visit, page: Page) -> None:
    tab.ask(QUESTION)
    page.locator("main").focus()
    page.keyboard.press("j")
    first = page.locator(".quote[aria-expanded=true]").get_attribute("data-quote")
    page.keyboard.press("j")
    assert page.locator(".quote[aria-expanded=true]").get_attribute("data-quote") != first
    page.keyboard.press("k")
    assert page.locator(".quote[aria-expanded=true]").get_attribute("data-quote") == first
    page.keyboard.press("2")
    expect(page.locator("#position-2")).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("next and previous quote")


def test_the_best_sentences_are_shown_before_anything_is_read(
    context: BrowserContext, tmp_path: Path
) -> None:
    with served(town(tmp_path, delay=2.0)) as server:
        tab = visit(context, server.url)
        tab.put(QUESTION)
        row = tab.page.locator(".readings li", has_text="museum.example")
        expect(row.locator(".reading-sentence")).to_have_text(
            "The lighthouse was designed by Ingrid Vasmer in 1881."
        )
        expect(tab.page.get_by_role("timer")).to_contain_text("s")
        assert tab.page.locator(".readings .read").count() == 0
        expect(row).to_have_class("tick read")
        expect(row).to_contain_text("The tower and its maker")
        assert tab.violations() == []
        tab.page.get_by_role("button", name="Stop").click()


def test_the_first_escape_in_the_question_stops_the_answer(context: BrowserContext, tmp_path: Path) -> None:
    with served(town(tmp_path, delay=0.6)) as server:
        tab = visit(context, server.url)
        tab.put(QUESTION)
        tab.page.wait_for_selector(".readings .tick")
        expect(tab.page.locator("#question")).to_be_focused()
        tab.page.keyboard.press("Escape")
        expect(tab.page.locator(".status")).to_contain_text("Stopped")


def test_a_question_that_waits_shows_its_place(context: BrowserContext, tmp_path: Path) -> None:
    with served(town(tmp_path, delay=1.0, limits=Limits(in_flight=1))) as server:
        one, other = visit(context, server.url), visit(context, server.url)
        one.put(QUESTION)
        one.page.wait_for_selector(".readings .tick")
        other.put(QUESTION)
        expect(other.page.locator(".status")).to_contain_text("place 1 in the queue")
        one.page.keyboard.press("Escape")
        expect(other.page.locator(".readings .tick").first).to_be_visible()
        other.page.keyboard.press("Escape")


def test_an_answer_can_be_had_from_what_was_read_by_now(context: BrowserContext, tmp_path: Path) -> None:
    with served(town(tmp_path, model=_stuck())) as server:
        tab = visit(context, server.url)
        tab.page.route("**/api/strategies", _late)
        tab.page.reload(wait_until="commit")
        tab.put(QUESTION)  # before the page knows which strategy answers
        tab.page.get_by_role("button", name="Answer with what was read").click()
        expect(tab.page.locator(".verdict")).to_be_visible()
        answer = server.client.get(f"/api/answers/{tab.answer}").json()
        assert answer["read"]["late"]


def _late(route: Route) -> None:
    """Let a request go on after a second."""
    time.sleep(1)
    route.continue_()


def _stuck() -> Scripted:
    """Return a model that reads two passages at once, and the next ones very slowly."""
    asked: list[str] = []

    def reads(prompt: str) -> str:
        asked.append(prompt)
        if len(asked) > 2:
            time.sleep(20)
        return says(prompt)

    return Scripted(reads, choices=lambda _: {"Yes": 0.9, "No": 0.1}, name="script")
