"""Adapts a function of chat messages with replies in OpenAI's form (`litellm.completion`) to a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, cast

from disputatio.errors import (
    ConfigError,
    LLMError,
    Malformed,
    NoLogprobs,
    RateLimited,
    Refused,
    ServerFault,
    Unreachable,
)
from disputatio.llm.batch import Batch, in_threads
from disputatio.llm.faults import retry_after
from disputatio.llm.request import score_options, sendable, with_schema
from disputatio.protocols import Cancel
from disputatio.text import one_line
from disputatio.types import Capabilities, Choice, Completion, Message, Prompt, Sampling, Token, Usage

_Result = TypeVar("_Result", Completion, Choice)

SENT = ("max_tokens", "temperature", "top_p", "seed")  # of the sampling, by default
_TOP = 20  # the most alternatives of a token that OpenAI's protocol asks for
_WHOLE = frozenset({"stop", "end_turn", "eos", "STOP"})
_CUT = frozenset({"length", "max_tokens", "MAX_TOKENS"})
_PROBE = Prompt(messages=(Message(role="user", content="Is water wet? Reply with Yes or No."),))


class ChatFunction:
    """A function of chat messages as a model; implements `LLM`.

    It is called as `call(messages=[{"role": ..., "content": ...}], **arguments, **sampling)`, and returns an
    object or a mapping with `choices`, or a text. `in_flight` calls are made at a time, from as many threads.
    `sends` names what of the sampling it is given. `logprobs` says whether it takes `logprobs` and
    `top_logprobs`; None finds out by one tiny call. With `schema` it is given `response_format`, and else
    the schema stands in the prompt. Repeating calls is left to the function.
    """

    def __init__(
        self,
        call: Callable[..., Any],
        *,
        name: str = "",
        in_flight: int = 4,
        sends: Sequence[str] = SENT,
        logprobs: bool | None = None,
        schema: bool = False,
        **arguments: Any,
    ) -> None:
        if not callable(call):
            raise ConfigError(f"{type(call).__name__} cannot be called: give a function of messages=[...]")
        if in_flight < 1:
            raise ConfigError("in_flight is at least 1")
        if unknown := set(sends) - set(SENT):
            raise ConfigError(f"sends names {sorted(unknown)[0]!r}: it may have {', '.join(SENT)}")
        self._call, self._arguments, self._sends = call, arguments, tuple(sends)
        self._in_flight, self._logprobs, self._schema = in_flight, logprobs, schema
        self._name = name or str(arguments.get("model") or getattr(call, "__qualname__", "chat function"))

    def __repr__(self) -> str:
        return f"ChatFunction({self._name!r})"

    @property
    def name(self) -> str:
        return self._name

    def capabilities(self) -> Capabilities:
        """Return the capabilities; log-probabilities are probed once, if the settings do not say."""
        if self._logprobs is None:
            try:
                self.choose([_PROBE], ["Yes", "No"])
            except (NoLogprobs, Refused):
                self._logprobs = False
        return Capabilities(
            engine=f"{self._call.__module__}.{getattr(self._call, '__qualname__', type(self._call).__name__)}"
            if hasattr(self._call, "__module__")
            else type(self._call).__name__,
            logprobs=bool(self._logprobs),
            max_options=_TOP if self._logprobs else 0,
            schema=self._schema,
        )

    def complete(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        *,
        on_done: Callable[[int, Completion], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Completion]:
        """Complete the prompts, each in a call of its own; raises `LLMError`, `BatchFault`."""
        settings = {name: getattr(sampling, name) for name in self._sends}
        if sampling.top_p == 1.0:
            settings.pop("top_p", None)  # some providers take temperature or top_p, not both
        if sampling.schema is not None and self._schema:
            form = {"name": "reply", "strict": True, "schema": sampling.schema}
            settings["response_format"] = {"type": "json_schema", "json_schema": form}
        elif sampling.schema is not None:
            schema = sampling.schema
            prompts = [replace(prompt, messages=with_schema(prompt.messages, schema)) for prompt in prompts]
        return self._results(prompts, settings, self._completion, on_done, cancel)

    def choose(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[str],
        *,
        on_done: Callable[[int, Choice], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Choice]:
        """Score each option as the first word of the reply; raises `NoLogprobs` where there are none."""
        if self._logprobs is False:
            raise self._no_logprobs()
        settings = {"max_tokens": 1, "temperature": 0.0, "logprobs": True, "top_logprobs": _TOP}
        choices = self._results(
            prompts, settings, lambda reply: self._choice(reply, options), on_done, cancel
        )
        self._logprobs = True
        return choices

    def _results(
        self,
        prompts: Sequence[Prompt],
        settings: Mapping[str, Any],
        read: Callable[[Any], _Result | LLMError],
        on_done: Callable[[int, _Result], None] | None,
        cancel: Cancel | None,
    ) -> list[_Result]:
        batch = Batch(on_done)
        calls = in_threads(
            partial(self._reply, settings=settings),
            prompts,
            in_flight=self._in_flight,
            name="chat",
            cancel=cancel,
        )
        for index, reply in calls:
            batch.add(index, reply if isinstance(reply, LLMError) else read(reply))
        return batch.results(len(prompts))

    def _reply(self, prompt: Prompt, settings: Mapping[str, Any]) -> Any:
        messages = [
            {"role": message.role, "content": sendable(message.content)} for message in prompt.messages
        ]
        try:
            return self._call(messages=messages, **self._arguments, **settings)
        except LLMError as fault:
            return fault
        except Exception as error:  # clients have errors of their own; what is no fault of theirs goes on
            known = fault_of(error, self._name)
            if known is None:
                raise
            known.__cause__ = error
            return known

    def _completion(self, reply: Any) -> Completion | LLMError:
        if isinstance(reply, str):
            text, finish = cast("Any", reply), "stop"
        else:
            first = _first(_member(reply, "choices"))
            text = _member(_member(first, "message"), "content")
            finish = str(_member(first, "finish_reason") or "")
        if not isinstance(text, str) or not text.strip():
            cut = finish in _CUT
            why = "cut off before its first word: allow more tokens" if cut else "empty, or has no choices"
            return Malformed(f"{self._name} sent a reply that cannot be used: it is {why}")
        if finish not in _WHOLE | _CUT:
            return Malformed(f"{self._name} sent a reply that ended by {one_line(finish) or 'nothing'!r}")
        return Completion(
            text=text, finish_reason="length" if finish in _CUT else "stop", usage=_usage_of(reply)
        )

    def _choice(self, reply: Any, options: Sequence[str]) -> Choice | LLMError:
        content = _member(_member(_first(_member(reply, "choices")), "logprobs"), "content")
        listed = _member(_first(content), "top_logprobs") or ()
        top = [
            Token(text=str(_member(each, "token")), logprob=min(float(_member(each, "logprob")), 0.0))
            for each in listed
        ]
        if not any(math.isfinite(token.logprob) for token in top):
            return self._no_logprobs()
        logprobs, bounded = score_options(options, top)
        return Choice(options=tuple(options), logprobs=logprobs, bounded=bounded, usage=_usage_of(reply))

    def _no_logprobs(self) -> NoLogprobs:
        return NoLogprobs(
            f"{self._name} gives no log-probabilities: "
            "give this role a model that has them (role={'ROLE': model}, --role ROLE=MODEL)"
        )


def fault_of(error: Exception, name: str) -> LLMError | None:
    """Translate a client's exception by its HTTP status or its type; None for a programming error.

    >>> type(fault_of(TimeoutError("late"), "m")).__name__, fault_of(TypeError("no such argument"), "m")
    ('Unreachable', None)
    """
    words = f"{name}: {one_line(str(error))[:300] or type(error).__name__}"
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 400:
        if status == 429:
            headers = getattr(getattr(error, "response", None), "headers", None) or {}
            return RateLimited(words, retry_after(headers.get("retry-after")))
        return ServerFault(words, status) if status >= 500 else Refused(words, status)
    kinds = [kind.__name__ for kind in type(error).__mro__]
    if any("Timeout" in kind or "Connection" in kind for kind in kinds):
        return Unreachable(words)
    return None


def _member(value: Any, name: str) -> Any:
    """Return a key of a mapping, or an attribute of an object; None where there is none."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _first(values: Any) -> Any:
    return values[0] if isinstance(values, Sequence) and not isinstance(values, str) and values else None


def _usage_of(reply: Any) -> Usage:
    usage = None if isinstance(reply, str) else _member(reply, "usage")

    def count(of: Any, name: str) -> int:
        number = _member(of, name)
        return number if isinstance(number, int) and number > 0 else 0

    return Usage(
        calls=1,
        prompt_tokens=count(usage, "prompt_tokens"),
        cached_tokens=count(_member(usage, "prompt_tokens_details"), "cached_tokens"),
        completion_tokens=count(usage, "completion_tokens"),
    )
