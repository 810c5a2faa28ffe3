"""A calibration from drawn passages to stored estimates, with a model that makes no mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.calibration.calibrate import CalibrationPlan, Listener, Report, calibrate
from disputatio.calibration.questions import WRITER_SYSTEM
from disputatio.errors import LLMError, StoreError, Unreachable
from disputatio.llm.scripted import Line, Scripted
from disputatio.store.calibration_file import read_outcomes
from disputatio.store.calibration_log import FactQuestion, check_id
from disputatio.store.contract import Index
from disputatio.store.folder_index import FolderIndex
from disputatio.types import Passage
from tests.calibration.towns import TOWNS, YEARS, index_of, kit, passage_on, question, say, source_said

DAY = "2026-11-21"
HONEST = {"archive": 0, "museum": 0, "parish": 0}


def check_on(town: str) -> FactQuestion:
    return FactQuestion(id=check_id(question(town)), text=question(town), kind="given")


def anchor(town: str, year: int) -> FactQuestion:
    return FactQuestion(id=check_id(question(town)), text=question(town), kind="anchor", gold=(str(year),))


def run(index: Index, model: Scripted | None = None, **options: object) -> Report:
    return calibrate(index, kit(model), day=DAY, **options)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_liar_among_honest_sources_is_found_without_labels(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {**HONEST, "buzz": 3})
    report = run(index, count=6)
    estimates = index.estimates()
    assert report.questions == report.cross_checked == 6
    assert estimates["buzz"].agreed == 0
    assert estimates["buzz"].answered == estimates["archive"].agreed == 6
    assert estimates["buzz"].reliability is not None
    assert estimates["archive"].reliability is not None
    assert estimates["buzz"].reliability < 0.3 < 0.7 < estimates["archive"].reliability
    assert estimates["archive"].updated == DAY
    assert estimates["archive"].questions == 6
    assert not any(estimate.stale for estimate in estimates.values())


@pytest.mark.long
def test_questions_are_spread_over_sources_and_towns_and_the_passages_state_their_answers(
    tmp_path: Path,
) -> None:
    index = index_of(tmp_path / "x", {**HONEST, "buzz": 3})
    run(index, count=8)
    checks = read_outcomes(index.path).checks.values()
    assert {check.text for check in checks} == {question(town) for town in TOWNS}
    assert len({check.source for check in checks}) == 4
    for check in checks:
        passage = index.passage(check.passage)
        assert check.said in passage.text
        assert passage.source == check.source


@pytest.mark.slow
def test_the_same_seed_draws_the_same_questions_and_another_one_others(tmp_path: Path) -> None:
    drawn = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        index = index_of(tmp_path / name, HONEST)
        run(index, count=3, seed=seed)
        drawn.append(list(read_outcomes(index.path).checks))
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.long
def test_running_again_asks_nothing_and_gives_the_same(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {**HONEST, "buzz": 3})
    run(index, count=5)
    before = index.estimates()
    again = run(index, Scripted([]), count=5)
    assert again.calls == 0
    assert index.estimates() == before


@pytest.mark.long
def test_more_questions_add_to_those_on_record(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", HONEST)
    run(index, count=3)
    first = list(read_outcomes(index.path).outcomes)
    plans: list[CalibrationPlan] = []
    report = run(index, count=6, listener=Listener(planned=plans.append))
    assert (plans[0].questions, plans[0].write, plans[0].done) == (3, 3, 3)
    assert list(read_outcomes(index.path).outcomes)[:3] == first
    assert report.questions == 6


@pytest.mark.long
def test_the_plan_is_reported_before_any_call(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", HONEST)
    model = Scripted(say, choices={"": {"Yes": 0.9, "No": 0.1}})
    seen: list[tuple[CalibrationPlan, int]] = []
    run(index, model, count=4, listener=Listener(planned=lambda plan: seen.append((plan, len(model.calls)))))
    [(plan, calls)] = seen
    assert calls == 0
    assert (plan.questions, plan.write, plan.sources, plan.seconds) == (4, 4, 3, None)
    assert 0.5 * plan.calls <= len(model.calls) <= 2 * plan.calls
    run(index, count=6, listener=Listener(planned=lambda plan: seen.append((plan, 0))))
    assert seen[-1][0].seconds is not None


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 1, 2, 5, 9, 14, 23])
def test_an_interrupted_calibration_continues_and_gives_the_same(tmp_path: Path, after: int) -> None:
    complete = index_of(tmp_path / "whole", {**HONEST, "buzz": 3})
    run(complete, count=5)
    index = index_of(tmp_path / "cut", {**HONEST, "buzz": 3})
    calls = 0

    def failing(prompt: str) -> Line:
        nonlocal calls
        calls += 1
        return say(prompt) if calls <= after else Unreachable("the line is dead")

    with pytest.raises(LLMError):
        run(index, Scripted(failing, choices={"": {"Yes": 0.9, "No": 0.1}}), count=5)
    assert index.estimates() == {}
    run(index, count=5)
    assert index.estimates() == complete.estimates()
    assert read_outcomes(index.path).outcomes == read_outcomes(complete.path).outcomes


@pytest.mark.long
def test_given_questions_are_asked_as_they_are_and_none_is_drawn(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {**HONEST, "buzz": 3})
    report = run(index, questions=[check_on("Aldwick"), check_on("Elsby")])
    assert report.questions == 2
    assert list(read_outcomes(index.path).checks) == [check_on("Aldwick").id, check_on("Elsby").id]


@pytest.mark.long
def test_anchors_overturn_a_majority_of_liars(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {"archive": 0, "buzz": 3, "wonder": 3, "viral": 3})
    alone = run(index, questions=[check_on(town) for town in TOWNS[:3]]).sources
    anchored = run(
        index, questions=[check_on("Aldwick")], anchors=[anchor(t, YEARS[t]) for t in TOWNS[:6]]
    ).sources
    assert (alone["archive"].reliability or 0) < (alone["buzz"].reliability or 0)
    assert (anchored["archive"].reliability or 0) > 0.6 > 0.4 > (anchored["buzz"].reliability or 0)


@pytest.mark.long
def test_an_anchor_without_a_right_answer_counts_against_all_that_answered(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {"archive": 3, "buzz": 5})
    report = run(index, count=0, anchors=[anchor("Aldwick", YEARS["Aldwick"])])
    assert report.cross_checked == 1
    assert {(source.answered, source.agreed) for source in report.sources.values()} == {(1.0, 0.0)}


@pytest.mark.long
def test_an_anchor_that_no_source_answers_is_reported(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", HONEST)
    report = run(index, count=0, anchors=[anchor("Zzyzx", 1900)])
    assert "no source answers 1 of the anchors" in " ".join(report.notices)
    assert report.cross_checked == 0


@pytest.mark.long
def test_a_changed_anchor_is_asked_again(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", HONEST)
    wrong = run(index, count=0, anchors=[anchor("Aldwick", 1111)]).sources
    right = run(index, count=0, anchors=[anchor("Aldwick", YEARS["Aldwick"])]).sources
    assert (wrong["archive"].agreed, right["archive"].agreed) == (0, 1)


@pytest.mark.long
def test_sources_of_one_owner_have_one_vote(tmp_path: Path) -> None:
    lies = {"archive": 0, "museum": 0, "buzz1": 3, "buzz2": 3, "buzz3": 3}
    index = index_of(tmp_path / "x", lies)
    checks = [check_on(town) for town in TOWNS[:5]]
    apart = run(index, questions=checks).sources
    owned = run(index, questions=checks, owners={f"buzz{n}": "syndicate" for n in (1, 2, 3)}).sources
    assert (apart["buzz1"].reliability or 0) > (apart["archive"].reliability or 0)
    assert (owned["archive"].reliability or 0) > (owned["buzz1"].reliability or 0)
    assert owned["buzz1"].owner == "syndicate"
    assert index.estimates()["buzz1"].owner == "syndicate"
    later = run(index, questions=checks).sources  # owners once given are kept
    assert later == owned


def test_one_source_or_one_owner_cannot_be_cross_checked(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {"archive": 0})
    model = Scripted([])
    report = run(index, model, count=4)
    assert model.calls == []
    assert report.cross_checked == 0
    assert "no other owner to cross-check with" in " ".join(report.notices)
    assert report.sources["archive"].answered == 0
    assert report.sources["archive"].reliability == 0.5


def test_passages_without_a_source_give_nothing_to_estimate(tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "x")
    index.add(
        [Passage(text="The mill was finished in 1801."), Passage(text="The mill was finished in 1803.")]
    )
    report = run(index, Scripted([]))
    assert report.sources == {}
    assert "--source-by" in " ".join(report.notices)


def test_sources_on_different_subjects_get_the_prior_and_a_notice(tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "x")
    index.add(
        [
            passage_on("Aldwick", 1801, "archive"),
            Passage(text="Herons breed among reeds every spring in shallow lakes.", source="birds"),
        ]
    )
    report = run(index, Scripted([]), count=4)
    assert report.cross_checked == 0
    assert "about the same things" in " ".join(report.notices)
    assert {source.reliability for source in report.sources.values()} == {0.5}


@pytest.mark.long
def test_without_any_answers_all_sources_have_the_prior_and_there_is_a_notice(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {**HONEST, "buzz": 3})
    silent = Scripted(
        lambda prompt: say(prompt) if prompt.startswith(WRITER_SYSTEM) else source_said(""),
        choices={"": {"Yes": 0.9, "No": 0.1}},
    )
    report = run(index, silent, count=3)
    assert report.cross_checked == 0
    assert {source.reliability for source in report.sources.values()} == {0.5}
    assert {source.questions for source in report.sources.values()} == {3}
    assert "no source answered" in " ".join(report.notices)


@pytest.mark.long
def test_a_tie_of_equal_sources_proves_nothing(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {"archive": 0, "buzz": 3})
    sources = run(index, count=5).sources
    assert all((source.low or 0) < 0.5 < (source.high or 1) or source.answered for source in sources.values())


def test_a_source_whose_reply_is_unusable_is_asked_again(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", HONEST)
    broken = Scripted(
        lambda prompt: "Sure! 1801." if "bomuseum" in prompt else say(prompt),
        choices={"": {"Yes": 0.9, "No": 0.1}},
    )
    first = run(index, broken, questions=[check_on("Aldwick")]).sources
    assert (first["museum"].questions, first["museum"].answered) == (0, 0)
    second = run(index, questions=[check_on("Aldwick")]).sources
    assert (second["museum"].questions, second["museum"].answered) == (1, 1)


@pytest.mark.long
def test_changed_passages_make_only_their_source_stale_until_the_next_calibration(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {**HONEST, "buzz": 3})
    run(index, questions=[check_on("Aldwick")])
    index.add([passage_on("Zembla", 1900, "buzz")])
    assert [name for name, estimate in index.estimates().items() if estimate.stale] == ["buzz"]
    run(index, questions=[check_on("Aldwick")])
    assert not any(estimate.stale for estimate in index.estimates().values())


@pytest.mark.long
def test_beginning_anew_drops_earlier_outcomes(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", HONEST)
    run(index, questions=[check_on("Aldwick"), check_on("Elsby")])
    assert run(index, questions=[check_on("Farrow")]).questions == 3
    assert run(index, questions=[check_on("Farrow")], anew=True).questions == 1


def test_an_empty_or_missing_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no passages"):
        run(FolderIndex.open(tmp_path / "none"))


def test_a_folder_that_is_not_writable_is_refused_before_any_call(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", HONEST)
    (index.path / "calibration.lock").mkdir()  # as good as a read-only folder, also for root
    model = Scripted([])
    with pytest.raises(StoreError):
        run(index, model)
    assert model.calls == []


def test_a_source_that_names_something_else_is_not_asked(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", HONEST)
    index.add([passage_on("Zembla", 1900, "stranger")])
    model = Scripted(say, choices={"": {"Yes": 0.9, "No": 0.1}})
    sources = run(index, model, questions=[check_on("Aldwick")]).sources
    assert not any("bostranger" in call.text for call in model.calls)
    assert (sources["stranger"].questions, sources["stranger"].answered) == (1, 0)


@pytest.mark.long
def test_the_question_of_an_anchor_is_not_drawn_again_in_other_words(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", HONEST, towns=("Aldwick",))
    text = "When was the harbour mill of Aldwick town completed?"
    known = FactQuestion(id=check_id(text), text=text, kind="anchor", gold=(str(YEARS["Aldwick"]),))
    assert run(index, count=3, anchors=[known]).questions == 1
