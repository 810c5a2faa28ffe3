"""Reliability where one reader speaks for all: what it would say anyway earns little."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disputatio.errors import InputError
from disputatio.reliability.informative import bound_of, estimate_informed, questions_needed
from disputatio.reliability.posterior import posterior
from disputatio.reliability.weighted_vote import estimate
from disputatio.types import Source

# Four honest sources of nine, and five for which the reader mostly speaks itself.
HONEST, HEARD = 4, 5


def heard(questions: int) -> tuple[list[list[int]], list[int]]:
    """Return answers, most of them the reader's own wrong one (1), and what it says by itself."""
    votes = [[0] * HONEST + [1] * HEARD for _ in range(questions)]
    for number, row in enumerate(votes):
        row[HONEST + number % HEARD] = 2  # where the reader does find the lie of a source, that is told
        row[number % HONEST] = 0 if number % 7 else 3
    return votes, [1] * questions


def test_sources_for_which_the_reader_speaks_are_not_believed_for_agreeing_with_it() -> None:
    votes, own = heard(24)
    fooled = estimate(np.array(votes, dtype=np.int32))
    assert fooled.reliability[:HONEST].max() < fooled.reliability[HONEST:].min()
    informed = estimate_informed(votes, own)
    assert informed.reliability[:HONEST].min() > 0.7 > 0.5 > informed.reliability[HONEST:].max()
    assert informed.copied > 0.2
    assert (informed.answered[HONEST:] < 13).all()  # of 24: the rest was the reader


def test_agreement_on_what_the_reader_says_anyway_earns_less_than_agreement_on_what_it_does_not() -> None:
    votes = [[0, 0, 1]] * 6
    anyway = estimate_informed(votes, [0] * 6)
    by_reading = estimate_informed(votes, [-1] * 6)
    assert anyway.reliability[0] < by_reading.reliability[0]
    assert anyway.answered[0] < by_reading.answered[0]


def test_without_own_answers_every_answer_counts_in_full() -> None:
    found = estimate_informed([[0, 0, 1]] * 6, [-2] * 6)
    assert found.answered.round(6).tolist() == [6.0, 6.0, 6.0]


def test_silence_and_questions_that_one_group_answered_count_for_nobody() -> None:
    silent = estimate_informed([[-1, -1], [0, -1]], [-2, 0])
    assert silent.answered.tolist() == [0, 0] and silent.reliability.tolist() == [0.5, 0.5]
    copies = estimate_informed([[0, 0, -1]] * 5, [-2] * 5, groups=[0, 0, 1])
    assert copies.answered.tolist() == [0, 0, 0]


def test_two_that_only_contradict_each_other_are_equals_and_a_verified_question_decides() -> None:
    votes = [[0, 1]] * 10
    even = estimate_informed(votes, [-2] * 10)
    assert even.reliability[0] == pytest.approx(even.reliability[1])
    known = np.array([1] * 10, dtype=np.int32)
    told = estimate_informed(votes, [-2] * 10, known=known)
    assert told.reliability[1] > 0.8 > 0.2 > told.reliability[0]


@pytest.mark.long
@given(st.permutations(range(5)), st.permutations(range(12)), st.integers(0, 1000))
def test_neither_names_nor_order_change_an_estimate(
    sources: list[int], questions: list[int], seed: int
) -> None:
    generator = np.random.default_rng(seed)
    answers = generator.integers(-1, 3, (12, 5))
    votes, own = np.full((12, 5), -1), np.full(12, -2)
    for number, row in enumerate(answers):
        seen = list(dict.fromkeys(each for each in row.tolist() if each >= 0))
        votes[number] = [seen.index(each) if each >= 0 else -1 for each in row.tolist()]
        own[number] = seen.index(2) if 2 in seen else -1
    first = estimate_informed(votes, own)
    moved = votes[questions][:, sources]
    numbers = [list(dict.fromkeys(each for each in row.tolist() if each >= 0)) for row in moved]
    again = [
        [seen.index(each) if each >= 0 else -1 for each in row.tolist()]
        for row, seen in zip(moved, numbers, strict=True)
    ]
    its = [
        seen.index(each) if each >= 0 else each
        for each, seen in zip(own[questions].tolist(), numbers, strict=True)
    ]
    second = estimate_informed(again, its)
    assert second.reliability == pytest.approx(first.reliability[sources], abs=1e-4)


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="own answer"):
        estimate_informed([[0, 0]], [1])
    with pytest.raises(InputError, match="groups"):
        estimate_informed([[0, 0]], [0], groups=[0])


@pytest.mark.long
def test_the_bound_says_how_many_questions_and_honest_owners_it_takes() -> None:
    for share in (1.0, 0.95, 0.8, 0.3):
        needed = questions_needed(share)
        assert needed is not None
        away = max(share, 1 - share)
        assert posterior(away * needed, needed)[1] > 0.5
        assert posterior(away * (needed - 1), needed - 1)[1] <= 0.5
    sources = {
        name: Source(name=name, owner=owner, reliability=0.8, low=low, high=0.95)
        for name, owner, low in (("a", "x", 0.6), ("b", "x", 0.4), ("c", "", 0.7), ("d", "", 0.1))
    }
    bound = bound_of(sources)
    assert (bound.owners, bound.honest, bound.sources, bound.told, bound.questions) == (3, 2, 4, 2, 5)
