"""Keywords that enough answers share, and the certificate against every corruption there is."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disputatio.strategies.robust_rag import Mark, kept, keywords, survives, threshold

WORDS = ("a", "b")
SAID = [frozenset(some) for n in range(3) for some in itertools.combinations(WORDS, n)]
FORGED = [frozenset(some) for n in range(4) for some in itertools.combinations((*WORDS, "forged"), n)]


def corrupted(replies: Sequence[Collection[str]], k: int) -> Iterator[list[Collection[str]]]:
    """Yield all that `told` can become when k passages say anything."""
    for which in itertools.combinations(range(len(replies)), k):
        for lies in itertools.product(FORGED, repeat=k):
            after = list(replies)
            for at, lie in zip(which, lies, strict=True):
                after[at] = lie
            yield after


def by_trying(replies: Sequence[Collection[str]], alpha: float, beta: int, mark: Mark, most: int) -> int:
    """Return the largest k up to `most` that no corruption of k passages defeats."""
    words = kept(replies, alpha, beta, mark)
    if not words:
        return -1
    k = 0
    while k < min(most, len(replies)):
        if any(kept(after, alpha, beta, mark) != words for after in corrupted(replies, k + 1)):
            break
        k += 1
    return k


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(SAID), min_size=1, max_size=5),
    st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]),
    st.integers(1, 4),
    st.sampled_from(["max", "min"]),
)
def test_the_certificate_is_what_trying_every_corruption_finds(
    replies: list[frozenset[str]], alpha: float, beta: int, mark: Mark
) -> None:
    assert min(survives(replies, alpha, beta, mark), 2) == by_trying(replies, alpha, beta, mark, 2)


def test_liars_who_can_lift_a_word_of_their_own_end_the_certificate() -> None:
    # Three of ten can lift a word of theirs to 0.3 x 10; it takes five to drop the true one below 0.6 x 10.
    assert survives([{"1887"}] * 10, 0.3, 3) == 2
    assert survives([{"1887"}] * 10, 0.6, 3) == 4


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("1887", {"1887"}),
        ("The Mayor of Quillhaven", {"mayor of quillhaven", "mayor", "quillhaven"}),
        ("Ingrid Vasmer", {"ingrid vasmer", "ingrid", "vasmer"}),
        ("3.5", {"3.5"}),
        ("$3.5 million in 1962", {"3500000 $ in 1962", "3500000 $", "1962"}),
        ("C++", {"c++"}),
        ("of the", set()),
        ("", set()),
    ],
)
def test_keywords_are_the_answer_its_phrases_and_its_words(answer: str, words: set[str]) -> None:
    assert keywords(answer) == words


def test_the_threshold_grows_with_the_answers_unless_the_smaller_is_asked_for() -> None:
    assert [threshold(n, 0.5, 3) for n in (2, 6, 10)] == [3, 3, 5]
    assert [threshold(n, 0.5, 3, "min") for n in (2, 6, 10)] == [1, 3, 3]


def test_a_share_that_is_met_exactly_is_enough() -> None:
    assert kept([{"a"}] * 3 + [{"b"}] * 7, 0.3, 1) == {"a", "b"}
    assert kept([{"a"}] * 2 + [{"b"}] * 8, 0.3, 1) == {"b"}
