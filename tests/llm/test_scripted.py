"""The scripted model keeps to its script, and says when it has none."""

from __future__ import annotations

import math

import pytest

from disputatio.errors import BatchFault, ConfigError, ServerFault
from disputatio.llm.scripted import Scripted
from disputatio.protocols import LLM
from disputatio.types import Completion, Message, Prompt, Sampling, Usage


def ask(text: str) -> Prompt:
    return Prompt(
        messages=(Message(role="system", content="Be brief."), Message(role="user", content=text)),
    )


def test_a_scripted_model_is_an_llm() -> None:
    model = Scripted([], name="local:fake")
    assert isinstance(model, LLM)
    assert model.name == "local:fake"
    assert model.capabilities().logprobs


def test_a_list_is_used_up_in_order() -> None:
    model = Scripted(["one", "two", "three"])
    assert [done.text for done in model.complete([ask("a"), ask("b")], Sampling())] == ["one", "two"]
    assert model.complete([ask("c")], Sampling())[0].text == "three"
    with pytest.raises(ConfigError, match="run out after 3 replies"):
        model.complete([ask("d")], Sampling())


def test_a_mapping_replies_by_what_stands_in_the_prompt() -> None:
    model = Scripted({"Nebraska": "3,559", "Oklahoma": "4,120"})
    done = model.complete([ask("in Oklahoma?"), ask("in Nebraska?")], Sampling())
    assert [completion.text for completion in done] == ["4,120", "3,559"]
    with pytest.raises(ConfigError, match=r"nothing for the prompt.*Kansas"):
        model.complete([ask("in Kansas?")], Sampling())


def test_a_function_sees_the_whole_prompt() -> None:
    assert Scripted(str.upper).complete([ask("Hi")], Sampling())[0].text == "BE BRIEF.\nHI"


def test_words_count_as_tokens() -> None:
    spent = Scripted(["one two three"]).complete([ask("And you?")], Sampling())[0].usage
    assert spent == Usage(calls=1, prompt_tokens=4, completion_tokens=3)


def test_a_whole_completion_can_be_scripted() -> None:
    cut = Completion(text='{"answer": "3,5', finish_reason="length", usage=Usage(calls=1))
    assert Scripted([cut]).complete([ask("x")], Sampling()) == [cut]


def test_faults_are_raised_as_engines_raise_them() -> None:
    down = ServerFault("down", 500)
    with pytest.raises(ServerFault):
        Scripted([down, down]).complete([ask("a"), ask("b")], Sampling())
    with pytest.raises(BatchFault) as caught:
        Scripted(["good", down]).complete([ask("a"), ask("b")], Sampling())
    assert [result is None for result in caught.value.results] == [False, True]
    with pytest.raises(ZeroDivisionError):
        Scripted([ZeroDivisionError()]).complete([ask("a")], Sampling())


def test_odds_are_even_unless_scripted() -> None:
    chosen = Scripted([]).choose([ask("x")], ["Yes", "No"])[0]
    assert [round(math.exp(logprob), 9) for logprob in chosen.logprobs] == [0.5, 0.5]
    assert chosen.bounded == (False, False)


def test_odds_can_be_mapped_or_computed() -> None:
    mapped = Scripted([], choices={"rain": {"Yes": 0.9, "No": 0.1}})
    assert mapped.choose([ask("rain?")], ["Yes", "No"])[0].logprobs == (math.log(0.9), math.log(0.1))
    computed = Scripted([], choices=lambda text: {"Yes": 1.0} if "sun" in text else {"No": 1.0})
    chosen = computed.choose([ask("sun?"), ask("snow?")], ["Yes", "No"])
    assert [choice.bounded for choice in chosen] == [(False, True), (True, False)]
    assert all(math.isfinite(logprob) for choice in chosen for logprob in choice.logprobs)


def test_the_calls_are_recorded() -> None:
    model = Scripted(["x"])
    model.complete([ask("one?")], Sampling(max_tokens=7))
    model.choose([ask("two?")], ["Yes", "No"])
    first, second = model.calls
    assert first.sampling == Sampling(max_tokens=7)
    assert (second.text, second.options) == ("Be brief.\ntwo?", ("Yes", "No"))


def test_a_single_text_is_not_a_script() -> None:
    with pytest.raises(ConfigError, match="list of replies"):
        Scripted("yes")
