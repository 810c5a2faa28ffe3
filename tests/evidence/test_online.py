"""Trust kept up to date, one outcome at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disputatio.errors import InputError
from disputatio.evidence.online import Record, Settled
from tests.evidence.liars import World, world

NAMES = [f"source {i}" for i in range(9)]
TOLERANCE = 0.05  # of reliability, where outcomes are settled by the vote


def outcomes_of(one: World, anchors: int, checks: int = 0) -> list[Settled]:
    """A world's questions as outcomes, the first so many verified."""
    return [
        Settled(
            answers={NAMES[i]: int(vote) for i, vote in enumerate(row) if vote >= 0},
            truth=int(one.truth[j]) if j < anchors else -2,
            check=j < checks,
        )
        for j, row in enumerate(one.votes)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("forget", [1.0, 0.97])
@pytest.mark.parametrize("seed", range(3))
def test_updates_on_verified_outcomes_equal_the_batch_estimate_exactly(seed: int, forget: float) -> None:
    one = world(seed, liars=3, questions=80)
    record = Record(outcomes=outcomes_of(one, anchors=80), forget=forget)
    names, batch = record.settle()
    found = record.figures(names)
    assert found.mean == pytest.approx(batch.reliability, abs=1e-9)
    assert found.power == pytest.approx(batch.weights, abs=1e-6)
    assert found.answered == pytest.approx(batch.answered, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("liars", [0, 3, 5])
@pytest.mark.parametrize("seed", range(2))
def test_updates_settled_by_the_vote_equal_the_batch_estimate_within_the_tolerance(
    seed: int, liars: int
) -> None:
    one = world(seed, liars=liars, questions=250)
    record = Record(outcomes=outcomes_of(one, anchors=30))
    names, batch = record.settle()
    assert record.figures(names).mean == pytest.approx(batch.reliability, abs=TOLERANCE)


@pytest.mark.slow
def test_without_any_verified_outcome_records_still_form() -> None:
    one = world(4, liars=2, questions=200)
    record = Record(outcomes=outcomes_of(one, anchors=0))
    liars = [record.reliability(NAMES[i]) for i in one.liars]
    honest = [record.reliability(name) for i, name in enumerate(NAMES) if i not in one.liars]
    assert max(liars) < 0.3 < 0.7 < min(honest)


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(st.integers(0, 100), st.integers(0, 8))
def test_a_source_that_is_removed_leaves_what_would_be_had_it_never_been_heard(seed: int, who: int) -> None:
    one = world(seed, liars=3, questions=20)
    heard = outcomes_of(one, anchors=10)
    never = [
        Settled(
            answers={name: said for name, said in each.answers.items() if name != NAMES[who]},
            truth=each.truth
            if each.truth < 0 or each.truth in [v for n, v in each.answers.items() if n != NAMES[who]]
            else -1,
        )
        for each in heard
    ]
    left, without = Record(outcomes=heard).remove(NAMES[who]), Record(outcomes=never)
    assert left.figures(NAMES).mean.tolist() == without.figures(NAMES).mean.tolist()
    assert left.settle()[1].weights.tolist() == without.settle()[1].weights.tolist()
    assert left.reliability(NAMES[who]) == 0.5
    assert left.remove(NAMES[who]).figures(NAMES).mean.tolist() == left.figures(NAMES).mean.tolist()


def test_forgetting_follows_a_source_that_turns() -> None:
    good = [Settled(answers={"a": 0}, truth=0)] * 60
    bad = [Settled(answers={"a": 0}, truth=-1)] * 15
    keeps, forgets = Record(outcomes=good + bad), Record(outcomes=good + bad, forget=0.9)
    assert keeps.reliability("a") > 0.7
    assert forgets.reliability("a") < 0.35


def test_liars_honest_on_checks_are_found_as_live_outcomes_settle() -> None:
    one = world(3, liars=5, questions=60, honest_until=30)
    record = Record(outcomes=outcomes_of(one, anchors=60, checks=30))
    liars = [NAMES[i] for i in one.liars]
    found = record.figures(liars)
    assert found.drifted.all()
    assert found.power.max() == 0
    assert not record.figures([name for name in NAMES if name not in liars]).drifted.any()


def test_sources_of_one_owner_share_a_record() -> None:
    record = Record(owners={"a": "o", "b": "o"})
    record.update(Settled(answers={"a": 0, "b": 0, "c": 1}, truth=0))
    assert record.reliability("a") == record.reliability("b") == pytest.approx(2 / 3)
    assert record.figures(["o"]).answered.tolist() == [1]


def test_an_outcome_without_answers_only_ages_the_others() -> None:
    record = Record(forget=0.5, outcomes=[Settled(answers={"a": 0}, truth=0)])
    record.update(Settled(answers={}))
    assert record.figures(["a"]).answered.tolist() == [0.5]
    assert record.settle()[1].answered.tolist() == [0.5]


def test_what_cannot_be_is_refused_and_leaves_the_record_as_it_was() -> None:
    record = Record()
    with pytest.raises(InputError, match="0 or more"):
        record.update(Settled(answers={"a": -1}))
    assert record.outcomes == []
    with pytest.raises(InputError, match="forget"):
        Record(forget=0.0)


def test_an_empty_record_settles_to_nothing() -> None:
    names, found = Record().settle()
    assert names == ()
    assert found.winners.tolist() == []
    assert np.isfinite(Record().reliability("unheard"))
