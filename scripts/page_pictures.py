"""Take a picture of every screen of the page: `python -m scripts.page_pictures [--only NAME]...`.

A server of the command line over the example documents, with the encoder alone (`--model none`); Chromium
without a window, at 1440, 1024 and 390 pixels, dark and light. Pictures go to `out/page/`, beside them a
sheet of each width and theme. Chromium has to be on the PATH, and the page built (`make page`).
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, BrowserContext, FilePayload, Page, sync_playwright

from bench.documents.build import pdf
from bench.lib.waiting import process
from disputatio.api.indexing import Index

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out" / "page"
WIDTHS = {1440: 900, 1024: 768, 390: 844}
Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
LIGHTHOUSE = "Who designed the Quillhaven lighthouse?"
QUESTIONS = (
    LIGHTHOUSE,
    "When did the Quillhaven ferry first cross?",
    "How tall is the Quillhaven lighthouse?",
    "What is the population of Tarnwick?",
    "What is the mooring fee at Quillhaven harbour?",
    "When was the Quillhaven lighthouse built?",
)
NOTICE = (
    "# Notice of the harbour office\n\nThe mooring fee at Quillhaven harbour is 18 EUR a night.\n\n"
    "Boats longer than 12 metres moor at the north quay. The office opens at nine.\n"
)


def index_at(folder: Path) -> Path:
    """Make an index of the example documents, and of a PDF."""
    papers = folder / "papers"
    shutil.copytree(ROOT / "examples" / "disagreement" / "sources", papers)
    (papers / "quillhaven-harbour.example" / "notice.pdf").write_bytes(pdf(NOTICE))
    index = Index.open(folder / "town.index")
    index.ingest(papers)
    index.close()
    return folder / "town.index"


def ask(page: Page, question: str) -> None:
    """Put a question on the first screen, and wait for its answer."""
    page.get_by_role("link", name="Ask", exact=True).click()
    page.fill("#question", question)
    page.press("#question", "Enter")
    page.locator(".verdict").wait_for()


def answer(page: Page) -> None:
    """Show an answer whose sources disagree."""
    ask(page, LIGHTHOUSE)


def passage(page: Page) -> None:
    """Show the passage of a quote."""
    ask(page, LIGHTHOUSE)
    page.locator(".position.accepted .quote").first.click()
    page.locator("mark").first.wait_for()


def everything(page: Page) -> None:
    """Show an answer with all that is folded."""
    ask(page, LIGHTHOUSE)
    page.locator("details").evaluate_all("all => all.forEach(each => { each.open = true })")


def what_if(page: Page) -> None:
    """Show an answer without a source."""
    ask(page, LIGHTHOUSE)
    page.locator(".source-row").first.get_by_text("Mute").click()
    page.locator(".change-line").first.wait_for()


def nothing(page: Page) -> None:
    """Show that nothing answers a question."""
    ask(page, "Which painter lived in the town hall?")


def conversation(page: Page) -> None:
    """Show a follow-up."""
    ask(page, LIGHTHOUSE)
    page.fill("#follow-up", QUESTIONS[2])
    page.press("#follow-up", "Enter")
    page.locator(".thread li").first.wait_for()
    page.locator(".verdict").wait_for()


def compare(page: Page) -> None:
    """Compare two ways to answer."""
    page.fill("#compared", LIGHTHOUSE)
    page.get_by_role("button", name="Compare").click()
    page.locator(".compared").last.wait_for()
    page.wait_for_load_state("networkidle")


def document(page: Page) -> None:
    """Open a document."""
    page.locator(".rows tbody th a").first.click()
    page.locator(".document-title").wait_for()
    page.wait_for_load_state("networkidle")


def edited(page: Page) -> None:
    """Edit a document."""
    document(page)
    page.get_by_role("button", name="Edit").click()


def original(page: Page) -> None:
    """Show a quote on its page of a PDF."""
    ask(page, QUESTIONS[4])
    page.locator(".quote", has_text="18 EUR").first.click()
    page.get_by_role("link", name="Show it in its document").click()
    page.locator(".pdf-mark").first.wait_for()


def upload(page: Page) -> None:
    """Drop files, of which one is refused."""
    files: list[FilePayload] = [
        {"name": "tide.txt", "mimeType": "text/plain", "buffer": b"High tide is at noon on 3 May 2024."},
        {"name": "odd.pdf", "mimeType": "application/pdf", "buffer": b"not a pdf"},
    ]
    page.locator("input[type=file]").first.set_input_files(files)
    page.locator(".refused").first.wait_for()
    page.wait_for_load_state("networkidle")


def decide(page: Page) -> None:
    """Begin to settle a conflict."""
    page.locator(".conflict .decide > summary").first.click()


def record(page: Page) -> None:
    """Show the record of a source."""
    page.locator(".rows tbody th a").first.click()
    page.locator(".card").first.wait_for()


def keys(page: Page) -> None:
    """Show the keys."""
    page.keyboard.press("?")
    page.locator("[role=dialog]").wait_for()


def stay(page: Page) -> None:
    """Show a screen as it opens."""
    page.wait_for_load_state("networkidle")


SCREENS: Mapping[str, tuple[str, Callable[[Page], None]]] = {
    "start": ("ask", stay),
    "answer": ("ask", answer),
    "passage": ("ask", passage),
    "everything": ("ask", everything),
    "what-if": ("ask", what_if),
    "nothing": ("ask", nothing),
    "conversation": ("ask", conversation),
    "compare": ("compare", compare),
    "sources": ("sources", stay),
    "record": ("sources", record),
    "documents": ("documents", stay),
    "document": ("documents", document),
    "edited": ("documents", edited),
    "original": ("ask", original),
    "conflicts": ("conflicts", stay),
    "decide": ("conflicts", decide),
    "runs": ("runs", stay),
    "keys": ("ask", keys),
    "upload": ("documents", upload),  # last: it adds a document
}


def opened(browser: Browser, width: int, theme: Theme, language: str) -> BrowserContext:
    """Return a fresh profile that likes a theme and a language."""
    return browser.new_context(
        viewport={"width": width, "height": WIDTHS[width]},
        color_scheme=theme,
        locale=language,
        reduced_motion="reduce",
    )


def sheet(browser: Browser, folder: Path, width: int, theme: Theme) -> None:
    """Put the tops of all pictures of a width and a theme on one sheet, each under its name."""
    figures = "".join(
        f"<figure><div><img src={name}-{width}-{theme}.png></div><figcaption>{name}</figcaption></figure>"
        for name in SCREENS
        if (folder / f"{name}-{width}-{theme}.png").exists()
    )
    style = (
        "body { display: grid; grid-template-columns: repeat(auto-fill, 18rem); gap: 1rem; margin: 1rem;"
        " font: 14px sans-serif; background: #999 } figure { margin: 0 } img { width: 100% }"
        " figure div { height: 22rem; overflow: hidden }"
    )
    written = folder / "sheet.html"
    written.write_text(f"<!doctype html><style>{style}</style>{figures}", encoding="utf-8")
    page = browser.new_page(viewport={"width": 1600, "height": 900})
    page.goto(written.as_uri())
    page.screenshot(path=folder / f"sheet-{width}-{theme}.jpg", full_page=True, quality=72)
    page.close()
    written.unlink()


def main() -> None:
    """Take the pictures, and put those of each width on a sheet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=SCREENS, help="a screen; may be repeated")
    parser.add_argument("--width", action="append", type=int, choices=WIDTHS)
    parser.add_argument("--theme", action="append", choices=THEMES)
    parser.add_argument("--language", default="en", choices=("en", "de"))
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        words = ["-m", "disputatio", "serve", "--index", str(index_at(Path(folder))), "--port", "0"]
        kept = ["--model", "none", "--allow-writing", "--answers", str(Path(folder) / "answers.sqlite")]
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with process([*words, *kept]) as (_, url):
            page = browser.new_page()
            page.goto(url)
            for question in QUESTIONS:
                ask(page, question)
            page.close()
            for name, (screen, act) in SCREENS.items():
                if name not in (options.only or SCREENS):
                    continue
                for width in options.width or WIDTHS:
                    for theme in options.theme or THEMES:
                        context = opened(browser, width, theme, options.language)
                        page = context.new_page()
                        page.goto(f"{url}/#/{screen}")
                        page.locator("main h1, #question").first.wait_for(state="attached")
                        act(page)
                        page.wait_for_timeout(300)
                        page.screenshot(path=options.out / f"{name}-{width}-{theme}.png", full_page=True)
                        context.close()
        for width in options.width or WIDTHS:
            for theme in options.theme or THEMES:
                sheet(browser, options.out, width, theme)
        browser.close()


if __name__ == "__main__":
    main()
