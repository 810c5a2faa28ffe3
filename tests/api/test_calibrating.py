"""Reliabilities from Python: questions drawn, given or verified, and estimates that show themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import disputatio as d
from disputatio.calibration.calibrate import CalibrationPlan
from disputatio.llm.scripted import Scripted
from tests.calibration.towns import TOWNS, YEARS, index_of, question, say

LIES = {"archive": 0, "museum": 0, "parish": 0, "buzz": 3}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    index_of(tmp_path / "x.index", LIES)
    return tmp_path


def reader() -> Scripted:
    return Scripted(say, choices={"": {"Yes": 0.9, "No": 0.1}})


@pytest.mark.long
def test_questions_are_put_to_the_sources_and_the_estimates_are_kept(place: Path) -> None:
    plans: list[int] = []
    done: list[tuple[int, int]] = []
    found = d.calibrate(
        "x.index",
        questions=[question(town) for town in TOWNS[:4]],
        model=reader(),
        planned=lambda plan: plans.append(plan.questions),
        progress=lambda count, total, _: done.append((count, total)),
    )
    assert (found.questions, found.cross_checked, plans) == (4, 4, [4])
    assert done[-1] == (4, 4)
    reliabilities = {name: source.reliability or 0 for name, source in found.sources.items()}
    assert min(reliabilities, key=reliabilities.__getitem__) == "buzz"
    estimates = d.Index.open("x.index", create=False).estimates()
    assert estimates["buzz"].reliability == reliabilities["buzz"]
    again = d.calibrate(d.Index.open("x.index", create=False), questions=[question(TOWNS[0])], model=reader())
    assert again.calls == 0  # it is on record


def test_a_first_calibration_is_planned_by_the_speed_of_the_models_other_calls(place: Path) -> None:
    timed = {reader().name: [["judge", 1600, 400, 30, 6.0, 6.0]]}
    (place / "cache").mkdir()
    (place / "cache" / "speeds.json").write_text(
        json.dumps({"batches": timed, "loading": {}, "questions": {}})
    )
    plans: list[CalibrationPlan] = []
    d.calibrate("x.index", questions=[question(TOWNS[0])], model=reader(), planned=plans.append)
    [plan] = plans
    assert plan.seconds == pytest.approx(6.0 * plan.calls)


@pytest.mark.long
def test_anchors_and_owners_are_mappings_or_files(place: Path) -> None:
    anchors = {question(town): [str(YEARS[town]), f"in {YEARS[town]}"] for town in TOWNS[:3]}
    owners = {"museum": "the town", "parish": "the town"}
    found = d.calibrate("x.index", questions=0, anchors=anchors, owners=owners, model=reader())
    assert (found.anchors, found.sources["museum"].owner) == (3, "the town")
    (place / "owners.csv").write_text("source,owner\nbuzz,somebody\n")
    found = d.calibrate("x.index", questions=0, owners="owners.csv", model=reader())
    assert found.sources["buzz"].owner == "somebody"


def test_estimates_show_themselves(place: Path) -> None:
    found = d.calibrate("x.index", questions=[question(TOWNS[0])], model=reader())
    assert str(found).splitlines()[0].split() == [
        "source", "owner", "reliability", "95", "%", "interval", "answered", "group",
    ]  # fmt: skip
    assert "1 questions on record (0 verified), 1 of them cross-checked" in str(found)
    assert "<td>archive</td>" in found._repr_html_()
    assert d.Calibration.from_dict(found.to_dict()) == found


def test_a_calibration_is_cancelled(place: Path) -> None:
    cancel = d.Cancel()
    cancel.cancel()
    with pytest.raises(d.Cancelled):
        d.calibrate("x.index", questions=[question(TOWNS[0])], model=reader(), cancel=cancel)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"questions": -1}, "choose from 0 to 100000, not -1"),
        ({"questions": []}, "questions: has no questions"),
        ({"questions": ["good?", " "]}, "question 2: has no question"),
        ({"questions": "absent.txt"}, "absent.txt"),
        ({"anchors": {"good?": []}}, "anchor 1: has no answer"),
        ({"settings": {"journl": "none"}}, "did you mean 'journal'"),
    ],
)
def test_what_is_wrong_is_named(place: Path, how: dict[str, object], message: str) -> None:
    with pytest.raises(d.DisputatioError, match=message):
        d.calibrate("x.index", model=reader(), **how)  # type: ignore[arg-type]  # they are wrong on purpose


def test_an_index_that_is_not_there_is_not_made(place: Path) -> None:
    with pytest.raises(d.DisputatioError, match="there is no index here"):
        d.calibrate("absent.index", model=reader())
    assert not (place / "absent.index").exists()
