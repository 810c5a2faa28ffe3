"""One real question on the page: the demo's documents, a real model, and a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from disputatio.api.indexing import Index
from disputatio.config import read_settings
from disputatio.server.service import Service
from tests.page.views import visit
from tests.server.ferry import served

pytestmark = pytest.mark.slow
SOURCES = Path(__file__).resolve().parents[2] / "examples" / "disagreement" / "sources"
MODEL = "local:qwen2.5-coder-0.5b"
QUESTION = "Who designed the Quillhaven lighthouse?"


def test_a_real_model_answers_on_the_page_with_quotes_that_stand_in_their_passages(
    context: BrowserContext,
    tmp_path: Path,
    small_model: Path,  # fetched
) -> None:
    folder = tmp_path / "town.index"
    assert Index.open(folder, embedder="none").ingest(SOURCES).added == 14
    parts = {"journal": "none", "encoder": "none", "embedder": "none"}
    settings = read_settings(model=MODEL, index=folder, **parts)
    with served(Service.open(settings)) as server:
        tab = visit(context, server.url)
        tab.put(QUESTION)
        expect(tab.page.locator(".verdict")).to_be_visible(timeout=600_000)
        answer = server.client.get(f"/api/answers/{tab.answer}").json()
        assert answer["usage"]["calls"] > 0
        assert answer["passages"]
        shown = tab.page.locator(".position-answer").all_inner_texts()
        assert sorted(shown) == sorted(each["answer"] for each in answer["conflict"]["positions"])
        for citation in (each for claim in answer["claims"] for each in claim["citations"]):
            tab.page.locator(f".cite[data-cite='{citation['n']}']").first.click()
            panel = tab.page.locator(f"[data-panel='{citation['passage']}'] mark")
            expect(panel).to_have_text(citation["quote"])
        assert tab.errors == []
        assert tab.elsewhere == []
