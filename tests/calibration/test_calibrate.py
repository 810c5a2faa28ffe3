"""A calibration from drawing passages to stored estimates, with a model that makes no mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.calibration.calibrate import CalibrationPlan, Listener, Report, calibrate
from disputatio.calibration.questions import WRITER_SYSTEM
from disputatio.errors import LLMError, StoreError, Unreachable
from disputatio.llm.scripted import Line, Scripted
from disputatio.store.calibration_log import Check, check_id, read_outcomes
from disputatio.store.index import Index
from disputatio.types import Passage
from tests.calibration.towns import TOWNS, YEARS, index_of, kit, question, say, source_said, told

DAY = "2026-11-21"
HONEST = {"archive": 0, "museum": 0, "parish": 0}


def given(town: str) -> Check:
    return Check(id=check_id(question(town)), text=question(town), kind="given")


def anchor(town: str, year: int) -> Check:
    return Check(id=check_id(question(town)), text=question(town), kind="anchor", gold=(str(year),))


def run(index: Index, model: Scripted | None = None, **options: object) -> Report:
    return calibrate(index, kit(model), day=DAY, **options)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_liar_among_honest_sources_is_found_without_labels(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {**HONEST, "buzz": 3})
    report = run(index, count=6)
    found = index.estimates()
    assert report.questions == report.cross_checked == 6
    assert found["buzz"].agreed == 0
    assert found["buzz"].answered == found["archive"].agreed == 6
    assert found["buzz"].reliability is not None
    assert found["archive"].reliability is not None
    assert found["buzz"].reliability < 0.3 < 0.7 < found["archive"].reliability
    assert found["archive"].updated == DAY
    assert found["archive"].questions == 6
    assert not any(one.stale for one in found.values())


def test_questions_are_spread_over_sources_and_towns_and_their_answers_stand_in_the_passages(
    tmp_path: Path,
) -> None:
    index = index_of(tmp_path / "x", {**HONEST, "buzz": 3})
    run(index, count=8)
    checks = read_outcomes(index.path).checks.values()
    assert {one.text for one in checks} == {question(town) for town in TOWNS}
    assert len({one.source for one in checks}) == 4
    for one in checks:
        passage = index.passage(one.passage)
        assert one.said in passage.text
        assert passage.source == one.source


@pytest.mark.slow
def test_the_same_seed_draws_the_same_questions_and_another_one_others(tmp_path: Path) -> None:
    drawn = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        index = index_of(tmp_path / name, HONEST)
        run(index, count=3, seed=seed)
        drawn.append(list(read_outcomes(index.path).checks))
    assert drawn[0] == drawn[1] != drawn[2]


def test_running_again_asks_nothing_and_finds_the_same(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {**HONEST, "buzz": 3})
    run(index, count=5)
    before = index.estimates()
    again = run(index, Scripted([]), count=5)
    assert again.calls == 0
    assert index.estimates() == before


def test_more_questions_add_to_those_on_record(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", HONEST)
    run(index, count=3)
    first = list(read_outcomes(index.path).outcomes)
    plans: list[CalibrationPlan] = []
    report = run(index, count=6, listener=Listener(planned=plans.append))
    assert (plans[0].questions, plans[0].write, plans[0].done) == (3, 3, 3)
    assert list(read_outcomes(index.path).outcomes)[:3] == first
    assert report.questions == 6


def test_the_plan_is_told_before_any_call(tmp_path: Path) -> None:
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
def test_an_interrupted_calibration_goes_on_and_ends_the_same(tmp_path: Path, after: int) -> None:
    whole = index_of(tmp_path / "whole", {**HONEST, "buzz": 3})
    run(whole, count=5)
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
    assert index.estimates() == whole.estimates()
    assert read_outcomes(index.path).outcomes == read_outcomes(whole.path).outcomes


def test_given_questions_are_put_as_they_are_and_none_is_drawn(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {**HONEST, "buzz": 3})
    report = run(index, given=[given("Aldwick"), given("Elsby")])
    assert report.questions == 2
    assert list(read_outcomes(index.path).checks) == [given("Aldwick").id, given("Elsby").id]


def test_anchors_turn_a_majority_of_liars(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {"archive": 0, "buzz": 3, "wonder": 3, "viral": 3})
    alone = run(index, given=[given(town) for town in TOWNS[:3]]).sources
    anchored = run(index, given=[given("Aldwick")], anchors=[anchor(t, YEARS[t]) for t in TOWNS[:6]]).sources
    assert (alone["archive"].reliability or 0) < (alone["buzz"].reliability or 0)
    assert (anchored["archive"].reliability or 0) > 0.6 > 0.4 > (anchored["buzz"].reliability or 0)


def test_an_anchor_that_nobody_gets_right_counts_against_all_who_answered(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {"archive": 3, "buzz": 5})
    found = run(index, count=0, anchors=[anchor("Aldwick", YEARS["Aldwick"])])
    assert found.cross_checked == 1
    assert {(one.answered, one.agreed) for one in found.sources.values()} == {(1.0, 0.0)}


def test_an_anchor_that_no_source_answers_is_told(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", HONEST)
    found = run(index, count=0, anchors=[anchor("Zzyzx", 1900)])
    assert "no source answers 1 of the anchors" in " ".join(found.notices)
    assert found.cross_checked == 0


def test_a_changed_anchor_is_asked_again(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", HONEST)
    wrong = run(index, count=0, anchors=[anchor("Aldwick", 1111)]).sources
    right = run(index, count=0, anchors=[anchor("Aldwick", YEARS["Aldwick"])]).sources
    assert (wrong["archive"].agreed, right["archive"].agreed) == (0, 1)


def test_sources_of_one_owner_have_one_vote(tmp_path: Path) -> None:
    lies = {"archive": 0, "museum": 0, "buzz1": 3, "buzz2": 3, "buzz3": 3}
    index = index_of(tmp_path / "x", lies)
    asked = [given(town) for town in TOWNS[:5]]
    apart = run(index, given=asked).sources
    owned = run(index, given=asked, owners={f"buzz{n}": "syndicate" for n in (1, 2, 3)}).sources
    assert (apart["buzz1"].reliability or 0) > (apart["archive"].reliability or 0)
    assert (owned["archive"].reliability or 0) > (owned["buzz1"].reliability or 0)
    assert owned["buzz1"].owner == "syndicate"
    assert index.estimates()["buzz1"].owner == "syndicate"
    later = run(index, given=asked).sources  # owners once given are kept
    assert later == owned


def test_one_source_or_one_owner_has_nobody_to_cross_check_with(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {"archive": 0})
    model = Scripted([])
    found = run(index, model, count=4)
    assert model.calls == []
    assert found.cross_checked == 0
    assert "nobody to cross-check with" in " ".join(found.notices)
    assert found.sources["archive"].answered == 0
    assert found.sources["archive"].reliability == 0.5


def test_passages_without_a_source_give_nothing_to_estimate(tmp_path: Path) -> None:
    index = Index.open(tmp_path / "x")
    index.add(
        [Passage(text="The mill was finished in 1801."), Passage(text="The mill was finished in 1803.")]
    )
    found = run(index, Scripted([]))
    assert found.sources == {}
    assert "--source-by" in " ".join(found.notices)


def test_sources_that_speak_of_different_things_get_the_prior_and_it_is_said(tmp_path: Path) -> None:
    index = Index.open(tmp_path / "x")
    index.add(
        [
            told("Aldwick", 1801, "archive"),
            Passage(text="Herons breed among reeds every spring in shallow lakes.", source="birds"),
        ]
    )
    found = run(index, Scripted([]), count=4)
    assert found.cross_checked == 0
    assert "speak of the same" in " ".join(found.notices)
    assert {one.reliability for one in found.sources.values()} == {0.5}


def test_when_nobody_knows_anything_all_have_the_prior_and_it_is_said(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {**HONEST, "buzz": 3})
    silent = Scripted(
        lambda prompt: say(prompt) if prompt.startswith(WRITER_SYSTEM) else source_said(""),
        choices={"": {"Yes": 0.9, "No": 0.1}},
    )
    found = run(index, silent, count=3)
    assert found.cross_checked == 0
    assert {one.reliability for one in found.sources.values()} == {0.5}
    assert {one.questions for one in found.sources.values()} == {3}
    assert "no source answered" in " ".join(found.notices)


def test_a_tie_of_equal_sources_is_no_proof_of_anything(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {"archive": 0, "buzz": 3})
    found = run(index, count=5).sources
    assert all((one.low or 0) < 0.5 < (one.high or 1) or one.answered for one in found.values())


def test_a_reply_that_breaks_its_contract_is_asked_for_again(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", HONEST)
    broken = Scripted(
        lambda prompt: "Sure! 1801." if "bomuseum" in prompt else say(prompt),
        choices={"": {"Yes": 0.9, "No": 0.1}},
    )
    first = run(index, broken, given=[given("Aldwick")]).sources
    assert (first["museum"].questions, first["museum"].answered) == (0, 0)
    second = run(index, given=[given("Aldwick")]).sources
    assert (second["museum"].questions, second["museum"].answered) == (1, 1)


def test_changed_passages_make_only_their_source_stale_until_the_next_calibration(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", {**HONEST, "buzz": 3})
    run(index, given=[given("Aldwick")])
    index.add([told("Zembla", 1900, "buzz")])
    assert [name for name, one in index.estimates().items() if one.stale] == ["buzz"]
    run(index, given=[given("Aldwick")])
    assert not any(one.stale for one in index.estimates().values())


def test_beginning_anew_forgets_what_was_found(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", HONEST)
    run(index, given=[given("Aldwick"), given("Elsby")])
    assert run(index, given=[given("Farrow")]).questions == 3
    assert run(index, given=[given("Farrow")], anew=True).questions == 1


def test_an_empty_or_missing_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no passages"):
        run(Index.open(tmp_path / "none"))


def test_a_folder_that_cannot_be_written_to_is_told_before_any_call(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", HONEST)
    (index.path / "calibration.lock").mkdir()  # as good as a read-only folder, also for root
    model = Scripted([])
    with pytest.raises(StoreError):
        run(index, model)
    assert model.calls == []


def test_a_source_that_names_something_else_is_not_asked(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", HONEST)
    index.add([told("Zembla", 1900, "stranger")])
    model = Scripted(say, choices={"": {"Yes": 0.9, "No": 0.1}})
    found = run(index, model, given=[given("Aldwick")]).sources
    assert not any("bostranger" in call.text for call in model.calls)
    assert (found["stranger"].questions, found["stranger"].answered) == (1, 0)


def test_what_an_anchor_asks_is_not_drawn_again_in_other_words(tmp_path: Path) -> None:
    index = index_of(tmp_path / "x", HONEST, towns=("Aldwick",))
    text = "When was the harbour mill of Aldwick town completed?"
    known = Check(id=check_id(text), text=text, kind="anchor", gold=(str(YEARS["Aldwick"]),))
    assert run(index, count=3, anchors=[known]).questions == 1
