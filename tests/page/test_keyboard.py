"""By the keyboard alone: every control is reached in order, seen to be reached, and does what it does."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from tests.page.town import QUESTION
from tests.page.views import Visit

pytestmark = pytest.mark.slow

# Controls that can be reached, in the order of the page; a summary opens what it folds.
CONTROLS = """() => [...document.querySelectorAll(
    'a[href], button, input, textarea, select, summary, [tabindex="0"]')]
  .filter(each => !each.disabled && each.tabIndex >= 0 && each.type !== 'file'
    && !each.closest('[hidden], [inert], [aria-hidden=true]')
    && each.checkVisibility({visibilityProperty: true}))
  .map((each, i) => { each.dataset.control = i; return each.outerHTML.slice(0, 90); })"""
FOCUSED = """() => { const each = document.activeElement, style = getComputedStyle(each);
  const line = getComputedStyle(each.closest('.question-line') ?? each);
  return [each.dataset.control ?? '', style.outlineStyle !== 'none' || line.boxShadow !== 'none']; }"""


@pytest.mark.parametrize("screen", ["answer", "compare", "sources", "documents", "runs"])
def test_tab_reaches_every_control_and_shows_where_it_is(tab: Visit, page: Page, screen: str) -> None:
    if screen == "answer":
        tab.ask(QUESTION)
    else:
        tab.go(screen)
        page.wait_for_load_state("networkidle")
    page.evaluate("document.activeElement.blur()")
    controls = page.evaluate(CONTROLS)
    reached: dict[str, bool] = {}
    for _ in range(len(controls) + 10):
        page.keyboard.press("Tab")
        number, seen = page.evaluate(FOCUSED)
        reached.setdefault(number, seen)
    missed = [control for number, control in enumerate(controls) if str(number) not in reached]
    assert missed == []
    assert [controls[int(number)] for number, seen in reached.items() if number and not seen] == []


def test_a_question_is_asked_read_and_kept_without_a_mouse(tab: Visit, page: Page) -> None:
    press = page.keyboard.press
    press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    press("Enter")
    press("/")
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.type(QUESTION)
    press("Enter")
    expect(page.locator(".verdict-answers")).to_have_text("Ingrid Vasmer")
    press("Escape")  # leaves the field
    press("j")
    expect(page.locator(".quote[aria-expanded=true]")).to_be_focused()
    press("m")
    expect(page.locator(".what-changed")).to_contain_text("5 of 6 passages counted")
    press("m")
    expect(page.locator(".what-changed")).to_have_count(0)
    press("p")
    expect(page.locator(".what-changed")).to_contain_text("of 6 passages counted")
    press("p")
    press("2")
    expect(page.locator("#position-2")).to_be_focused()
    press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Save").focus()
    press("Enter")
    expect(page.get_by_role("menu")).to_be_visible()
    press("ArrowDown")
    with page.expect_download() as download:
        for _ in range(6):
            if page.evaluate("document.activeElement.textContent") == "JSON":
                break
            press("ArrowDown")
        press("Enter")
    assert json.loads(download.value.path().read_text(encoding="utf-8"))["question"] == QUESTION


def test_a_strategy_is_chosen_by_the_keyboard(tab: Visit, page: Page) -> None:
    choice = page.locator(".field", has_text="Strategy").get_by_role("button")
    expect(choice).to_contain_text("disputation")  # the list has come: without it nothing opens
    choice.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("listbox")).to_be_visible()
    # Few keys: what was typed is forgotten after a second, which a busy machine may take.
    page.keyboard.type("con")
    expect(page.get_by_role("option", name="concat")).to_be_focused()
    page.keyboard.press("Enter")
    expect(choice).to_contain_text("concat")
