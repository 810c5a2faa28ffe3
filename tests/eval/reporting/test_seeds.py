"""A strategy asked with several seeds stands once in a report, a question's figures being means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from disputatio.errors import ServerFault
from disputatio.eval.reporting.report import report
from disputatio.eval.reporting.tables import markdown
from disputatio.eval.running.run_log import Entrant
from disputatio.trace import Trace
from disputatio.types import Answer, Passage, Usage
from tests.eval.fakes import MANIFEST, examples, run

THREE = [
    Entrant(label="odd", strategy="lucky", options={"shuffle_seed": 0}),
    Entrant(label="odd#1", strategy="lucky", options={"shuffle_seed": 1}),
    Entrant(label="odd#2", strategy="lucky", options={"shuffle_seed": 2}),
]
PLAIN = Entrant(label="plain", strategy="plain", options={"shuffle_seed": 0})


def lucky(question: str, passages: Sequence[Passage], strategy: str, options: Mapping[str, Any],
          trace: Trace) -> Answer:  # fmt: skip
    """Right where the number and the seed have a sum that 2 divides; `plain` is never right."""
    number, seed = int(question.rsplit(maxsplit=1)[-1]), options["shuffle_seed"]
    right = strategy == "lucky" and (number + seed) % 2 == 0
    return Answer(
        question=question,
        answers=(f"gold {number}" if right else "nonsense",),
        confidence=0.25 * (seed + 1),
        usage=Usage(calls=1 + seed, prompt_tokens=10, completion_tokens=1, seconds=0.1),
    )


def failing(question: str, passages: Sequence[Passage], strategy: str, options: Mapping[str, Any],
            trace: Trace) -> Answer:  # fmt: skip
    if options["shuffle_seed"] == 2 and question.endswith(" 3"):
        raise ServerFault("down", 503)
    return lucky(question, passages, strategy, options, trace)


def test_a_question_counts_once_with_the_mean_of_its_seeds(tmp_path: Path) -> None:
    run(examples(4), [*THREE, PLAIN], ask=lucky, out=tmp_path, manifest=MANIFEST)
    evaluation = report(tmp_path, resamples=200)
    (part,) = evaluation["datasets"]
    odd, plain = part["strategies"]
    assert [odd["strategy"], plain["strategy"]] == ["odd", "plain"]
    assert (odd["n"], odd["em"], odd["calls"]) == (4, 0.5, 2.0)
    assert odd["ci"]["em"][0] >= round(1 / 3, 6)  # even questions 2/3, odd ones 1/3: no question is at 0
    assert [(one["label"], one["em"], one["n"]) for one in part["seeds"]] == [
        ("odd", 0.5, 4),
        ("odd#1", 0.5, 4),
        ("odd#2", 0.5, 4),
    ]
    assert part["headline"]["rivals"][0]["strategy"] == "plain"
    assert len([difference for difference in part["differences"] if difference["metric"] == "em"]) == 1
    assert part["differences"][0]["mcnemar"] is None  # means of seeds are neither right nor wrong
    assert part["confidence"][0]["points"][0][2] == 0.5
    assert "### By seed, per cent" in markdown(evaluation)


def test_a_question_on_which_a_seed_failed_has_failed(tmp_path: Path) -> None:
    run(examples(4), THREE, ask=failing, out=tmp_path, manifest=MANIFEST)
    (odd,) = report(tmp_path, resamples=50)["datasets"][0]["strategies"]
    assert (odd["asked"], odd["failed"], odd["em"]) == (4, 1, None)


def test_a_question_that_a_seed_was_not_asked_is_not_counted(tmp_path: Path) -> None:
    run(examples(4), THREE[:2], ask=lucky, out=tmp_path, manifest=MANIFEST)
    run(examples(2), THREE, ask=lucky, out=tmp_path, manifest=MANIFEST)
    (odd,) = report(tmp_path, resamples=50)["datasets"][0]["strategies"]
    assert odd["asked"] == 2


def test_one_seed_is_as_it_was(tmp_path: Path) -> None:
    run(examples(4), THREE[:1], ask=lucky, out=tmp_path, manifest=MANIFEST)
    (part,) = report(tmp_path, resamples=50)["datasets"]
    assert (part["seeds"], part["strategies"][0]["calls"]) == ([], 1.0)
