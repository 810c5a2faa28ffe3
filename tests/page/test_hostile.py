"""Hostile text on the page: scripts, links, images, directions, controls, endless words, forged citations."""

from __future__ import annotations

from itertools import product

import pytest
from playwright.sync_api import Page, expect

from disputatio.causes import Cause
from disputatio.types import (
    Answer,
    Basis,
    Certificate,
    Citation,
    Claim,
    Conflict,
    Passage,
    Position,
    PositionVerdict,
    Reply,
    Source,
)
from tests.page.views import Visit
from tests.server.ferry import Served

pytestmark = pytest.mark.slow

ATTACKS = (
    "<script>window.hit = 1</script>",
    "<img src=http://evil.example/a.png onerror='window.hit=1'>",
    "<svg onload=window.hit=1><style>*{display:none}</style>",
    "![pixel](http://evil.example/p.png) [click](javascript:window.hit=1)",
    "</bdi></main><iframe src='http://evil.example'></iframe>",
    "{{constructor.constructor('window.hit=1')()}} ${window.hit=1}",
    "\u202e\u2066 esrever \u2069 \u200b\u200e\x1b[31m \x07",
    "supported [1][2][3] citation n=1 \u2713 Accepted",
    "\U0001f3f3\ufe0f\u200d\U0001f308" * 40,
    "Z\u0336\u0341\u0353a\u0334\u0301l\u0335\u0352g\u0336\u0310o" * 30,
    "&lt;script&gt; &#x3c;b&#x3e; %3Cscript%3E \\u003cscript\\u003e",
    "javascript:window.hit=1//http://a.example",
    "data:text/html,<script>parent.hit=1</script>",
)
URLS = (
    "javascript:window.hit=1",
    "data:text/html,<script>1</script>",
    "http://evil.example/<script>",
    "//evil.example",
    "https://evil.example/?q=\u202e",
    " JaVaScRiPt:alert(1)",
)


def hostile(number: int, attack: str, url: str) -> Passage:
    """Return a passage that is hostile in its text, title, source, owner, date and address."""
    return Passage(
        id=f"h{number}",
        text=f"The lighthouse was designed by Nobody Knows. {attack} {number} lighthouse",
        source=f"{attack[:60]} {number}",
        owner=attack[:40],
        title=attack,
        url=url,
        date=attack[:12],
    )


HOSTILE = tuple(hostile(number, *both) for number, both in enumerate(product(ATTACKS * 7, URLS)))[:500]
TOGETHER = 20  # passages of one position


def forged() -> Answer:
    """Return an answer in which every text that a document or a model can choose is hostile."""
    groups = [HOSTILE[start : start + TOGETHER] for start in range(0, len(HOSTILE), TOGETHER)]
    verdicts: tuple[PositionVerdict, ...] = ("accepted", "rejected", "unresolved")
    return Answer(
        question=" ".join(ATTACKS[:6]),
        answers=ATTACKS[:3],
        text="\n".join(ATTACKS),
        claims=tuple(
            Claim(
                text=attack,
                citations=(
                    Citation(n=n, passage=f"h{n}", source=attack, quote=attack, start=-n, end=10**9),
                    Citation(n=n, passage=f"h{n}", source=attack, quote="The light", start=0, end=9),
                    Citation(n=n, passage="nowhere", source="", quote=attack, start=5, end=2),
                ),
                verdict="contradicted",
            )
            for n, attack in enumerate(ATTACKS, 1)
        ),
        conflict=Conflict(
            kind="misinformation",
            positions=tuple(
                Position(
                    answer=ATTACKS[n % len(ATTACKS)],
                    verdict=verdicts[n % 3],
                    cause=Cause(kind="kept", remark=ATTACKS[(n + 1) % len(ATTACKS)]),
                    subject=ATTACKS[(n + 2) % len(ATTACKS)],
                    aliases=ATTACKS[:3],
                    passages=tuple(each.id for each in group),
                    sources=tuple(each.source for each in group),
                    moved={ATTACKS[0]: 1.0},
                )
                for n, group in enumerate(groups)
            ),
        ),
        certificate=Certificate(owners=1, voters=3, names=ATTACKS[:2]),
        strategy=ATTACKS[0],
        model=ATTACKS[1],
        passages=HOSTILE,
        replies=tuple(
            Reply(passages=(each.id,), answer=each.title, quote=each.title, subject=each.title)
            for each in HOSTILE[:60]
        ),
        rounds=2,
        basis=Basis(sources=tuple(Source(name=each.source, owner=each.owner) for each in HOSTILE[:40])),
    )


