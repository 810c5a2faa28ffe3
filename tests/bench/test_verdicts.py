"""What the benchmarks of the judge and of claim verification count is what their tables say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from disputatio.eval.judge import Case
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.types import Example, Passage
from tests.bench.scripts import script


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    yield script


def _example(n: int, **metadata: Any) -> Example:
    return Example(
        id=f"x{n}",
        row=n,
        question="Why?",
        gold=("Because.",),
        passages=(Passage(id=f"p{n}", text="Bridges rust."), Passage(id=f"q{n}", text="Salt harms.")),
        metadata=metadata,
    )


@pytest.mark.parametrize(
    ("score", "up", "down"), [(1.8, 2, 2), (1.5, 2, 1), (0.5, 1, 0), (-1.0, -1, -1), (0.8, 1, 1)]
)
def test_a_fraction_goes_to_the_nearest_grade(bench: Any, score: float, up: int, down: int) -> None:
    nearest = bench("judge_agreement").nearest
    assert (nearest(score), nearest(score, up=False)) == (up, down)


def test_a_larger_draw_holds_the_smaller(bench: Any) -> None:
    examples = [_example(n) for n in range(50)]
    for name in ("judge_agreement", "claim_verification"):
        drawn = bench(name).drawn
        small, large = drawn(examples, 10, 3), drawn(examples, 30, 3)
        assert {example.row for example in small} < {example.row for example in large}
        assert [example.row for example in large] == sorted(example.row for example in large)


def test_agreement_leaves_the_unscored_out_and_counts_them(
    bench: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def odds(text: str) -> Mapping[str, float]:
        return {"Useful": 0.2} if "mumble" in text else {"Complete" if "entirely" in text else "Useful": 0.9}

    verdicts = [("entirely", 2.0), ("some of it", 1.0), ("some of it", 1.5), ("mumble", 1.0)]
    examples = [
        _example(n, answer=answer, correctness=grade, part="RAGentA")
        for n, (answer, grade) in enumerate(verdicts)
    ]
    bench("judge_agreement").print_correctness(examples, Kit(model=Scripted([], choices=odds)))
    page = capsys.readouterr().out
    assert "n 4, graded 3 (of them 0 without a call), unscored: 1 off the menu." in page
    assert "| **2** | 0 | 0 | 1 | 1 | 2 |" in page
    assert "the same grade: 2 of 3; always saying the commonest grade: 2" in page
    assert Case(question="q", answer="a").passages == ()


def test_claims_lose_their_marks_and_their_best_text_counts(bench: Any) -> None:
    module = bench("claim_verification")
    assert module.bare("Bridges rust [2] [3], often [1, 4].") == "Bridges rust, often."

    class Judge:
        def entails(self, pairs: Any) -> list[float]:
            return [0.9 if premise == "Salt harms." else 0.2 for premise, _ in pairs]

    score = module.one_by_one(Judge())
    assert score([_example(0, claim="Salt harms [1]."), _example(1, claim="x")]) == [0.9, 0.9]


def test_verdicts_and_bins_hold_every_claim(bench: Any, capsys: pytest.CaptureFixture[str]) -> None:
    module = bench("claim_verification")
    scored = [
        (1.0, True, "Complete"),
        (0.5, True, "Complete"),
        (0.3, False, "Partial"),
        (0.0, False, "Incomplete"),
    ]
    module.print_result("judge", scored, 1.0)
    page = capsys.readouterr().out
    assert "ROC AUC 1.000" in page
    assert "| supported | 0.5 to 1 | 2 | 1.000 |" in page
    assert "| partly | 0.25 to 0.5 | 1 | 0.000 |" in page
    assert "| unsupported | 0 to 0.25 | 1 | 0.000 |" in page
    assert module.drawing({"judge": scored}).startswith("<svg")
