"""Measure how fast the page paints, and how smoothly it draws while passages are read and long lists scroll.

    python -m bench.serve.page_speed

Chromium without a window, at 1280 x 900. Each load is from a profile of its own. Chromium has to be on the PATH, and
the page built (`make page`).
"""

from __future__ import annotations

import itertools
import json
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from bench import RESULTS
from bench.lib.options import parser_of
from bench.lib.waiting import NAMES, ferries, process, question
from disputatio.api.indexing import Index
from disputatio.types import Passage

RESULT = RESULTS / "serve" / "page_speed.md"
FRAME = 1000 / 60  # milliseconds
VIEW = {"width": 1280, "height": 900}
_PAINT = "performance.getEntriesByName('first-contentful-paint').map(each => each.startTime)[0] ?? null"
_RECORD = """() => { window.frames_ = []; window.tasks_ = [];
  const step = now => { window.frames_.push(now); requestAnimationFrame(step); }; requestAnimationFrame(step);
  new PerformanceObserver(list => { for (const each of list.getEntries()) window.tasks_.push(each.duration); })
    .observe({ type: 'longtask' }); }"""
_SCROLL = """async () => { const step = () => new Promise(requestAnimationFrame);
  for (let at = 0; at < document.documentElement.scrollHeight; at += 160) { scrollTo(0, at); await step(); }
  scrollTo(0, 0); await step(); }"""


def register(folder: Path, pairs: int = 1_000) -> None:
    """Make an index of twice as many documents, of which each second pair states two fees for one harbour."""
    parts = ("Ar", "bel", "cor", "dun", "esk", "fal", "gar", "hel", "ist", "jor")
    harbours = ["".join(each) for each in itertools.product(parts, repeat=3)][:pairs]
    rows = []
    for number, harbour in enumerate(harbours):
        fee = 20 + number % 50
        for source, amount in (("office", fee), ("guide", fee if number % 2 else fee + 75)):
            rows.append(
                Passage(
                    text=f"The annual fee of the {harbour} harbour is {amount} EUR. Its master keeps the book.",
                    source=f"{source}-{number % 40}.example",
                    title=f"The {source} on {harbour}",
                    date=f"20{10 + number % 12}-03-01",
                    date_origin="stated",
                )
            )
    Index.open(folder / "ferries.index", embedder="none").add(rows)


def first_paint(browser: Browser, url: str) -> tuple[float, float]:
    """Return milliseconds until something is painted, and until a question can be written."""
    context = browser.new_context(viewport=VIEW)  # type: ignore[arg-type]  # a size
    page = context.new_page()
    began = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.wait_for_selector("#question")
    ready = (time.perf_counter() - began) * 1000
    page.wait_for_function(f"({_PAINT}) !== null")
    painted = float(page.evaluate(_PAINT))
    context.close()
    return painted, ready


def watched(page: Page, act: Callable[[], object]) -> tuple[list[float], list[float]]:
    """Return milliseconds between frames, and of tasks of 50 and more, while something is done."""
    page.evaluate(_RECORD)
    act()
    times = page.evaluate("window.frames_")
    return [later - sooner for sooner, later in itertools.pairwise(times)], page.evaluate("window.tasks_")


def reading(browser: Browser, url: str, name: str) -> tuple[list[float], list[float]]:
    """Watch the page while 50 passages are read one by one."""
    page = browser.new_page(viewport=VIEW)  # type: ignore[arg-type]  # a size
    body = {"question": question(name), "options": {"k": 50}}
    headers = {"Accept": "text/event-stream"}
    with httpx.stream("POST", f"{url}/api/ask", json=body, headers=headers, timeout=120) as response:
        line = next(line for line in response.iter_lines() if line.startswith("data: "))
        page.goto(f"{url}/#/answer/{json.loads(line[6:])['id']}")
        page.wait_for_selector(".readings li")
        seen = watched(page, lambda: page.wait_for_selector(".verdict", timeout=120_000))
    page.close()
    return seen


