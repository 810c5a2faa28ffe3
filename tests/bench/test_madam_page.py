"""The page of MADAM-RAG's tables counts faults apart, tells of even rows alone, and of Figure 4 by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import Unreachable
from disputatio.eval.running.run_log import Entrant, RunManifest
from disputatio.eval.running.runner import run
from disputatio.trace import Trace
from disputatio.types import Answer, Passage, Usage
from tests.bench.scripts import script
from tests.eval.fakes import examples

page = script("madam_page")


def told(question: str, passages: Sequence[Passage], strategy: str, options: Mapping[str, Any],
         trace: Trace) -> Answer:  # fmt: skip
    """`concat` fails on one question and is right on even rows, `madam_rag` on every question."""
    number = int(question.rsplit(maxsplit=1)[-1])
    if strategy == "concat" and number == 3:
        raise Unreachable("gone")
    right = strategy == "madam_rag" or number % 2 == 0
    answers = (f"gold {number}" if right else "nonsense",)
    return Answer(
        question=question,
        answers=answers,
        usage=Usage(calls=2, prompt_tokens=100, completion_tokens=10),
        rounds=2,
    )


def evaluated(out: Path, name: str, strata: Sequence[Mapping[str, str]]) -> None:
    rows = [
        replace(example, metadata={**example.metadata, "dataset": name, "strata": of})
        for example, of in zip(examples(len(strata)), strata, strict=True)
    ]
    manifest = RunManifest(
        datasets={name: "ab12"}, metrics={name: ("em", "f1")}, metrics_version=1, model="scripted:small"
    )
    entrants = [Entrant(label=strategy, strategy=strategy) for strategy in ("concat", "madam_rag")]
    run(rows, entrants, ask=told, out=out, manifest=manifest)


def test_the_page_tells_of_all_methods_and_levels(tmp_path: Path) -> None:
    evaluated(tmp_path / "ramdocs", "ramdocs:dev.jsonl", [{"gold answers": "1"}] * 8)
    evaluated(
        tmp_path / "figure4a",
        "jsonl:imbalance.jsonl",
        [{"imbalance": f"1 : {1 + at % 3}"} for at in range(9)],
    )
    text = page.page(tmp_path)
    even = [example.row % 2 == 0 for example in examples(8)]
    lines = {
        line.split(" | ")[0].strip("| "): line.split(" | ")
        for line in text.splitlines()
        if line.startswith("| ")
    }
    assert lines["madam_rag"][1:4] == ["3/3/3", "0", "100.0 [100.0, 100.0]"]  # Figure 4's stand last
    (concat,) = (line for line in text.splitlines() if line.startswith("| concat | 8 | 1 | 0 |"))
    assert f"EM, {sum(even)} even rows" in text
    assert concat.count("[") == 3
    assert "| 2.0 | 100 | 10 |" in concat
    assert "- madam_rag − concat: +0." in text
    assert "a right one first in 234 of 244 rows" in text
    assert "EM at 1 : 1 | EM at 1 : 2 | EM at 1 : 3 | F1 at 1 : 1" in text
    assert "Figure 4b" not in text


def test_levels_are_paired_by_question(tmp_path: Path) -> None:
    strata = [{"imbalance": f"1 : {1 + at % 3}"} for at in range(9)]
    evaluated(tmp_path / "figure4a", "jsonl:imbalance.jsonl", strata)
    _, _, changes = page.page(tmp_path).partition("at 1 : 3 beside 1 : 1, paired")
    # Rows 0-2, 3-5 and 6-8 ask one question each, and concat is right on even rows but fails on row 3: so it
    # tells 1 and 1 at both ends of the first and the last question, and the second has no difference.
    assert "- madam_rag: +0.000 [+0.000, +0.000]" in changes
    assert "- concat: +0.000 [+0.000, +0.000]" in changes
    # Two of three of the first question's levels are right, and of the last's: a third less than all of them.
    assert "- concat − madam_rag: -0.333 [-0.333, -0.333]" in changes


def test_a_fall_from_the_first_level_to_the_last_is_negative(tmp_path: Path) -> None:
    strata = [{"imbalance": f"1 : {1 + at % 2}"} for at in range(8)]  # concat is right at 1 : 1 alone
    evaluated(tmp_path / "figure4a", "jsonl:imbalance.jsonl", strata)
    assert "- concat: -1.000 [-1.000, -1.000]" in page.page(tmp_path)


def test_what_is_other_than_in_the_paper_is_said() -> None:
    (same,) = page.plainly("figure4a", {"concat": [30, 10], "madam_rag": [50, 40]})
    (other,) = page.plainly("figure4a", {"concat": [30, 20], "madam_rag": [50, 30]})
    assert "falls by 10.0 points and concat by 20.0: as in the paper." in same
    assert "falls by 20.0 points and concat by 10.0: OTHER THAN in the paper" in other
    (same,) = page.plainly("figure4b", {"concat": [30, 20], "astute_rag": [5, 5], "madam_rag": [50, 40]})
    (other,) = page.plainly("figure4b", {"concat": [30, 20], "astute_rag": [5, 25], "madam_rag": [50, 21]})
    assert "at 2 of 2 levels: as in the paper." in same
    assert "at 1 of 2 levels: OTHER THAN in the paper." in other
    assert page.plainly("figure4b", {"concat": [30, 20], "disputation": [50, 40]}) == []


def test_a_level_of_faults_alone_is_no_zero(tmp_path: Path) -> None:
    evaluated(tmp_path / "figure4b", "jsonl:misinformation.jsonl", [{"misinformation passages": "1"}] * 8)
    rows = page.by_entrant(page.read_journal(tmp_path / "figure4b"))
    failed = {key for key, record in rows["concat"].items() if record.fault}
    others = set(rows["concat"]) - failed
    assert list(page._heights(rows, [others, failed])) == ["madam_rag"]
    assert list(page._heights(rows, [others])) == ["concat", "madam_rag"]


def test_a_fault_is_neither_a_score_nor_a_cost(tmp_path: Path) -> None:
    evaluated(tmp_path / "ramdocs", "ramdocs:dev.jsonl", [{}] * 8)
    rows = page.by_entrant(page.read_journal(tmp_path / "ramdocs"))["concat"]
    scores = [page.score(row) for row in rows.values()]
    assert scores.count(None) == 1
    assert sum(score for score in scores if score) / 7 == pytest.approx(100 * 4 / 7)


def test_both_orders_of_the_passages_are_told_and_the_bound_debate_goes_by_its_option(tmp_path: Path) -> None:
    for folder, name in (("ramdocs", "ramdocs:dev.jsonl"), ("shuffled", "ramdocs:ramdocs-shuffled.jsonl")):
        evaluated(tmp_path / folder, name, [{}] * 4)
    text = page.page(tmp_path)
    assert "published order" in text
    assert "shuffled order" in text
    assert page._name(Entrant(label="bound", strategy="madam_rag", options={"bound": True})) == page.BOUND
    assert (
        page._name(Entrant(label="madam_rag", strategy="madam_rag", options={"bound": False})) == "madam_rag"
    )
