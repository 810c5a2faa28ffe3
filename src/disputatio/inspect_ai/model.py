"""A model of Inspect's behind our protocol, so that a strategy runs on whatever `--model` names."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from importlib import metadata
from typing import Any, TypeVar

from anyio import from_thread, lowlevel
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    ResponseSchema,
)
from inspect_ai.util import JSONSchema, collect

from disputatio.errors import BatchFault, ContextTooLong, LLMError, Malformed, NoLogprobs
from disputatio.llm.request import score_options, with_schema
from disputatio.types import Capabilities, Choice, Completion, Message, Prompt, Sampling, Token, Usage

_Output = TypeVar("_Output", Completion, Choice)

# The providers that Inspect's documentation says hold a reply to a schema; others do not look at it.
HOLDS_TO_SCHEMA = frozenset({"anthropic", "google", "grok", "groq", "mistral", "openai", "sglang", "vllm"})
_TOP = 20  # the most alternatives of a token that Inspect asks for
_MESSAGES: Mapping[str, Callable[[str], ChatMessage]] = {
    "system": lambda text: ChatMessageSystem(content=text),
    "user": lambda text: ChatMessageUser(content=text),
    "assistant": lambda text: ChatMessageAssistant(content=text),
}
_PROBE = Prompt(messages=(Message(role="user", content="Is water wet? Reply with Yes or No."),))


class InspectModel:
    """A model of Inspect's; implements `LLM`.

    It is made in Inspect's event loop, for one sample, and called from any other thread; its calls are made
    in that loop, as the sample's own: they obey Inspect's limits, connections, retries and cache, and stand
    in the sample's transcript. What a provider raises is passed on as it is, and is the sample's error.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._logprobs: bool | None = None
        self._loop, self._sample = lowlevel.current_token(), copy_context()

    def __repr__(self) -> str:
        return f"InspectModel({str(self._model)!r})"

    @property
    def name(self) -> str:
        """`inspect:` and the model's name with its provider."""
        return f"inspect:{self._model}"

    def capabilities(self) -> Capabilities:
        """Return what the model can do; log-probabilities are tested once, by a tiny call."""
        if self._logprobs is None:
            try:
                self.choose([_PROBE], ["Yes", "No"])
            except NoLogprobs:
                self._logprobs = False
        return Capabilities(
            engine=f"inspect-ai {metadata.version('inspect-ai')}",
            logprobs=bool(self._logprobs),
            max_options=_TOP if self._logprobs else 0,
            schema=self._holds_to_schema,
        )

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling, **_: object) -> list[Completion]:
        """Return one completion a prompt, in order.

        A schema is put to the providers that hold a reply to one, and else stated in the prompt. A limit of
        tokens that the user set above the strategy's holds, for models that think before they reply.
        Raises `Malformed` for an empty reply or one without a proper end, `ContextTooLong`, and `BatchFault`
        where some of the calls succeeded.
        """
        if sampling.schema is not None and not self._holds_to_schema:
            prompts = [
                replace(prompt, messages=with_schema(prompt.messages, sampling.schema)) for prompt in prompts
            ]
        config = GenerateConfig(
            max_tokens=max(sampling.max_tokens, self._model.config.max_tokens or 0),
            temperature=sampling.temperature,
            top_p=sampling.top_p if sampling.top_p != 1.0 else None,
            seed=sampling.seed,
            response_schema=_response_schema(sampling.schema) if self._holds_to_schema else None,
        )
        return self._replies(prompts, config, self._completion)

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str], **_: object) -> list[Choice]:
        """Return log P of each option as the first word of the reply, from one generated token.

        Raises `NoLogprobs` where the provider gives none, or refuses to.
        """
        config = GenerateConfig(max_tokens=1, temperature=0.0, seed=0, logprobs=True, top_logprobs=_TOP)
        try:
            chosen = self._replies(prompts, config, lambda output: self._choice(output, options))
        except LLMError:
            raise
        except Exception as error:  # each provider has errors of its own for a setting that it lacks
            if self._logprobs or not self._answers_without_logprobs(prompts[:1]):
                raise
            raise self._no_logprobs() from error
        self._logprobs = True
        return chosen

    def _answers_without_logprobs(self, prompts: Sequence[Prompt]) -> bool:
        """Ask the same without log-probabilities, which tells a refusal of them from any other fault."""
        config = GenerateConfig(max_tokens=1, temperature=0.0, seed=0)
        try:
            self._outputs(prompts, config)
        except Exception:  # noqa: BLE001  (the first fault is the one that is told)
            return False
        return True

    @property
    def _holds_to_schema(self) -> bool:
        return str(self._model).partition("/")[0] in HOLDS_TO_SCHEMA

    def _outputs(self, prompts: Sequence[Prompt], config: GenerateConfig) -> list[ModelOutput]:
        async def ask() -> list[ModelOutput]:
            try:
                return await collect(
                    *(self._model.generate(_chat(prompt), config=config) for prompt in prompts)
                )
            except ExceptionGroup as several:  # the first says why; one alone comes without a group
                raise several.exceptions[0] from several

        # A strategy's own threads know nothing of the loop and of the sample: both are handed along.
        return self._sample.copy().run(partial(from_thread.run, ask, token=self._loop))

    def _replies(
        self,
        prompts: Sequence[Prompt],
        config: GenerateConfig,
        read: Callable[[ModelOutput], _Output | LLMError],
    ) -> list[_Output]:
        """Return what all prompts, asked at once, came to; their wall time is shared among them."""
        if not prompts:
            return []
        began = time.perf_counter()
        outputs = self._outputs(prompts, config)
        replies = [read(output) for output in outputs]
        share = (time.perf_counter() - began) / len(replies)
        good = [
            None if isinstance(reply, LLMError) else replace(reply, usage=replace(reply.usage, seconds=share))
            for reply in replies
        ]
        errors = [reply for reply in replies if isinstance(reply, LLMError)]
        kept = [reply for reply in good if reply is not None]
        if errors and not kept:
            raise errors[0]
        if errors:
            raise BatchFault(good, errors)
        return kept

    def _completion(self, output: ModelOutput) -> Completion | LLMError:
        if not output.choices:
            return Malformed(
                f"{self.name} sent a reply without a choice: {output.error or 'no reason given'}"
            )
        first = output.choices[0]
        if first.stop_reason == "model_length":
            return ContextTooLong(f"{self.name}: prompt and reply do not fit its context")
        if first.stop_reason not in ("stop", "max_tokens"):
            return Malformed(f"{self.name} sent a reply that ended by {first.stop_reason!r}")
        if not output.completion.strip():
            cut = first.stop_reason == "max_tokens"
            why = "cut off before its first word: allow more with --max-tokens" if cut else "empty"
            return Malformed(f"{self.name} sent a reply that cannot be used: it is {why}")
        return Completion(
            text=output.completion,
            finish_reason="stop" if first.stop_reason == "stop" else "length",
            usage=_usage(output.usage),
            tokens=_tokens(first),
        )

    def _choice(self, output: ModelOutput, options: Sequence[str]) -> Choice | LLMError:
        listed = output.choices[0].logprobs if output.choices else None
        tops = listed.content[0].top_logprobs if listed is not None and listed.content else None
        if not tops:
            return self._no_logprobs()
        top = [Token(text=token.token, logprob=min(token.logprob, 0.0)) for token in tops]
        logprobs, bounded = score_options(options, top)
        return Choice(options=tuple(options), logprobs=logprobs, bounded=bounded, usage=_usage(output.usage))

    def _no_logprobs(self) -> NoLogprobs:
        return NoLogprobs(
            f"{self.name} gives no log-probabilities: "
            "give this role a model that has them (--model-role ROLE=MODEL)"
        )


