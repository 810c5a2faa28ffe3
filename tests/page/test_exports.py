"""An answer as a file, on paper, and in forced colours: all of it is there, and text stays text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import Any

import pypdf
import pytest
from playwright.sync_api import Page, expect

from disputatio.causes import Cause
from disputatio.types import Answer, Citation, Claim, Conflict, Passage, Position
from tests.page.town import QUESTION
from tests.page.views import Visit
from tests.server.ferry import Served

pytestmark = pytest.mark.slow
SOURCES = ("museum.example", "keepers.example", "times.example")


def saved(page: Page, name: str) -> tuple[str, str]:
    """Return the name and the text of a file that is saved from the answer."""
    page.get_by_role("button", name="Save").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=name).click()
    return download.value.suggested_filename, Path(download.value.path()).read_text(encoding="utf-8")


def test_an_answer_is_kept_as_json_as_the_server_has_it(tab: Visit, page: Page, server: Served) -> None:
    tab.ask(QUESTION)
    name, text = saved(page, "JSON")
    assert name == "who-designed-the-lighthouse.json"
    assert json.loads(text) == server.client.get(f"/api/answers/{tab.answer}").json()


def test_an_answer_is_kept_as_markdown_and_as_a_bibliography(tab: Visit, page: Page) -> None:
    tab.ask(QUESTION)
    name, text = saved(page, "Markdown")
    assert name.endswith(".md")
    assert text.startswith("# Who designed the lighthouse?\n\n**Ingrid Vasmer**")
    assert "## Accepted: Ingrid Vasmer" in text
    assert "## Rejected: Barnaby Croll" in text
    assert "<https://museum.example/tower>" in text
    name, text = saved(page, "BibTeX")
    assert name.endswith(".bib")
    entries = re.findall(r"^@online\{([\w-]+),$", text, re.M)
    assert len(entries) == len(set(entries)) == 3
    assert text.count("{") == text.count("}")
    assert "url = {https://museum.example/tower}" in text
    assert "date = {2021-08-09}" in text
    assert all(f"organization = {{{source}}}" in text for source in SOURCES)


class _Elements(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names += [tag, *(name for name, _ in attrs)]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_an_answer_is_kept_as_a_web_page_that_does_nothing(tab: Visit, page: Page, server: Served) -> None:
    attack = "</bdi><img src=x onerror=alert(1)>[a](javascript:1) \\end{x} }\n@online{forged"
    quote = Citation(n=1, passage="p", source=attack, quote=attack, start=0, end=9)
    hostile = Answer(
        question=attack,
        answers=(attack,),
        claims=(Claim(text=attack, citations=(quote,)),),
        conflict=Conflict(
            positions=(
                Position(
                    answer=attack,
                    verdict="rejected",
                    cause=Cause(kind="kept"),
                    passages=("p",),
                    sources=(attack,),
                ),
            )
        ),
        passages=(Passage(id="p", text=attack, source=attack, title=attack, url="javascript:alert(1)"),),
    )
    server.service.answers.keep("ahostile", hostile)
    tab.go("answer/ahostile")
    _, text = saved(page, "Web page")
    elements = _Elements()
    elements.feed(text)
    assert not {"img", "script", "iframe", "onerror", "src", "a"} & set(elements.names)
    assert "<img src=x onerror=alert(1)>" in "".join(elements.words)
    assert "default-src 'none'" in text
    _, text = saved(page, "Markdown")
    assert "<img" not in re.sub(r"\\.", "", text)
    assert not re.search(r"(?<!\\)\[a", text)
    _, text = saved(page, "BibTeX")
    assert re.findall(r"^@(\w+)", text, re.M) == ["online"]
    assert "javascript" not in text.partition("url")[2].partition("}")[0]


def test_an_answer_is_printed_without_what_is_for_the_screen(tab: Visit, page: Page) -> None:
    tab.ask(QUESTION)
    page.emulate_media(media="print")
    for screen in (".top", ".what-if", ".panel", ".passage-acts", ".export", ".question-options"):
        expect(page.locator(screen).first).to_be_hidden()
    text = "".join(each.extract_text() for each in pypdf.PdfReader(BytesIO(page.pdf(format="A4"))).pages)
    plain = " ".join(text.split())
    assert all(word in plain for word in (QUESTION, "Ingrid Vasmer", "Barnaby Croll", "Rejected", *SOURCES))
    assert "Mute" not in plain


def test_in_forced_colours_shapes_replace_colours(tab: Visit, page: Page) -> None:
    tab.ask(QUESTION)
    page.emulate_media(forced_colors="active")
    tab.painted()

    def style(selector: str, name: str) -> Any:
        return page.locator(selector).first.evaluate(f"element => getComputedStyle(element).{name}")

    shapes = {
        verdict: page.locator(f".position.{verdict} .verdict-mark .shape").first.evaluate(
            "element => element.tagName"
        )
        for verdict in ("accepted", "rejected")
    }
    assert shapes == {"accepted": "circle", "rejected": "rect"}
    for verdict in shapes:
        mark = f".position.{verdict} .verdict-mark"
        assert style(f"{mark} .shape", "fill") != style(f"{mark} .sign", "stroke")
    assert style(".share .part", "fill") != style(".share .whole", "fill")
    assert style(".panel mark", "backgroundColor") != style(".panel", "backgroundColor")
    page.locator(".source-row .act").first.click()
    expect(page.locator(".source-row .act[aria-pressed=true]").first).to_be_visible()
    pressed, other = ".source-row .act[aria-pressed=true]", ".source-row .act[aria-pressed=false]"
    assert style(pressed, "backgroundColor") != style(other, "backgroundColor")
    assert tab.violations() == []
