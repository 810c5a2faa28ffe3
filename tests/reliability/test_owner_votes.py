"""Votes by owner: which sources share a vote, and how it is decided."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disputatio.errors import InputError
from disputatio.reliability.certificate import certify
from disputatio.reliability.owner_votes import OwnerVotes, number_groups, rule
from disputatio.reliability.weighted_vote import hold_vote

rows = st.integers(1, 8).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(-1, 3), min_size=n, max_size=n),
        st.lists(st.integers(0, 9).map(float), min_size=n, max_size=n),
    )
)


@given(rows)
def test_without_owners_and_groups_the_vote_is_the_weighted_vote(row: tuple[list[int], list[float]]) -> None:
    votes, weights = row
    each = rule(votes, weights)
    if each.earned:
        assert each.winner == int(hold_vote([votes], weights)[0])
        assert list(each.choices) == votes
    else:
        assert each.winner == int(hold_vote([votes], np.ones(len(votes)))[0])


@pytest.mark.long
@settings(deadline=None)
@given(rows, st.data())
def test_copies_of_a_source_under_its_owner_change_no_answer(
    row: tuple[list[int], list[float]], data: st.DataObject
) -> None:
    votes, weights = row
    who = data.draw(st.integers(0, len(votes) - 1))
    owners = [f"owner {i}" for i in range(len(votes))]
    times = data.draw(st.integers(1, 30))
    single, many = (
        rule(votes, weights, owners=owners),
        rule(
            votes + [votes[who]] * times,
            weights + [weights[who]] * times,
            owners=owners + [owners[who]] * times,
        ),
    )
    assert (many.winner, many.choices) == (single.winner, single.choices)
    assert many.weights == pytest.approx(single.weights)


def test_a_thousand_sources_of_one_owner_have_one_vote() -> None:
    votes = [0, 0, *[1] * 1000]
    assert rule(votes, [1.0] * 1002, owners=["a", "b", *["c"] * 1000]).winner == 0
    assert rule(votes, [1.0] * 1002).winner == 1


def test_an_owner_votes_like_most_of_its_sources_with_their_mean_weight() -> None:
    each = rule([0, 1, 1, 2], [9.0, 1.0, 3.0, 1.5], owners=["a", "a", "a", "b"])
    assert (each.choices, each.weights, each.names) == ((1, 2), (2.0, 1.5), ("a", "b"))
    assert each.winner == 1


def test_tied_owners_vote_like_the_trusted_among_them() -> None:
    """Two copies of a lie do not outvote an honest source that is tied to them by mistake."""
    each = rule([0, 1, 1, 1], [4.0, 0.0, 0.0, 3.0], groups=["g", "g", "g", ""], names=["a", "b", "c", "d"])
    assert (each.choices, each.weights, each.names) == ((0, 1), (4.0, 3.0), ("a", "d"))
    assert each.winner == 0


def test_ties_reach_across_owners() -> None:
    """Sources a and b share a group, b and c an owner: all three have one vote."""
    owner_votes = OwnerVotes.of([[0, 1, 1, 1]], ["a", "b", "b", "d"], ["g", "g", "", ""])
    assert owner_votes.owner.tolist() == [0, 1, 1, 2]
    assert owner_votes.unit.tolist() == [0, 0, 1]
    assert owner_votes.units.tolist() == [2]


def test_without_any_weight_all_voters_count_alike_and_the_ruling_is_not_earned() -> None:
    each = rule([0, 1, 1, -1], [0.0, 0.0, 0.0, 5.0])
    assert (each.winner, each.earned) == (1, False)
    assert each.weights == (1.0, 1.0, 1.0, 0.0)


def test_new_names_change_nothing_if_an_owner_with_a_weight_votes() -> None:
    assert rule([0, *[1] * 1000], [0.1, *[0.0] * 1000]).winner == 0


def test_without_votes_there_is_no_winner() -> None:
    assert rule([-1, -1], [1.0, 1.0]).winner == -1
    assert rule([], []).winner == -1


@given(rows)
def test_a_certificate_can_be_computed_from_a_ruling(row: tuple[list[int], list[float]]) -> None:
    each = rule(*row)
    certificate = certify(each.choices, each.weights, each.names)
    if each.winner < 0:
        assert certificate is None
    else:
        assert certificate is not None
        assert 1 <= certificate.owners <= certificate.voters == sum(choice >= 0 for choice in each.choices)


def test_owners_are_names_or_numbers_and_empty_ones_stand_alone() -> None:
    assert number_groups(["b", "", "b", ""], 4, "owners").tolist() == [0, 1, 0, 2]
    assert number_groups(np.array([7, -1, 7, -1]), 4, "owners").tolist() == [0, 1, 0, 2]
    assert number_groups(None, 2, "owners").tolist() == [0, 1]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="owners"):
        rule([0, 1], [1.0, 1.0], owners=["a"])
    with pytest.raises(InputError, match="negative"):
        rule([0, 1], [1.0, -1.0])
    with pytest.raises(InputError, match="2 finite numbers"):
        rule([0, 1], [1.0])