def test_five_hundred_hostile_passages_do_nothing(tab: Visit, page: Page, server: Served) -> None:
    server.service.answers.keep("aforged", forged())
    tab.go("answer/aforged")
    page.wait_for_selector(".verdict")
    page.locator(".position .quiet-button").evaluate_all("all => all.forEach(each => each.click())")
    expect(page.locator(".passage-card")).to_have_count(500)
    page.locator("details").evaluate_all("all => all.forEach(each => { each.open = true })")
    for quote in page.locator(".quote").all()[:13]:
        quote.click()
    for mark in page.locator(".cite").all()[:13]:
        mark.click()
    assert page.evaluate("window.hit") is None
    assert page.locator("main script, main iframe, main img, main style, main object").count() == 0
    links = page.evaluate("[...document.querySelectorAll('main a')].map(a => [a.protocol, a.rel, a.target])")
    assert all(protocol in ("http:", "https:") for protocol, _, _ in links)
    assert all(rel == "noopener noreferrer" for _, rel, target in links if target == "_blank")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    assert tab.elsewhere == []
    assert tab.errors == []


COLLECT = """
window.violations = [];
document.addEventListener('securitypolicyviolation', event =>
  window.violations.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`));
"""


def test_the_policy_reports_no_violation_by_hostile_text_and_one_by_a_sink(
    tab: Visit, page: Page, server: Served
) -> None:
    server.service.answers.keep("aforged", forged())
    page.add_init_script(COLLECT)
    page.reload()
    for screen in ("answer/aforged", "sources", "documents", ""):
        tab.go(screen)
        tab.painted()
    tab.go("answer/aforged")
    page.wait_for_selector(".verdict")
    page.locator(".position .quiet-button").evaluate_all("all => all.forEach(each => each.click())")
    page.locator("details").evaluate_all("all => all.forEach(each => { each.open = true })")
    tab.painted()
    assert page.evaluate("window.violations") == []
    assert page.evaluate("window.hit") is None
    # What text could do if it became markup is refused, and reported: the collector works.
    page.evaluate("() => { try { document.body.innerHTML = '<img src=x onerror=window.hit=1>' } catch {} }")
    page.evaluate("() => { const s = document.createElement('img'); s.src = 'http://evil.example/x.png';"
                  " document.body.append(s) }")  # fmt: skip
    page.wait_for_function("window.violations.length >= 2")
    assert page.evaluate("window.hit") is None


def test_a_word_of_a_megabyte_breaks_nothing(tab: Visit, page: Page, server: Served) -> None:
    word = "w" * 1_000_000
    text = f"{word} The lighthouse was designed by Ingrid Vasmer. {word}"
    cited = Citation(n=1, passage="long", source=word, quote="Ingrid Vasmer", start=1_000_032, end=1_000_045)
    kept = Answer(
        question=word[:30_000],
        answers=(word,),
        claims=(Claim(text=word, citations=(cited,)),),
        conflict=Conflict(
            positions=(
                Position(answer=word, verdict="accepted", cause=Cause(kind="kept"), passages=("long",)),
            )
        ),
        passages=(Passage(id="long", text=text, source=word, title=word),),
    )
    server.service.answers.keep("along", kept)
    tab.go("answer/along")
    expect(page.locator("[data-panel=long] mark")).to_have_text("Ingrid Vasmer")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_a_hostile_question_is_text(tab: Visit, page: Page) -> None:
    for attack in ATTACKS[:6]:
        page.goto("about:blank")
        tab.go("ask")
        tab.put(f"lighthouse {attack}")
        page.wait_for_selector(".verdict, .trouble")
    assert page.evaluate("window.hit") is None
    assert page.locator("main script, main iframe, main img, main style").count() == 0
    assert (tab.elsewhere, tab.errors) == ([], [])
