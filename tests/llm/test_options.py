"""The tokens of a reply's first place become probabilities of the options."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disputatio.llm.request import score_options
from disputatio.types import Token


def listed(**odds: float) -> list[Token]:
    return [Token(text=text, logprob=math.log(odd)) for text, odd in odds.items()]


def odds_of(options: list[str], top: list[Token]) -> tuple[list[float], tuple[bool, ...]]:
    logprobs, bounded = score_options(options, top)
    return [round(math.exp(logprob), 9) for logprob in logprobs], bounded


def test_spellings_of_an_option_are_added_up() -> None:
    top = [
        Token(text=text, logprob=math.log(0.2)) for text in ("Yes", " yes", "YES", "\u0120Yes", "\u2581no")
    ]
    assert odds_of(["Yes", "No"], top) == ([0.8, 0.2], (False, False))


def test_a_beginning_counts_for_the_only_option_that_it_begins() -> None:
    assert odds_of(["unsupported", "supported"], listed(un=0.6, sup=0.3)) == ([0.6, 0.3], (False, False))


def test_a_beginning_of_several_options_counts_for_none() -> None:
    odds, bounded = odds_of(["supported", "superseded"], listed(sup=0.9, supp=0.05))
    assert bounded == (False, True)
    assert odds == [0.05, 0.05]


def test_a_token_that_is_an_option_counts_for_it_though_it_begins_another() -> None:
    odds, bounded = odds_of(["part", "partly"], listed(part=0.7, partly=0.2))
    assert (odds, bounded) == ([0.7, 0.2], (False, False))


def test_white_space_and_longer_words_count_for_no_option() -> None:
    top = [Token(text=text, logprob=math.log(0.3)) for text in (" ", "\n", "Yesterday")]
    assert odds_of(["Yes", "No"], top)[1] == (True, True)


def test_a_missing_option_is_bounded_by_what_is_not_listed() -> None:
    odds, bounded = odds_of(["Yes", "No"], listed(Yes=0.9, Maybe=0.09))
    assert bounded == (False, True)
    assert odds[1] == pytest.approx(0.01)


def test_a_missing_option_is_bounded_by_the_least_that_is_listed() -> None:
    assert odds_of(["Yes", "No"], listed(Yes=0.5, Maybe=0.001))[0][1] == pytest.approx(0.001)


def test_a_sure_token_leaves_a_missing_option_next_to_nothing() -> None:
    odds, bounded = odds_of(["Yes", "No"], listed(Yes=1.0))
    assert bounded == (False, True)
    assert 0 < odds[1] <= 1e-6


@given(
    st.lists(
        st.tuples(st.sampled_from(["Yes", " no", "y", "n", "", "\n", "Maybe", "é"]), st.floats(-1e6, 0.5)),
        max_size=20,
    )
)
def test_every_figure_is_the_log_of_a_probability(pairs: list[tuple[str, float]]) -> None:
    top = [Token(text=text, logprob=logprob) for text, logprob in pairs]
    logprobs, bounded = score_options(["Yes", "No", "Neither"], top)
    assert len(logprobs) == len(bounded) == 3
    assert all(math.isfinite(logprob) and logprob <= 0 for logprob in logprobs)
