"""Estimates learn from answered questions, and forget a removed source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from disputatio.calibration.calibrate import calibrate
from disputatio.calibration.estimates import estimates_of
from disputatio.calibration.learn import find_settled_outcome, learn, remove
from disputatio.causes import Cause
from disputatio.errors import UnknownName
from disputatio.store.calibration_file import open_log, read_outcomes
from disputatio.store.calibration_log import FactQuestion, QuestionOutcome, check_id
from disputatio.store.contract import Index
from disputatio.types import Answer, Conflict, ConflictKind, Position, PositionVerdict
from tests.calibration.towns import TOWNS, index_of, kit, question

DAY = "2026-11-21"


def position(answer: str, verdict: PositionVerdict, *sources: str, why: str = "kept") -> Position:
    return Position(answer=answer, verdict=verdict, cause=Cause(kind=why), sources=sources)


def answered(*positions: Position, kind: ConflictKind = "misinformation", text: str = "When?") -> Answer:
    return Answer(question=text, answers=("1801",), conflict=Conflict(kind=kind, positions=tuple(positions)))


RIGHT = position("1801", "accepted", "archive", "museum")
WRONG = position("1804", "rejected", "buzz")


def asked_of(index: Index, towns: tuple[str, ...]) -> None:
    checks = [FactQuestion(id=check_id(question(t)), text=question(t), kind="given") for t in towns]
    calibrate(index, kit(), day=DAY, questions=checks)


def test_a_settled_conflict_is_an_outcome() -> None:
    outcome = find_settled_outcome(answered(RIGHT, WRONG), {}, DAY)
    assert outcome == QuestionOutcome(
        question=check_id("When?"),
        answers={"archive": "1801", "museum": "1801", "buzz": "1804"},
        clusters={"archive": 0, "museum": 0, "buzz": 1},
        winner=0,
        day=DAY,
        states={"archive": "", "museum": "", "buzz": ""},
    )


@pytest.mark.parametrize(
    "answer",
    [
        answered(RIGHT),
        answered(RIGHT, position("1900", "accepted", "buzz"), kind="ambiguity"),
        answered(RIGHT, WRONG, kind="outdated"),
        answered(RIGHT, replace(WRONG, verdict="unresolved"), kind="unresolved"),
        answered(RIGHT, replace(WRONG, cause=Cause(kind="off_topic"))),
        answered(RIGHT, replace(WRONG, sources=())),
        answered(RIGHT, position("1804", "rejected", "archive")),
    ],
)
def test_what_is_not_settled_between_sources_teaches_nothing(answer: Answer) -> None:
    outcome = find_settled_outcome(answer, {}, DAY)
    assert outcome is None


def test_two_sources_of_one_owner_settle_nothing() -> None:
    both = answered(position("1801", "accepted", "a"), position("1804", "rejected", "b"))
    assert find_settled_outcome(both, {}, DAY) is not None
    assert find_settled_outcome(both, {"a": "x", "b": "x"}, DAY) is None


@pytest.mark.long
def test_learning_one_by_one_gives_the_same_as_one_batch(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {"archive": 0, "museum": 0, "parish": 0, "buzz": 3})
    asked_of(index, TOWNS[:4])
    for number in range(6):
        assert learn(index, answered(RIGHT, WRONG, text=f"When was number {number}?"), day=DAY)
    view = index.source_passages()
    assert view is not None
    batch = estimates_of(
        read_outcomes(index.path), view, ["archive", "buzz", "museum", "parish"], owners={}, day=DAY
    )
    assert dict(index.estimates()) == dict(batch.sources)
    assert index.estimates()["buzz"].answered == 10


@pytest.mark.long
def test_stale_estimates_stay_stale_after_learning(tmp_path: Path) -> None:
    from tests.calibration.towns import passage_on

    index = index_of(tmp_path / "x", {"archive": 0, "museum": 0, "buzz": 3})
    asked_of(index, TOWNS[:3])
    index.add([passage_on("Zembla", 1900, "buzz")])
    learn(index, answered(RIGHT, WRONG), day=DAY)
    assert [name for name, estimate in index.estimates().items() if estimate.stale] == ["buzz"]


@pytest.mark.long
def test_a_question_of_a_calibration_is_not_learned_again(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {"archive": 0, "museum": 0, "buzz": 3})
    asked_of(index, TOWNS[:3])
    before = read_outcomes(index.path)
    assert not learn(index, answered(RIGHT, WRONG, text=question(TOWNS[0])), day=DAY)
    assert read_outcomes(index.path) == before


@pytest.mark.long
def test_a_removed_source_leaves_the_estimates_there_would_be_without_it(tmp_path: Path) -> None:
    lies = {"archive": 0, "museum": 0, "parish": 0, "almanac": 0, "buzz": 3}
    index = index_of(tmp_path / "with", lies)
    asked_of(index, TOWNS)
    never = index_of(tmp_path / "without", {name: by for name, by in lies.items() if name != "almanac"})
    asked_of(never, TOWNS)
    assert index.estimates() != never.estimates()
    remaining = remove(index, ["almanac"], day=DAY)
    assert remaining == dict(never.estimates())


@pytest.mark.long
def test_a_source_that_was_never_estimated_cannot_be_removed(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {"archive": 0, "museum": 0})
    asked_of(index, TOWNS[:2])
    with pytest.raises(UnknownName, match="archive"):
        remove(index, ["archiv"], day=DAY)


@pytest.mark.long
def test_an_old_outcome_counts_half_after_the_half_life(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {"archive": 0, "museum": 0, "parish": 0, "buzz": 3})
    asked_of(index, TOWNS)
    assert index.estimates()["buzz"].answered == 8
    calibrate(index, kit(), day="2026-12-01", count=0, half_life=10.0)
    assert index.estimates()["buzz"].answered == pytest.approx(4)
    view = index.source_passages()
    assert view is not None
    with open_log(index.path):
        record = read_outcomes(index.path)
    later = estimates_of(record, view, ["archive", "buzz"], owners={}, day="2026-12-11").sources
    assert later["buzz"].answered == pytest.approx(2)
