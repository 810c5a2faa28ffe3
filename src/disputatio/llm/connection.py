"""Calls to one server: bounded in number, repeated where that helps, on an event loop in a thread of its own.

The loop lets a deadline, a cancel or Ctrl-C end a call wherever it waits. Here is the one layer that repeats
calls: the attempts of one call, a budget over the endpoint's whole life (a fifth of the calls made), and a
breaker that stops trying for some seconds when nothing can be reached. The client's own retries are off: they
see neither a stream that breaks nor our deadlines.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import queue
import random
import threading
import time
import weakref
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

from disputatio.errors import (
    ConfigError,
    LLMError,
    MissingDependency,
    QuotaExceeded,
    Refused,
    Timeout,
    Unreachable,
)
from disputatio.llm.faults import Address, Failed, Unfit
from disputatio.llm.stream import Deadlines
from disputatio.protocols import Cancel

if TYPE_CHECKING:
    import httpx2
    import openai

LARGEST_REPLY, LARGEST_EMBEDDINGS = 8 << 20, 64 << 20  # bytes
_OFFICIAL = "https://api.openai.com/v1"
LONGEST_WAIT = 30.0  # seconds; also the cap of Retry-After
FIRST_WAIT, LONGEST_BACKOFF = 0.5, 8.0  # seconds
_Result = TypeVar("_Result")
_Client = TypeVar("_Client")
_Report = TypeVar("_Report")

_Ended = tuple[int, _Result | LLMError]  # the index of a call in its batch, and its outcome

Attempt = Callable[["openai.AsyncOpenAI", float], Awaitable[_Result | Failed]]
"""One attempt at a call: given the client, and when the call's total deadline passes on the loop's clock."""


class Connection:
    """A model's server at an OpenAI-compatible address; may be shared by threads.

    `base_url` and `api_key` default to OPENAI_BASE_URL and OPENAI_API_KEY; a local server may need no key.
    `variable` is what users set the address by. At
    most `in_flight` calls run at a time, over all threads; a call is repeated at most `retries` times. `rng`
    and `sleep` serve the waits between attempts; after eight failures to connect in a row the address is
    not tried for `cool_off` seconds. A reply that is one JSON value has at most `largest` bytes. `say` is
    called when no call has ended for `patience` seconds. Nothing is opened before the first call.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        variable: str = "OPENAI_BASE_URL",
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
        self.at = _check_address(Address(model=model, base_url=url, key=key, variable=variable))
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
        """Make the calls and return their outcomes in order; a fault is returned, not raised.

        `on_done(index, outcome)` is called in this thread as each call ends. Raises `Cancelled`.
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

            def on_end(outcome: _Ended[_Result]) -> None:
                waiting.begin()
                on_done(*outcome)

            return loop.run(work, on_end, cancel or Cancel())

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

        async def report_outcome(index: int, attempt: Attempt[_Result]) -> _Result | LLMError:
            outcome = await outcome_of(attempt)
            report((index, outcome))
            return outcome

        return list(await asyncio.gather(*(report_outcome(*numbered) for numbered in enumerate(attempts))))

    async def _call(self, client: openai.AsyncOpenAI, attempt: Attempt[_Result]) -> _Result | LLMError:
        now = asyncio.get_running_loop().time
        ends = now() + self.deadlines.total
        return await self._retry.run(lambda: attempt(client, ends), remaining=lambda: ends - now())


class _Waiting:
    """A timer that each finished call restarts; it speaks once when no call ends in time."""

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
        """Restart the timer."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(self._seconds, self._speak)
        self._timer.daemon = True
        self._timer.start()


def _check_ready(at: Address) -> None:
    """Raise `MissingDependency` without the client, `ConfigError` without a key where one is needed."""
    if importlib.util.find_spec("openai") is None:
        raise MissingDependency("openai", "openai")
    if not at.key and at.base_url == _OFFICIAL:
        raise ConfigError(f"openai:{at.model} needs OPENAI_API_KEY, or OPENAI_BASE_URL of your own server")


def _open(at: Address, deadlines: Deadlines, largest: int) -> openai.AsyncOpenAI:
    """Open the official client, with no retries and no deadline of its own for a reply."""
    import openai

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


