"""Any OpenAI-compatible server, through the official client.

What is robust here is robust in one place each: `faults` names what went wrong, `retry` decides
what is repeated, `stream` reads under the deadlines, `probe` finds out what the server can do.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import random
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeGuard, TypeVar
from urllib.parse import urlsplit

from disputatio.errors import (
    BatchFault,
    ConfigError,
    LLMError,
    Malformed,
    MissingDependency,
    NoLogprobs,
    QuotaExceeded,
    Refused,
)
from disputatio.llm.faults import Address, Failed
from disputatio.llm.loop import Loop
from disputatio.llm.options import score_options
from disputatio.llm.probe import Probed, probe
from disputatio.llm.request import Request, body, parameter_refused
from disputatio.llm.retry import Breaker, Retry
from disputatio.llm.stream import Deadlines, Received, receive
from disputatio.types import Capabilities, Choice, Completion, Prompt, Sampling, Usage

if TYPE_CHECKING:
    import openai

__all__ = ["Deadlines", "Endpoint"]

_OFFICIAL = "https://api.openai.com/v1"
_Word = TypeVar("_Word", Completion, Choice)


class Endpoint:
    """A model behind an OpenAI-compatible server; implements `LLM`, and may be shared by threads.

    `base_url` and `api_key` come from OPENAI_BASE_URL and OPENAI_API_KEY where not given; a server
    of one's own may need no key. At most `in_flight` calls are out at a time, over all threads;
    a call is repeated at most `retries` times (see `retry`). `rng` and `sleep` serve the waits
    between attempts, `cool_off` is how long, in seconds, an address is left alone after eight
    failures to connect in a row.

    Nothing is opened before the first call. `close()` ends the calls' thread; so does `with`.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        in_flight: int = 8,
        retries: int = 4,
        deadlines: Deadlines | None = None,
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        cool_off: float = 5.0,
    ) -> None:
        url = (base_url or os.environ.get("OPENAI_BASE_URL", "") or _OFFICIAL).strip()
        key = (api_key or os.environ.get("OPENAI_API_KEY", "")).strip()
        self._at = _checked(Address(model=model, base_url=url, key=key))
        if in_flight < 1 or retries < 0:
            raise ConfigError("an endpoint needs in_flight of at least 1 and retries of at least 0")
        self._deadlines = deadlines or Deadlines()
        self._in_flight = in_flight
        self._slots = asyncio.Semaphore(in_flight)
        self._retry = Retry(
            retries=retries,
            sleep=sleep,
            rng=rng or random.Random(0),
            breaker=Breaker(cool_off=cool_off),
        )
        self._dropped: set[str] = set()
        self._starting = threading.Lock()
        self._loop: Loop[openai.AsyncOpenAI] | None = None
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
        """`openai:` and the model's name."""
        return f"openai:{self._at.model}"

    @property
    def probe_usage(self) -> Usage:
        """What the probe of the capabilities has cost; it is in no completion's usage."""
        return self._probed.usage if self._probed else Usage()

    @property
    def adaptations(self) -> tuple[str, ...]:
        """The parameters that the endpoint refused by name and that are no longer sent."""
        return tuple(sorted(self._dropped))

    def close(self) -> None:
        """End the thread and the connections; a later call opens them again."""
        with self._starting:
            if self._loop is not None:
                self._loop.close()
            self._loop = None

    def capabilities(self) -> Capabilities:
        """What the endpoint was found to be able to do; two tiny calls at first use.

        Raises `LLMError` when the endpoint does not answer; the next call then probes again.
        """
        with self._probing:
            if self._probed is None:
                began = time.perf_counter()
                found = probe(
                    lambda request: self._run([request])[0], f"openai-compatible at {self._at.host}"
                )
                seconds = time.perf_counter() - began
                self._probed = replace(found, usage=replace(found.usage, seconds=seconds))
            return self._probed.capabilities

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Completion]:
        """One completion a prompt, in order.

        A schema is put to the endpoint where it can be held to one, and else stated in the prompt:
        the reply is to be parsed strictly in any case. Raises `LLMError`, of which `Malformed`
        for an empty reply and `BatchFault` where some of the calls succeeded.
        """
        if not prompts:
            return []
        prompted = sampling.schema is not None and not self.capabilities().schema
        logprobs = self._probed is None or self._probed.capabilities.logprobs
        began = time.perf_counter()
        outcomes = self._run(
            [Request(prompt=one, sampling=sampling, prompted=prompted, logprobs=logprobs) for one in prompts]
        )
        return _settle(outcomes, self._completion, time.perf_counter() - began)

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> list[Choice]:
        """log P of each option as the first word of the reply, from one generated token.

        The tokens that begin an option are added up; `bounded` marks an option that none of the
        listed tokens begins. Raises `LLMError`; `NoLogprobs` when the endpoint cannot tell.
        """
        if not prompts:
            return []
        if not self.capabilities().logprobs:
            raise self._no_logprobs()
        top = self.capabilities().max_options
        began = time.perf_counter()
        outcomes = self._run(
            [Request(prompt=one, sampling=Sampling(max_tokens=1), top=top, fixed=True) for one in prompts]
        )
        return _settle(outcomes, lambda one: self._choice(one, options), time.perf_counter() - began)

    def _completion(self, received: Received) -> Completion | LLMError:
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

    def _run(self, requests: Sequence[Request]) -> list[Received | LLMError]:
        """What each request came to, in order."""
        with self._starting:
            if self._loop is None:
                _check_ready(self._at)
                self._slots = asyncio.Semaphore(self._in_flight)  # of the new loop
                self._loop = Loop(partial(_open, self._at, self._deadlines), name=f"disputatio {self.name}")
            loop = self._loop
        return loop.run(self._batch(loop.client, requests))

    async def _batch(
        self, client: openai.AsyncOpenAI, requests: Sequence[Request]
    ) -> list[Received | LLMError]:
        hopeless: list[LLMError] = []

        async def one(request: Request) -> Received | LLMError:
            async with self._slots:
                if hopeless:  # the key or the account is refused: the rest need not be tried
                    return hopeless[0]
                outcome = await self._call(client, request)
                if _is_hopeless(outcome):
                    hopeless.append(outcome)
                return outcome

        return list(await asyncio.gather(*(one(request) for request in requests)))

    async def _call(self, client: openai.AsyncOpenAI, request: Request) -> Received | LLMError:
        now = asyncio.get_running_loop().time
        ends = now() + self._deadlines.total

        async def attempt() -> Received | Failed:
            while True:
                made = body(request, self._at.model, self._dropped)
                outcome = await receive(client, made, self._deadlines, self._at, ends)
                if isinstance(outcome, Received) or not outcome.refusal:
                    return outcome
                name = parameter_refused(made, request, outcome.refusal)
                if not name:
                    return outcome
                self._dropped.add(name)  # and ask again without it; it is remembered

        return await self._retry.run(attempt, remaining=lambda: ends - now())


