"""Actions of tests on the page, in its users' words."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, Request

AXE = Path(__file__).resolve().parents[2] / "page" / "node_modules" / "axe-core" / "axe.min.js"
_RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


@dataclass(slots=True)
class Visit:
    """A tab at the page: what it asked for elsewhere, and what went wrong in it."""

    page: Page
    url: str
    elsewhere: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def ask(self, question: str) -> None:
        """Put a question, and wait for its answer."""
        self.put(question)
        self.page.wait_for_selector(".verdict")

    def put(self, question: str) -> None:
        """Put a question, and wait for nothing."""
        self.page.fill("#question", question)
        self.page.press("#question", "Enter")

    def go(self, screen: str) -> None:
        """Open a screen by its address."""
        self.page.goto(f"{self.url}/#/{screen}")

    def painted(self) -> None:
        """Wait until the page has painted what it holds."""
        self.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"
        )

    @property
    def answer(self) -> str:
        """The id of the answer that is shown."""
        return self.page.url.partition("#/answer/")[2].partition("?")[0]

    def violations(self) -> list[str]:
        """Return what axe finds, a line each. axe is put in by the browser's own tools, past the page's
        policy.
        """
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text(encoding="utf-8") + "; undefined")
        found = self.page.evaluate("rules => axe.run(document, rules)", _RULES)
        return [
            f"{each['id']}: {node['target']}: {node['failureSummary']}"
            for each in found["violations"]
            for node in each["nodes"]
        ]


def visit(context: BrowserContext, url: str) -> Visit:
    """Return a new tab at the page."""
    page = context.new_page()
    visited = Visit(page, url)

    def asked(request: Request) -> None:
        if not request.url.startswith((url, "blob:", "data:")):
            visited.elsewhere.append(request.url)

    page.on("request", asked)
    page.on("pageerror", lambda error: visited.errors.append(str(error)))
    page.on(
        "console",
        lambda message: visited.errors.append(message.text) if "Content Security" in message.text else None,
    )
    page.goto(url)
    page.wait_for_selector("#question")
    return visited


LOOKS = tuple((theme, width) for theme in ("light", "dark") for width in (360, 1280))


def flaws(tab: Visit, screen: str) -> list[str]:
    """Return what axe finds on what is shown, in both themes, on a phone and on a desk; and what does not
    fit.
    """
    found = []
    for theme, width in LOOKS:
        tab.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        tab.page.set_viewport_size({"width": width, "height": 800})
        tab.painted()  # what becomes a sheet on a phone covers the rest only once it is painted
        found += [f"{screen}, {theme}, {width}: {line}" for line in tab.violations()]
        wider = tab.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        found += [f"{screen}, {theme}, {width}: {wider} pixels too wide"] if wider > 0 else []
    return found