def _check_address(at: Address) -> Address:
    if not at.model.strip():
        raise ConfigError("the model has no name: write openai:NAME")
    parts = urlsplit(at.base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{at.variable} must be an address such as http://127.0.0.1:8000/v1")
    if not (at.key.isascii() and at.key.isprintable()):
        raise ConfigError("OPENAI_API_KEY holds a character that no key has; was it copied whole?")
    return at


def _is_hopeless(fault: LLMError) -> bool:
    """Return True if every other call of the batch would be refused for the same reason."""
    return isinstance(fault, QuotaExceeded) or (
        isinstance(fault, Refused) and fault.status in (401, 403, 404)
    )


# --- repeats ----------------------------------------------------------------------------------------
@dataclass(slots=True)
class RepeatBudget:
    """A bound on repeats: `floor`, and one in five of the calls made.

    >>> budget = RepeatBudget(floor=1)
    >>> budget.take(), budget.take()
    (True, False)
    >>> budget.calls = 5
    >>> budget.take(), budget.take()
    (True, False)
    """

    share: float = 0.2
    floor: int = 4
    calls: int = 0
    repeats: int = 0

    def take(self) -> bool:
        if self.repeats + 1 > self.floor + self.share * self.calls:
            return False
        self.repeats += 1
        return True


@dataclass(slots=True)
class Breaker:
    """Fails calls at once for `cool_off` seconds after `limit` failures to connect in a row."""

    limit: int = 8
    cool_off: float = 5.0
    clock: Callable[[], float] = time.monotonic
    failures: int = 0
    opened: float = 0.0
    last: str = ""

    def get_blocked_seconds(self) -> float:
        """Return the seconds for which no call is to be tried; 0 when calls may be made."""
        if self.failures < self.limit:
            return 0.0
        return max(0.0, self.opened + self.cool_off - self.clock())

    def note(self, fault: LLMError | None) -> None:
        if fault is None or not is_connection_fault(fault):
            self.failures = 0
        else:
            self.failures += 1
            self.opened = self.clock()
            self.last = str(fault)


def is_connection_fault(fault: LLMError) -> bool:
    """Return True if a call failed because there was no connection, or it broke."""
    return isinstance(fault, Unreachable) or (isinstance(fault, Timeout) and fault.deadline == "connect")


@dataclass(slots=True, kw_only=True)
class Retry:
    """The retry policy of one endpoint, which is told how to wait; used from its event loop only."""

    retries: int
    sleep: Callable[[float], Awaitable[object]]
    rng: random.Random
    budget: RepeatBudget = field(default_factory=RepeatBudget)
    breaker: Breaker = field(default_factory=Breaker)
    answered: bool = False

    async def run(
        self, attempt: Callable[[], Awaitable[_Result | Failed]], *, remaining: Callable[[], float]
    ) -> _Result | LLMError:
        """Run an attempt, again where that helps and time is `remaining`; a fault is returned."""
        self.budget.calls += 1
        repeats = 0
        blocked = self.breaker.get_blocked_seconds()
        if blocked:
            times = f"{self.breaker.failures} times in a row"
            return Unreachable(f"{self.breaker.last} [{times}; not tried again for {blocked:.1f} s]")
        while True:
            outcome = await attempt()
            if not isinstance(outcome, Failed):
                self.answered = True
                self.breaker.note(None)
                return outcome
            fault = outcome.fault
            self.breaker.note(fault)
            self.answered = self.answered or not is_connection_fault(fault)
            wait = self._wait(repeats, outcome.wait)
            if repeats >= self._limit(outcome) or wait >= remaining() or self.breaker.get_blocked_seconds():
                return fault
            if not self.budget.take():
                return fault
            repeats += 1
            await self.sleep(wait)

    def _limit(self, outcome: Failed) -> int:
        """Return how often a call may be repeated: once where an address has never answered."""
        if outcome.once or (not self.answered and is_connection_fault(outcome.fault)):
            return min(1, self.retries)
        return self.retries if outcome.fault.retryable else 0

    def _wait(self, repeats: int, demanded: float | None) -> float:
        """Return the seconds to wait: those that the server asked for, capped, or backoff with jitter."""
        if demanded is not None:
            return min(demanded, LONGEST_WAIT)
        backoff: float = min(LONGEST_BACKOFF, FIRST_WAIT * 2**repeats)
        return backoff * self.rng.uniform(0.5, 1.0)


# --- the loop ---------------------------------------------------------------------------------------
class Loop(Generic[_Client]):
    """Runs coroutines over one client in a thread of its own, until `close()` or nothing refers to it."""

    def __init__(self, opens: Callable[[], AbstractAsyncContextManager[_Client]], name: str) -> None:
        ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, _Client]] = Future()
        thread = threading.Thread(target=_serve, args=(opens, ready), name=name, daemon=True)
        thread.start()
        self._loop, stop, self.client = ready.result()
        self.close = weakref.finalize(self, _stop, self._loop, stop, thread)

    def run(
        self,
        work: Callable[[Callable[[_Report], None]], Coroutine[Any, Any, _Result]],
        on_report: Callable[[_Report], None],
        cancel: Cancel,
    ) -> _Result:
        """Run a coroutine that `work` makes from a receiver of reports; an interrupted wait cancels it."""
        reports: queue.SimpleQueue[tuple[_Report] | None] = queue.SimpleQueue()
        future = asyncio.run_coroutine_threadsafe(work(lambda report: reports.put((report,))), self._loop)
        future.add_done_callback(lambda _: reports.put(None))
        try:
            with cancel.calling(lambda: reports.put(None)):
                while (report := reports.get()) is not None:
                    on_report(*report)
                cancel.check()
                return future.result()
        finally:
            future.cancel()


