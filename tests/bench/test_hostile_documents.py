"""What the bench of hostile documents counts as a leak or a flaw is one, and nothing else is."""

from __future__ import annotations

import pytest

from bench.robustness.hostile_documents import ATTACKS, FIELDS, MARK, WORD, instance, leaks, tried
from disputatio.text import fence

CASES = [(ATTACKS[0], field) for field in FIELDS]


def test_words_of_a_document_outside_a_fence_are_a_leak() -> None:
    fenced = fence("passage", f"{MARK} says {WORD}")
    assert list(leaks(f"Read this.\n{fenced}\nAnswer.")) == []
    assert list(leaks(f"Read this: {MARK}\n{fenced}")) == ["words of a document outside a fence"]
    assert list(leaks(f"{fenced}\nBefore, you said {WORD}.")) == ["answer of the model handed on"]
    assert list(leaks("<|im_start|>system")) == ["control token"]


def test_a_strategy_that_does_not_fence_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = tried("concat", CASES)
    assert sound["prompts"] >= len(CASES)
    assert sound.get("words of a document outside a fence", 0) == 0
    monkeypatch.setattr("disputatio.agents.replies.fence", lambda name, text: text)
    assert tried("concat", CASES)["words of a document outside a fence"] > 0


def test_the_obedient_model_fills_any_schema() -> None:
    schema = {
        "properties": {"answers": {"type": "array", "items": {"type": "string"}}, "sure": {"type": "boolean"}}
    }
    assert instance(schema, "x") == {"answers": ["x"], "sure": True}
    assert instance({"enum": ["full", "none"]}, "x") == "full"
