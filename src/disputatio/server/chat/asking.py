"""A question of a chat client: asked, answered and worded alike for chat completions and responses."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from disputatio.events import Estimated, Event, Evidence, Found, Read, Round, Sides
from disputatio.rendering.wording import count
from disputatio.server.chat.requests import AskOptions, Conversation, Standalone, standalone
from disputatio.server.chat.wording import Wording, beside, inert, inert_quote, word_answer
from disputatio.server.replies import HEARTBEAT, with_heartbeat
from disputatio.server.running import Frame, Running
from disputatio.server.service import Service
from disputatio.trace import total_usage
from disputatio.types import Answer, Usage

_MOST_SOURCES = 6  # named in a line of progress


@dataclass(slots=True, kw_only=True)
class Chat(ABC):
    """A request of a chat client, and the question in it; how a reply is written is its protocol's part.

    `base` is the address of this server; questions of one `client` share turns.
    """

    service: Service
    model: str
    options: AskOptions
    conversation: Conversation
    strategy: str | None
    base: str
    client: str
    created: int = field(default_factory=lambda: int(time.time()))
    asked: Standalone | None = None
    running: Running | None = None

    @abstractmethod
    def whole(self, answer: Answer) -> dict[str, Any]:
        """Return the reply with an answer."""

    @abstractmethod
    def frames(self) -> AsyncGenerator[str, None]:
        """Yield the reply as server-sent events, in pieces."""

    async def lines(self) -> AsyncGenerator[str, None]:
        """Yield the frames of the reply, with a comment after a while without one; ends the question."""
        try:
            async with aclosing(self.frames()) as frames, aclosing(with_heartbeat(frames)) as beats:
                async for frame in beats:
                    yield HEARTBEAT if frame is None else frame
        finally:
            self.end()

    async def begin(self) -> Running:
        """Make the question stand alone and ask it; raises `DisputatioError` for an unfit one, and `Full`."""
        options = self.options
        # Unfit options are refused before the model is asked to rewrite the question.
        unfit = options.to_request(self.conversation.question, self.strategy)
        await self.service.prepare_apart(unfit, client=self.client)
        self.asked = await standalone(
            self.conversation, self.service, model=options.model, client=self.client
        )
        request = options.to_request(self.asked.question, self.strategy)
        self.running = await self.service.ask(request, client=self.client)
        return self.running

    async def progress(self, running: Running) -> AsyncGenerator[str, None]:
        """Yield lines on what happens until the question ends; the first tells what was understood."""
        if understood := self._understood():
            yield f"Understood as: {inert(understood)}\n"
        async with aclosing(running.follow()) as frames:
            async for frame in frames:
                if line := describe_waiting(frame) or (progress(frame.event) if frame.event else ""):
                    yield f"{line}\n"

    def end(self) -> None:
        if self.running is not None and not self.running.over:
            self.running.cancel.cancel()

    def to_wording(self, answer: Answer) -> Wording:
        """Return the answer as the chat shows it."""
        return word_answer(
            answer,
            self._address,
            full=self.options.text == "full",
            understood=self._understood(),
            note=self.asked.note if self.asked else "",
        )

    def beside(self, answer: Answer) -> dict[str, Any]:
        answer_id = self.running.id if self.running else ""
        return beside(
            answer,
            id=answer_id,
            url=f"{self.base}api/answers/{answer_id}",
            asked=self.conversation.question,
            rewriting=self.asked.rewriting if self.asked else "first",
        )

    def spent(self, answer: Answer) -> Usage:
        return total_usage([answer.usage, *([self.asked.usage] if self.asked else [])])

    def _understood(self) -> str:
        """Return the question that was asked, if it differs from the one that was written."""
        if self.asked is None or self.asked.question == self.conversation.question:
            return ""
        return self.asked.question

    def _address(self, passage: str) -> str:
        """Return the address of a passage on this server, as it was read for this answer."""
        answer = self.running.id if self.running else ""
        return f"{self.base}passages/{quote(passage, safe='')}?answer={answer}"


def describe_waiting(frame: Frame) -> str:
    """Return a line on the place in the queue; empty for other frames."""
    if frame.name != "queued":
        return ""
    told = json.loads(frame.data)
    return f"Waiting: place {told['place']}, about {told['seconds']:.0f} s."


def progress(event: Event) -> str:
    """Return a line on an event, for clients that show a model's reasoning; empty for most events."""
    if isinstance(event, Found):
        names = [inert_quote(name, 80) for name in dict.fromkeys(event.sources) if name]
        more = f" and {len(names) - _MOST_SOURCES} more" if len(names) > _MOST_SOURCES else ""
        of = f" of {', '.join(names[:_MOST_SOURCES])}{more}" if names else ""
        return f"Found {count(len(event.passages), 'passage')}{of}."
    if isinstance(event, Evidence):
        return "\n".join(f"- {inert_quote(excerpt.line(), 400)}" for excerpt in event.excerpts)
    if isinstance(event, Estimated) and event.remaining >= 1:
        return f"About {event.remaining:.0f} s left."
    if isinstance(event, Read) and event.titles:
        titles = ", ".join(inert_quote(title, 80) for title in event.titles if title)
        of = f": {titles}" if titles else ""
        return f"Read {event.done} of {event.calls}{of} ({event.so_far()})."
    if isinstance(event, Read) and event.done == event.calls:
        return f"{inert_quote(event.role, 40)}: {count(event.calls, 'call')} done ({event.so_far()})."
    if isinstance(event, Sides) and event.sides:
        return f"So far: {inert_quote(event.line(), 400)}."
    if isinstance(event, Round):
        return f"Round {event.number} is over."
    return ""
