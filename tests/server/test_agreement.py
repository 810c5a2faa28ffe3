"""Tests of the share of questions on which two sources agree, over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from disputatio.calibration.agreement import agreements
from disputatio.store.calibration_log import QuestionOutcome
from tests.server.ferry import ferry, ferry_index, served

ASKED = [
    "When did the ferry first cross?",
    "In which year did the ferry first cross?",
    "What is the year in which the ferry first crossed?",
    "The ferry: when did it first cross?",
    "Which year saw the ferry first cross?",
]


def pairs(found: dict[str, Any]) -> dict[tuple[str, str], tuple[int, int]]:
    """Return what two sources share, and on how many of it they agree."""
    return {(pair["first"], pair["second"]): (pair["shared"], pair["agreed"]) for pair in found["pairs"]}


@pytest.mark.long
def test_kept_answers_tell_which_sources_agree_once_there_are_enough(tmp_path: Path) -> None:
    with served(ferry(tmp_path)) as server:
        for question in (*ASKED[:4], ASKED[0].upper()):  # one of them twice
            assert server.ask(question).status_code == 200
        assert server.client.get("/api/agreement").json() == {"questions": 4, "pairs": []}
        server.ask(ASKED[4])
        assert pairs(server.client.get("/api/agreement").json()) == {
            ("almanac.example", "museum.example"): (5, 5),
            ("almanac.example", "buzz.example"): (5, 0),
            ("buzz.example", "museum.example"): (5, 0),
        }


def test_the_questions_of_a_calibration_count_for_sources_that_are_still_there(tmp_path: Path) -> None:
    index = ferry_index(tmp_path)
    with index.open_log() as log:
        for number in range(6):
            clusters = {"museum.example": 0, "almanac.example": number % 2, "gone.example": 0}
            said = dict.fromkeys(clusters, "1887")
            log.outcome(QuestionOutcome(question=f"f{number}", answers=said, clusters=clusters))
    with served(ferry(tmp_path, index=index)) as server:
        found = server.client.get("/api/agreement").json()
    assert found["questions"] == 6
    assert pairs(found) == {("almanac.example", "museum.example"): (6, 3)}


def test_the_sources_that_answered_most_are_compared() -> None:
    asked = [{"a": 0, "b": 0, "c": 0}] * 5 + [{"a": 0, "b": 1}] * 5
    [pair] = agreements(asked, most=2)
    assert (pair.first, pair.second, pair.shared, pair.agreed) == ("a", "b", 10, 5)
