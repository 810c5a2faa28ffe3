"""Models of the user's own: a function, or an object with as little as `complete`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace

from disputatio.calling import Cancel, reports
from disputatio.errors import ConfigError, LLMError, Malformed, NoLogprobs
from disputatio.llm.batch import Laps, results_of
from disputatio.llm.request import with_schema
from disputatio.protocols import LLM, MinimalLLM
from disputatio.types import Capabilities, Choice, Completion, Prompt, Sampling, Usage


def as_llm(model: MinimalLLM) -> LLM:
    """Return a model object as an `LLM`, with what it lacks added; raises `ConfigError` for what
    is no model.
    """
    if isinstance(model, type):
        raise ConfigError(f"{model.__name__} is a class: give an instance of it, model={model.__name__}(...)")
    if isinstance(model, LLM):
        return model
    if callable(getattr(model, "complete", None)):
        return OwnModel(model)
    if callable(model):
        raise ConfigError("a function is no model by itself: write model=disputatio.FunctionModel(function)")
    raise ConfigError(f"{type(model).__name__} is no model: it needs a method complete(prompts, sampling)")


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
        """Raise `ConfigError` where fewer than one call would be made at a time."""
        if in_flight < 1:
            raise ConfigError("in_flight is at least 1")
        self._function, self._name, self._in_flight = function, name, in_flight

    def __repr__(self) -> str:
        return f"FunctionModel({self._name!r})"

    @property
    def name(self) -> str:
        """The name given to it."""
        return self._name

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Completion]:
        """Return one call of the function a prompt; raises `Malformed` for a reply that is empty
        or no text.
        """
        return self.complete_as_done(prompts, sampling, lambda *_: None, Cancel())

    def complete_as_done(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_done: Callable[[int, Completion], None],
        cancel: Cancel,
    ) -> list[Completion]:
        """As `complete`; reports each reply. A call that runs when it is cancelled goes on, unheard."""
        del sampling  # a function takes none: its replies are as long and as random as it likes
        texts = ["\n\n".join(message.content for message in prompt.messages) for prompt in prompts]
        batch = _Batch(self._name, on_done)
        for index, reply in self._replies(texts, cancel):
            batch.add(index, reply)
        return batch.results(len(texts))

    def _replies(self, texts: Sequence[str], cancel: Cancel) -> Iterator[tuple[int, str]]:
        """Yield each reply with its place, as they come."""
        if self._in_flight == 1:
            for index, text in enumerate(texts):
                cancel.check()
                yield index, self._function(text)
            return
        pool = ThreadPoolExecutor(self._in_flight, thread_name_prefix=f"disputatio {self._name}")
        cancelled: Future[str] = Future()
        try:
            with cancel.calling(lambda: cancelled.set_result("")):
                calls = {pool.submit(self._function, text): index for index, text in enumerate(texts)}
                while calls:
                    finished = wait([*calls, cancelled], return_when=FIRST_COMPLETED).done
                    cancel.check()
                    for call in finished:
                        yield calls.pop(call), call.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


class OwnModel:
    """An object with `complete` as an `LLM`; its `name`, `choose` and `capabilities` are used if it has them.

    Its replies may be texts or `Completion`s. A schema is stated in the prompts of a model that does not say
    that it can be held to one.
    """

    def __init__(self, model: MinimalLLM) -> None:
        self._model = model

    def __repr__(self) -> str:
        return f"OwnModel({self._model!r})"

    @property
    def name(self) -> str:
        """The model's name, or that of its class."""
        return str(getattr(self._model, "name", "") or type(self._model).__name__)

    def capabilities(self) -> Capabilities:
        """Return what the model says, or that it gives text alone."""
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

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Completion]:
        """Return one completion a prompt; raises `Malformed` for replies that are empty, too few
        or no text.
        """
        return self.complete_as_done(prompts, sampling, lambda *_: None, Cancel())

    def complete_as_done(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_done: Callable[[int, Completion], None],
        cancel: Cancel,
    ) -> list[Completion]:
        """As `complete`; reports each reply when the model does."""
        schema = sampling.schema
        if schema is not None and not self.capabilities().schema:
            prompts = [replace(prompt, messages=with_schema(prompt.messages, schema)) for prompt in prompts]
        batch = _Batch(self.name, on_done)
        if reports(self._model, "complete"):
            self._model.complete_as_done(prompts, sampling, batch.add, cancel)
        else:
            replies = self._model.complete(prompts, sampling)
            cancel.check()
            if isinstance(replies, str) or len(replies) != len(prompts):
                count = "one text" if isinstance(replies, str) else f"{len(replies)} replies"
                raise Malformed(f"{self.name}: complete() returned {count} to {len(prompts)} prompts")
            for index, reply in enumerate(replies):
                batch.add(index, reply)
        return batch.results(len(prompts))

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> list[Choice]:
        """Return what the model's own `choose` returns; raises `NoLogprobs` where it has none."""
        choose = getattr(self._model, "choose", None)
        if not callable(choose):
            raise NoLogprobs(
                f"{self.name} gives no log-probabilities: give it a method choose(prompts, options), "
                "or give this role a model that has them (role={'ROLE': model}, --role ROLE=MODEL)"
            )
        return list(choose(prompts, options))


class _Batch:
    """The replies to a batch, checked and reported as they come."""

    def __init__(self, name: str, on_done: Callable[[int, Completion], None]) -> None:
        self._name, self._on_done = name, on_done
        self._laps = Laps()
        self._outcomes: dict[int, Completion | LLMError] = {}

    def add(self, index: int, reply: object) -> None:
        """A text or a completion that has come; one that cannot be used is a fault of its call."""
        outcome = self._read(reply)
        if isinstance(outcome, Completion):
            outcome = outcome if outcome.usage.seconds else self._laps.timed(outcome)
            self._on_done(index, outcome)
        self._outcomes[index] = outcome

    def results(self, count: int) -> list[Completion]:
        """Return all completions in order; raises the faults among them."""
        missing = Malformed(f"{self._name} did not answer all prompts")
        return results_of([self._outcomes.get(index, missing) for index in range(count)])

    def _read(self, reply: object) -> Completion | LLMError:
        if isinstance(reply, Completion):
            return reply
        if not isinstance(reply, str):
            return Malformed(
                f"{self._name} returned {type(reply).__name__} in place of a text or a Completion"
            )
        if not reply.strip():
            return Malformed(f"{self._name} returned an empty reply")
        return Completion(text=reply, finish_reason="stop", usage=Usage(calls=1))