def _serve(
    opens: Callable[[], AbstractAsyncContextManager[_Client]],
    ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, _Client]],
) -> None:
    async def main() -> None:
        stop = asyncio.Event()
        async with opens() as client:
            ready.set_result((asyncio.get_running_loop(), stop, client))
            await stop.wait()

    try:
        asyncio.run(main())
    except Exception as error:  # handed to the thread that waits for `ready`, never dropped
        if ready.done():
            raise
        ready.set_exception(error)


def _stop(loop: asyncio.AbstractEventLoop, stop: asyncio.Event, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(stop.set)
    if threading.current_thread() is not thread:
        thread.join(timeout=5.0)


# --- bounded --------------------------------------------------------------------------------------
# Bounds on the size of replies and on redirects: no reply takes more memory than it is given.
#
# The client reads replies whole and lines as long as they come, unpacks what is packed, and follows
# redirects with the prompt in hand. Here every reply is counted as it arrives, packed and unpacked,
# before the client sees it.

LARGEST_STREAM = 64 << 20  # bytes of a reply that comes in pieces, or of embeddings
LARGEST_ERROR = 1 << 20
LONGEST_LINE = 4 << 20
_UNPACKED_AT_ONCE = 1 << 18
_PACKED: Mapping[str, int] = {"gzip": 31, "x-gzip": 31, "deflate": 15}  # as zlib names them


def hooks(base_url: str, largest: int) -> dict[str, list[Callable[..., object]]]:
    """Make event hooks that keep requests at one origin, and a JSON reply within `largest` bytes."""
    import httpx2  # the transport of the client

    home = _origin(base_url)

    class Stream(_Bounded, httpx2.AsyncByteStream):
        """The bytes of a reply, as the client reads them."""

    async def stay(request: httpx2.Request) -> None:
        request.headers.pop("cookie", None)  # the client gives back what a server set
        if _origin(str(request.url)) != home:
            host = urlsplit(str(request.url)).hostname or "another address"
            raise Unfit(
                f"redirects to {host}, which gets no prompt: set OPENAI_BASE_URL to it if it is right"
            )

    async def bound(response: httpx2.Response) -> None:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        most = LARGEST_STREAM if kind == "text/event-stream" else largest
        if response.status_code >= 300:
            most = LARGEST_ERROR
        packing = response.headers.get("content-encoding", "identity").strip().lower()
        response.headers.pop("content-encoding", None)
        response.headers.pop("content-length", None)
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = Stream(response.stream, packing, most)

    return {"request": [stay], "response": [bound]}


def _origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    usual = {"http": 80, "https": 443}.get(parts.scheme, 0)
    return parts.scheme.lower(), (parts.hostname or "").lower(), parts.port or usual


class _Bounded:
    """Unpacks and counts a reply; raises `Unfit` for more than `most` bytes, or too long a line."""

    def __init__(self, stream: httpx2.AsyncByteStream, packing: str, most: int) -> None:
        self._stream, self._packing, self._most = stream, packing, most
        self._raw = self._size = self._line = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._packing not in ("identity", "", *_PACKED):
            raise Unfit(f"packed as {self._packing[:20]!r}, which was not asked for")
        unpack = zlib.decompressobj(_PACKED[self._packing]) if self._packing in _PACKED else None
        async for piece in self._stream:
            self._raw += len(piece)
            if self._raw > self._most:
                raise Unfit(f"more than {self._most:,} bytes")
            if unpack is None:
                yield self._check_size(piece)
                continue
            waiting = piece
            while waiting:
                try:
                    unpacked = unpack.decompress(waiting, _UNPACKED_AT_ONCE)
                except zlib.error as error:
                    raise Unfit("packed, and cannot be unpacked") from error
                waiting = unpack.unconsumed_tail
                yield self._check_size(unpacked)
                if unpack.eof:
                    break

    def _check_size(self, piece: bytes) -> bytes:
        self._size += len(piece)
        last = piece.rfind(b"\n")
        self._line = self._line + len(piece) if last < 0 else len(piece) - last - 1
        if self._size > self._most:
            raise Unfit(f"more than {self._most:,} bytes when unpacked")
        if self._line > min(LONGEST_LINE, self._most) and self._most == LARGEST_STREAM:
            raise Unfit(f"a line of more than {LONGEST_LINE:,} bytes")
        return piece

    async def aclose(self) -> None:
        await self._stream.aclose()
