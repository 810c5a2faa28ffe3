"""The leader is named with its uncertainty, and no winner is named where chance may have chosen it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import InputError
from disputatio.eval.reporting.headline import headline, pareto_front
from disputatio.eval.reporting.report import report
from disputatio.eval.reporting.tables import markdown
from disputatio.eval.reporting.wording import describe_finding, remarks, so_far, verdict
from disputatio.eval.running.run_log import Entrant
from disputatio.trace import Trace
from disputatio.types import Answer, Passage, Usage
from tests.eval.fakes import MANIFEST, examples, run


def told(question: str, passages: Sequence[Passage], strategy: str, options: Mapping[str, Any],
         trace: Trace) -> Answer:  # fmt: skip
    """`of30` is right on the first 30 questions and costs 30 tokens, and so on."""
    number, right = int(question.rsplit(maxsplit=1)[-1]), int(strategy.removeprefix("of"))
    return Answer(
        question=question,
        answers=(f"gold {number}" if number < right else "nonsense",),
        usage=Usage(calls=1, prompt_tokens=right, completion_tokens=0, seconds=0.1),
    )


def evaluated(out: Path, *rights: int, count: int = 40) -> dict[str, Any]:
    entrants = [Entrant(label=f"of{right}", strategy=f"of{right}") for right in rights]
    run(examples(count), entrants, ask=told, out=out, manifest=MANIFEST)
    (part,) = report(out, resamples=500)["datasets"]
    return dict(part)


def test_a_clear_leader_is_named_with_distance_test_and_cost(tmp_path: Path) -> None:
    part = evaluated(tmp_path, 10, 30)
    lead = part["headline"]
    assert verdict(lead) == "of30 leads"
    sentence = describe_finding(lead)
    assert sentence.startswith("of30: EM 75.0 % [")
    assert "on 40 questions, 50.0 points above of10 (paired, [" in sentence
    assert sentence.endswith("p < 0.001), at 3.0 times its tokens.")
    assert lead["level"] == []
    assert lead["front"] == ["of10", "of30"]


@pytest.mark.long
def test_no_winner_is_named_where_the_difference_may_be_chance(tmp_path: Path) -> None:
    part = evaluated(tmp_path, 28, 30, 5)
    lead = part["headline"]
    assert verdict(lead) == "No winner beyond chance"
    assert (lead["leader"], lead["level"]) == ("of30", ["of28"])
    said = " ".join(remarks(lead, part["strategies"]))
    assert "Not told apart from of30 on these questions: of28 (at the 5 % level, p adjusted for 2" in said
    assert "The cheapest of these is of28, 28 tokens a question against 30." in said


def test_of_equals_the_cheaper_is_first() -> None:
    strategies: list[dict[str, Any]] = [
        {"strategy": name, "withheld": None, "em": 0.5, "prompt_tokens": spent, "completion_tokens": 0,
         "n": 4, "failed": 0, "abstained": 0, "calls": 1, "ci": {}}
        for name, spent in (("dear", 90), ("cheap", 10))
    ]  # fmt: skip
    lead = headline(strategies, [], "em")
    assert lead is not None
    assert lead["leader"] == "cheap"
    assert lead["front"] == ["cheap"]


def test_nothing_right_is_no_lead(tmp_path: Path) -> None:
    part = evaluated(tmp_path, 0)
    assert verdict(part["headline"]) == "Nothing was answered right"


def test_one_strategy_is_alone(tmp_path: Path) -> None:
    part = evaluated(tmp_path, 12)
    assert verdict(part["headline"]) == "of12, alone"
    assert describe_finding(part["headline"]).endswith("there is nothing to compare it with.")


def test_few_questions_are_said_to_be_few(tmp_path: Path) -> None:
    part = evaluated(tmp_path, 3, 4, count=6)
    assert "6 questions are few: only large differences show." in remarks(
        part["headline"], part["strategies"]
    )


def test_without_records_there_is_nothing_to_rank(tmp_path: Path) -> None:
    run([], [Entrant(label="of1", strategy="of1")], ask=told, out=tmp_path, manifest=MANIFEST)
    assert verdict(report(tmp_path)["datasets"][0]["headline"]) == "Nothing to rank yet"


def test_another_metric_ranks_when_it_is_wanted_and_measured(tmp_path: Path) -> None:
    evaluated(tmp_path, 10, 30)
    assert report(tmp_path, metric="f1", resamples=50)["datasets"][0]["headline"]["metric"] == "f1"
    with pytest.raises(InputError, match="--metric accuracy: this evaluation has em, "):
        report(tmp_path, metric="accuracy")
    with pytest.raises(InputError, match="less of it is better"):
        report(tmp_path, metric="attack_success")


def test_the_front_leaves_out_who_is_beaten_in_both() -> None:
    points = {"a": (0.2, 10), "b": (0.4, 50), "c": (0.4, 80), "d": (0.3, 60), "e": (0.9, 900), "f": (0.2, 10)}
    strategies = [
        {"strategy": name, "em": score, "prompt_tokens": spent, "completion_tokens": 0}
        for name, (score, spent) in points.items()
    ]
    assert pareto_front(strategies, "em") == ["a", "f", "b", "e"]
    assert pareto_front(strategies[:1], "em") == ["a"]
    assert pareto_front([{**strategies[0], "em": None}], "em") == []


def test_an_evaluation_under_way_says_so_far(tmp_path: Path) -> None:
    evaluated(tmp_path, 3, count=4)
    run(examples(2), [Entrant(label="of2", strategy="of2")], ask=told, out=tmp_path, manifest=MANIFEST)
    evaluation = report(tmp_path, resamples=50)
    assert evaluation["progress"] == {"recorded": 6, "expected": 8, "complete": False}
    assert "**So far: 6 of 8 answers are recorded" in markdown(evaluation)
    assert so_far({"recorded": 8, "expected": 8, "complete": True}) == ""