def _chat(prompt: Prompt) -> list[ChatMessage]:
    """Return a prompt in Inspect's nouns."""
    return [_MESSAGES[message.role](message.content) for message in prompt.messages]


def _response_schema(schema: Mapping[str, Any] | None) -> ResponseSchema | None:
    if schema is None:
        return None
    return ResponseSchema(
        name="reply", json_schema=JSONSchema.model_validate(bounds_in_words(schema)), strict=True
    )


def bounds_in_words(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with its bounds on lists in words, as Inspect's own schemas have no field for them.

    >>> bounds_in_words({"type": "array", "items": {"type": "string"}, "maxItems": 8})
    {'type': 'array', 'items': {'type': 'string'}, 'description': 'at most 8 items'}
    """
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            made[key] = {name: bounds_in_words(field) for name, field in value.items()}
        elif key == "anyOf":
            made[key] = [bounds_in_words(branch) for branch in value]
        elif key == "items":
            made[key] = bounds_in_words(value)
        elif key not in ("minItems", "maxItems"):
            made[key] = value
    bounds = [
        (limit, schema[key]) for key, limit in (("minItems", "least"), ("maxItems", "most")) if key in schema
    ]
    if bounds:
        text = ", ".join(f"at {limit} {count} items" for limit, count in bounds)
        made["description"] = f"{made['description']} ({text})" if "description" in made else text
    return made


def _usage(usage: ModelUsage | None) -> Usage:
    """Return the cost of one call; Inspect counts tokens from a cache apart from the others."""
    if usage is None:
        return Usage(calls=1)
    cached = usage.input_tokens_cache_read or 0
    return Usage(
        calls=1,
        prompt_tokens=usage.input_tokens + cached + (usage.input_tokens_cache_write or 0),
        cached_tokens=cached,
        completion_tokens=usage.output_tokens,
    )


def _tokens(choice: ChatCompletionChoice) -> tuple[Token, ...]:
    """Return the tokens of a reply with their log-probabilities, where there are any."""
    listed = choice.logprobs.content if choice.logprobs is not None else []
    return tuple(
        Token(text=token.token, logprob=min(token.logprob, 0.0))
        for token in listed
        if math.isfinite(token.logprob)
    )
