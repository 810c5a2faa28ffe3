"""Models of the user's own: as little as `complete`, or a function, with what they lack added."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from disputatio.errors import BatchFault, Cancelled, ConfigError, LLMError, Malformed, NoLogprobs
from disputatio.kit import chat
from disputatio.llm.own_model import FunctionModel, as_llm
from disputatio.llm.scripted import Scripted
from disputatio.protocols import LLM, Cancel
from disputatio.types import Capabilities, Choice, Completion, Prompt, Sampling, Usage

PROMPTS = [chat("Be brief.", "a"), chat("Be brief.", "b")]
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}}


class Echo:
    """The smallest model."""

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling) -> Any:
        return [prompt.messages[-1].content for prompt in prompts]


def test_the_smallest_model_is_an_llm_with_what_it_lacks_added() -> None:
    model = as_llm(Echo())
    assert isinstance(model, LLM)
    assert model.name == "Echo"
    assert model.capabilities() == Capabilities(
        engine="tests.llm.test_own_model.Echo", logprobs=False, max_options=0, schema=False
    )
    done = model.complete(PROMPTS, Sampling())
    assert [(completion.text, completion.finish_reason, completion.usage.calls) for completion in done] == [
        ("a", "stop", 1),
        ("b", "stop", 1),
    ]
    with pytest.raises(NoLogprobs, match=r"Echo gives no log-probabilities: give it a method choose"):
        model.choose(PROMPTS, ["Yes", "No"])


def test_a_whole_llm_is_used_as_it_is() -> None:
    model = Scripted([])
    assert as_llm(model) is model


def test_its_own_name_capabilities_and_choices_are_used() -> None:
    class Judge(Echo):
        name = "judge"

        def capabilities(self) -> Capabilities:
            return Capabilities(engine="mine 2", logprobs=True, max_options=2, schema=True)

        def choose(self, prompts: Sequence[Prompt], options: Sequence[str], **_: object) -> list[Choice]:
            choice = Choice(
                options=tuple(options), logprobs=(-0.1, -2.0), bounded=(False, False), usage=Usage(calls=1)
            )
            return [choice] * len(prompts)

    assert as_llm(Judge()).choose(PROMPTS, ["Yes", "No"])[1].logprobs == (-0.1, -2.0)

    class Named(Echo):
        name = "named"

    assert as_llm(Named()).name == "named"

    class Wrong(Echo):
        def capabilities(self) -> str:
            return "all"

    with pytest.raises(ConfigError, match="returned no Capabilities"):
        as_llm(Wrong()).capabilities()


def test_a_schema_is_stated_in_the_prompt_unless_the_model_is_held_to_it() -> None:
    seen: list[str] = []

    class Seeing(Echo):
        def complete(self, prompts: Sequence[Prompt], sampling: Sampling) -> Any:
            seen.extend(prompt.messages[0].content for prompt in prompts)
            return super().complete(prompts, sampling)

    class Held(Seeing):
        def capabilities(self) -> Capabilities:
            return Capabilities(engine="held", logprobs=False, max_options=0, schema=True)

    for model in (Seeing(), Held()):
        as_llm(model).complete(PROMPTS[:1], Sampling(schema=SCHEMA))
    stated, plain = seen
    assert stated.startswith("Be brief.")
    assert '"answer"' in stated
    assert plain == "Be brief."


@pytest.mark.parametrize(
    ("replies", "message"),
    [
        (["a"], "complete\\(\\) returned 1 replies to 2 prompts"),
        ("ab", "complete\\(\\) returned one text to 2 prompts"),
        ([1, 2], "returned int in place of a text or a Completion"),
        (["", " "], "returned an empty reply"),
    ],
)
def test_replies_that_cannot_be_used_are_faults(replies: Any, message: str) -> None:
    class Wrong(Echo):
        def complete(self, prompts: Sequence[Prompt], sampling: Sampling) -> Any:
            return replies

    with pytest.raises(Malformed, match=message):
        as_llm(Wrong()).complete(PROMPTS, Sampling())


def test_one_bad_reply_leaves_the_others_of_its_batch() -> None:
    class Half(Echo):
        def complete(self, prompts: Sequence[Prompt], sampling: Sampling) -> Any:
            return ["good", ""]

    with pytest.raises(BatchFault) as caught:
        as_llm(Half()).complete(PROMPTS, Sampling())
    assert [
        None if result is None else result.text
        for result in caught.value.results
        if result is None or isinstance(result, Completion)
    ] == ["good", None]


def test_a_model_that_takes_on_done_reports_each_reply_as_it_comes() -> None:
    class Reporting:
        def complete(
            self,
            *_: object,
            on_done: Callable[[int, str], None] = lambda *_: None,
            cancel: Cancel | None = None,
        ) -> Any:
            on_done(1, "second")
            on_done(0, "first")
            return ["first", "second"]

    order: list[int] = []
    done = as_llm(Reporting()).complete(PROMPTS, Sampling(), on_done=lambda index, _: order.append(index))
    assert [completion.text for completion in done] == ["first", "second"]
    assert order == [1, 0]


def test_a_class_that_inherits_from_llm_needs_complete_alone() -> None:
    class Inheriting(LLM):
        def complete(self, prompts: Sequence[Prompt], sampling: Sampling, **_: object) -> list[Completion]:
            return [Completion(text="a", finish_reason="stop", usage=Usage(calls=1)) for _ in prompts]

    model = Inheriting()
    assert as_llm(model) is model
    assert (model.name, model.capabilities().logprobs) == ("Inheriting", False)
    with pytest.raises(NoLogprobs, match="Inheriting gives no log-probabilities"):
        model.choose(PROMPTS, ["Yes", "No"])


# --- functions ------------------------------------------------------------------------------------
def test_a_function_gets_the_whole_text_of_a_prompt() -> None:
    model = as_llm(FunctionModel(str.upper, name="shout"))
    assert model.name == "shout"
    assert [completion.text for completion in model.complete(PROMPTS, Sampling())] == [
        "BE BRIEF.\n\nA",
        "BE BRIEF.\n\nB",
    ]
    assert repr(FunctionModel(str.upper)) == "FunctionModel('function')"


def test_a_function_is_called_in_the_callers_thread_unless_several_calls_are_in_flight() -> None:
    threads: list[str] = []

    def notes(prompt: str) -> str:
        threads.append(threading.current_thread().name)
        return prompt

    as_llm(FunctionModel(notes)).complete(PROMPTS, Sampling())
    assert set(threads) == {threading.current_thread().name}
    together = threading.Barrier(2, timeout=30)

    def meets(prompt: str) -> str:
        together.wait()  # which only two calls at once pass
        return prompt[-1]

    done = as_llm(FunctionModel(meets, in_flight=2)).complete(PROMPTS, Sampling())
    assert [completion.text for completion in done] == ["a", "b"]
    with pytest.raises(ConfigError, match="at least 1"):
        FunctionModel(str, in_flight=0)


@pytest.mark.parametrize("in_flight", [1, 2])
def test_a_cancelled_function_is_not_waited_for(in_flight: int) -> None:
    cancel, gone = Cancel(), threading.Event()

    def waits(prompt: str) -> str:
        cancel.cancel()
        if in_flight > 1:
            gone.wait(30)
        return prompt

    model = FunctionModel(waits, in_flight=in_flight)
    with pytest.raises(Cancelled):
        model.complete(PROMPTS, Sampling(), cancel=cancel)
    gone.set()


def test_what_a_function_raises_is_raised() -> None:
    def fails(prompt: str) -> str:
        raise LLMError("down")

    for in_flight in (1, 2):
        with pytest.raises(LLMError, match="down"):
            FunctionModel(fails, in_flight=in_flight).complete(PROMPTS, Sampling())
