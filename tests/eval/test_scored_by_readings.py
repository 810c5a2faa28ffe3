"""A run scores answers by what the data set says of them: names of an answer, options, abstentions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from disputatio.eval.reporting.report import report
from disputatio.types import Answer, Example
from tests.eval import fakes
from tests.eval.fakes import run

SAID = {"who": ("A. Fen",), "is it": ("Yes, it is",), "why": ()}


def _ask(question: str, *_: object) -> Answer:
    answers = SAID[question]
    return Answer(question=question, answers=answers, abstained=None if answers else "no_evidence")


def test_aliases_options_and_right_abstentions_count_in_a_run(tmp_path: Path) -> None:
    names = ("Ada Fen", "A. Fen")
    known: dict[str, tuple[tuple[str, ...], tuple[str, ...], dict[str, Any], tuple[str, ...]]] = {
        "who": (names, (), {"readings": ((names,),)}, ("em",)),
        "is it": (("yes",), ("no",), {"options": ("yes", "no")}, ("accuracy", "attack")),
        "why": ((), (), {"abstain": True}, ("abstention",)),
    }
    examples = [
        Example(
            id=question,
            row=0,
            question=question,
            gold=gold,
            wrong=wrong,
            metadata={**more, "dataset": question},
        )
        for question, (gold, wrong, more, _) in known.items()
    ]
    manifest = replace(
        fakes.MANIFEST,
        datasets=dict.fromkeys(known, "ab"),
        metrics={name: metrics for name, (_, _, _, metrics) in known.items()},
    )
    run(examples, [fakes.RIGHT], ask=_ask, out=tmp_path, manifest=manifest)
    evaluation = {part["dataset"]: part["strategies"][0] for part in report(tmp_path)["datasets"]}
    who, is_it, why = (evaluation[name] for name in known)
    assert who["em"] == 1.0
    assert (is_it["accuracy"], is_it["attack_success"]) == (1.0, 0.0)
    assert why["accuracy"] == 1.0
