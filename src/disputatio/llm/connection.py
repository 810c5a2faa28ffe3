"""Calls to one server: how many at a time, repeated where that helps, in a thread of their own.

What a call says and how its reply is read is the caller's: an `Attempt`.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import random
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from disputatio.cancel import Cancel
from disputatio.errors import ConfigError, LLMError, MissingDependency, QuotaExceeded, Refused
from disputatio.llm.faults import Address, Failed
from disputatio.llm.loop import Loop
from disputatio.llm.retry import Breaker, Retry
from disputatio.llm.stream import Deadlines

if TYPE_CHECKING:
    import openai

LARGEST_REPLY, LARGEST_EMBEDDINGS = 8 << 20, 64 << 20  # bytes
_OFFICIAL = "https://api.openai.com/v1"
_Result = TypeVar("_Result")

_Ended = tuple[int, _Result | LLMError]  # a call's place in its batch, and what it came to

Attempt = Callable[["openai.AsyncOpenAI", float], Awaitable[_Result | Failed]]
"""One attempt at a call: given the client, and when the call's total deadline passes on the loop's clock."""


class Connection:
    """A model's server at an OpenAI-compatible address; may be shared by threads.

    `base_url` and `api_key` come from OPENAI_BASE_URL and OPENAI_API_KEY where not given; a server
    of one's own may need no key. At most `in_flight` calls are out at a time, over all threads;
    a call is repeated at most `retries` times (see `retry`). `rng` and `sleep` serve the waits
    between attempts, `cool_off` is how long, in seconds, an address is left alone after eight
    failures to connect in a row. A reply has at most `largest` bytes where it is one JSON value. `say` hears
    when no call has ended for `patience` seconds. Nothing is opened before the first call.
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
        largest: int = LARGEST_REPLY,
        say: Callable[[str], None] = lambda _: None,
        patience: float = 30.0,
    ) -> None:
        """Check the address; raises `ConfigError` for one that no call can be made to."""
        url = (base_url or os.environ.get("OPENAI_BASE_URL", "") or _OFFICIAL).strip()
        key = (api_key or os.environ.get("OPENAI_API_KEY", "")).strip()
        self.at = _checked(Address(model=model, base_url=url, key=key))
        if in_flight < 1 or retries < 0:
            raise ConfigError("an endpoint needs in_flight of at least 1 and retries of at least 0")
        self.deadlines = deadlines or Deadlines()
        self._in_flight, self._largest, self._say, self._patience = in_flight, largest, say, patience
        self._slots = asyncio.Semaphore(in_flight)
        self._retry = Retry(
            retries=retries,
            sleep=sleep,
            rng=rng or random.Random(0),
            breaker=Breaker(cool_off=cool_off),
        )
        self._starting = threading.Lock()
        self._loop: Loop[openai.AsyncOpenAI] | None = None

    def close(self) -> None:
        """End the thread and the connections; a later call opens them again."""
        with self._starting:
            if self._loop is not None:
                self._loop.close()
            self._loop = None

    def run(
        self,
        attempts: Sequence[Attempt[_Result]],
        on_done: Callable[[int, _Result | LLMError], None] = lambda *_: None,
        cancel: Cancel | None = None,
    ) -> list[_Result | LLMError]:
        """Return what each call came to, in order; a fault is returned, not raised.

        `on_done(index, outcome)` is called in this thread for each call that has ended. Raises `Cancelled`.
        """
        with self._starting:
            if self._loop is None:
                _check_ready(self.at)
                self._slots = asyncio.Semaphore(self._in_flight)  # of the new loop
                name = f"disputatio openai:{self.at.model}"
                self._loop = Loop(partial(_open, self.at, self.deadlines, self._largest), name=name)
            loop = self._loop

        def work(report: Callable[[_Ended[_Result]], None]) -> Coroutine[Any, Any, list[_Result | LLMError]]:
            return self._batch(loop.client, attempts, report)

        words = (
            f"{self.at.shown}: no reply for {self._patience:g} s; a call is given up after "
            f"{self.deadlines.total:g} s (setting total_seconds), Ctrl-C ends it now"
        )
        # The clock holds no reference to this connection, whose thread ends when nothing refers to it.
        with _Waiting(self._patience, partial(self._say, words)) as waiting:

            def ended(outcome: _Ended[_Result]) -> None:
                waiting.begin()
                on_done(*outcome)

            return loop.run(work, ended, cancel or Cancel())

    async def _batch(
        self,
        client: openai.AsyncOpenAI,
        attempts: Sequence[Attempt[_Result]],
        report: Callable[[_Ended[_Result]], None],
    ) -> list[_Result | LLMError]:
        hopeless: list[LLMError] = []

        async def outcome_of(attempt: Attempt[_Result]) -> _Result | LLMError:
            async with self._slots:
                if hopeless:  # the key or the account is refused: the rest need not be tried
                    return hopeless[0]
                outcome = await self._call(client, attempt)
                if isinstance(outcome, LLMError) and _is_hopeless(outcome):
                    hopeless.append(outcome)
                return outcome

        async def reported(index: int, attempt: Attempt[_Result]) -> _Result | LLMError:
            outcome = await outcome_of(attempt)
            report((index, outcome))
            return outcome

        return list(await asyncio.gather(*(reported(*numbered) for numbered in enumerate(attempts))))

    async def _call(self, client: openai.AsyncOpenAI, attempt: Attempt[_Result]) -> _Result | LLMError:
        now = asyncio.get_running_loop().time
        ends = now() + self.deadlines.total
        return await self._retry.run(lambda: attempt(client, ends), remaining=lambda: ends - now())


