"""How fast the page paints at first, and how smoothly it draws while fifty passages are read.

    python -m bench.serve.page_speed

Chromium without a window, at 1280 x 900. The server is a process of its own on loopback, with a model that waits
and whose replies come one by one. Each load has a profile of its own, so that nothing is kept from the last.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Route, sync_playwright

from bench import RESULTS
from bench.lib.waiting import NAMES, ferries, process, question

PAGE = RESULTS / "serve" / "page_speed.md"
PASSAGES = 50
FRAME = 1000 / 60  # milliseconds
PAINTED = (
    "() => performance.getEntriesByName('first-contentful-paint').map(each => each.startTime)[0] ?? null"
)
FRAMES = """() => { window.frames_at = []; const each = at => { window.frames_at.push(at);
  requestAnimationFrame(each); }; requestAnimationFrame(each); }"""


def metrics(page: Page) -> Any:
    """Return a way to read how long the page's own thread has run, in its own time and not the clock's."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def read() -> float:
        found = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
        return float(found["TaskDuration"]) * 1000

    return read


def first_paint(browser: Browser, url: str) -> tuple[float, float, float]:
    """Milliseconds until something is painted, until a question can be written, and of the page's own work."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    read = metrics(page)
    began = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.wait_for_selector("#question")
    ready = (time.perf_counter() - began) * 1000
    page.wait_for_function(f"({PAINTED})() !== null")
    painted, worked = float(page.evaluate(PAINTED)), read()
    context.close()
    return painted, ready, worked


def widened(route: Route) -> None:
    """The page's question, with as many passages as are wanted."""
    body = json.loads(route.request.post_data or "{}") | {"options": {"k": PASSAGES}}
    route.continue_(post_data=json.dumps(body))


def streamed(browser: Browser, url: str, name: str) -> tuple[list[float], float]:
    """Milliseconds between frames while a question is answered, and the page's own work in that time."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.route("**/api/ask", widened)
    page.goto(url)
    page.fill("#question", question(name))
    read = metrics(page)
    page.evaluate(FRAMES)
    before = read()
    page.press("#question", "Enter")
    page.wait_for_selector(".found .tick.read")
    page.evaluate("window.frames_at.length = 0")
    page.wait_for_selector(".verdict", timeout=300_000)
    times = page.evaluate("window.frames_at")
    worked = read() - before
    assert page.locator(".voice").count() > 0
    context.close()
    return [later - sooner for sooner, later in itertools.pairwise(times)], worked


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of them lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def report(
    loads: Sequence[tuple[float, float, float]], runs: Sequence[tuple[list[float], float]], words: str
) -> str:
    """Return the page of results."""
    painted, ready = [each[0] for each in loads], [each[1] for each in loads]
    work = [each[2] for each in loads]
    gaps = [gap for each, _ in runs for gap in each]
    worked = sum(own for _, own in runs)
    late = sum(gap > 1.5 * FRAME for gap in gaps)
    taken = sum(gaps) / 1000
    return f"""# How fast the page is

`python -m bench.serve.page_speed {words}`, Chromium without a window, {platform.machine()}, {time.strftime("%Y-%m-%d")};
beside it this machine ran other work: load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.

| milliseconds, {len(loads)} loads from loopback, each in a new profile | median | 95 % |
|---|--:|--:|
| first paint with content | {statistics.median(painted):.0f} | {quantile(painted, 0.95):.0f} |
| a question can be written, seen from outside the browser | {statistics.median(ready):.0f} | {quantile(ready, 0.95):.0f} |
| the page's thread until then, of its own time | {statistics.median(work):.0f} | {quantile(work, 0.95):.0f} |

| while {PASSAGES} passages are read, {taken:.0f} s in all | |
|---|--:|
| frames a second, mean | {len(gaps) / taken:.1f} |
| milliseconds between frames, median | {statistics.median(gaps):.1f} |
| the same, 99 % | {quantile(gaps, 0.99):.1f} |
| frames that came more than half a frame late | {late} of {len(gaps)} ({late / len(gaps):.1%}) |
| the page's thread, of its own time, per frame | {worked / len(gaps):.1f} ms of {FRAME:.1f} |

The last line of each table does not depend on what else the machine does: it is the processor's time that scripts, layout and painting
of the page take in its own thread; in the second table all of it divided by the frames, and what is below {FRAME:.1f} ms leaves room for 60 frames
a second. The others are the clock's, and tell of a machine under that load alone.
"""


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--loads", type=int, default=20)
    parser.add_argument("--questions", type=int, default=5)
    parser.add_argument("--delay", type=float, default=6.0, help="seconds in which the passages are read")
    options = parser.parse_args()
    path = shutil.which("chromium") or shutil.which("google-chrome")
    words = f"--loads {options.loads} --questions {options.questions} --delay {options.delay:g}"
    with tempfile.TemporaryDirectory() as folder:
        ferries(Path(folder))
        worker = ["-m", "bench.serve.serving_worker", folder, str(options.delay), "spread"]
        with process(worker) as (_, url), sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"]
            )
            first_paint(browser, url)  # the server's own first time
            loads = [first_paint(browser, url) for _ in range(options.loads)]
            runs = [streamed(browser, url, NAMES[number]) for number in range(options.questions)]
            browser.close()
    PAGE.write_text(report(loads, runs, words), encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
