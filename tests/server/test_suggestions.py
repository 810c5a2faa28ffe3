"""Questions to begin with: written while the server is idle, kept, and out of the way of questions."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from disputatio.llm.scripted import Scripted
from disputatio.server.options import Limits
from tests.server.ferry import Served, ferry, says, served

WRITTEN = "When did the ferry make its first crossing?"


def _says(prompt: str) -> str:
    if "You write one question of fact" in prompt:
        return json.dumps({"question": WRITTEN, "answer": "1887"})
    return says(prompt)


def _model(delay: float = 0.0) -> Scripted:
    return Scripted(_says, choices=lambda _: {"Yes": 0.9, "No": 0.1}, name="script", delay=delay)


def _suggested(server: Served) -> dict[str, Any]:
    """Return the suggestions once they are written."""
    for _ in range(400):
        told: dict[str, Any] = server.client.get("/api/suggestions").json()
        if not told["writing"]:
            return told
        time.sleep(0.05)
    raise AssertionError("they are not written")


def test_questions_are_written_in_the_background_and_kept(tmp_path: Path) -> None:
    model = _model()
    with served(ferry(tmp_path, model=model, limits=Limits(suggestions=3))) as server:
        assert server.client.get("/api/suggestions").json() == {"questions": [], "writing": True}
        assert _suggested(server)["questions"] == [WRITTEN]
        made = len(model.calls)
        assert _suggested(server)["questions"] == [WRITTEN]
        assert len(model.calls) == made


def test_no_model_is_asked_where_no_suggestion_is_wanted(tmp_path: Path) -> None:
    model = _model()
    with served(ferry(tmp_path, model=model)) as server:
        assert server.client.get("/api/suggestions").json() == {"questions": [], "writing": False}
        assert model.calls == []


@pytest.mark.long
def test_a_question_ends_the_writing_which_begins_again_later(tmp_path: Path) -> None:
    with served(ferry(tmp_path, model=_model(0.3), limits=Limits(suggestions=3))) as server:
        assert server.client.get("/api/suggestions").json()["writing"]
        assert server.ask().json()["answers"] == ["1887"]
        server.client.get("/api/suggestions")
        assert _suggested(server)["questions"] == [WRITTEN]
