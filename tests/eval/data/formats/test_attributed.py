"""Questions with pages, answers with grades and claims with judgements are read as they are published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import InputError
from disputatio.eval.data.datasets import load
from tests.eval.data.formats.rows import CLAIM, JUDGED, MORGANA, file_of


def test_a_synthetic_question_has_its_pages_as_passages_and_its_categories_as_strata(tmp_path: Path) -> None:
    (example,) = load(f"datamorgana:{file_of(tmp_path, [MORGANA])}")
    assert [passage.source for passage in example.passages] == ["aa-1", "bb-2"]
    assert example.metadata["pages"] == ("<urn:uuid:aa-1>", "<urn:uuid:bb-2>")
    assert example.metadata["strata"] == {"answer type": "comparison", "premise": "direct", "user": "novice"}
    assert example.gold == (MORGANA["answer"],)


def test_a_question_with_more_pages_than_texts_is_named(tmp_path: Path) -> None:
    path = file_of(tmp_path, [MORGANA, {**MORGANA, "context": ["one"]}])
    with pytest.raises(InputError, match=r"rows.jsonl:2: context has 1 texts for 2 document_ids"):
        load(f"datamorgana:{path}")


def test_a_graded_answer_keeps_its_grades_apart_from_the_question(tmp_path: Path) -> None:
    path = file_of(tmp_path, [JUDGED, {**JUDGED, "system": "Basic_RAG", "generated_answer": ""}])
    first, second = load(f"judged_answers:{path}")
    assert (first.metadata["correctness"], first.metadata["faithfulness"]) == (1.8, 1.0)
    assert first.metadata["answer"] == "Its piers are cracked."
    assert second.metadata["answer"] == ""
    assert first.passages == ()
    assert [example.row for example in load(f"judged_answers:{path}#Basic_RAG")] == [1]


@pytest.mark.parametrize("grade", ["1.8", None, True, float("nan")])
def test_a_grade_that_is_no_number_is_named(tmp_path: Path, grade: Any) -> None:
    path = file_of(tmp_path, [{**JUDGED, "correctness_score": grade}])
    with pytest.raises(InputError, match=r"rows.jsonl:1: correctness_score must be a number"):
        load(f"judged_answers:{path}")


def test_a_claim_has_its_evidence_without_the_head_that_numbers_it(tmp_path: Path) -> None:
    (example,) = load(f"expertqa:{file_of(tmp_path, [CLAIM])}")
    (passage,) = example.passages  # the second evidence is an address alone
    assert passage.text == "Bridges are inspected every two years."
    assert (passage.source, passage.url) == ("bridges.example", "https://bridges.example/rules")
    assert example.metadata["claim"] == CLAIM["claim"]
    assert (example.metadata["support"], example.metadata["reliability"]) == ("Complete", "")
    assert example.gold == ()


def test_a_claim_that_experts_did_not_judge_has_no_support(tmp_path: Path) -> None:
    path = file_of(tmp_path, [{**CLAIM, "support": "N/A"}, {**CLAIM, "support": None}])
    assert [example.metadata["support"] for example in load(f"expertqa:{path}")] == ["", ""]
    with pytest.raises(InputError, match="support 'Maybe' is none of Complete, Partial"):
        load(f"expertqa:{file_of(tmp_path, [{**CLAIM, 'support': 'Maybe'}])}")
