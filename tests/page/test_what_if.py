"""Deciding again without some of the evidence equals a fresh run, and makes no call."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from disputatio.types import Passage
from tests.page.town import PASSAGES, QUESTION
from tests.page.views import Visit
from tests.server.ferry import Served

pytestmark = pytest.mark.slow
CASES = 200  # all of them different
MORE = (
    Passage(
        id="guild1",
        text="The guild's rolls: the lighthouse was designed by Otto Brandt.",
        source="guild.example",
    ),
    Passage(
        id="letter1",
        text="My mother always said the lighthouse was designed by Otto Brandt, and she was there.",
        source="letter.example",
        date="1902-03-01",
        date_origin="stated",
    ),
)


def decided(answer: Mapping[str, Any]) -> tuple[object, ...]:
    """Return what an answer says: its answers, and who stands where."""
    positions = {
        (each["answer"], each["verdict"], tuple(sorted(each["passages"])))
        for each in answer["conflict"]["positions"]
    }
    return tuple(answer["answers"]), answer["abstained"], answer["conflict"]["kind"], frozenset(positions)


def test_what_if_equals_a_fresh_run_without_those_passages_and_makes_no_call(server: Served) -> None:
    pick = random.Random(22)
    given = [passage.to_dict() for passage in (*PASSAGES, *MORE)]
    for passage in given:
        for name in ("page", "document", "start", "end"):
            passage.pop(name, None)
    asked = server.ask(QUESTION, passages=given)
    calls = server.service.kit.model.calls  # type: ignore[attr-defined]
    names = [passage["id"] for passage in given]
    cases: set[frozenset[str]] = set()
    while len(cases) < CASES:
        cases.add(frozenset(pick.sample(names, pick.randint(1, len(names) - 1))))
    for left_out in sorted(map(sorted, cases)):
        made = len(calls)
        without = server.client.post(
            f"{asked.headers['content-location']}/without", json={"passages": left_out}
        )
        assert without.status_code == 200
        assert len(calls) == made
        rest = [passage for passage in given if passage["id"] not in left_out]
        fresh = server.ask(QUESTION, passages=rest)
        assert decided(without.json()) == decided(fresh.json()), left_out


def test_muting_sources_resorts_the_columns_and_shows_the_changes(
    tab: Visit, page: Page, server: Served
) -> None:
    tab.ask(QUESTION)
    calls = len(server.service.kit.model.calls)  # type: ignore[attr-defined]
    for source in ("museum.example", "keepers.example", "times.example"):
        page.click(f".source-row[data-source='{source}'] >> text=Mute")
    expect(page.locator(".verdict-answers")).to_have_text("Barnaby Croll")
    expect(page.locator(".what-changed")).to_contain_text("The answer becomes “Barnaby Croll”")
    expect(page.locator(".position")).to_have_count(1)
    assert len(server.service.kit.model.calls) == calls  # type: ignore[attr-defined]
    assert "mute=museum.example" in page.url
    page.reload()
    expect(page.locator(".verdict-answers")).to_have_text("Barnaby Croll")
    page.get_by_role("button", name="As it was").click()
    expect(page.locator(".verdict-answers")).to_have_text("Ingrid Vasmer")


def test_only_what_is_pinned_counts(tab: Visit, page: Page) -> None:
    tab.ask(QUESTION)
    page.click(".source-row[data-source='buzz.example'] >> text=Pin")
    expect(page.locator(".verdict-answers")).to_have_text("Barnaby Croll")
    expect(page.locator(".what-changed")).to_contain_text("1 of 6 passages counted")


def test_dates_and_owners_bound_the_passages_that_count(tab: Visit, page: Page) -> None:
    tab.ask(QUESTION)
    page.get_by_label("Dated to").fill("2022-01-01")
    expect(page.locator(".what-changed")).to_contain_text("3 of 6 passages counted")
    page.get_by_role("button", name="Mute owner City").click()
    expect(page.locator(".what-changed")).to_contain_text("2 of 6 passages counted")
    expect(page.locator(".verdict-answers")).to_have_text("Ingrid Vasmer")


def test_a_muted_source_is_muted_by_key(tab: Visit, page: Page) -> None:
    tab.ask(QUESTION)
    page.locator("main").focus()
    page.keyboard.press("j")
    page.keyboard.press("m")
    expect(page.locator(".what-changed")).to_contain_text("5 of 6 passages counted")


def test_where_the_model_would_read_anew_it_is_asked_again_on_request(tab: Visit, page: Page) -> None:
    page.get_by_role("button", name="disputation").click()
    page.get_by_role("option", name="concat").click()
    tab.ask(QUESTION)
    page.click(".source-row[data-source='buzz.example'] >> text=Mute")
    expect(page.locator(".what-changed")).to_contain_text("would have to read this again")
    first = tab.answer
    page.get_by_role("button", name="Ask again with what is left").click()
    expect(page.locator(".source-row[data-source='museum.example']")).to_be_visible()
    page.wait_for_function("id => !location.hash.includes(id)", arg=first)
    expect(page.locator(".source-row[data-source='buzz.example']")).to_have_count(0)


def test_what_changes_is_in_view_where_a_passage_is_muted(tab: Visit, page: Page, server: Served) -> None:
    tab.ask(QUESTION)
    card = page.locator("[data-passage=buzz1]")
    card.get_by_role("button", name="Mute").click()
    page.get_by_role("menuitem", name="Mute this passage").click()
    notice = page.locator(".what-changed")
    expect(notice).to_contain_text("5 of 6 passages counted")
    expect(notice).to_be_in_viewport()
    assert "passage=buzz1" in page.url
    page.reload()
    expect(page.locator("#verdict-title")).to_contain_text("not as it was given")
    expect(page.locator(".what-changed")).to_contain_text("Without a passage of buzz.example")
    page.get_by_role("button", name="Take back: buzz.example").click()
    expect(page.locator(".what-changed")).to_have_count(0)
    assert server.service.answers.count() == 1


def test_only_sources_that_gave_an_answer_can_be_pinned(tab: Visit, page: Page, server: Served) -> None:
    tab.ask(QUESTION)
    expect(page.locator(".source-row")).to_have_count(5)
    expect(page.locator(".what-if")).to_contain_text("1 other source gave no answer")
    answer = server.service.answers.answer(tab.answer)
    assert answer.basis is not None
    unread = Passage(id="far1", source="far.example", text="The lighthouse of Orrin was designed by nobody.")
    server.service.answers.keep("afar", replace(answer, basis=replace(answer.basis, passages=(unread,))))
    tab.go("answer/afar")
    expect(page.locator(".what-if")).to_contain_text("1 other source gave no answer")


def test_on_a_phone_the_passages_of_what_was_rejected_are_folded(tab: Visit, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    tab.ask(QUESTION)
    expect(page.locator(".position.accepted .quote").first).to_be_visible()
    expect(page.locator(".position.rejected .quote").first).to_be_hidden()
    page.locator(".position.rejected summary").click()
    expect(page.locator(".position.rejected .quote").first).to_be_visible()


def test_on_a_phone_the_name_of_an_owner_is_broken_into_lines(tab: Visit, page: Page, server: Served) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    tab.ask(QUESTION)
    answer = server.service.answers.answer(tab.answer)
    owned = tuple(replace(each, owner="Beekeepers' Cooperative of Upper Fenmoor") for each in answer.passages)
    server.service.answers.keep("owned", replace(answer, passages=owned))
    tab.go("answer/owned")
    expect(page.locator(".what-if-more .act")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
