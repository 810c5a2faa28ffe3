"""Time five tasks on the page, by clicks and keys alone, each from a fresh profile.

    python -m bench.serve.page_tasks

The server is `disputatio serve --model none` over the four papers of a harbour, which the first task uploads to an empty
index; the encoder reads. Each task begins with loading the page, on an index of its own. Chromium has to be on the PATH,
and the page built (`make page`).
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from bench import RESULTS
from bench.documents.build import pdf
from bench.lib.files import write_page
from bench.lib.options import parser_of
from bench.lib.waiting import process
from disputatio.api.indexing import Index

PAGE = RESULTS / "serve" / "page_tasks.md"
FEE = "What is the mooring fee?"
PAPERS: Mapping[str, str] = {
    "fees-2019.md": "---\ndate: 2019-04-01\n---\n# Fees of the harbour\n\nThe mooring fee is 12 EUR a night. Boats longer"
    " than 12 metres moor at the north quay.\n",
    "fees.pdf": "# Fees of the harbour\n\nThe mooring fee is 15 EUR a night. A crane can be hired from the harbour"
    " master.\n",
    "guide.md": "# A guide for sailors\n\nIn this harbour the mooring fee is 12 EUR a night. Bread is sold at the quay.\n",
    "visitors.md": "# Visitors of the harbour\n\nThe lighthouse opens at ten. The harbour has 40 berths for guests.\n",
}


def papers(folder: Path) -> Path:
    """Write the papers, and return their folder."""
    folder.mkdir()
    for name, text in PAPERS.items():
        (folder / name).write_bytes(pdf(text) if name.endswith(".pdf") else text.encode())
    return folder


def ask(page: Page, text: str) -> None:
    """Put the question that the page has a field for, and wait for its answer."""
    page.fill("#question", text)
    page.press("#question", "Enter")
    page.wait_for_selector(".verdict")


def find_contradictions(page: Page, folder: Path) -> None:
    """Put a folder into an empty index, and find where its documents contradict each other."""
    page.get_by_role("link", name="Documents", exact=True).click()
    page.locator("input[webkitdirectory]").set_input_files(folder)
    page.get_by_role("status").filter(has_text="4 files read").wait_for()
    page.get_by_role("link", name="Conflicts", exact=True).click()
    page.locator(".conflict", has_text="15 EUR").first.wait_for()


def doubt(page: Page, _: Path) -> None:
    """Ask, read the reason of a position, and open the page of the PDF with its quote marked."""
    ask(page, FEE)
    position = page.locator(".position", has_text="15 EUR").last
    position.locator(".position-reason").wait_for()
    position.locator(".quote").first.click()
    page.locator("[data-panel] mark").wait_for()
    page.get_by_role("link", name="Show it in its document").click()
    page.locator(".pdf-mark").first.wait_for()


def fix_date(page: Page, _: Path) -> None:
    """Ask, state the date of a document that has none, and see that it holds now."""
    ask(page, FEE)
    page.get_by_role("link", name="Documents", exact=True).click()
    page.get_by_role("link", name=re.compile("fees.pdf")).first.click()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Date", exact=True).fill("2024-05")
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator(".about", has_text="2024-05").wait_for()
    page.get_by_role("link", name="Ask", exact=True).click()
    ask(page, FEE)
    page.locator(".verdict", has_text="15 EUR").wait_for()
    page.locator(".position.rejected", has_text="12 EUR").wait_for()


def follow_up_twice(page: Page, _: Path) -> None:
    """Ask, and follow up twice; the thread has all three."""
    ask(page, FEE)
    for number, text in enumerate(
        ("When does the lighthouse open?", "How many berths does the harbour have?"), 1
    ):
        page.fill("#follow-up", text)
        page.press("#follow-up", "Enter")
        page.wait_for_function("n => document.querySelectorAll('.thread li').length >= n", arg=number)
        page.wait_for_selector(".verdict")


def mute_and_share(page: Page, _: Path) -> None:
    """Ask, mute a source, and see in another profile that the shared answer is not as it was given."""
    ask(page, FEE)
    page.locator(".source-row[data-source='fees-2019']").get_by_text("Mute").click()
    page.wait_for_selector(".change-line")
    shared = page.context.browser.new_page()  # type: ignore[union-attr]  # it was launched
    shared.goto(page.url)
    shared.locator("#verdict-title", has_text="not as it was given").wait_for()


TASKS: Mapping[str, Callable[[Page, Path], None]] = {
    "upload a folder, find its contradictions": find_contradictions,
    "ask, doubt, open the PDF at the quote": doubt,
    "ask, fix a document's date, see the answer change": fix_date,
    "ask, follow up twice": follow_up_twice,
    "ask, mute a source, share the link": mute_and_share,
}


def timed(browser: Browser, task: Callable[[Page, Path], None]) -> float:
    """Return the seconds of a task in a fresh profile, with the loading of the page, on an index of its own."""
    with tempfile.TemporaryDirectory() as folder:
        written, index = papers(Path(folder) / "papers"), Path(folder) / "harbour.index"
        opened = Index.open(index)
        if task is not find_contradictions:
            opened.ingest(written)
        opened.close()
        words = ["-m", "disputatio", "serve", "--index", str(index), "--port", "0", "--model", "none"]
        with process([*words, "--allow-writing", "--answers", str(Path(folder) / "answers.sqlite")]) as (
            _,
            url,
        ):
            context, began = browser.new_context(), time.perf_counter()
            page = context.new_page()
            page.goto(url)
            task(page, written)
            took = time.perf_counter() - began
            context.close()
    return took


def main() -> None:
    """Run all tasks, and write the page."""
    parser = parser_of(__doc__)
    parser.add_argument("--times", type=int, default=3)
    times, rows = parser.parse_args().times, []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, task in TASKS.items():
            took = [timed(browser, task) for _ in range(times)]
            rows.append(f"| {name} | {statistics.median(took):.1f} | {max(took):.1f} |")
        browser.close()
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    write_page(
        PAGE,
        f"# Tasks on the page, by clicks alone\n\n`python -m bench.serve.page_tasks --times {times}`, Chromium without"
        f" a window, {platform.machine()}, {os.cpu_count()} cores with a load of {load}, {time.strftime('%Y-%m-%d')}.\n"
        "A server of the command line with the encoder alone (`--model none`); times are from a fresh profile, with the"
        " loading of the page, by a script that waits for nothing but the page.\n\n"
        "| task, seconds | median | longest |\n|---|--:|--:|\n" + "\n".join(rows) + "\n",
    )


if __name__ == "__main__":
    main()
