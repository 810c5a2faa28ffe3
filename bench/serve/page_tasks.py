"""Tasks on the page by clicks alone, each from a fresh profile, and frames while 50 readings arrive.

    python -m bench.serve.page_tasks

The model waits half a second a batch, so the times are those of the page, the server and the clicks. Chromium has to be on
the PATH, and the page built (`make page`).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from bench import RESULTS
from bench.lib.files import write_page
from bench.lib.waiting import NAMES, ferries, process, question

PAGE = RESULTS / "serve" / "page_tasks.md"
_FRAMES = (
    "() => { window.frames_ = []; let last = 0;"
    " const step = now => { if (last) window.frames_.push(now - last); last = now; requestAnimationFrame(step); };"
    " requestAnimationFrame(step); }"
)


def ask(page: Page, text: str) -> None:
    """Put the question that the page has a field for, and wait for its answer."""
    page.fill("#question", text)
    page.press("#question", "Enter")
    page.wait_for_selector(".verdict")


def doubt(page: Page, _: str) -> None:
    """Ask, look at the reason of the last position, and open its quote in its passage."""
    ask(page, question(NAMES[0]))
    page.locator(".position .position-reason").last.wait_for()
    page.locator(".position .quote").last.click()
    page.locator("[data-panel] mark").wait_for()


def follow_up_twice(page: Page, _: str) -> None:
    """Ask, and follow up twice; the thread has all three."""
    ask(page, question(NAMES[1]))
    for number, name in enumerate(NAMES[2:4], 1):
        page.fill("#follow-up", f"And in what year did the {name} ferry first cross?")
        page.press("#follow-up", "Enter")
        page.wait_for_function("n => document.querySelectorAll('.thread li').length >= n", arg=number)
        page.wait_for_selector(".verdict")


def mute_and_share(page: Page, _: str) -> None:
    """Ask, mute a source, and see in another profile that the shared answer is not as it was given."""
    ask(page, question(NAMES[4]))
    page.locator(".source-row[data-source='buzz.example']").get_by_text("Mute").click()
    page.wait_for_selector(".change-line")
    shared = page.context.browser.new_page()  # type: ignore[union-attr]  # it was launched
    shared.goto(page.url)
    shared.locator("#verdict-title", has_text="not as it was given").wait_for()


TASKS: dict[str, Callable[[Page, str], None]] = {
    "ask, doubt, open the quote": doubt,
    "ask, follow up twice": follow_up_twice,
    "ask, mute a source, share the link": mute_and_share,
}


def timed(browser: Browser, url: str, task: Callable[[Page, str], None]) -> float:
    """Return the seconds of a task in a fresh profile, with the loading of the page."""
    context, began = browser.new_context(), time.perf_counter()
    page = context.new_page()
    page.goto(url)
    task(page, url)
    took = time.perf_counter() - began
    context.close()
    return took


def frames(browser: Browser, url: str) -> list[float]:
    """Return milliseconds between frames while 50 passages are read one by one."""
    page = browser.new_page()
    body = {"question": question(NAMES[5]), "options": {"k": 50}}
    headers = {"Accept": "text/event-stream"}
    with httpx.stream("POST", f"{url}/api/ask", json=body, headers=headers, timeout=120) as response:
        line = next(line for line in response.iter_lines() if line.startswith("data: "))
        page.goto(f"{url}/#/answer/{json.loads(line[6:])['id']}")
        page.wait_for_selector(".readings li")
        page.evaluate(_FRAMES)
        page.wait_for_selector(".verdict", timeout=120_000)
    return list(page.evaluate("window.frames_"))


def main() -> None:
    """Run all tasks, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=3)
    times, rows = parser.parse_args().times, []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        ferries(Path(folder))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with process(["-m", "bench.serve.serving_worker", folder, "0.5"]) as (_, url):
            for name, task in TASKS.items():
                took = [timed(browser, url, task) for _ in range(times)]
                rows.append(f"| {name} | {statistics.median(took):.1f} | {max(took):.1f} |")
        with process(["-m", "bench.serve.serving_worker", folder, "6", "spread"]) as (_, url):
            gaps = sorted(frames(browser, url))
        browser.close()
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    late = sum(gap > 25 for gap in gaps)
    write_page(
        PAGE,
        f"# Tasks on the page, by clicks alone\n\n`python -m bench.serve.page_tasks --times {times}`, Chromium without"
        f" a window, {platform.machine()}, {os.cpu_count()} cores with a load of {load}, {time.strftime('%Y-%m-%d')}.\n"
        "The model waits half a second a batch; times are from a fresh profile and with the loading of the page.\n\n"
        "| task, seconds | median | longest |\n|---|--:|--:|\n" + "\n".join(rows) + "\n\n"
        f"While 50 passages are read one by one in six seconds: {1000 * len(gaps) / sum(gaps):.1f} frames a second,"
        f" {gaps[len(gaps) // 2]:.1f} ms between two (median), {gaps[int(len(gaps) * 0.99)]:.1f} ms at 99 %,"
        f" {late} of {len(gaps)} more than half a frame late.\n",
    )


if __name__ == "__main__":
    main()
