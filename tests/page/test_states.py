"""Every rare state of the page, in both themes, on a phone and on a desk: axe finds nothing, and all fits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from disputatio.causes import Cause
from disputatio.errors import ServerFault
from disputatio.llm.scripted import Scripted
from disputatio.types import Answer, Claim, Conflict, Passage, Position
from tests.page.town import QUESTION, town
from tests.page.views import Visit, flaws, visit
from tests.server.ferry import Served, served

pytestmark = pytest.mark.slow

MANY = tuple(
    Passage(id=f"w{n}", text=f"Note {n}: Ingrid Vasmer designed it, says note {n}.", source=f"w{n}.example")
    for n in range(50)
)
HEBREW = "\u05de\u05d2\u05d3\u05dc\u05d5\u05e8 \u05e9\u05dc \u05d0\u05d9\u05e0\u05d2\u05e8\u05d9\u05d3"
RIGHT_TO_LEFT = (Passage(id="h", text=HEBREW, source="hebrew.example", title=HEBREW),)
ONE = (Passage(id="p", text="A letter gives no name at all.", source="letter.example"),)


def positions(*passages: Passage) -> tuple[Position, ...]:
    """Return a position a passage, none of them settled."""
    return tuple(
        Position(
            answer=passage.text[:40],
            verdict="unresolved",
            cause=Cause(kind="kept"),
            passages=(passage.id,),
            sources=(passage.source,),
            probability=0.4,
        )
        for passage in passages
    )


STATES = {
    "nothing found": Answer(question=QUESTION, abstained="no_evidence", retrievals=1, strategy="disputation"),
    "abstained": Answer(question=QUESTION, abstained="no_evidence", passages=ONE, strategy="disputation"),
    "disputed": Answer(
        question=QUESTION,
        abstained="conflict",
        conflict=Conflict(kind="unresolved", positions=positions(*MANY[:2])),
        passages=MANY[:2],
        strategy="disputation",
        details={"looked": {"searches": 3, "read": 4, "answered": 1, "changed": False}},
    ),
    "fifty passages": Answer(
        question=QUESTION,
        answers=("Ingrid Vasmer",),
        conflict=Conflict(
            positions=(
                replace(
                    positions(MANY[0])[0],
                    answer="Ingrid Vasmer",
                    verdict="accepted",
                    passages=tuple(each.id for each in MANY),
                ),
            )
        ),
        passages=MANY,
        strategy="disputation",
    ),
    "right to left": Answer(
        question=HEBREW,
        answers=(HEBREW,),
        claims=(Claim(text=HEBREW),),
        conflict=Conflict(positions=(replace(positions(*RIGHT_TO_LEFT)[0], verdict="accepted"),)),
        passages=RIGHT_TO_LEFT,
        strategy="disputation",
    ),
}


@pytest.mark.parametrize("state", STATES)
def test_an_answer_in_a_rare_state_is_for_everybody(tab: Visit, server: Served, state: str) -> None:
    server.service.answers.keep("astate", STATES[state])
    tab.go("answer/astate")
    expect(tab.page.locator(".verdict")).to_be_visible()
    if state == "disputed":
        expect(tab.page.locator(".looked .further")).to_contain_text(
            "3 more searches were made: 4 passages read, 1"
        )
    assert flaws(tab, state) == []


def test_the_first_start_is_for_everybody(context: BrowserContext, tmp_path: Path) -> None:
    for writing in (True, False):
        folder = tmp_path / str(writing)
        folder.mkdir()
        with served(town(folder, passages=(), writing=writing)) as server:
            tab = visit(context, server.url)
            expect(tab.page.locator(".start")).to_contain_text("nothing to ask yet")
            assert flaws(tab, "first start") == []


def test_the_download_of_a_model_is_shown_in_bytes(tab: Visit, page: Page, server: Served) -> None:
    server.service.note("Downloading the model", 300_000_000, 1_100_000_000)
    page.reload()
    expect(page.locator(".banner")).to_contain_text("300 of 1100 MB")
    assert flaws(tab, "loading") == []


def test_an_endpoint_that_is_down_is_shown_with_a_button_to_ask_again(
    context: BrowserContext, tmp_path: Path
) -> None:
    down = Scripted([ServerFault("the endpoint is down", 503)] * 200, name="down")
    with served(town(tmp_path, model=down)) as server:
        tab = visit(context, server.url)
        tab.put(QUESTION)
        expect(tab.page.get_by_role("button", name="Retry")).to_be_visible()
        assert flaws(tab, "endpoint down") == []


def test_a_question_that_was_stopped_is_for_everybody(context: BrowserContext, tmp_path: Path) -> None:
    with served(town(tmp_path, delay=0.4)) as server:
        tab = visit(context, server.url)
        tab.put(QUESTION)
        tab.page.wait_for_selector(".readings .tick")
        tab.page.get_by_role("button", name="Stop").click()
        expect(tab.page.locator(".status")).to_contain_text("Stopped")
        assert flaws(tab, "stopped") == []
