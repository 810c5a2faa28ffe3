"""Answers that arrive in batches are estimated as those that are given at once."""

from __future__ import annotations

import random
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest

from disputatio.errors import InputError
from disputatio.reliability.answers import Answers
from disputatio.reliability.trust import untangle
from disputatio.reliability.weighted_vote import as_met, estimate

Row = tuple[str, str, str]


def rows(seed: int = 0, questions: int = 120, sources: int = 15) -> list[Row]:
    """Answers by text; a source is better the greater its number."""
    dice = random.Random(seed)
    return [
        (f"q{q}", f"s{s}", "Right" if dice.random() < 0.4 + 0.03 * s else f"wrong {dice.randint(1, 8)}")
        for q in range(questions)
        for s in range(sources)
        if dice.random() < 0.6
    ]


def gathered(given: list[Row], batches: int = 1) -> Answers:
    answers = Answers()
    for begin in range(batches):
        part = given[begin::batches]
        answers.add(*(list(column) for column in zip(*part, strict=True)))
    return answers


@pytest.mark.long
@pytest.mark.parametrize("estimator", ["paper", "ours"])
def test_answers_in_batches_and_at_once_are_estimated_alike(estimator: Literal["paper", "ours"]) -> None:
    given = rows()
    once, streamed = gathered(given), gathered(given, 7)
    one, other = once.figures(estimator), streamed.figures(estimator)
    at = [list(other.names).index(name) for name in one.names]
    np.testing.assert_allclose(one.reliability, other.reliability[at], rtol=1e-9)
    assert one.answered.tolist() == other.answered[at].tolist()


@pytest.mark.long
def test_the_estimates_are_those_of_the_array_of_votes() -> None:
    given = rows(3)
    answers = gathered(given)
    labels = np.full((len(answers.questions), len(answers.sources)), -1)
    texts: dict[str, int] = {}
    for question, source, text in given:
        number = texts.setdefault(text, len(texts))
        labels[answers.questions.index(question), answers.sources.index(source)] = number
    votes, _ = as_met(labels)
    np.testing.assert_allclose(answers.figures("ours").reliability, untangle(votes)[0].reliability)
    np.testing.assert_allclose(answers.figures("paper").reliability, estimate(votes).reliability)


@pytest.mark.long
def test_later_answers_replace_earlier_ones_and_are_merged() -> None:
    given = rows(5)
    answers = gathered(given)
    answers.figures()
    changed = [(question, source, "Right") for question, source, _ in given[:40]]
    answers.add(*(list(column) for column in zip(*changed, strict=True)))
    answers.add(["new"], ["s99"], ["Right"])
    fresh = gathered([*changed, *given[40:], ("new", "s99", "Right")])
    assert len(answers) == len(fresh)
    one, other = answers.figures(anew=True), fresh.figures()
    at = [list(other.names).index(name) for name in one.names]
    np.testing.assert_allclose(one.reliability, other.reliability[at], rtol=1e-9)


def test_verified_questions_count_by_their_right_answer() -> None:
    answers = gathered([("q1", "a", "Paris"), ("q1", "b", "Rome"), ("q2", "a", "Oslo")])
    answers.verify({"q1": "PARIS", "q2": "Bergen"})
    assert answers.known().tolist() == [0, -1]


def test_batches_of_arrow_are_read_with_truths_and_gaps() -> None:
    batch = pa.RecordBatch.from_pydict(
        {
            "question": ["q1", "q1", None, "q2"],
            "source": ["a", "b", "c", "a"],
            "answer": [3, 4, 5, None],
            "truth": ["3", None, None, "8"],
        }
    )
    answers = Answers()
    assert answers.add_batches([batch]) == 2
    assert len(answers) == 2
    assert answers.known().tolist() == [0, -1]
    with pytest.raises(InputError, match="no column answer"):
        answers.add_batches([batch.select(["question", "source"])])


def test_nothing_gives_nothing() -> None:
    answers = Answers()
    assert len(answers) == 0
    assert answers.figures().names == []
    with pytest.raises(InputError):
        answers.add(["q"], ["s"], [])
