"""Reliability estimates for sources that copy, collude or have one owner."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disputatio.errors import InputError
from disputatio.reliability.trust import join_ties, trust, untangle, vote
from disputatio.reliability.weighted_vote import estimate
from tests.reliability.liars import accuracy, numbered_as_met, simulate


def test_a_record_computed_by_hand() -> None:
    """Three verified questions: the first is right twice of three, the second always, the third never."""
    votes = np.array([[0, 0, 1], [0, 0, 1], [0, 1, 0]], dtype=np.int32)
    known = np.array([0, 0, 1], dtype=np.int32)
    estimated = trust(votes, known=known, options=4)
    assert estimated.agreed.tolist() == [2, 3, 0]
    assert estimated.answered.tolist() == [3, 3, 3]
    assert estimated.reliability == pytest.approx([3 / 5, 4 / 5, 1 / 5])
    assert estimated.low[1] == pytest.approx(0.025 ** (1 / 4))
    assert estimated.weights == pytest.approx(np.maximum(4 * estimated.low - 1, 0))
    assert estimated.weights[2] == 0
    assert estimated.winners.tolist() == [0, 0, 1]


def test_an_answer_is_checked_against_what_the_others_say() -> None:
    """Judge a source without a record by the trusted source, which no other can judge."""
    votes = np.array([[0, -1]] * 20 + [[0, 1]] * 10, dtype=np.int32)
    known = np.array([0] * 20 + [-2] * 10, dtype=np.int32)
    estimated = trust(votes, known=known, options=3)
    assert estimated.answered.tolist() == [20, 10]
    assert estimated.agreed.tolist() == [20, 0]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_five_of_nine_with_the_same_lie_win_plainly_and_lose_against_anchors(seed: int) -> None:
    simulated = simulate(seed, liars=5)
    plain = estimate(simulated.votes)
    assert accuracy(plain.winners, simulated) < 0.1
    estimated, ties = untangle(simulated.votes, known=simulated.known(30))
    assert accuracy(estimated.winners, simulated, since=30) > 0.85
    assert estimated.weights[simulated.liars].max() == 0
    assert len(np.unique(ties.group[simulated.liars])) == 1


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_colluders_who_are_mostly_honest_are_tied_by_the_lies_they_share(seed: int) -> None:
    """Five of nine lie together on every second question; reliability does not show it, shared lies do."""
    simulated = simulate(seed, liars=5, lies=0.5)
    assert accuracy(estimate(simulated.votes).winners, simulated) < 0.7
    estimated, _ = untangle(simulated.votes, known=simulated.known(30))
    assert accuracy(estimated.winners, simulated, since=30) > 0.85
    assert len(set(estimated.unit[simulated.liars].tolist())) < 5


@pytest.mark.parametrize("liars", [1, 3])
def test_without_anchors_a_minority_of_liars_still_loses(liars: int) -> None:
    simulated = simulate(5, liars=liars)
    assert accuracy(trust(simulated.votes).winners, simulated) > 0.9


def test_a_thousand_sources_of_one_owner_change_no_answer() -> None:
    simulated = simulate(1, liars=4, questions=200)
    owners = [f"owner {i}" for i in range(9)]
    liar = int(simulated.liars[0])
    many = np.concatenate([simulated.votes, np.repeat(simulated.votes[:, [liar]], 1000, axis=1)], axis=1)
    before = trust(simulated.votes, owners=owners, known=simulated.known(30))
    after = trust(many, owners=owners + [owners[liar]] * 1000, known=simulated.known(30))
    assert after.winners.tolist() == before.winners.tolist()
    assert after.weights[:9] == pytest.approx(before.weights)
    assert set(after.weights[9:].tolist()) == {float(before.weights[liar])}


def test_a_thousand_new_names_without_a_record_change_no_answer_of_the_known() -> None:
    simulated = simulate(1, liars=2, questions=120)
    estimated = trust(simulated.votes, known=simulated.known(60))
    many = np.concatenate([simulated.votes, np.full((120, 1000), 7, dtype=np.int32)], axis=1)
    many[:119, 9:] = -1  # they appear on the last question only
    after = trust(many, known=simulated.known(60))
    assert after.winners[119] == estimated.winners[119]
    assert after.weights[9:].max() == 0


@pytest.mark.long
@settings(max_examples=20, deadline=None)
@given(st.permutations(range(9)), st.integers(0, 5))
def test_the_order_of_sources_changes_no_record(order: list[int], seed: int) -> None:
    simulated = simulate(seed, liars=3, questions=150)
    estimated = trust(simulated.votes, known=simulated.known(20))
    moved = trust(simulated.votes[:, order], known=simulated.known(20))
    assert moved.reliability == pytest.approx(estimated.reliability[order])
    assert moved.weights == pytest.approx(estimated.weights[order])


@pytest.mark.long
@settings(deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_renaming_and_reordering_sources_changes_no_record_nor_tie(
    seed: int, owned: bool, grouped: bool
) -> None:
    """Ties abound in so few votes: none may favour who comes first, nor an owner's first source."""
    rng = np.random.default_rng(seed)
    sources = int(rng.integers(2, 8))
    labels = rng.integers(-1, 3, (rng.integers(1, 10), sources))
    owners = rng.integers(-1, 3, sources) if owned else None
    groups = rng.integers(-1, 2, sources) if grouped else None
    order = rng.permutation(sources)
    as_given, moved = (
        untangle(
            numbered_as_met(labels[:, places])[0],
            owners=None if owners is None else owners[places],
            groups=None if groups is None else groups[places],
            options=4,
        )[0]
        for places in (np.arange(sources), order)
    )
    assert moved.reliability == pytest.approx(as_given.reliability[order])
    assert moved.weights == pytest.approx(as_given.weights[order])
    assert moved.agreed == pytest.approx(as_given.agreed[order])


