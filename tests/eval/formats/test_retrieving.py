"""Questions that need retrieval come with what was retrieved, whatever form it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.errors import InputError
from disputatio.eval.datasets import load
from disputatio.eval.metrics import score
from tests.eval.formats.rows import RETRIEVAL, file_of


def test_texts_and_objects_become_passages_and_those_without_text_do_not(tmp_path: Path) -> None:
    (example,) = load(f"retrievalqa:{file_of(tmp_path, [RETRIEVAL])}")
    assert [(one.title, one.source) for one in example.passages] == [("", "doc1"), ("Ola", "doc3")]
    assert example.gold == ("Ola Fen", "Ola")
    assert example.metadata["part"] == "toolqa"


def test_a_right_answer_is_one_that_contains_a_gold_one(tmp_path: Path) -> None:
    (example,) = load(f"retrievalqa:{file_of(tmp_path, [RETRIEVAL])}")
    assert score(["It was Ola Fen."], example.gold, example.wrong, ["accuracy"]) == {"accuracy": 1.0}


@pytest.mark.parametrize("context", ["text", [3], [{"text": ["x"]}]])
def test_a_context_of_another_shape_is_named(tmp_path: Path, context: object) -> None:
    path = file_of(tmp_path, [{**RETRIEVAL, "context": context}])
    with pytest.raises(InputError, match=r"rows.jsonl:1: context"):
        load(f"retrievalqa:{path}")