class _Waiting:
    """A clock that is set back at the end of each call, and speaks once where none ends."""

    def __init__(self, seconds: float, speak: Callable[[], None]) -> None:
        self._seconds, self._speak = seconds, speak
        self._timer: threading.Timer | None = None

    def __enter__(self) -> _Waiting:
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def begin(self) -> None:
        """Begin to wait anew."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(self._seconds, self._speak)
        self._timer.daemon = True
        self._timer.start()


def _check_ready(at: Address) -> None:
    """Raise what stands in the way of any call: no client installed, or no key where one is needed."""
    if importlib.util.find_spec("openai") is None:
        raise MissingDependency("openai", "openai")
    if not at.key and at.base_url == _OFFICIAL:
        raise ConfigError(f"openai:{at.model} needs OPENAI_API_KEY, or OPENAI_BASE_URL of your own server")


def _open(at: Address, deadlines: Deadlines, largest: int) -> openai.AsyncOpenAI:
    """Return the client; it makes no attempt but the first, and waits for a reply as long as it is let."""
    import openai

    from disputatio.llm.bounded import hooks

    seconds = openai.Timeout(None, connect=deadlines.connect, write=deadlines.first_byte)
    return openai.AsyncOpenAI(
        api_key=at.key or "none",
        base_url=at.base_url,
        timeout=seconds,
        max_retries=0,
        # What is packed may unpack to a thousand times its size.
        default_headers={"Accept-Encoding": "identity"},
        http_client=openai.DefaultAsyncHttpxClient(timeout=seconds, event_hooks=hooks(at.base_url, largest)),
    )


def _checked(at: Address) -> Address:
    """Return the address, if calls can be made to it; raises `ConfigError`."""
    if not at.model.strip():
        raise ConfigError("the model has no name: write openai:NAME")
    parts = urlsplit(at.base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError("OPENAI_BASE_URL must be an address such as http://127.0.0.1:8000/v1")
    if not (at.key.isascii() and at.key.isprintable()):
        raise ConfigError("OPENAI_API_KEY holds a character that no key has; was it copied whole?")
    return at


def _is_hopeless(fault: LLMError) -> bool:
    """Return whether every other call of the batch would be refused just the same."""
    return isinstance(fault, QuotaExceeded) or (
        isinstance(fault, Refused) and fault.status in (401, 403, 404)
    )
