"""The one layer that repeats calls: what is repeated, after how long, and how often in all.

A fault says itself whether it is `retryable`. Three things bound the repeats: the attempts of one
call, a budget over the endpoint's whole life (a fifth of the calls made), and a breaker that stops
trying for some seconds when nothing can be reached.
"""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from disputatio.errors import LLMError, Timeout, Unreachable
from disputatio.llm.faults import Failed

_Word = TypeVar("_Word")

LONGEST_WAIT = 30.0  # seconds; also the cap of Retry-After
FIRST_WAIT, LONGEST_BACKOFF = 0.5, 8.0  # seconds


@dataclass(slots=True)
class Budget:
    """How many calls may be repeated: `floor`, and one in five of those made.

    >>> budget = Budget(floor=1)
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
        """Return whether one more repeat is allowed; counts it when it is."""
        if self.repeats + 1 > self.floor + self.share * self.calls:
            return False
        self.repeats += 1
        return True


@dataclass(slots=True)
class Breaker:
    """After `limit` failures to connect in a row, fail at once for `cool_off` seconds."""

    limit: int = 8
    cool_off: float = 5.0
    clock: Callable[[], float] = time.monotonic
    failures: int = 0
    opened: float = 0.0
    last: str = ""

    def blocked(self) -> float:
        """Return the seconds for which nothing is to be tried; 0 when calls may go out."""
        if self.failures < self.limit:
            return 0.0
        return max(0.0, self.opened + self.cool_off - self.clock())

    def note(self, fault: LLMError | None) -> None:
        """Count how a call ended: only a failure to connect counts, any answer resets."""
        if fault is None or not is_connection_fault(fault):
            self.failures = 0
        else:
            self.failures += 1
            self.opened = self.clock()
            self.last = str(fault)


def is_connection_fault(fault: LLMError) -> bool:
    """Return whether no answer came because there was no connection, or it broke."""
    return isinstance(fault, Unreachable) or (isinstance(fault, Timeout) and fault.deadline == "connect")


@dataclass(slots=True, kw_only=True)
class Retry:
    """The retry policy of one endpoint; used from its event loop only.

    `sleep` and `rng` are passed in so that tests need not wait and runs can be repeated.
    """

    retries: int
    sleep: Callable[[float], Awaitable[object]]
    rng: random.Random
    budget: Budget = field(default_factory=Budget)
    breaker: Breaker = field(default_factory=Breaker)
    answered: bool = False

    async def run(
        self, attempt: Callable[[], Awaitable[_Word | Failed]], *, remaining: Callable[[], float]
    ) -> _Word | LLMError:
        """Return what `attempt` comes to, repeated where that helps; a fault is returned, not raised.

        `remaining` tells the seconds left of the call's total deadline: a wait that would outlast
        them is not begun.
        """
        self.budget.calls += 1
        repeats = 0
        blocked = self.breaker.blocked()
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
            if repeats >= self._limit(outcome) or wait >= remaining() or self.breaker.blocked():
                return fault
            if not self.budget.take():
                return fault
            repeats += 1
            await self.sleep(wait)

    def _limit(self, outcome: Failed) -> int:
        """Return how often a call that ended so may be repeated.

        An address where nothing has ever answered is tried twice only: it is likely to be wrong,
        and whoever typed it should hear so soon.
        """
        if outcome.once or (not self.answered and is_connection_fault(outcome.fault)):
            return min(1, self.retries)
        return self.retries if outcome.fault.retryable else 0

    def _wait(self, repeats: int, demanded: float | None) -> float:
        """Return seconds to wait: what was asked for, capped, or exponential backoff with jitter."""
        if demanded is not None:
            return min(demanded, LONGEST_WAIT)
        backoff: float = min(LONGEST_BACKOFF, FIRST_WAIT * 2**repeats)
        return backoff * self.rng.uniform(0.5, 1.0)
