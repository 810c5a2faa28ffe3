"""Models without a language model: replies given beforehand (`--model scripted:FILE`), or none at all."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

from disputatio.errors import ConfigError, InputError, LLMError, MissingPart, NoLogprobs
from disputatio.llm.batch import Batch
from disputatio.protocols import Cancel
from disputatio.types import Capabilities, Choice, Completion, Prompt, Sampling, Usage

Line = str | Completion | Exception
Odds = Mapping[str, float] | Exception
_Result = TypeVar("_Result", Completion, Choice)
_Value = TypeVar("_Value")

_LEAST = 1e-6  # the bound on the probability of an option that the script does not give


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call that was made: `sampling` of a completion, or the `options` of a choice."""

    prompt: Prompt
    sampling: Sampling | None = None
    options: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The contents of the messages, one after the other; scripts are matched against it."""
        return "\n".join(message.content for message in self.prompt.messages)


class Scripted:
    """Replies from a script; implements `LLM`.

    `replies` is a list (used up in the order of the calls), a mapping (the first key that occurs in the
    prompt gives the reply) or a function of the prompt's text. A reply is a text, a whole `Completion`, or an
    exception to raise. `choices` maps or computes the probabilities of the options in the same way
    (`{"Yes": 0.9, "No": 0.1}`); an option left out is bounded by one in a million, and without `choices` all
    options are equally likely. `calls` has every call so far. Each call takes `delay` seconds.

    Words count as tokens. A script that has no reply raises `ConfigError`.

    >>> from disputatio.types import Message
    >>> ask = Prompt(messages=(Message(role="user", content="Which town?"),))
    >>> model = Scripted({"town": "Broken Bow"}, choices={"town": {"Yes": 0.9, "No": 0.1}})
    >>> done = model.complete([ask], Sampling())[0]
    >>> done.text, done.usage.prompt_tokens, done.usage.completion_tokens
    ('Broken Bow', 2, 2)
    >>> [round(math.exp(logprob), 2) for logprob in model.choose([ask], ["Yes", "No"])[0].logprobs]
    [0.9, 0.1]
    """

    def __init__(
        self,
        replies: Sequence[Line] | Mapping[str, Line] | Callable[[str], Line],
        *,
        name: str = "scripted",
        choices: Mapping[str, Odds] | Callable[[str], Odds] | None = None,
        delay: float = 0.0,
    ) -> None:
        if isinstance(replies, str):
            raise ConfigError("a script is a list of replies, not one: write [reply]")
        self.calls: list[Call] = []
        self._replies = replies
        self._name = name
        self._choices = choices
        self._delay = delay
        self._used = 0
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Scripted(name={self._name!r}, calls={len(self.calls)})"

    @property
    def name(self) -> str:
        return self._name

    def capabilities(self) -> Capabilities:
        return Capabilities(engine="scripted", logprobs=True, max_options=1000, schema=True)

    def complete(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        *,
        on_done: Callable[[int, Completion], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Completion]:
        """Return the script's replies, one after the other; raises the script's exceptions."""
        calls = [Call(prompt=prompt, sampling=sampling) for prompt in prompts]
        return self._play(calls, self._complete, on_done, cancel)

    def choose(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[str],
        *,
        on_done: Callable[[int, Choice], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Choice]:
        calls = [Call(prompt=prompt, options=tuple(options)) for prompt in prompts]
        return self._play(calls, self._choose, on_done, cancel)

    def _play(
        self,
        calls: Sequence[Call],
        play: Callable[[Call], _Result | LLMError],
        on_done: Callable[[int, _Result], None] | None,
        cancel: Cancel | None,
    ) -> list[_Result]:
        cancel, cancelled = cancel or Cancel(), threading.Event()
        batch = Batch(on_done, timed=False)
        with cancel.calling(cancelled.set):
            for index, call in enumerate(calls):
                if self._delay:
                    cancelled.wait(self._delay)
                cancel.check()
                with self._lock:
                    self.calls.append(call)
                    outcome = play(call)
                batch.add(index, outcome)
        return batch.results(len(calls))

    def _complete(self, call: Call) -> Completion | LLMError:
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
        odds: Odds = {option: 1 / len(call.options) for option in call.options}
        if callable(self._choices):
            odds = self._choices(call.text)
        elif self._choices is not None:
            odds = self._match(self._choices, call.text)
        if isinstance(odds, LLMError):
            return odds
        if isinstance(odds, Exception):
            raise odds
        probabilities = [odds.get(option, 0.0) for option in call.options]
        return Choice(
            options=call.options,
            logprobs=tuple(math.log(max(probability, _LEAST)) for probability in probabilities),
            bounded=tuple(probability < _LEAST for probability in probabilities),
            usage=_usage(call, 1),
        )

    def _match(self, script: Mapping[str, _Value], text: str) -> _Value:
        for part, value in script.items():
            if part in text:
                return value
        raise ConfigError(f"{self._name}: the script has nothing for the prompt {text[:200]!r}")


def _usage(call: Call, completion_tokens: int) -> Usage:
    return Usage(calls=1, prompt_tokens=len(call.text.split()), completion_tokens=completion_tokens)


# --- scripts by name ----------------------------------------------------------------------------
def script_of(path: str) -> Mapping[str, str] | Callable[[str], str]:
    """Read the script of `scripted:PATH`, a JSON file of {words of a prompt: reply}; raises `InputError`."""
    if not path:
        return decline
    try:
        script = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except ValueError as error:
        raise InputError(f"{path}: is not a JSON object of replies: {error}") from error
    if not isinstance(script, dict) or not all(isinstance(reply, str) for reply in script.values()):
        raise InputError(f"{path}: is not a JSON object whose values are replies")
    return script


def decline(prompt: str) -> str:
    """Return a reply that declines, in the form that the prompt asks for by the names of its fields.

    >>> decline('Reply with one JSON object: "answers": a list; "explanation": a sentence.')
    '{"answers": [], "explanation": "A script was asked, not a model."}'
    """
    if '"answers"' in prompt:
        return '{"answers": [], "explanation": "A script was asked, not a model."}'
    if '"subject"' in prompt:
        return '{"subject": "", "answer": "unknown"}'
    if '"answered"' in prompt:
        return '{"answered": "no", "answer": "", "quote": ""}'
    if not any(field in prompt for field in ('"explanation"', '"quote"')):
        return '{"answer": "unknown"}'
    if '"quote"' not in prompt:
        return '{"answer": "unknown", "explanation": "A script was asked, not a model."}'
    return '{"answer": "unknown", "explanation": "A script was asked, not a model.", "quote": ""}'


# --- no model -----------------------------------------------------------------------------------------
class NoModel:
    """The model (`LLM`) named `none`, for answers that need no language model."""

    name = "none"

    def capabilities(self) -> Capabilities:
        return Capabilities(engine="none", logprobs=False, max_options=0, schema=False)

    def complete(self, *_: object, **__: object) -> NoReturn:
        raise MissingPart(
            "this needs a language model: give one (model=, --model), or a strategy that reads without one"
        )

    def choose(self, *_: object, **__: object) -> NoReturn:
        raise NoLogprobs("there is no language model to ask")