def scrolling(
    browser: Browser, url: str, screen: str, row: str, word: str
) -> tuple[list[float], list[float]]:
    """Watch the page while a long list is scrolled through, and filtered by a word, a letter after another."""
    page = browser.new_page(viewport=VIEW)  # type: ignore[arg-type]  # a size
    page.goto(f"{url}/#/{screen}")
    page.locator(row).first.wait_for(timeout=60_000)
    page.wait_for_load_state("networkidle")

    def act() -> None:
        page.evaluate(_SCROLL)
        page.locator("input[type=search]").press_sequentially(word, delay=80)
        page.locator("input[type=search]").fill("")
        page.evaluate(_SCROLL)

    seen = watched(page, act)
    page.close()
    return seen


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of them lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def row_of(words: str, seen: tuple[Sequence[float], Sequence[float]]) -> str:
    """Return a row of the table of frames."""
    gaps, tasks = seen
    late = sum(gap > 1.5 * FRAME for gap in gaps)
    longest = f"{max(tasks):.0f}" if tasks else "under 50"
    return (
        f"| {words} | {1000 * len(gaps) / sum(gaps):.1f} | {statistics.median(gaps):.1f} | {quantile(gaps, 0.99):.1f} |"
        f" {late} of {len(gaps)} | {longest} | {len(tasks)} |"
    )


def main() -> None:
    """Measure, and write the page of results."""
    parser = parser_of(__doc__)
    parser.add_argument("--loads", type=int, default=20)
    parser.add_argument("--questions", type=int, default=3)
    parser.add_argument("--delay", type=float, default=6.0, help="seconds in which the passages are read")
    options = parser.parse_args()
    worker = ["-m", "bench.serve.serving_worker"]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        asked, listed = Path(folder, "asked"), Path(folder, "listed")
        ferries(asked)
        register(listed)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"),
            args=["--no-sandbox", "--disable-dev-shm-usage"],
        )
        with process([*worker, str(asked), str(options.delay), "spread"]) as (_, url):
            first_paint(browser, url)  # the server's own first time
            loads = [first_paint(browser, url) for _ in range(options.loads)]
            seen = [reading(browser, url, NAMES[number]) for number in range(options.questions)]
        rows = [
            row_of(
                "50 passages are read",
                ([g for each, _ in seen for g in each], [t for _, each in seen for t in each]),
            )
        ]
        with process([*worker, str(listed), "0.1"]) as (_, url):
            documents = scrolling(browser, url, "documents", ".rows tbody tr", "guide on bel")
            conflicts = scrolling(browser, url, "conflicts?severity=low", ".conflict", "annual fee")
        rows += [row_of("2,000 documents are scrolled and filtered", documents)]
        rows += [row_of("500 conflicts are scrolled and filtered", conflicts)]
        browser.close()
    painted, ready = [each[0] for each in loads], [each[1] for each in loads]
    command = f"python -m bench.serve.page_speed --loads {options.loads} --questions {options.questions} --delay {options.delay:g}"
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    RESULT.write_text(
        f"""# How fast the page is

`{command}`, Chromium without a window, {platform.machine()}, {os.cpu_count()} cores with a load of {load}, {time.strftime("%Y-%m-%d")}.

| milliseconds, {options.loads} loads from loopback, each in a new profile | median | 95 % |
|---|--:|--:|
| first paint with content, which is the frame | {statistics.median(painted):.0f} | {quantile(painted, 0.95):.0f} |
| a question can be written, seen from outside the browser | {statistics.median(ready):.0f} | {quantile(ready, 0.95):.0f} |

| while | frames a second | ms between two, median | 99 % | more than half a frame late | longest task, ms | tasks of 50 ms |
|---|--:|--:|--:|--:|--:|--:|
"""
        + "\n".join(rows)
        + "\n\nThe browser reports a task from 50 ms on.\n",
        encoding="utf-8",
    )
    print(RESULT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
