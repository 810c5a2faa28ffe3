"""A question in progress: its events as numbered frames, which clients follow from any number on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from disputatio.errors import Cancelled
from disputatio.events import Answered, Event
from disputatio.protocols import Cancel, Deadline
from disputatio.serialisation import json_text
from disputatio.server.faults import fault_of
from disputatio.types import Answer

State = Literal["waiting", "running", "answered", "failed", "stopped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One event as a client gets it: its number from 1, its name, and its fields as JSON.

    `event` is the library's event; None for those that the server adds (`asked`, `queued`, `unkept`,
    `fault`).
    """

    number: int
    name: str
    data: str
    event: Event | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Running:
    """One question in progress, in one event loop: its frames so far, and its answer or error at the end.

    `asked` is what the user wrote, where `question` says it so that it stands alone; `follows` is the answer
    that it follows up, "" for the first of a conversation. `waited` is the number of seconds before its turn,
    `kept` is true once the answer is stored. The question is stopped `abandoned` seconds after its last
    follower left.
    """

    id: str
    question: str
    strategy: str
    client: str
    abandoned: float
    asked: str = ""
    follows: str | None = None
    cancel: Cancel = field(default_factory=Cancel)
    deadline: Deadline | None = None
    state: State = "waiting"
    answer: Answer | None = None
    error: BaseException | None = None
    kept: bool = False
    waited: float = 0.0
    began: float = field(default_factory=time.perf_counter)
    frames: list[Frame] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _followers: int = 0
    _leaving: asyncio.TimerHandle | None = None

    @property
    def over(self) -> bool:
        """True if there will be no other frame."""
        return self.state in ("answered", "failed", "stopped")

    def add(self, name: str, fields: Mapping[str, Any], event: Event | None = None) -> None:
        data = json_text({"event": name, **fields})
        self.frames.append(Frame(number=len(self.frames) + 1, name=name, data=data, event=event))
        self._wake()

    def add_event(self, event: Event) -> None:
        """Add the frame of an event of the library; that of the answer sets `answer`."""
        fields = event.to_dict()
        if isinstance(event, Answered):
            self.answer = event.answer
        self.add(fields.pop("kind"), fields, event)

    def add_place(self, place: int, seconds: float) -> None:
        """Add a frame with the place in the queue, 1 for the next, and the seconds that it may take."""
        self.add("queued", {"place": place, "seconds": seconds})

    def finish(self, state: State, error: BaseException | None = None) -> None:
        """End the question; an error becomes the last frame."""
        self.state, self.error = state, error
        if error is not None:
            self.answer = None
            self.add("fault", fault_of(error).to_dict()["error"])
        self._wake()

    async def follow(self, after: int = 0) -> AsyncGenerator[Frame, None]:
        """Yield the frames after number `after`, as they come, to the last one.

        When the last follower leaves, the question is stopped, unless another one comes soon.
        """
        with self._count_follower():
            while True:
                news = self._news
                while after < len(self.frames):
                    after += 1
                    yield self.frames[after - 1]
                if self.over:
                    return
                await news.wait()

    async def result(self) -> Answer:
        async for _ in self.follow(after=1 << 60):
            pass  # no frame has a larger number
        if self.answer is None:
            raise self.error or Cancelled()
        return self.answer

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    @contextmanager
    def _count_follower(self) -> Iterator[None]:
        self._followers += 1
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None
        try:
            yield
        finally:
            self._followers -= 1
            if not self._followers and not self.over:
                loop = asyncio.get_running_loop()
                self._leaving = loop.call_later(self.abandoned, self._stop_abandoned)

    def _stop_abandoned(self) -> None:
        if not self._followers and not self.over:
            self.cancel.cancel()
