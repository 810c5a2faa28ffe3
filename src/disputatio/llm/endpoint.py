"""Any OpenAI-compatible server, through the official client.

What a server can do is found by two tiny calls: servers differ in what they accept and, worse, in what they
accept and ignore. So the schema of the probe is one that no model keeps by chance, and the log-probabilities
are counted in the reply.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from disputatio.errors import LLMError, Malformed, NoLogprobs, Refused
from disputatio.llm.batch import Batch
from disputatio.llm.connection import Connection
from disputatio.llm.faults import Failed
from disputatio.llm.model_names import ENGINES
from disputatio.llm.request import Request, body, parameter_refused, score_options
from disputatio.llm.stream import Received, receive, without_thinking
from disputatio.protocols import Cancel
from disputatio.trace import total_usage
from disputatio.types import Capabilities, Choice, Completion, Message, Prompt, Sampling, Usage

if TYPE_CHECKING:
    import openai

_Result = TypeVar("_Result", Completion, Choice)
_TOPS = (20, 5)
_UNSUPPORTED = (400, 422, 501)
_YES_NO = Prompt(messages=(Message(role="user", content="Is water wet? Reply with Yes or No."),))
_HELLO = Prompt(messages=(Message(role="user", content="Say hello to me."),))
_WORD = {"greeting": "disputatio"}
_SCHEMA = {
    "type": "object",
    "properties": {"greeting": {"type": "string", "enum": ["disputatio"]}},
    "required": ["greeting"],
    "additionalProperties": False,
}

Ask = Callable[[Request], "Received | LLMError"]


class Endpoint:
    """A model behind an OpenAI-compatible server (`LLM`), which threads may share; opened at the first call.
    `kind` is what users write before the name, `extra` is sent beside the fields of the protocol.
    """

    def __init__(
        self, connection: Connection, *, kind: str = "openai", extra: Mapping[str, Any] | None = None
    ) -> None:
        self._connection = connection
        self._at, self._deadlines = self._connection.at, self._connection.deadlines
        self._kind, self._extra = kind, dict(extra or {})
        self._dropped: set[str] = set()
        self._probing = threading.Lock()
        self._probed: Probed | None = None

    def __repr__(self) -> str:
        return f"Endpoint({self._at.model!r}, base_url={self._at.shown!r})"

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def name(self) -> str:
        return f"{self._kind}:{self._at.model}"

    @property
    def probe_usage(self) -> Usage:
        """The cost of the probe; it is in no completion's usage."""
        return self._probed.usage if self._probed else Usage()

    def close(self) -> None:
        self._connection.close()

    def capabilities(self) -> Capabilities:
        """Probe what the server can do, by two tiny calls at first use; raises `LLMError`."""
        with self._probing:
            if self._probed is None:
                began = time.perf_counter()
                probed = probe(
                    lambda request: self._connection.run([partial(self._attempt, request)])[0],
                    f"openai-compatible at {self._at.host}",
                )
                seconds = time.perf_counter() - began
                self._probed = replace(probed, usage=replace(probed.usage, seconds=seconds))
            return self._probed.capabilities

    def complete(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        *,
        on_done: Callable[[int, Completion], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Completion]:
        """Complete the prompts, each in a call of its own, with a schema that is sent or stated in the
        prompt. Raises `LLMError`, of which `Malformed` for an empty reply and `BatchFault` where some of the
        calls succeeded.
        """
        if not prompts:
            return []
        prompted = sampling.schema is not None and not self.capabilities().schema
        logprobs = self._probed is None or self._probed.capabilities.logprobs
        requests = [
            Request(prompt=prompt, sampling=sampling, prompted=prompted, logprobs=logprobs)
            for prompt in prompts
        ]
        return self._results(requests, self._completion, on_done, cancel)

    def choose(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[str],
        *,
        on_done: Callable[[int, Choice], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Choice]:
        """Score each option as the first word of the reply; raises `LLMError`, `NoLogprobs`."""
        if not prompts:
            return []
        if not self.capabilities().logprobs:
            raise self._no_logprobs()
        top = self.capabilities().max_options
        requests = [
            Request(prompt=prompt, sampling=Sampling(max_tokens=1), top=top, fixed=True) for prompt in prompts
        ]
        return self._results(requests, lambda received: self._choice(received, options), on_done, cancel)

    def _completion(self, received: Received) -> Completion | LLMError:
        received = without_thinking(received)
        if not received.text.strip():
            cut = received.finish_reason == "length"
            why = "cut off before its first word: allow more tokens" if cut else "empty"
            return Malformed(f"{self._at.shown} sent a reply that cannot be used: it is {why}")
        return Completion(
            text=received.text,
            finish_reason=received.finish_reason,
            usage=received.usage,
            tokens=received.tokens,
        )

    def _choice(self, received: Received, options: Sequence[str]) -> Choice | LLMError:
        if not received.top:
            return self._no_logprobs()
        logprobs, bounded = score_options(options, received.top)
        return Choice(options=tuple(options), logprobs=logprobs, bounded=bounded, usage=received.usage)

    def _no_logprobs(self) -> NoLogprobs:
        return NoLogprobs(
            f"{self._at.shown} gives no log-probabilities for {self._at.model}: "
            "give this role a model that has them (--role ROLE=MODEL)"
        )

    def _results(
        self,
        requests: Sequence[Request],
        read: Callable[[Received], _Result | LLMError],
        on_done: Callable[[int, _Result], None] | None,
        cancel: Cancel | None,
    ) -> list[_Result]:
        batch = Batch(on_done)

        def on_end(index: int, outcome: Received | LLMError) -> None:
            batch.add(index, read(outcome) if isinstance(outcome, Received) else outcome)

        attempts = [partial(self._attempt, request) for request in requests]
        self._connection.run(attempts, on_end, cancel)
        return batch.results(len(requests))

    def try_out(self) -> Trial:
        """Find out what the model and its server can do, by four to seven tiny calls. Raises `LLMError`."""
        began = time.perf_counter()
        capabilities = self.capabilities()
        listed, context = read_lists(self._connection)
        first, again = (self._try_request(REPEATED, self._extra) for _ in range(2))
        quick = ENGINES[self._kind].quick if self._kind in ENGINES else {}
        free = {name: value for name, value in self._extra.items() if name not in quick}
        replies = [first, again, self._try_request(PUZZLE, free)]
        thinking: Thinking = "none"
        if any(reply.thought for reply in replies):
            replies.append(self._try_request(PUZZLE, {**free, **quick}))
            thinking = "always" if replies[-1].thought else "switchable"
        spent = total_usage([self.probe_usage, *(reply.usage for reply in replies)])
        return Trial(
            capabilities=capabilities,
            listed=listed,
            context_tokens=context,
            cached_tokens=again.usage.cached_tokens,
            prompt_tokens=again.usage.prompt_tokens,
            thinking=thinking,
            usage=replace(spent, seconds=time.perf_counter() - began),
        )

    def _try_request(self, request: Request, extra: Mapping[str, Any]) -> Received:
        outcome = self._connection.run([partial(self._attempt, request, extra=extra)])[0]
        if isinstance(outcome, LLMError):
            raise outcome
        return outcome

    async def _attempt(
        self,
        request: Request,
        client: openai.AsyncOpenAI,
        ends: float,
        *,
        extra: Mapping[str, Any] | None = None,
    ) -> Received | Failed:
        extra = self._extra if extra is None else extra
        while True:
            made = body(request, self._at.model, self._dropped, extra)
            outcome = await receive(client, made, self._deadlines, self._at, ends)
            if isinstance(outcome, Received) or not outcome.refusal:
                return outcome
            name = parameter_refused(made, request, outcome.refusal, extra)
            if not name:
                return outcome
            self._dropped.add(name)  # and ask again without it; it is remembered


# --- the probe --------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """The capabilities of a server, and the cost of finding them."""

    capabilities: Capabilities
    usage: Usage


def probe(ask: Ask, engine: str) -> Probed:
    """Find out what a server can do; raises the fault when it answers nothing at all."""
    spent: list[Usage] = []

    def tell(request: Request) -> Received | LLMError:
        outcome = ask(request)
        if isinstance(outcome, Received):
            spent.append(outcome.usage)
        return outcome

    top = _probe_logprobs(tell)
    schema = _probe_schema(tell)
    capabilities = Capabilities(engine=engine, logprobs=top > 0, max_options=top, schema=schema)
    return Probed(capabilities=capabilities, usage=total_usage(spent))


def _probe_logprobs(tell: Ask) -> int:
    for top in _TOPS:
        outcome = tell(Request(prompt=_YES_NO, sampling=Sampling(max_tokens=1), top=top, fixed=True))
        if isinstance(outcome, Received):
            return min(top, len(outcome.top))
        if not _is_unsupported(outcome):
            raise outcome
    return 0


def _probe_schema(tell: Ask) -> bool:
    """Return True if the server holds a reply to a schema."""
    request = Request(prompt=_HELLO, sampling=Sampling(schema=_SCHEMA), logprobs=False, fixed=True)
    outcome = tell(request)
    if isinstance(outcome, Received):
        try:
            return bool(json.loads(outcome.text) == _WORD)
        except ValueError:
            return False
    if isinstance(outcome, Malformed):
        return False
    if not _is_unsupported(outcome):
        raise outcome
    plain = tell(Request(prompt=_HELLO, sampling=Sampling(), logprobs=False))
    if isinstance(plain, LLMError) and not isinstance(plain, Malformed):
        raise plain
    return False


def _is_unsupported(fault: LLMError) -> bool:
    """Return True if a refusal is about a parameter, not about the key or the account."""
    if not isinstance(fault, Refused):
        return False
    return fault.status in _UNSUPPORTED or "logprobs" in str(fault)


# --- trials -------------------------------------------------------------------------------------------
Thinking = Literal["none", "switchable", "always"]

# The list of every server, then those of Ollama, LM Studio and llama.cpp, which tell the context in use.
_LISTS = ("models", "/api/ps", "/api/v0/models", "/props")
# What the lists call the tokens that a model reads at once: those in use before those it was trained with.
_IN_USE = ("loaded_context_length", "n_ctx", "max_model_len")
_TRAINED = ("context_length", "context_window", "max_context_length", "n_ctx_train")
_SECONDS = 5.0

_RULES = " ".join(f"Rule {number}: no word has more than {number} letters." for number in range(3, 30))
_SAMPLING = Sampling(max_tokens=64)
REPEATED, PUZZLE = (
    Request(prompt=Prompt(messages=messages), sampling=_SAMPLING, logprobs=False)
    for messages in (
        (Message(role="system", content=_RULES), Message(role="user", content="Say yes.")),
        (Message(role="user", content="How many vowels has the word lighthouse? Reply with a number."),),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A model at a server as found; None for what is not told. `cached_tokens` are of a prompt sent twice."""

    capabilities: Capabilities
    listed: bool | None
    context_tokens: int | None
    cached_tokens: int
    prompt_tokens: int
    thinking: Thinking
    usage: Usage


def read_lists(connection: Connection) -> tuple[bool | None, int | None]:
    """Return whether a server lists the model, and the tokens it reads at once; None if that is not told."""
    replies = connection.run([partial(_read_list, path) for path in _LISTS])
    lists = [list(_entries(reply)) for reply in replies]
    model = connection.at.model
    ours = [
        entry
        for entries in lists
        for entry in entries
        if _names(entry) & {model, f"{model}:latest"} or "default_generation_settings" in entry
    ]
    sizes = (_size(entry, key) for key in _IN_USE + _TRAINED for entry in ours)
    listed = any(_names(entry) & {model, f"{model}:latest"} for entry in lists[0]) if lists[0] else None
    return listed, next((size for size in sizes if size), None)


async def _read_list(path: str, client: openai.AsyncOpenAI, ends: float) -> object:
    import httpx2
    import openai

    # A path from the root is beside that of the protocol.
    url = f"/{path}" if path == "models" else str(client.base_url.copy_with(path=path, query=None))
    late = min(ends, asyncio.get_running_loop().time() + _SECONDS)
    try:
        async with asyncio.timeout_at(late):
            reply = await client.get(url, cast_to=httpx2.Response)
        return json.loads(reply.content)
    except (openai.OpenAIError, httpx2.HTTPError, TimeoutError, ValueError, RecursionError):
        return None  # `Unfit` is a ValueError


def _entries(reply: object) -> Iterator[Mapping[str, Any]]:
    """Yield the models of a list, and a reply that is about one model."""
    if not isinstance(reply, Mapping):
        return
    for key in ("data", "models"):
        listed = reply.get(key)
        yield from (
            entry for entry in (listed if isinstance(listed, list) else ()) if isinstance(entry, Mapping)
        )
    if isinstance(reply.get("default_generation_settings"), Mapping):
        yield reply


def _names(entry: Mapping[str, Any]) -> set[str]:
    return {str(entry[key]) for key in ("id", "name", "model") if entry.get(key)}


def _size(entry: Mapping[str, Any], key: str) -> int:
    """Return a positive number of an entry, or of what it holds about the engine; 0 if there is none."""
    for holder in (entry, entry.get("meta"), entry.get("default_generation_settings")):
        size = holder.get(key) if isinstance(holder, Mapping) else None
        if type(size) is int and size > 0:
            return size
    return 0
