"""Votes as a list and copy detection by candidates give what votes as an array and all pairs give."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from disputatio.errors import InputError
from disputatio.reliability import copy_detection
from disputatio.reliability.copy_detection import tie_by_votes
from disputatio.reliability.grouping import unite_votes
from disputatio.reliability.trust import trust, untangle
from disputatio.reliability.weighted_vote import FlatVotes, distinct, estimate
from tests.reliability.liars import simulate
from tests.reliability.united import united


def listed(votes: NDArray[np.int32], seed: int = 0) -> FlatVotes:
    """Return the votes as a list, given in any order."""
    question, source = np.nonzero(votes >= 0)
    order = np.random.default_rng(seed).permutation(len(question))
    number = votes[question, source].astype(np.int64)
    return FlatVotes.from_list(
        question[order], source[order], number[order], questions=votes.shape[0], sources=votes.shape[1]
    )


def copied_votes(sources: int, questions: int, coverage: float, seed: int) -> NDArray[np.int32]:
    """Sources of which every tenth copies the one before it; cluster 0 is right."""
    dice = np.random.default_rng(seed)
    accuracy = dice.uniform(0.5, 0.9, sources)
    votes = np.where(
        dice.random((questions, sources)) < accuracy, 0, dice.integers(1, 10, (questions, sources))
    )
    votes[dice.random(votes.shape) >= coverage] = -1
    for copier in range(9, sources, 10):
        taken = (dice.random(questions) < 0.8) & (votes[:, copier - 1] >= 0)
        votes[taken, copier] = votes[taken, copier - 1]
    return votes.astype(np.int32)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_a_list_of_votes_is_estimated_as_the_array_is(seed: int) -> None:
    world = simulate(seed, liars=4, sources=20, questions=120, coverage=0.3)
    votes, flat = world.votes, listed(world.votes, seed)
    assert distinct(flat) == distinct(votes)
    for known in (None, world.known(20)):
        for one, other in (
            (estimate(votes, known=known), estimate(flat, known=known)),
            (trust(votes, known=known), trust(flat, known=known)),
            (untangle(votes, known=known)[0], untangle(flat, known=known)[0]),
        ):
            np.testing.assert_allclose(one.reliability, other.reliability, rtol=1e-9)
            np.testing.assert_allclose(one.low, other.low, rtol=1e-9)
            assert one.winners.tolist() == other.winners.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_owners_and_groups_unite_a_list_as_they_unite_the_array(seed: int) -> None:
    votes = simulate(seed, liars=3, sources=30, questions=80, coverage=0.4).votes
    dice = np.random.default_rng(seed)
    owners, groups = dice.integers(0, 12, 30), dice.integers(-1, 8, 30)
    of = np.unique(owners, return_inverse=True)[1]
    one, other = FlatVotes.of(united(votes, of)), unite_votes(listed(votes), of)
    assert (one.question.tolist(), one.source.tolist()) == (other.question.tolist(), other.source.tolist())
    assert one.number.tolist() == other.number.tolist()
    first = trust(votes, owners=owners, groups=groups)
    second = trust(listed(votes), owners=owners, groups=groups)
    np.testing.assert_allclose(first.weights, second.weights, rtol=1e-9)
    assert first.winners.tolist() == second.winners.tolist()


@pytest.mark.parametrize("pairs", [copy_detection.PAIRS, 0], ids=["listed", "hashed"])
@pytest.mark.parametrize("coverage", [0.3, 0.8])
def test_candidates_find_the_ties_that_all_pairs_show(
    pairs: int, coverage: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy_detection, "PAIRS", pairs)
    votes = copied_votes(80, 400, coverage, seed=2)
    right = (votes == 0).sum(axis=0) / np.maximum((votes >= 0).sum(axis=0), 1)
    winners = np.zeros(len(votes), dtype=np.int32)
    exact = tie_by_votes(votes, winners, right, options=10, exact=True)
    found = tie_by_votes(listed(votes), winners, right, options=10, exact=False)
    assert len(exact.pairs) >= 8
    assert found.pairs.tolist() == exact.pairs.tolist()
    assert found.group.tolist() == exact.group.tolist()
    np.testing.assert_allclose(found.probability, exact.probability, rtol=1e-9)


def test_without_shared_false_values_there_are_no_candidates() -> None:
    votes = np.zeros((50, 6), dtype=np.int32)
    assert not tie_by_votes(votes, [0] * 50, [0.9] * 6, exact=False).pairs.size
    nobody = FlatVotes.from_list(*([np.zeros(0, dtype=np.int64)] * 3), questions=0, sources=0)
    assert not tie_by_votes(nobody, [], [], exact=False).pairs.size


def test_the_last_vote_of_a_source_on_a_question_counts() -> None:
    flat = FlatVotes.from_list(
        np.array([0, 0, 0]), np.array([1, 0, 1]), np.array([0, 0, 1]), questions=1, sources=2
    )
    assert flat.source.tolist() == [0, 1]
    assert flat.number.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("question", "source", "number"), [([2], [0], [0]), ([0], [3], [0]), ([0], [0], [-1]), ([0, 1], [0], [0])]
)
def test_votes_that_do_not_fit_are_refused(question: list[int], source: list[int], number: list[int]) -> None:
    with pytest.raises(InputError):
        FlatVotes.from_list(np.array(question), np.array(source), np.array(number), questions=2, sources=3)


@pytest.mark.long
def test_an_estimate_goes_on_from_an_earlier_one() -> None:
    world = simulate(1, liars=3, sources=30, questions=300, coverage=0.5)
    before = untangle(world.votes[:290, :28])
    anew, _ = untangle(world.votes)
    further, _ = untangle(world.votes, start=before)
    np.testing.assert_allclose(further.reliability, anew.reliability, rtol=1e-9)
    assert further.winners.tolist() == anew.winners.tolist()


@pytest.mark.long
@pytest.mark.parametrize("known", [0, 30])
def test_votes_counted_in_runs_give_what_they_give_at_once(
    known: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = simulate(4, liars=5, sources=25, questions=200, coverage=0.4)
    flat, truth = listed(world.votes, 4), world.known(known) if known else None
    owners = np.random.default_rng(4).integers(0, 18, 25)
    before, ties = untangle(flat, owners=owners, known=truth)
    plain = estimate(flat, known=truth)
    monkeypatch.setattr("disputatio.reliability.weighted_vote.SPAN", 37)
    assert len(list(flat.spans())) > 10
    after, later = untangle(flat, owners=owners, known=truth)
    np.testing.assert_allclose(after.reliability, before.reliability, rtol=1e-12)
    np.testing.assert_allclose(after.low, before.low, rtol=1e-12)
    assert after.winners.tolist() == before.winners.tolist()
    assert later.group.tolist() == ties.group.tolist()
    assert estimate(flat, known=truth).reliability.tolist() == plain.reliability.tolist()


def test_questions_without_votes_belong_to_a_run() -> None:
    flat = FlatVotes.from_list(np.array([1, 4]), np.array([0, 1]), np.array([0, 0]), questions=7, sources=2)
    assert [(q.start, q.stop, r.start, r.stop) for q, r in flat.spans()] == [(0, 7, 0, 2)]
    assert flat.winners(np.ones(2)).tolist() == [-1, 0, -1, -1, 0, -1, -1]
