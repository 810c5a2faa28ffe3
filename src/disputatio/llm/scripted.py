"""A model whose every word is given beforehand: for tests and for documentation."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from disputatio.errors import BatchFault, ConfigError, LLMError
from disputatio.types import Capabilities, Choice, Completion, Prompt, Sampling, Usage

Line = str | Completion | Exception
Odds = Mapping[str, float] | Exception
_Word = TypeVar("_Word", Completion, Choice)
_Given = TypeVar("_Given")

_LEAST = 1e-6  # the bound on the probability of an option that the script does not give


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call that was made: `sampling` of a completion, or the `options` of a choice."""

    prompt: Prompt
    sampling: Sampling | None = None
    options: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The contents of the messages, one after the other: what a script is matched against."""
        return _text(self.prompt)


class Scripted:
    """Replies from a script; implements `LLM`.

    `replies` is a list (used up in the order of the calls), a mapping (the first key that stands in
    the prompt gives the reply) or a function of the prompt's text. A reply is a text, a whole
    `Completion`, or an exception to raise. `choices` maps or computes the probabilities of the
    options in the same way, `{"Yes": 0.9, "No": 0.1}`; an option left out is bounded by one in a
    million, and without `choices` all options are equally likely. `calls` has every call so far.

    Words count as tokens. A script that has no reply raises `ConfigError`.

    >>> from disputatio.types import Message
    >>> ask = Prompt(messages=(Message(role="user", content="Which town?"),))
    >>> model = Scripted({"town": "Broken Bow"}, choices={"town": {"Yes": 0.9, "No": 0.1}})
    >>> done = model.complete([ask], Sampling())[0]
    >>> done.text, done.usage.prompt_tokens, done.usage.completion_tokens
    ('Broken Bow', 2, 2)
    >>> [round(math.exp(one), 2) for one in model.choose([ask], ["Yes", "No"])[0].logprobs]
    [0.9, 0.1]
    """

    def __init__(
        self,
        replies: Sequence[Line] | Mapping[str, Line] | Callable[[str], Line],
        *,
        name: str = "scripted",
        choices: Mapping[str, Odds] | Callable[[str], Odds] | None = None,
    ) -> None:
        if isinstance(replies, str):
            raise ConfigError("a script is a list of replies, not one: write [reply]")
        self.calls: list[Call] = []
        self._replies = replies
        self._name = name
        self._choices = choices
        self._used = 0
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Scripted(name={self._name!r}, calls={len(self.calls)})"

    @property
    def name(self) -> str:
        """The name given to it."""
        return self._name

    def capabilities(self) -> Capabilities:
        """All that there is to be able to do."""
        return Capabilities(engine="scripted", logprobs=True, max_options=1000, schema=True)

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Completion]:
        """The script's replies, in order; raises the script's exceptions, as an engine would."""
        with self._lock:
            return _settle([self._complete(Call(prompt=one, sampling=sampling)) for one in prompts])

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> list[Choice]:
        """The script's odds of the options; raises the script's exceptions, as an engine would."""
        with self._lock:
            return _settle([self._choose(Call(prompt=one, options=tuple(options))) for one in prompts])

    def _complete(self, call: Call) -> Completion | LLMError:
        self.calls.append(call)
        line = self._line(call.text)
        if isinstance(line, LLMError):
            return line
        if isinstance(line, Exception):
            raise line
        if isinstance(line, Completion):
            return line
        return Completion(text=line, finish_reason="stop", usage=_usage(call, len(line.split())))

    def _line(self, text: str) -> Line:
        if callable(self._replies):
            return self._replies(text)
        if isinstance(self._replies, Mapping):
            return self._match(self._replies, text)
        if self._used >= len(self._replies):
            raise ConfigError(f"{self._name}: the script has run out after {self._used} replies")
        self._used += 1
        return self._replies[self._used - 1]

    def _choose(self, call: Call) -> Choice | LLMError:
        self.calls.append(call)
        odds: Odds = {option: 1 / len(call.options) for option in call.options}
        if callable(self._choices):
            odds = self._choices(call.text)
        elif self._choices is not None:
            odds = self._match(self._choices, call.text)
        if isinstance(odds, LLMError):
            return odds
        if isinstance(odds, Exception):
            raise odds
        given = [odds.get(option, 0.0) for option in call.options]
        return Choice(
            options=call.options,
            logprobs=tuple(math.log(max(one, _LEAST)) for one in given),
            bounded=tuple(one < _LEAST for one in given),
            usage=_usage(call, 1),
        )

    def _match(self, script: Mapping[str, _Given], text: str) -> _Given:
        for part, line in script.items():
            if part in text:
                return line
        raise ConfigError(f"{self._name}: the script has nothing for the prompt {text[:200]!r}")


def _settle(words: Sequence[_Word | LLMError]) -> list[_Word]:
    """The words of a batch; raises its faults as the engines do."""
    errors = [word for word in words if isinstance(word, LLMError)]
    good = [None if isinstance(word, LLMError) else word for word in words]
    kept = [word for word in good if word is not None]
    if errors and not kept:
        raise errors[0]
    if errors:
        raise BatchFault(good, errors)
    return kept


def _usage(call: Call, completion_tokens: int) -> Usage:
    return Usage(calls=1, prompt_tokens=len(call.text.split()), completion_tokens=completion_tokens)


def _text(prompt: Prompt) -> str:
    return "\n".join(message.content for message in prompt.messages)
