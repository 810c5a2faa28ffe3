"""A question under way: its events so far, for whoever follows it from wherever they begin."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, Literal

from disputatio.calling import Cancel
from disputatio.errors import Cancelled
from disputatio.events import Event
from disputatio.rendering.data import json_text
from disputatio.server.faults import Fault, fault_of
from disputatio.types import Answer

State = Literal["waiting", "running", "answered", "failed", "stopped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One event as a client gets it: its number from 1, its name, its fields as JSON.

    `event` is the library's own, None for those that the server adds (`asked`, `turn`, `fault`).
    """

    number: int
    name: str
    data: str
    event: Event | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Running:
    """One question under way, in one event loop. `error` says why there is no `answer` at the end.

    `waited` is how many seconds passed before its turn.
    """

    id: str
    question: str
    strategy: str
    client: str
    abandoned: float
    cancel: Cancel = field(default_factory=Cancel)
    state: State = "waiting"
    answer: Answer | None = None
    error: BaseException | None = None
    waited: float = 0.0
    began: float = field(default_factory=time.perf_counter)
    events: list[Told] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _listeners: int = 0
    _leaving: asyncio.TimerHandle | None = None

    @property
    def over(self) -> bool:
        """Whether there will be no other event."""
        return self.state in ("answered", "failed", "stopped")

    def tell(self, name: str, fields: dict[str, Any], event: Event | None = None) -> None:
        """Add an event, and wake those who follow."""
        told = Told(number=len(self.events) + 1, name=name, data=json_text(fields), event=event)
        self.events.append(told)
        self._wake()

    def finish(
        self, state: State, *, answer: Answer | None = None, error: BaseException | None = None
    ) -> None:
        """End, with an answer or with what stood in its way, which is told."""
        self.answer, self.error = answer, error
        self.state = state
        if error is not None:
            self.tell("fault", {"event": "fault", **fault_of(error).to_dict()["error"]})
        self._wake()

    @property
    def fault(self) -> Fault | None:
        """What a client is told of why there is no answer."""
        return None if self.error is None else fault_of(self.error)

    async def follow(self, after: int = 0) -> AsyncGenerator[Told, None]:
        """Yield the events beyond the `after`-th, as they come, to the last one.

        When the last follower leaves, the question is stopped, unless another one comes soon.
        """
        with _Listening(self):
            while True:
                news = self._news
                while after < len(self.events):
                    after += 1
                    yield self.events[after - 1]
                if self.over:
                    return
                await news.wait()

    async def result(self) -> Answer:
        """Return the answer, when it is there; raises what stood in its way."""
        async for _ in self.follow(after=1 << 60):
            pass  # nothing comes beyond that number
        if self.answer is None:
            raise self.error or Cancelled()
        return self.answer

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _arrive(self) -> None:
        self._listeners += 1
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None

    def _leave(self) -> None:
        self._listeners -= 1
        if not self._listeners and not self.over:
            loop = asyncio.get_running_loop()
            self._leaving = loop.call_later(self.abandoned, self._stop_unheard)

    def _stop_unheard(self) -> None:
        if not self._listeners and not self.over:
            self.cancel.cancel()


class _Listening:
    """Someone follows, within this context."""

    def __init__(self, running: Running) -> None:
        self._running = running

    def __enter__(self) -> None:
        self._running._arrive()

    def __exit__(self, *_: object) -> None:
        self._running._leave()
