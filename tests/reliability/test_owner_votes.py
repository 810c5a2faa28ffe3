"""Who speaks with one voice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disputatio.errors import InputError
from disputatio.reliability.certificate import certify
from disputatio.reliability.owner_votes import Voices, numbered, rule
from disputatio.reliability.weighted_vote import weighted_vote

rows = st.integers(1, 8).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(-1, 3), min_size=n, max_size=n),
        st.lists(st.integers(0, 9).map(float), min_size=n, max_size=n),
    )
)


@given(rows)
def test_sources_alone_vote_as_they_always_did(row: tuple[list[int], list[float]]) -> None:
    said, weights = row
    ruling = rule(said, weights)
    if ruling.earned:
        assert ruling.winner == int(weighted_vote([said], weights)[0])
        assert list(ruling.choices) == said
    else:
        assert ruling.winner == int(weighted_vote([said], np.ones(len(said)))[0])


@settings(deadline=None)
@given(rows, st.data())
def test_copies_of_a_source_under_its_owner_change_no_answer(
    row: tuple[list[int], list[float]], data: st.DataObject
) -> None:
    said, weights = row
    who = data.draw(st.integers(0, len(said) - 1))
    owners = [f"owner {i}" for i in range(len(said))]
    times = data.draw(st.integers(1, 30))
    one, many = (
        rule(said, weights, owners=owners),
        rule(
            said + [said[who]] * times,
            weights + [weights[who]] * times,
            owners=owners + [owners[who]] * times,
        ),
    )
    assert (many.winner, many.choices) == (one.winner, one.choices)
    assert many.weights == pytest.approx(one.weights)


def test_a_thousand_sources_of_one_owner_have_one_vote() -> None:
    said = [0, 0, *[1] * 1000]
    assert rule(said, [1.0] * 1002, owners=["a", "b", *["c"] * 1000]).winner == 0
    assert rule(said, [1.0] * 1002).winner == 1


def test_an_owner_says_what_most_of_its_sources_say_at_the_mean_of_their_weights() -> None:
    ruling = rule([0, 1, 1, 2], [9.0, 1.0, 3.0, 1.5], owners=["a", "a", "a", "b"])
    assert (ruling.choices, ruling.weights, ruling.names) == ((1, 2), (2.0, 1.5), ("a", "b"))
    assert ruling.winner == 1


def test_tied_owners_say_what_the_trusted_of_them_say() -> None:
    """Two copies of a lie cannot take along an honest source that is tied to them by mistake."""
    ruling = rule([0, 1, 1, 1], [4.0, 0.0, 0.0, 3.0], groups=["g", "g", "g", ""], names=["a", "b", "c", "d"])
    assert (ruling.choices, ruling.weights, ruling.names) == ((0, 1), (4.0, 3.0), ("a", "d"))
    assert ruling.winner == 0


def test_ties_reach_across_owners() -> None:
    """a and b share a group, b and c an owner: all three are one voice."""
    voices = Voices.of([[0, 1, 1, 1]], ["a", "b", "b", "d"], ["g", "g", "", ""])
    assert voices.owner.tolist() == [0, 1, 1, 2]
    assert voices.unit.tolist() == [0, 0, 1]
    assert voices.units.tolist() == [2]


def test_where_nobody_heard_has_a_weight_all_count_alike_and_it_is_said() -> None:
    ruling = rule([0, 1, 1, -1], [0.0, 0.0, 0.0, 5.0])
    assert (ruling.winner, ruling.earned) == (1, False)
    assert ruling.weights == (1.0, 1.0, 1.0, 0.0)


def test_unknown_names_change_nothing_where_one_with_a_weight_speaks() -> None:
    assert rule([0, *[1] * 1000], [0.1, *[0.0] * 1000]).winner == 0


def test_nobody_heard_has_no_winner() -> None:
    assert rule([-1, -1], [1.0, 1.0]).winner == -1
    assert rule([], []).winner == -1


@given(rows)
def test_a_ruling_is_what_the_certificate_takes(row: tuple[list[int], list[float]]) -> None:
    ruling = rule(*row)
    found = certify(ruling.choices, ruling.weights, ruling.names)
    if ruling.winner < 0:
        assert found is None
    else:
        assert found is not None
        assert 1 <= found.owners <= found.voters == sum(one >= 0 for one in ruling.choices)


def test_names_and_numbers_stand_for_owners_and_empty_ones_for_nobody() -> None:
    assert numbered(["b", "", "b", ""], 4, "owners").tolist() == [0, 1, 0, 2]
    assert numbered(np.array([7, -1, 7, -1]), 4, "owners").tolist() == [0, 1, 0, 2]
    assert numbered(None, 2, "owners").tolist() == [0, 1]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="owners"):
        rule([0, 1], [1.0, 1.0], owners=["a"])
    with pytest.raises(InputError, match="negative"):
        rule([0, 1], [1.0, -1.0])
    with pytest.raises(InputError, match="2 finite numbers"):
        rule([0, 1], [1.0])
