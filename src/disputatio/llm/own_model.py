"""Models of the user's own: a function, or an object with as little as `complete`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from disputatio.errors import ConfigError, LLMError, Malformed, NoLogprobs
from disputatio.llm.batch import Batch, in_threads
from disputatio.llm.request import with_schema
from disputatio.protocols import LLM, NO_LOGPROBS, Cancel, MinimalLLM, ModelObject
from disputatio.types import Capabilities, Choice, Completion, Prompt, Sampling, Usage


def as_llm(model: ModelObject) -> LLM:
    """Adapt an object or a function to `LLM`, adding what it lacks; raises `ConfigError` for others."""
    if isinstance(model, type):
        raise ConfigError(f"{model.__name__} is a class: give an instance of it, model={model.__name__}(...)")
    if isinstance(model, LLM) and _takes_report(model.complete) and _takes_report(model.choose):
        return model
    if hasattr(model, "complete") and callable(model.complete):
        return OwnModel(model)
    if callable(model):
        return OwnModel(FunctionModel(model, name=getattr(model, "__name__", type(model).__name__)))
    raise ConfigError(f"{type(model).__name__} is no model: it needs a method complete(prompts, sampling)")


def _takes_report(method: Callable[..., object]) -> bool:
    """Return True if a method takes `on_done` and `cancel`."""
    parameters = inspect.signature(method).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return takes_any or {"on_done", "cancel"} <= parameters.keys()


class FunctionModel:
    """A function from the text of a prompt to the text of a reply, as a model (`MinimalLLM`).

    The text is the contents of the messages with an empty line between them. `in_flight` calls are made at a
    time, from as many threads; with 1 they are made one after the other, in the thread of the caller.

    >>> from disputatio.types import Message
    >>> model = FunctionModel(lambda prompt: prompt.upper(), name="shouting")
    >>> ask = Prompt(messages=(Message(role="user", content="Who?"),))
    >>> model.complete([ask], Sampling())[0].text
    'WHO?'
    """

    def __init__(self, function: Callable[[str], str], *, name: str = "function", in_flight: int = 1) -> None:
        if in_flight < 1:
            raise ConfigError("in_flight is at least 1")
        self._function, self._name, self._in_flight = function, name, in_flight

    def __repr__(self) -> str:
        return f"FunctionModel({self._name!r})"

    @property
    def name(self) -> str:
        return self._name

    def complete(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        *,
        on_done: Callable[[int, Completion], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Completion]:
        """Call the function once a prompt; raises `Malformed` for a reply that is empty or no text."""
        del sampling
        texts = ["\n\n".join(message.content for message in prompt.messages) for prompt in prompts]
        batch = Batch[Completion](on_done)
        if self._in_flight > 1:
            for index, reply in in_threads(
                self._function, texts, in_flight=self._in_flight, name=self._name, cancel=cancel
            ):
                batch.add(index, _completion(reply, self._name))
        else:
            for index, text in enumerate(texts):
                if cancel is not None:
                    cancel.check()
                batch.add(index, _completion(self._function(text), self._name))
        return batch.results(len(texts))


class OwnModel:
    """Adapts an object with `complete`, and what else of an `LLM` it has; replies may be texts. A schema is
    stated in the prompts unless its capabilities say that it holds replies to one.
    """

    def __init__(self, model: MinimalLLM) -> None:
        self._model = model

    def __repr__(self) -> str:
        return f"OwnModel({self._model!r})"

    @property
    def name(self) -> str:
        return str(getattr(self._model, "name", "") or type(self._model).__name__)

    def capabilities(self) -> Capabilities:
        """Return the capabilities that the model states, by default text alone."""
        ask = getattr(self._model, "capabilities", None)
        if callable(ask):
            capabilities = ask()
            if not isinstance(capabilities, Capabilities):
                raise ConfigError(f"{self.name}: capabilities() returned no Capabilities")
            return capabilities
        kind = type(self._model)
        chooses = callable(getattr(self._model, "choose", None))
        return Capabilities(
            engine=f"{kind.__module__}.{kind.__qualname__}",
            logprobs=chooses,
            max_options=1_000 if chooses else 0,
            schema=False,
        )

    def complete(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        *,
        on_done: Callable[[int, Completion], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Completion]:
        """Complete the prompts; raises `Malformed` for replies that are empty, too few or no text."""
        schema = sampling.schema
        if schema is not None and not self.capabilities().schema:
            prompts = [replace(prompt, messages=with_schema(prompt.messages, schema)) for prompt in prompts]
        batch, name = Batch[Completion](on_done), self.name

        def report(index: int, reply: object) -> None:
            batch.add(index, _completion(reply, name))

        replies = _call(self._model.complete, prompts, sampling, on_done=report, cancel=cancel)
        if cancel is not None:
            cancel.check()
        if isinstance(replies, str) or len(replies) != len(prompts):
            count = "one text" if isinstance(replies, str) else f"{len(replies)} replies"
            raise Malformed(f"{name}: complete() returned {count} to {len(prompts)} prompts")
        for index, reply in enumerate(replies):
            report(index, reply)
        return batch.results(len(prompts))

    def choose(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[str],
        *,
        on_done: Callable[[int, Choice], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Choice]:
        choose = getattr(self._model, "choose", None)
        if not callable(choose):
            raise NoLogprobs(NO_LOGPROBS.format(name=self.name))
        return list(_call(choose, prompts, options, on_done=on_done, cancel=cancel))


def _call(method: Callable[..., Any], *arguments: object, **report: object) -> Any:
    """Call a method of a user's model, with `on_done` and `cancel` if it takes them."""
    return method(*arguments, **report) if _takes_report(method) else method(*arguments)


def _completion(reply: object, name: str) -> Completion | LLMError:
    """Turn a reply into a completion; a reply that cannot be used is a fault of its call."""
    if isinstance(reply, Completion):
        return reply
    if not isinstance(reply, str):
        return Malformed(f"{name} returned {type(reply).__name__} in place of a text or a Completion")
    if not reply.strip():
        return Malformed(f"{name} returned an empty reply")
    return Completion(text=reply, finish_reason="stop", usage=Usage(calls=1))
