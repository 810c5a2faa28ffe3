"""Measuring: each set keeps its own shape, and figures follow their definitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from disputatio.types import Extraction, Passage
from tests.train.material import write_data, write_model
from train.__main__ import main
from train.measure import (
    Asked,
    conflictnq_passages,
    f1_threshold,
    ramdocs_passages,
    realtimeqa_passages,
    retrieval_scores,
    squad2_scores,
)

PASSAGE = Passage(text="Anna Gold sang in paris.")


def _read(text: str, probability: float, *answers: str, kind: str = "right") -> tuple[Asked, Extraction]:
    reading = Extraction(answer=text, start=0, end=len(text), probability=probability)
    return Asked(question="Who?", passage=PASSAGE, answers=answers, kind=kind), reading


def test_noise_is_refused_at_the_point_that_keeps_the_right_passages_and_at_the_given_threshold() -> None:
    right = [_read("Anna", 0.5 + place / 1000, "Anna") for place in range(99)]
    late = _read("paris", 0.1, "Anna")
    noise = [_read("x", value, kind="noise") for value in (0.05, 0.2, 0.502, 0.9)]
    scores = retrieval_scores([*right, late, *noise], 0.15)
    assert scores["right"] == {"n": 100, "equal": 0.99, "as_written": 0.99, "f1": 0.99}
    assert scores["noise"]["keeping_93_here"] == {
        "noise_refused": 0.75,
        "right_kept": 0.93,
        "right_kept_and_as_written": 0.93,
    }
    assert scores["noise"]["threshold_from_dev"]["noise_refused"] == 0.25
    assert scores["noise"]["threshold_from_dev"]["right_kept"] == 0.99


def test_a_reading_that_contains_its_answer_is_as_written_and_not_equal() -> None:
    scores = retrieval_scores([_read("Anna Gold", 1, "anna"), _read("Anna", 1, "Anna Gold")], 0.5)
    assert (scores["right"]["equal"], scores["right"]["as_written"]) == (0.0, 1.0)


def test_squad2_counts_a_refusal_as_an_empty_answer() -> None:
    read = [_read("Anna", 0.9, "Anna"), _read("Anna", 0.1, "Anna"), _read("x", 0.1, kind="noise")]
    scores = squad2_scores([*read, _read("x", 0.9, kind="noise")], 0.5)
    assert scores["answerable"] == {"n": 2, "em": 0.5, "f1": 0.5}
    assert scores["unanswerable"] == {"n": 2, "em": 0.5, "f1": 0.5}
    assert scores["all"]["n"] == 4
    assert scores["answerable_always_answered"]["equal"] == 1.0


def test_the_threshold_of_squad2_is_the_one_with_the_highest_f1() -> None:
    read = [_read("Anna", 0.9, "Anna"), _read("Anna Gold", 0.6, "Anna"), _read("x", 0.7, kind="noise")]
    assert f1_threshold([*read, _read("x", 0.2, kind="noise"), _read("Anna", 0.1, "Gold")]) == 0.9
    assert f1_threshold([_read("x", 0.9, kind="noise")]) == 1.0


def test_passages_of_conflicting_sets_are_asked_for_what_they_themselves_say(tmp_path: Path) -> None:
    data = write_data(tmp_path)
    assert [(one.kind, one.answers) for one in conflictnq_passages(data)] == [
        ("right", ("anna",)),
        ("misinformation", ("bruno",)),
    ]
    assert [(one.kind, one.answers) for one in realtimeqa_passages(data)] == [
        ("right", ("Anna",)),
        ("noise", ()),
        ("misinformation", ("Bruno",)),
    ]
    kinds = [one.kind for one in ramdocs_passages(data, "report")]
    assert kinds == ["right", "misinformation", "noise", "right"] * 8


@pytest.mark.long
def test_the_command_measures_a_folder_and_writes_its_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, model = write_data(tmp_path / "data", contexts=400), write_model(tmp_path / "model", length=64)
    scores = tmp_path / "scores.json"
    assert main(["measure", "--data", str(data), "--model", str(model), "--json", str(scores)]) == 0
    printed: dict[str, Any] = {}
    for line in capsys.readouterr().out.splitlines():
        printed |= json.loads(line)
    assert printed == json.loads(scores.read_text(encoding="utf-8"))
    assert printed["ramdocs"]["right"]["n"] == 16
    assert printed["ramdocs"]["right_whose_text_bears_it"]["n"] == 8
    assert printed["speed"]["passages"] == 32
    assert set(printed) > {"squad2", "test_squad11_dev", "nq", "conflictnq", "realtimeqa"}
