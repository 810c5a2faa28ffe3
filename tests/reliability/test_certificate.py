"""The number of liars that a weighted vote survives."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disputatio.errors import InputError
from disputatio.reliability.certificate import certify


def winner_of(choices: list[int], weights: list[Fraction]) -> int:
    """Return the winner; a tie goes to the cluster whose first voter comes first."""
    sums: dict[int, Fraction] = {}
    for choice, weight in zip(choices, weights, strict=True):
        sums[choice] = sums.get(choice, Fraction(0)) + weight
    return min(sums, key=lambda cluster: (-sums[cluster], choices.index(cluster)))


def by_enumeration(choices: list[int], weights: list[Fraction]) -> int:
    """Return the size of the smallest set of liars that changes the answer, trying all sets and lies."""
    if not any(weights):
        weights = [Fraction(1)] * len(weights)
    before = winner_of(choices, weights)
    answers = [*sorted(set(choices)), max(choices) + 1]
    for m in range(1, len(choices) + 1):
        for liars in combinations(range(len(choices)), m):
            for lies in product(answers, repeat=m):
                moved = list(choices)
                for i, lie in zip(liars, lies, strict=True):
                    moved[i] = lie
                if winner_of(moved, weights) != before:
                    return m
    raise AssertionError("someone can always change the answer")


def certified(choices: list[int], weights: list[float]) -> int:
    certificate = certify(choices, weights)
    assert certificate is not None
    return certificate.owners


voters = st.integers(1, 5).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
        st.lists(st.integers(0, 6), min_size=n, max_size=n),
    )
)


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(voters)
def test_the_count_equals_that_of_enumeration(case: tuple[list[int], list[int]]) -> None:
    numbers: dict[int, int] = {}
    choices = [numbers.setdefault(choice, len(numbers)) for choice in case[0]]
    weights = [Fraction(weight, 4) for weight in case[1]]
    assert certified(choices, [float(weight) for weight in weights]) == by_enumeration(choices, weights)


@given(voters, st.integers(1, 50))
def test_a_common_factor_of_the_weights_changes_nothing(
    case: tuple[list[int], list[int]], factor: int
) -> None:
    choices, weights = case
    assert certified(choices, [float(weight) for weight in weights]) == certified(
        choices, [float(weight * factor) for weight in weights]
    )


def test_seven_against_two_of_equal_weight_survive_two_liars_but_not_three() -> None:
    assert certified([0] * 7 + [1] * 2, [1.0] * 9) == 3  # 4 against 5


def test_seven_that_agree_lose_to_four_liars_with_a_new_answer() -> None:
    assert certified([0] * 7, [1.0] * 7) == 4


def test_the_liars_are_named_and_they_are_the_heavy_ones() -> None:
    certificate = certify([0, 0, 0, 1, 1], [5, 1, 1, 2, 2], ["a", "b", "c", "d", "e"])
    assert certificate is not None
    assert (certificate.owners, certificate.voters, certificate.names) == (1, 5, ("a",))


def test_the_easiest_rival_need_not_be_the_strongest() -> None:
    """Let one owner of weight 10 stand alone; if it joins the nine of weight 1, they pass the eighteen."""
    choices = [0] * 18 + [1] + [2] * 9
    weights = [1.0] * 18 + [10.0] + [1.0] * 9
    certificate = certify(choices, weights, [str(i) for i in range(28)])
    assert certificate is not None
    assert (certificate.owners, certificate.names) == (1, ("18",))


def test_a_tie_changes_the_answer_only_where_the_rival_is_met_first() -> None:
    assert certified([0, 0, 0, 1], [1.0] * 4) == 1  # the first voter turns, and what it says now is met first
    assert certified([0, 0, 0, 1], [2.0, 2.0, 2.0, 2.0]) == 1
    # Only the second can bring a tie (4 and 4), but the first stays with 0, which is then met first.
    assert certified([0, 0, 0, 1], [1.0, 2.0, 1.0, 0.0]) == 2


def test_voters_without_any_weight_count_as_one_each() -> None:
    assert certified([0, 0, 0], [0.0, 0.0, 0.0]) == certified([0, 0, 0], [1.0, 1.0, 1.0]) == 2


def test_an_owner_without_an_answer_is_no_voter() -> None:
    certificate = certify([-1, 0, -1], [9.0, 1.0, 9.0])
    assert certificate is not None
    assert (certificate.owners, certificate.voters) == (1, 1)


def test_without_voters_there_is_no_certificate() -> None:
    assert certify([-1, -1], [1.0, 1.0]) is None
    assert certify([], []) is None


def test_a_thousand_owners_with_as_many_answers_are_counted() -> None:
    assert certified(list(range(1000)), [1.0] * 1000) == 1
    assert certified([0] * 501 + [1] * 499, [1.0] * 1000) == 1  # 500 each, and the first voter turned
    assert certified([0] * 600 + [1] * 400, [1.0] * 1000) == 100


@pytest.mark.parametrize(
    ("choices", "weights"), [([0, 1], [1.0]), ([0], [-1.0]), ([0], [float("nan")]), ([0], [float("inf")])]
)
def test_what_does_not_fit_is_refused(choices: list[int], weights: list[float]) -> None:
    with pytest.raises(InputError, match="certificate"):
        certify(choices, weights)
