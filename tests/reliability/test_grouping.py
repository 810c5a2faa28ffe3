"""Sources of one group count as one, and near-duplicate text ties sources."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disputatio.errors import InputError
from disputatio.reliability.grouping import describe_groups, groups_of, tie_by_text
from disputatio.store.segments.minhash import pairs, sketch
from disputatio.store.segments.terms import count
from tests.reliability.united import united

STORY = "The lighthouse at Quillhaven was designed in 1871 by the engineer {} who also built the pier"
OTHER = "A survey of the orchards counted nine thousand pear trees {} and found that old kinds bear best"


@pytest.mark.long
@given(
    st.integers(1, 30).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.tuples(*[st.integers(0, n - 1)] * 2)))
    )
)
def test_groups_are_the_connected_components(case: tuple[int, list[tuple[int, int]]]) -> None:
    size, edges = case
    label = list(range(size))
    for first, other in edges:  # plainly, for comparison
        old, new = label[other], label[first]
        label = [new if number == old else number for number in label]
    group = groups_of(size, edges)
    assert all((group[a] == group[b]) == (label[a] == label[b]) for a in range(size) for b in range(size))
    assert sorted(set(group.tolist())) == list(range(len(set(label))))


def test_a_group_votes_like_most_of_its_members() -> None:
    votes = np.array([[1, 0, 0, 2], [0, 1, -1, 2], [-1, -1, -1, 0]], dtype=np.int32)
    assert united(votes, [0, 0, 0, 1]).tolist() == [[0, 2], [0, 2], [-1, 0]]


def test_copied_text_ties_sources() -> None:
    texts = [STORY.format("Ada Marsh"), OTHER.format("in spring"), *[STORY.format("Ada Marsh")] * 3]
    dependence = tie_by_text(pairs(sketch(count([""] * len(texts), texts))), [0, 1, 2, 3, 4], 5)
    assert dependence.group.tolist() == [0, 1, 0, 0, 0]
    assert describe_groups(dependence.group) == "2 independent, 3 copies"


def test_one_quoted_passage_among_many_ties_nobody() -> None:
    near = [[0, 3]]
    dependence = tie_by_text(near, [0, 0, 0, 1, 1, 1], 2)
    assert describe_groups(dependence.group) == "2 independent"
    twice = [[0, 3], [1, 4]]
    assert describe_groups(tie_by_text(twice, [0, 0, 0, 1, 1, 1], 2).group) == "1 independent, 1 copy"


def test_the_wording_counts_independent_sources_and_copies() -> None:
    assert describe_groups([0] * 42 + [1, 2]) == "3 independent, 41 copies"


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="below 2"):
        tie_by_text([], [0, 2], 2)
    with pytest.raises(InputError, match="two passage numbers"):
        tie_by_text([[0, 9]], [0, 1], 2)
    with pytest.raises(InputError, match="one a source"):
        united([[0, 1]], [0])
