"""A browser on the built page, behind the real server with a scripted model.

Without Chromium or Node these tests are skipped with a word; under CI they fail instead.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from scripts.build_page import CannotBuild, build
from tests.page.town import town
from tests.page.views import Visit, visit
from tests.server.ferry import Served, served

expect.set_options(timeout=60_000)
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def _missing(what: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def built() -> None:
    """The page's assets, built where they are not there yet or old."""
    try:
        build()
    except CannotBuild as error:
        _missing(f"the page is not built: {error}")


@pytest.fixture(scope="session")
def browser(built: None) -> Iterator[Browser]:
    """One Chromium for all tests of the page."""
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if path is None:
        _missing("no Chromium on the PATH (on Debian: apt install chromium)")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield started
        started.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A profile of its own for one test; what the page asks of any other host fails it."""
    with_profile = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    with_profile.set_default_timeout(60_000)  # a busy machine makes no test wrong
    yield with_profile
    with_profile.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    """A server over the town's passages and a scripted model."""
    with served(town(tmp_path)) as running:
        yield running


@pytest.fixture
def tab(context: BrowserContext, server: Served) -> Visit:
    """The page, open in a tab."""
    return visit(context, server.url)


@pytest.fixture
def page(tab: Visit) -> Page:
    """The tab's page."""
    return tab.page
