"""Odds of words: from log-probabilities, or from votes, and what is neither."""

from __future__ import annotations

import json
import math

import pytest

from disputatio.agents.choice import choose, shares
from disputatio.errors import BatchFault, NoLogprobs, ReplyError, ServerFault
from disputatio.kit import Kit, chat
from disputatio.llm.scripted import Line, Scripted
from disputatio.types import Completion, Usage

PROMPTS = [chat("Judge.", "Is it so?"), chat("Judge.", "And this?")]


def said(word: str) -> str:
    return json.dumps({"word": word})


def test_log_probabilities_are_the_models_own() -> None:
    model = Scripted([], choices={"Is it so": {"Yes": 0.9, "No": 0.1}, "And this": {"Yes": 0.2, "No": 0.1}})
    found = choose("judge", PROMPTS, ("Yes", "No"), Kit(model=model))
    assert [round(math.exp(one.logprobs[0]), 3) for one in found] == [0.9, 0.2]
    assert [round(shares(one)[0], 3) for one in found] == [0.9, 0.667]


def test_votes_are_counted_with_half_a_vote_for_each_option_before_them() -> None:
    lines = [said("Yes"), said("No"), said("Yes"), said("No"), said("No"), said("No")]
    model = Scripted(lines)
    found = choose("judge", PROMPTS, ("Yes", "No"), Kit(model=model), votes=3)
    assert [round(math.exp(one.logprobs[0]), 4) for one in found] == [2.5 / 4, 0.5 / 4]
    assert found[1].bounded == (True, False)
    assert found[0].usage.calls == 3
    seeds = [one.sampling.seed for one in model.calls if one.sampling]
    assert seeds == [0, 0, 1, 1, 2, 2]
    assert all(one.sampling and one.sampling.temperature == 1.0 for one in model.calls)


@pytest.mark.parametrize(
    "void",
    [
        "Yes",
        "",
        '{"word": "yes, surely"}',
        '{"word": "Yes", "word": "No"}',
        '["Yes"]',
        '{"word": "Maybe"}',
        "[" * 9_000,
    ],
)
def test_a_vote_that_breaks_its_contract_counts_for_no_option(void: str) -> None:
    lines: list[Line] = [void, said("No")]
    found = choose("judge", PROMPTS[:1], ("Yes", "No"), Kit(model=Scripted(lines)), votes=2)
    assert [round(math.exp(one), 3) for one in found[0].logprobs] == [0.25, 0.75]


def test_votes_that_are_all_void_are_a_failure_and_not_an_even_chance() -> None:
    cut = Completion(text=said("Yes"), finish_reason="length", usage=Usage(calls=1))
    with pytest.raises(ReplyError, match="none of 2 votes was one of Yes, No"):
        choose("judge", PROMPTS[:1], ("Yes", "No"), Kit(model=Scripted(["hm", cut])), votes=2)


def test_a_model_without_log_probabilities_is_one_line_that_says_what_to_do() -> None:
    model = Scripted([], choices=lambda text: NoLogprobs("none"), name="openai:mute")
    with pytest.raises(NoLogprobs) as caught:
        choose("judge", PROMPTS[:1], ("Yes", "No"), Kit(model=model))
    message = str(caught.value)
    assert message.startswith("openai:mute gives no log-probabilities, and the strategy decides by them")
    assert "--role judge=MODEL" in message and "--set votes=10" in message and "\n" not in message


def test_other_faults_of_a_batch_stay_what_they_are() -> None:
    model = Scripted([], choices=lambda text: ServerFault("down", 503) if "so" in text else {"Yes": 1.0})
    with pytest.raises(BatchFault):
        choose("judge", PROMPTS, ("Yes", "No"), Kit(model=model))
