"""A fair, bounded queue: no client waits for all questions of another."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from disputatio.server.faults import Full

_MOST_WAIT = 600.0


class Turns:
    """Turns for at most `at_once` questions at a time; a bounded number of others wait.

    The next turn is that of the client with the fewest running questions, and among those of the one that
    has waited longest for a turn. It belongs to one event loop.
    """

    def __init__(
        self, what: str = "questions", guess: float = 10.0, *, at_once: int, waiting: int, waiting_each: int
    ) -> None:
        """Make turns for `what`; `guess` is how many seconds one takes, while none has been timed."""
        self._what = what
        self._at_once, self._most, self._most_each = at_once, waiting, waiting_each
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._running: Counter[str] = Counter()
        self._tell: dict[asyncio.Future[None], Callable[[int, float], None]] = {}
        self._told: dict[asyncio.Future[None], int] = {}
        self._seconds = guess
        self._timed = 0

    @property
    def running(self) -> int:
        return self._running.total()

    @property
    def waiting(self) -> int:
        return sum(map(len, self._queues.values()))

    def check(self, client: str) -> None:
        """Raise `Full` if another question of this client could not even wait."""
        if self.running < self._at_once and not self.waiting:
            return
        if self.waiting >= self._most:
            raise Full(
                f"{self.waiting} {self._what} are waiting already: try again later", self.retry_after()
            )
        if len(self._queues.get(client, ())) >= self._most_each:
            mine = len(self._queues[client])
            raise Full(
                f"{mine} of your {self._what} are waiting already: try again later", self.retry_after()
            )

    def retry_after(self) -> float:
        """Estimate the seconds until there is room."""
        return min(max(1.0, self._seconds * (1 + self.waiting) / self._at_once), _MOST_WAIT)

    @asynccontextmanager
    async def turn(
        self, client: str, tell: Callable[[int, float], None] = lambda *_: None
    ) -> AsyncIterator[float]:
        """Wait for a turn and hold it; yields the seconds waited. Raises `Full`.

        While it waits, `tell` is called with its place, 1 for the next, and the seconds that this may take,
        whenever the place has changed.
        """
        self.check(client)
        began = time.perf_counter()
        if self.running < self._at_once and not self.waiting:
            self._running[client] += 1
        else:
            await self._wait(client, tell)
        begun = time.perf_counter()
        try:
            yield begun - began
        finally:
            self._timed = min(self._timed + 1, 50)
            self._seconds += (time.perf_counter() - begun - self._seconds) / self._timed
            self._leave(client)

    async def _wait(self, client: str, tell: Callable[[int, float], None]) -> None:
        ticket = asyncio.get_running_loop().create_future()
        self._queues.setdefault(client, deque()).append(ticket)
        self._tell[ticket] = tell
        self._tell_places()
        try:
            await ticket
        except asyncio.CancelledError:
            queue = self._queues.get(client)
            if queue is not None and ticket in queue:
                queue.remove(ticket)
                if not queue:
                    del self._queues[client]
            elif ticket.done() and not ticket.cancelled():  # the turn was given, but its question has ended
                self._leave(client)
            raise
        finally:
            del self._tell[ticket]
            self._told.pop(ticket, None)
            self._tell_places()

    def _tell_places(self) -> None:
        """Tell those that wait their places in the order of turns, as it would be if none ended or came."""
        running, place = self._running.copy(), 0
        queues = OrderedDict((name, [*tickets]) for name, tickets in self._queues.items())
        while queues:
            following = min(queues, key=lambda name: running[name])
            ticket, place = queues[following].pop(0), place + 1
            running[following] += 1
            queues.move_to_end(following)
            if not queues[following]:
                del queues[following]
            if self._told.get(ticket) != place:
                self._told[ticket] = place
                self._tell[ticket](place, round(self._seconds * place / self._at_once, 1))

    def _leave(self, client: str) -> None:
        self._running[client] -= 1
        self._running += Counter()  # drops clients without a running question
        while self._queues and self.running < self._at_once:
            following = min(self._queues, key=lambda name: self._running[name])  # the first on a tie
            queue = self._queues[following]
            ticket = queue.popleft()
            if queue:
                self._queues.move_to_end(following)
            else:
                del self._queues[following]
            if not ticket.done():
                self._running[following] += 1
                ticket.set_result(None)
