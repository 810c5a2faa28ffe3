"""FaithEval's three tasks measure three things, and a row of one is not taken for a row of another."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.errors import InputError
from disputatio.eval.data.datasets import check, identify, load
from disputatio.eval.metrics import score_answer
from tests.eval.data.formats.published import COUNTERFACTUAL, INCONSISTENT, UNANSWERABLE
from tests.eval.data.formats.rows import file_of


def test_to_abstain_is_right_where_the_context_lacks_the_answer(tmp_path: Path) -> None:
    path = file_of(tmp_path, [UNANSWERABLE])
    (example,) = load(f"faitheval_unanswerable:{path}")
    metrics = identify(f"faitheval_unanswerable:{path}").metrics
    assert score_answer([], example, metrics) == {"accuracy": 1.0}
    assert score_answer(["unknown"], example, metrics) == {"accuracy": 1.0}
    assert score_answer(["Ada Fen"], example, metrics) == {"accuracy": 0.0}
    assert example.gold == ()
    assert check([example]) == []  # that there is no gold answer is meant


def test_the_documents_of_a_contradiction_are_passages_and_the_first_is_right(tmp_path: Path) -> None:
    path = file_of(tmp_path, [INCONSISTENT])
    (example,) = load(f"faitheval_inconsistent:{path}")
    assert [p.text for p in example.passages] == [
        "The Vell bridge is from 1890.",
        "The Vell bridge is from 1931.",
    ]
    assert (example.gold, example.wrong) == (("1890",), ("1931",))
    metrics = identify(f"faitheval_inconsistent:{path}").metrics
    assert score_answer(["1890"], example, metrics)["em"] == 1.0
    assert score_answer(["1890", "1931"], example, metrics)["em"] == 0.0


def test_to_keep_to_a_context_that_lies_is_right(tmp_path: Path) -> None:
    written = {**COUNTERFACTUAL, "choices": str(COUNTERFACTUAL["choices"])}
    first, same = load(f"faitheval_counterfactual:{file_of(tmp_path, [COUNTERFACTUAL, written])}")
    assert first.question == same.question
    assert first.gold == ("B. cheese",)  # numbered options are lettered
    assert score_answer(["cheese"], first, ("choice",)) == {"accuracy": 1.0}
    assert score_answer(["iron"], first, ("choice",)) == {"accuracy": 0.0}
    with pytest.raises(InputError, match="answerKey '5' is none of its options 1, 2, 3, 4"):
        load(f"faitheval_counterfactual:{file_of(tmp_path, [{**COUNTERFACTUAL, 'answerKey': '5'}])}")


@pytest.mark.parametrize(
    ("task", "row", "message"),
    [
        ("unanswerable", INCONSISTENT, "answers hold '1890': a row of faitheval_inconsistent"),
        ("inconsistent", UNANSWERABLE, "answers hold 'unanswerable'.*faitheval_unanswerable"),
        ("inconsistent", COUNTERFACTUAL, "try faitheval_counterfactual:"),
    ],
)
def test_a_row_of_another_task_is_named(
    tmp_path: Path, task: str, row: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        load(f"faitheval_{task}:{file_of(tmp_path, [row])}")
