"""The bench of claim verification counts every claim once, in the verdict and the bin of its score."""

from __future__ import annotations

from typing import Any

import pytest

from bench.papers import claim_verification
from disputatio.types import Example, Passage


def _example(n: int, **metadata: Any) -> Example:
    return Example(
        id=f"x{n}",
        row=n,
        question="Why?",
        gold=("Because.",),
        passages=(Passage(id=f"p{n}", text="Bridges rust."), Passage(id=f"q{n}", text="Salt harms.")),
        metadata=metadata,
    )


def test_a_larger_draw_holds_the_smaller() -> None:
    examples = [_example(n) for n in range(50)]
    small, large = (claim_verification.drawn(examples, count, 3) for count in (10, 30))
    assert {example.row for example in small} < {example.row for example in large}
    assert [example.row for example in large] == sorted(example.row for example in large)


def test_claims_lose_their_marks_and_their_best_text_counts() -> None:
    assert claim_verification.bare("Bridges rust [2] [3], often [1, 4].") == "Bridges rust, often."

    class Judge:
        def entails(self, pairs: Any) -> list[float]:
            return [0.9 if premise == "Salt harms." else 0.2 for premise, _ in pairs]

    score = claim_verification.one_by_one(Judge())
    assert score([_example(0, claim="Salt harms [1]."), _example(1, claim="x")]) == [0.9, 0.9]


def test_verdicts_and_bins_hold_every_claim(capsys: pytest.CaptureFixture[str]) -> None:
    scored = [
        (1.0, True, "Complete"),
        (0.5, True, "Complete"),
        (0.3, False, "Partial"),
        (0.0, False, "Incomplete"),
    ]
    claim_verification.print_result("judge", scored, 1.0)
    page = capsys.readouterr().out
    assert "ROC AUC 1.000" in page
    assert "| supported | 0.5 to 1 | 2 | 1.000 |" in page
    assert "| partly | 0.25 to 0.5 | 1 | 0.000 |" in page
    assert "| unsupported | 0 to 0.25 | 1 | 0.000 |" in page
