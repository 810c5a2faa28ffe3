"""The two estimators of a calibration: RA-RAG's own, against its equations written out, and ours."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from disputatio.agents.single_prompt import CLOSED_SYSTEM
from disputatio.calibration.calibrate import calibrate
from disputatio.calibration.estimates import estimates_as_published
from disputatio.errors import InputError
from disputatio.llm.scripted import Line, Scripted
from disputatio.store.calibration_file import read_outcomes
from disputatio.store.calibration_log import FactQuestion, Outcomes, QuestionOutcome, check_id
from disputatio.store.opening import open_index
from tests.calibration.towns import TOWNS, YEARS, index_of, kit, passage_on, question, say, source_said
from tests.shell import run

DAY = "2026-11-22"
NAMES = ("a", "b", "c", "d", "e")


def published(votes: Sequence[Mapping[str, int]], names: Sequence[str]) -> dict[str, float]:
    """Equations 3 and 4 with ties shared: v = 1; then the vote, w, and v = N w - 1, until v stays."""
    weight = dict.fromkeys(names, 1.0)
    share: dict[str, float] = {}
    for _ in range(50):
        winners = []
        for row in votes:
            sums: dict[int, float] = {}
            for name, cluster in row.items():
                sums[cluster] = sums.get(cluster, 0.0) + weight[name]
            winners.append([cluster for cluster, total in sums.items() if total >= max(sums.values()) - 1e-9])
        for name in names:
            answered = [(row[name], won) for row, won in zip(votes, winners, strict=True) if name in row]
            share[name] = sum((vote in won) / len(won) for vote, won in answered) / len(answered)
        new = {name: len(names) * share[name] - 1 for name in names}
        if new == weight:
            break
        weight = new
    return share


def world(seed: int) -> list[dict[str, int]]:
    chance = random.Random(seed)
    reliability = {name: chance.choice([0.1, 0.5, 0.9]) for name in NAMES}
    rows = []
    for _ in range(30):
        labels = {
            name: 0 if chance.random() < reliability[name] else chance.randint(1, 4)
            for name in NAMES
            if chance.random() < 0.8
        }
        numbers: dict[int, int] = {}
        row = {name: numbers.setdefault(label, len(numbers)) for name, label in labels.items()}
        if len(row) > 1:
            rows.append(row)
    return rows


def record_of(rows: Sequence[Mapping[str, int]]) -> Outcomes:
    outcomes = {
        f"q{n}": QuestionOutcome(question=f"q{n}", answers={}, clusters=row, states=dict.fromkeys(row, ""))
        for n, row in enumerate(rows)
    }
    return Outcomes(outcomes=outcomes, estimator="paper")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(30))
def test_the_papers_estimator_is_its_equations(seed: int) -> None:
    rows = world(seed)
    found = estimates_as_published(record_of(rows), NAMES, owners={}, day=DAY).sources
    expected = published(rows, NAMES)
    assert {name: source.reliability for name, source in found.items()} == pytest.approx(expected, abs=1e-6)


def test_in_the_papers_estimator_owners_have_as_many_votes_as_sources() -> None:
    rows = [{"a": 0, "b": 0, "c": 0, "d": 1, "e": 1}] * 8
    owners = {"a": "x", "b": "x", "c": "x"}
    found = estimates_as_published(record_of(rows), NAMES, owners=owners, day=DAY).sources
    assert [found[name].reliability for name in NAMES] == [1, 1, 1, 0, 0]
    assert found["a"].owner == "x"
    assert not any(source.group for source in found.values())


@pytest.mark.long
def test_a_calibration_takes_either_estimator_and_keeps_to_it(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {"archive": 0, "museum": 0, "parish": 0, "buzz": 3})
    calibrate(index, kit(), day=DAY, count=4)
    ours = index.estimates()
    calibrate(index, kit(), day=DAY, count=4, estimator="paper")
    paper = index.estimates()
    assert paper["archive"].reliability == 1.0
    assert paper["archive"] != ours["archive"]
    calibrate(index, kit(), day=DAY, count=4)
    assert index.estimates() == paper, "the estimator of the last calibration stays"
    assert read_outcomes(index.path).estimator == "paper"
    calibrate(index, kit(), day=DAY, count=4, estimator="ours")
    assert {n: replace(s, updated=DAY) for n, s in index.estimates().items()} == ours


@pytest.mark.long
def test_the_papers_estimator_has_the_papers_f_align_and_ours_has_its_checks_in_code(tmp_path: Path) -> None:
    # each source answers with a word of the question, which our check of echoes drops
    index = index_of(tmp_path / "x", {"archive": 0, "museum": 0}, towns=TOWNS[:2])
    model = Scripted(lambda _: source_said("Aldwick"), choices={"": {"Yes": 0.9, "No": 0.1}})
    text = question("Aldwick")
    check = FactQuestion(id=check_id(text), text=text, kind="given")
    for estimator, answers in (("ours", {}), ("paper", {"archive": "Aldwick", "museum": "Aldwick"})):
        calibrate(index, kit(model), day=DAY, questions=[check], estimator=estimator)
        assert read_outcomes(index.path).outcomes[check.id].answers == answers
    calls = len(model.calls)
    calibrate(index, kit(model), day=DAY, questions=[check])
    assert len(model.calls) == calls, "the same estimator asks nothing again"


def test_another_estimator_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = index_of(tmp_path / "x", {"archive": 0, "museum": 0})
    with pytest.raises(InputError, match="choose paper or ours"):
        calibrate(index, kit(), day=DAY, estimator="theirs")
    words = ("--index", tmp_path / "x", "--model", "scripted:", "--journal", "none", "--estimator", "mine")
    done = run(capsys, "calibrate", *words)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "choose paper or ours" in done.err


@pytest.mark.long
def test_what_the_reader_says_with_no_passage_is_asked_once_and_earns_little(tmp_path: Path) -> None:
    asked: list[str] = []

    def from_memory(prompt: str) -> Line:
        """Answer 1950 where no passage is shown, and for all but two sources where one is."""
        if prompt.startswith(CLOSED_SYSTEM):
            asked.append(prompt)
            return json.dumps({"answers": ["1950"], "explanation": "I recall 1950."})
        if "boarchive" in prompt or "bomuseum" in prompt or any(town in prompt for town in TOWNS[::2]):
            return say(prompt)
        return source_said("1950", "In 1950 a well was dug")

    index = open_index(tmp_path / "x")
    for source, by in {"archive": 0, "museum": 0, "parish": 3, "buzz": 5, "drum": 9}.items():
        passages = [passage_on(town, YEARS[town] + by, source) for town in TOWNS]
        index.add([replace(each, text=f"{each.text} In 1950 a well was dug.", id="") for each in passages])
    model = Scripted(from_memory, choices={"": {"Yes": 0.9, "No": 0.1}})
    questions = [FactQuestion(id=f"q{town}", text=question(town), kind="given") for town in TOWNS]
    report = calibrate(index, kit(model), day="2026-11-24", questions=questions)
    outcomes = index.records()[0].outcomes.values()
    assert len(asked) == len(TOWNS)
    assert {row.recalled for row in outcomes} == {"1950"}
    told = {name: source.reliability or 0.0 for name, source in report.sources.items()}
    assert min(told["archive"], told["museum"]) > 0.7 > max(told["parish"], told["buzz"], told["drum"])
    assert all(report.sources[name].answered < 7.5 for name in ("parish", "buzz", "drum"))  # of 8
    plain = calibrate(index, kit(model), day="2026-11-24", questions=questions, estimator="paper")
    assert len(asked) == len(TOWNS)  # the paper's estimate has no use for it
    assert plain.sources
