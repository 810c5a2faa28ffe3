"""A model of Inspect's does what our protocol promises, from a worker thread of the event loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import anyio
import pytest
from anyio import to_thread
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    Logprob,
    Logprobs,
    Model,
    ModelOutput,
    ModelUsage,
    TopLogprob,
)

from disputatio.errors import BatchFault, ContextTooLong, LLMError, Malformed, NoLogprobs
from disputatio.inspect_ai import InspectModel
from disputatio.inspect_ai import model as module
from disputatio.kit import Kit
from disputatio.protocols import LLM
from disputatio.types import Choice, Completion, Message, Prompt, Sampling
from tests.inspect_ai.conftest import Mock

_T = TypeVar("_T")
SCHEMA = {
    "type": "object",
    "properties": {"answers": {"type": "array", "items": {"type": "string"}, "maxItems": 4}},
    "required": ["answers"],
    "additionalProperties": False,
}


def in_a_thread(model: Model, work: Callable[[InspectModel], _T]) -> _T:
    """Return what `work` returns when it runs as a strategy does: in a worker thread of an event loop."""

    async def run() -> _T:
        return await to_thread.run_sync(work, InspectModel(model))

    return anyio.run(run)


def completed(model: Model, asked: Sequence[Prompt], sampling: Sampling | None = None) -> list[Completion]:
    return in_a_thread(model, lambda one: one.complete(asked, sampling or Sampling()))


def chosen(model: Model, asked: Sequence[Prompt], options: Sequence[str]) -> list[Choice]:
    return in_a_thread(model, lambda one: one.choose(asked, options))


def prompts(*texts: str) -> list[Prompt]:
    system = Message(role="system", content="Be brief.")
    return [Prompt(messages=(system, Message(role="user", content=text))) for text in texts]


def listed(*odds: tuple[str, float]) -> ModelOutput:
    """Return a reply whose first token had these alternatives, with their probabilities."""
    tops = [TopLogprob(token=token, logprob=math.log(p)) for token, p in odds]
    first = Logprob(token=odds[0][0], logprob=math.log(odds[0][1]), top_logprobs=tops)
    message = ChatMessageAssistant(content=odds[0][0])
    choice = ChatCompletionChoice(message=message, stop_reason="stop", logprobs=Logprobs(content=[first]))
    return ModelOutput(model="mockllm", choices=[choice])


@pytest.mark.long
def test_a_batch_is_asked_at_once_in_order_with_the_sampling(mock: Mock) -> None:
    seen: list[tuple[Sequence[ChatMessage], GenerateConfig]] = []

    def say(messages: list[ChatMessage], config: GenerateConfig) -> str:
        seen.append((messages, config))
        return messages[-1].text.upper()

    model = mock(say)
    sampling = Sampling(max_tokens=64, temperature=0.5, top_p=0.9, seed=7)
    done = completed(model, prompts("one", "two", "three"), sampling)
    assert in_a_thread(model, lambda one: isinstance(one, LLM))
    assert in_a_thread(model, lambda one: one.name) == "inspect:mockllm/model"
    assert [one.text for one in done] == ["ONE", "TWO", "THREE"]
    assert {one.finish_reason for one in done} == {"stop"}
    assert [message.role for message in seen[0][0]] == ["system", "user"]
    config = seen[0][1]
    assert (config.max_tokens, config.temperature, config.top_p, config.seed) == (64, 0.5, 0.9, 7)
    assert completed(model, [], sampling) == []


@pytest.mark.long
def test_usage_counts_the_cached_tokens_among_those_of_the_prompt(mock: Mock) -> None:
    def say(messages: list[ChatMessage], config: GenerateConfig) -> ModelOutput:
        made = ModelOutput.from_content("mockllm", "yes")
        made.usage = ModelUsage(
            input_tokens=30, input_tokens_cache_read=100, input_tokens_cache_write=20, output_tokens=4
        )
        return made

    [done] = completed(mock(say), prompts("q"))
    spent = done.usage
    assert (spent.calls, spent.prompt_tokens, spent.cached_tokens, spent.completion_tokens) == (
        1,
        150,
        100,
        4,
    )
    assert spent.seconds > 0


def test_a_limit_of_tokens_that_the_user_set_higher_holds(mock: Mock) -> None:
    seen: list[int | None] = []

    def say(messages: list[ChatMessage], config: GenerateConfig) -> str:
        seen.append(config.max_tokens)
        return "yes"

    for given in (32, 4096):
        model = mock(say, config=GenerateConfig(max_tokens=given))
        completed(model, prompts("q"), Sampling(max_tokens=256))
    assert seen == [256, 4096]


def test_a_schema_is_stated_in_the_prompt_where_the_provider_does_not_hold_to_one(mock: Mock) -> None:
    seen: list[tuple[str, GenerateConfig]] = []

    def say(messages: list[ChatMessage], config: GenerateConfig) -> str:
        seen.append((messages[0].text, config))
        return "{}"

    model = mock(say)
    completed(model, prompts("q"), Sampling(schema=SCHEMA))
    [(system, config)] = seen
    assert '"maxItems": 4' in system
    assert config.response_schema is None


def test_a_schema_is_put_to_a_provider_that_holds_to_one(mock: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HOLDS_TO_SCHEMA", {"mockllm"})
    seen: list[tuple[str, GenerateConfig]] = []

    def say(messages: list[ChatMessage], config: GenerateConfig) -> str:
        seen.append((messages[0].text, config))
        return "{}"

    model = mock(say)
    completed(model, prompts("q"), Sampling(schema=SCHEMA))
    [(system, config)] = seen
    assert system == "Be brief."
    assert config.response_schema is not None
    sent = config.response_schema.json_schema.model_dump(exclude_none=True)
    assert sent["properties"]["answers"]["description"] == "at most 4 items"
    assert sent["additionalProperties"] is False
    assert sent["required"] == ["answers"]


@pytest.mark.parametrize(
    ("text", "reason", "fault"),
    [
        ("", "stop", Malformed),
        ("  ", "max_tokens", Malformed),
        ("half", "content_filter", Malformed),
        ("half", "unknown", Malformed),
        ("half", "model_length", ContextTooLong),
    ],
)
def test_a_reply_without_words_or_a_proper_end_is_a_fault(
    mock: Mock, text: str, reason: Any, fault: type[LLMError]
) -> None:
    model = mock(lambda messages, config: ModelOutput.from_content("m", text, stop_reason=reason))
    with pytest.raises(fault, match="inspect:mockllm/model"):
        completed(model, prompts("q"))


def test_a_reply_that_was_cut_off_says_so(mock: Mock) -> None:
    model = mock(lambda messages, config: ModelOutput.from_content("m", "ha", stop_reason="max_tokens"))
    [done] = completed(model, prompts("q"))
    assert done.finish_reason == "length"


def test_the_good_calls_of_a_batch_are_kept_beside_its_faults(mock: Mock) -> None:
    def say(messages: list[ChatMessage], config: GenerateConfig) -> str:
        return "" if messages[-1].text == "two" else "yes"

    with pytest.raises(BatchFault) as caught:
        completed(mock(say), prompts("one", "two"))
    assert [one is None for one in caught.value.results] == [False, True]


def test_calls_from_threads_of_a_strategys_own_are_answered_too(mock: Mock) -> None:
    asked = [(one, Sampling(seed=seed)) for seed, one in enumerate(prompts("one", "two", "three"))]
    done = in_a_thread(
        mock(lambda messages, config: f"{messages[-1].text} {config.seed}"),
        lambda one: Kit(model=one).complete_each("drafter", asked),
    )
    assert [one.text for one in done] == ["one 0", "two 1", "three 2"]


def test_an_error_of_the_provider_is_passed_on_as_it_is(mock: Mock) -> None:
    model = mock(lambda messages, config: ValueError("the key has expired"))
    with pytest.raises(ValueError, match="the key has expired"):
        completed(model, prompts("one", "two", "three"))


def test_options_are_weighed_by_the_likeliest_first_tokens(mock: Mock) -> None:
    seen: list[GenerateConfig] = []

    def say(messages: list[ChatMessage], config: GenerateConfig) -> ModelOutput:
        seen.append(config)
        return listed(("Yes", 0.7), (" no", 0.2), ("yes", 0.05))

    model = mock(say)
    [one] = chosen(model, prompts("q"), ["Yes", "No"])
    assert [round(math.exp(odds), 3) for odds in one.logprobs] == [0.75, 0.2]
    assert one.bounded == (False, False)
    assert (seen[0].max_tokens, seen[0].logprobs, seen[0].top_logprobs) == (1, True, 20)
    assert in_a_thread(model, lambda one: [one.capabilities().logprobs for _ in range(3)]) == [True] * 3
    assert len(seen) == 2  # it was asked once, by a call


def test_a_model_without_log_probabilities_says_so_by_a_typed_error(mock: Mock) -> None:
    silent = mock(lambda messages, config: "Yes")
    with pytest.raises(NoLogprobs, match="--model-role"):
        chosen(silent, prompts("q"), ["Yes", "No"])
    found = in_a_thread(silent, lambda one: one.capabilities())
    assert (found.logprobs, found.max_options, found.schema) == (False, 0, False)

    def refuse(messages: list[ChatMessage], config: GenerateConfig) -> str | Exception:
        return ValueError("setting 7 is unknown") if config.logprobs else "Yes"

    refusing = mock(refuse)
    with pytest.raises(NoLogprobs):
        chosen(refusing, prompts("q"), ["Yes", "No"])
    failing = mock(lambda messages, config: ValueError("no such model, nor its logprobs"))
    with pytest.raises(ValueError, match="no such model"):
        chosen(failing, prompts("q"), ["Yes", "No"])
