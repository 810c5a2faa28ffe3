"""The main path through the page in Firefox: a question, its quote, the documents, the conflicts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from disputatio.types import Passage
from tests.page.firefox import firefox
from tests.page.town import PASSAGES, QUESTION, town
from tests.server.ferry import served

pytestmark = pytest.mark.slow
PATH = shutil.which("firefox-esr") or shutil.which("firefox")
FEES = tuple(
    Passage(text=f"The mooring fee is {fee} EUR a night.", source=source, title=title)
    for fee, source, title in ((12, "office.example", "Harbour rules"), (15, "guide.example", "Guide"))
)


@pytest.mark.skipif(PATH is None, reason="no Firefox on the PATH")
def test_the_main_path_works_in_firefox(built: None, tmp_path: Path) -> None:
    assert PATH is not None
    with (
        served(town(tmp_path, passages=(*PASSAGES, *FEES))) as server,
        firefox(PATH, tmp_path / "profile") as browser,
    ):
        browser.go(server.url)
        browser.click("#question")
        browser.type(QUESTION + "\ue007")  # Enter
        browser.wait(".verdict", "Ingrid Vasmer")
        browser.wait(".position.rejected .position-reason", "against 3 passages")
        browser.click(".position.accepted .quote", "Her letters survive")
        browser.wait("[data-panel] mark", "Ingrid Vasmer")
        browser.click(".source-row[data-source='keepers.example'] .act", "Mute")
        browser.wait(".what-changed", "keepers.example")
        browser.click("nav a", "Documents")
        browser.wait(".rows tbody tr", "The tower and its maker")
        browser.click(".rows th button", "Date")
        browser.wait(".rows th[aria-sort=ascending]", "Date")
        browser.click("nav a", "Conflicts")
        browser.wait(".conflict", "15 EUR")
        listed = browser.run("() => String(document.querySelectorAll('.conflict').length)")
        browser.click(".decide > summary", "Decide")
        browser.click(".decide .button", "Accept as it is")
        browser.until("all => document.querySelectorAll('.conflict').length < Number(all)", listed)
        assert server.client.get("/api/conflicts").json()["decisions"]