def _check_ready(at: Address) -> None:
    """Raise what stands in the way of any call: no client installed, or no key where one is needed."""
    if importlib.util.find_spec("openai") is None:
        raise MissingDependency("openai", "openai")
    if not at.key and at.base_url == _OFFICIAL:
        raise ConfigError(f"openai:{at.model} needs OPENAI_API_KEY, or OPENAI_BASE_URL of your own server")


def _open(at: Address, deadlines: Deadlines) -> openai.AsyncOpenAI:
    """The client; it makes no attempt but the first, and waits for a reply as long as it is let."""
    import openai

    seconds = openai.Timeout(None, connect=deadlines.connect, write=deadlines.first_byte)
    return openai.AsyncOpenAI(api_key=at.key or "none", base_url=at.base_url, timeout=seconds, max_retries=0)


def _checked(at: Address) -> Address:
    """The address, if calls can be made to it; raises `ConfigError`."""
    if not at.model.strip():
        raise ConfigError("the model has no name: write openai:NAME")
    parts = urlsplit(at.base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError("OPENAI_BASE_URL must be an address such as http://127.0.0.1:8000/v1")
    if not (at.key.isascii() and at.key.isprintable()):
        raise ConfigError("OPENAI_API_KEY holds a character that no key has; was it copied whole?")
    return at


def _is_hopeless(outcome: Received | LLMError) -> TypeGuard[LLMError]:
    """Whether every other call of the batch would be refused just the same."""
    return isinstance(outcome, QuotaExceeded) or (
        isinstance(outcome, Refused) and outcome.status in (401, 403, 404)
    )


def _settle(
    outcomes: Sequence[Received | LLMError],
    read: Callable[[Received], _Word | LLMError],
    seconds: float,
) -> list[_Word]:
    """The words of a batch, its wall time shared among them; raises its faults.

    When all calls failed the first fault is raised itself, when some did a `BatchFault`.
    """
    words = [read(one) if isinstance(one, Received) else one for one in outcomes]
    errors = [word for word in words if isinstance(word, LLMError)]
    good = len(words) - len(errors)
    if not good:
        raise errors[0]
    share = seconds / good
    timed = [
        None if isinstance(word, LLMError) else replace(word, usage=replace(word.usage, seconds=share))
        for word in words
    ]
    if errors:
        raise BatchFault(timed, errors)
    return [word for word in timed if word is not None]
