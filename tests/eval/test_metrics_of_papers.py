"""The metrics of data sets compare answers as their papers do, so that a score never moves with the product.

The table was written by the metrics as they were before votes, clusters and quotes compared by value.
"""

from __future__ import annotations

import string

import pytest

from disputatio.eval.metrics import choice, score, to_released_form
from disputatio.values import same_answer

NAMES = (
    "em",
    "em_lenient",
    "em_literal",
    "precision",
    "precision_lenient",
    "recall",
    "recall_lenient",
    "f1",
    "f1_lenient",
    "accuracy",
    "attack_success",
)
# Predicted, gold and wrong answers, and the scores by these names.
SCORES: list[tuple[list[str], list[str], list[str], tuple[float | None, ...]]] = [
    (["3.5"], ["35"], [], (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, None)),
    (["-5"], ["5"], [], (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, None)),
    (["2.0"], ["20"], [], (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, None)),
    (["1.234"], ["1234"], [], (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, None)),
    (["1,234"], ["1234"], [], (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, None)),
    (["3.50"], ["3.5"], [], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None)),
    (["C"], ["C++"], ["C#"], (1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, None)),
    (["v2.1"], ["v21"], [], (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, None)),
    (["10:30"], ["1030"], [], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None)),
    (["10:30"], ["10 30"], [], (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, None)),
    (["1/2"], ["12"], [], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None)),
    (["$10"], ["€10"], [], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None)),
    (
        ["$10 million"],
        ["10 million"],
        ["10,000,000 dollars"],
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    ),
    (["10%"], ["10 percent"], [], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None)),
    (["Spider-Man"], ["Spiderman"], ["Spider Man"], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)),
    (["AC/DC"], ["ACDC"], ["AC DC"], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)),
    (["U.S."], ["US"], [], (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, None)),
    (["12 May 1962"], ["May 12, 1962"], ["1962"], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)),
    (["1962"], ["12 May 1962"], [], (0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, None)),
    (["ten"], ["10"], [], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None)),
    (["5 km"], ["5 miles"], [], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None)),
    (
        ["The Beatles"],
        ["beatles."],
        ["The Rolling Stones"],
        (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0),
    ),
    (["born in 1963"], ["1963"], ["1998"], (0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0)),
    (
        ["New York City, NY"],
        ["New York City"],
        ["New York"],
        (0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0),
    ),
    (["at Ohio State"], ["Ohio"], ["Ohio State"], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0)),
    (["unknown"], ["1963"], ["1998"], (0.0, 0.0, 0.0, None, None, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
    ([], ["1963"], ["1998"], (0.0, 0.0, 0.0, None, None, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
    (["1963", "1998"], ["1963", "1956"], ["1998"], (0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1.0, 1.0)),
    (["1887年首航"], ["1887"], [], (0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, None)),
    (["STRASSE 3,559"], ["Straße 3559"], [], (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, None)),
    (["don't"], ["dont"], ["do not"], (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0)),
    (["1914-1918"], ["1914–1918"], ["1914"], (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)),
]


@pytest.mark.parametrize(("predicted", "gold", "wrong", "scores"), SCORES)
def test_scores_are_those_of_the_papers_normalisation(
    predicted: list[str], gold: list[str], wrong: list[str], scores: tuple[float | None, ...]
) -> None:
    metrics = ["em", "precision", "recall", "f1", "accuracy", "attack"]
    scored = score(predicted, gold, wrong, metrics)
    scored.pop("em_released")  # below
    assert scored == dict(zip(NAMES, scores, strict=True))


def as_released(answer: str) -> str:
    """Return the released script's normalisation, written out: lower, punctuation, articles, white space."""
    without = "".join(" " if ch.isspace() else ch for ch in answer.lower() if ch not in string.punctuation)
    return " ".join(word for word in without.split() if word not in ("a", "an", "the"))


@pytest.mark.parametrize(
    ("predicted", "gold", "same"),
    [
        ("10 million", "$10 million", True),
        ("10", "10%", True),
        ("ACDC", "AC/DC", True),
        ("Spiderman", "Spider-Man", True),
        ("League", "A-League", False),
        ("The Beatles", "beatles", True),
        ("a  b", "b", True),
    ],
)
def test_em_as_released_compares_as_the_released_script_does(predicted: str, gold: str, same: bool) -> None:
    assert (as_released(predicted) == as_released(gold)) is same
    assert to_released_form(predicted) == as_released(predicted)
    assert score([predicted], [gold], [], ["em"])["em_released"] == float(same)
    assert score([gold, predicted], [gold], [predicted], ["em"])["em_released"] == float(same)


@pytest.mark.parametrize(
    ("answer", "picked"),
    [
        ("Answer: B", 1.0),
        ("Answer: B. rest", 1.0),
        ("The correct answer is (B) rest", 1.0),
        ("Final answer: rest", 1.0),
        ("Option: A", 0.0),
        ("The answer is movement, not rest", 0.0),
    ],
)
def test_a_choice_may_be_announced(answer: str, picked: float) -> None:
    assert choice([answer], ["B. rest"], ["A. movement", "C. both"]) == picked


def test_the_metrics_do_not_follow_the_product_where_the_two_differ() -> None:
    assert score(["3.5"], ["35"], [], ["em"])["em"] == 1.0
    assert not same_answer("3.5", "35")