@pytest.mark.long
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_weights_are_never_negative_and_intervals_hold_the_mean(seed: int) -> None:
    rng = np.random.default_rng(seed)
    votes = rng.integers(-1, 4, (rng.integers(1, 12), rng.integers(1, 7))).astype(np.int32)
    estimated = trust(votes, groups=rng.integers(-1, 3, votes.shape[1]))
    assert estimated.weights.min() >= 0
    assert np.all((estimated.low <= estimated.reliability) & (estimated.reliability <= estimated.high))
    assert np.all(estimated.winners[(votes >= 0).any(axis=1)] >= 0)
    assert np.all(estimated.winners[(votes < 0).all(axis=1)] == -1)


def test_without_overlap_all_have_the_prior_and_no_weight() -> None:
    votes = np.array([[0, -1], [-1, 0]], dtype=np.int32)
    estimated = trust(votes, prior=0.6)
    assert not estimated.checked.any()
    assert estimated.reliability == pytest.approx([0.6, 0.6])
    assert estimated.weights == pytest.approx(np.maximum(2 * estimated.low - 1, 0))
    assert estimated.winners.tolist() == [0, 0]
    assert not estimated.earned.any()


def test_one_owners_sources_do_not_vouch_for_each_other() -> None:
    votes = np.zeros((10, 3), dtype=np.int32)
    assert not trust(votes, owners=["a", "a", "a"]).checked.any()
    assert trust(votes, owners=["a", "a", "b"]).checked.all()


def test_an_anchor_that_no_source_answers_or_that_all_miss_is_no_error() -> None:
    votes = np.array([[-1, -1], [0, 0]], dtype=np.int32)
    estimated = trust(votes, known=np.array([-1, -1], dtype=np.int32))
    assert estimated.agreed.tolist() == [0, 0]
    assert estimated.answered.tolist() == [1, 1]
    assert estimated.winners.tolist() == [-1, -1]


def test_importance_weighs_questions() -> None:
    votes = np.array([[0, 0], [0, 1]], dtype=np.int32)
    estimated = trust(votes, known=np.array([0, 0], dtype=np.int32), importance=[1.0, 0.25])
    assert estimated.answered.tolist() == [1.25, 1.25]
    assert estimated.agreed.tolist() == [1.25, 1.0]


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_votes_without_any_answer_are_no_error(shape: tuple[int, int]) -> None:
    estimated, ties = untangle(np.full(shape, -1, dtype=np.int32))
    assert estimated.winners.tolist() == [-1] * shape[0]
    assert estimated.weights.shape == ties.group.shape == (shape[1],)


def test_groups_given_stay_tied() -> None:
    simulated = simulate(0, liars=0, questions=60)
    estimated, _ = untangle(
        simulated.votes, groups=["copies", "copies", *[""] * 7], known=simulated.known(20)
    )
    assert estimated.unit[0] == estimated.unit[1]
    assert len(set(estimated.unit.tolist())) == 8
    assert join_ties([0, 1, 1], ["g", "g", ""]).tolist() == [0, 0, 0]


def test_a_vote_on_other_questions_uses_the_same_owners_and_ties() -> None:
    simulated = simulate(3, liars=5)
    estimated = trust(simulated.votes[:200], known=simulated.known(30)[:200])
    winners = vote(simulated.votes[200:], estimated)
    assert (winners == simulated.truth[200:]).mean() > 0.85


def test_what_does_not_fit_is_refused() -> None:
    votes = np.zeros((2, 2), dtype=np.int32)
    with pytest.raises(InputError, match="importance"):
        trust(votes, importance=[1.0, -1.0])
    with pytest.raises(InputError, match="owners"):
        trust(votes, owners=["a"])
    with pytest.raises(InputError, match="prior"):
        trust(votes, prior=0.0)
