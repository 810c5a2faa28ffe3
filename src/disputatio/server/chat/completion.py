"""One completion, whole or in chunks, in the form of OpenAI's protocol."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from disputatio.errors import Cancelled, DisputatioError
from disputatio.events import Event, Found, Read, Round
from disputatio.rendering.wording import count
from disputatio.serialisation import json_text
from disputatio.server.chat.faults import error_of
from disputatio.server.chat.requests import AskOptions, ChatBody, Conversation, Standalone, standalone
from disputatio.server.chat.wording import Wording, beside, inert, inert_quote, pieces, word_answer
from disputatio.server.replies import HEARTBEAT, with_heartbeat
from disputatio.server.running import Running
from disputatio.server.service import Service
from disputatio.types import Answer

_MOST_SOURCES = 6  # named in a line of progress


@dataclass(slots=True, kw_only=True)
class Chat:
    """A request for a completion, and the question in it.

    `base` is the address of this server; questions of one `client` share turns.
    """

    service: Service
    body: ChatBody
    conversation: Conversation
    strategy: str | None
    base: str
    client: str
    name: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))
    asked: Standalone | None = None
    running: Running | None = None

    async def begin(self) -> Running:
        """Make the question stand alone and ask it; raises `DisputatioError` for an unfit one, and `Full`."""
        options = self.body.disputatio or AskOptions()  # type: ignore[call-arg]  # all fields have defaults
        # Unfit options are refused before the model is asked to rewrite the question.
        unfit = options.to_request(self.conversation.question, self.strategy)
        await self.service.prepare_apart(unfit, client=self.client)
        self.asked = await standalone(
            self.conversation, self.service, model=options.model, client=self.client
        )
        request = options.to_request(self.asked.question, self.strategy)
        self.running = await self.service.ask(request, client=self.client)
        return self.running

    def end(self) -> None:
        """Stop the question if it is still running."""
        if self.running is not None and not self.running.over:
            self.running.cancel.cancel()

    # --- whole ----------------------------------------------------------------------------------
    def completion(self, answer: Answer) -> dict[str, Any]:
        """Return the whole completion."""
        wording = self._wording(answer)
        message = {
            "role": "assistant",
            "content": wording.text,
            "refusal": None,
            "annotations": wording.annotations,
        }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": self._usage(answer),
            "disputatio": self._beside(answer),
        }

    # --- in chunks ------------------------------------------------------------------------------
    async def lines(self) -> AsyncGenerator[str, None]:
        """Yield the lines of a stream of chunks, with a comment after a while without a chunk."""
        try:
            async with aclosing(self._chunks()) as chunks, aclosing(with_heartbeat(chunks)) as beats:
                async for chunk in beats:
                    yield HEARTBEAT if chunk is None else f"data: {json_text(chunk)}\n\n"
            yield "data: [DONE]\n\n"
        finally:
            self.end()

    async def _chunks(self) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the role at once, then progress, then the answer or the error."""
        yield self._chunk({"role": "assistant", "content": ""})
        try:
            running = await self.begin()
            if understood := self._understood():
                yield self._chunk({"reasoning_content": f"Understood as: {inert(understood)}\n"})
            async with aclosing(running.follow()) as frames:
                async for frame in frames:
                    if frame.event is not None and (line := progress(frame.event)):
                        yield self._chunk({"reasoning_content": f"{line}\n"})
        except DisputatioError as error:
            yield error_of(error)[1]
            return
        answer = running.answer
        if answer is None:
            yield error_of(running.error or Cancelled())[1]
            return
        wording = self._wording(answer)
        for piece in pieces(wording.text):
            yield self._chunk({"content": piece})
        if wording.annotations:
            yield self._chunk({"annotations": wording.annotations})
        yield {**self._chunk({}, finish_reason="stop"), "disputatio": self._beside(answer)}
        if self.body.stream_options is not None and self.body.stream_options.include_usage:
            yield {**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage(answer)}

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return {**self._head("chat.completion.chunk"), "choices": [choice]}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.name, "object": kind, "created": self.created, "model": self.body.model}

    # --- parts of both --------------------------------------------------------------------------
    def _wording(self, answer: Answer) -> Wording:
        options = self.body.disputatio
        return word_answer(
            answer,
            self._address,
            full=options is None or options.text == "full",
            understood=self._understood(),
            note=self.asked.note if self.asked else "",
        )

    def _understood(self) -> str:
        """Return the question that was asked, if it differs from the one that was written."""
        if self.asked is None or self.asked.question == self.conversation.question:
            return ""
        return self.asked.question

    def _address(self, passage: str) -> str:
        """Return the address of a passage on this server, as it was read for this answer."""
        answer = self.running.id if self.running else ""
        return f"{self.base}passages/{quote(passage, safe='')}?answer={answer}"

    def _beside(self, answer: Answer) -> dict[str, Any]:
        answer_id = self.running.id if self.running else ""
        return beside(
            answer,
            id=answer_id,
            url=f"{self.base}api/answers/{answer_id}",
            asked=self.conversation.question,
            rewriting=self.asked.rewriting if self.asked else "first",
        )

    def _usage(self, answer: Answer) -> dict[str, Any]:
        """Return the cost of answer and rewriting in OpenAI's terms."""
        spent = [answer.usage, *([self.asked.usage] if self.asked else [])]
        read = sum(usage.prompt_tokens for usage in spent)
        written = sum(usage.completion_tokens for usage in spent)
        return {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": sum(usage.cached_tokens for usage in spent)},
        }


def progress(event: Event) -> str:
    """Return a line on an event, for clients that show a model's reasoning; empty for most events."""
    if isinstance(event, Found):
        names = [inert_quote(name, 80) for name in dict.fromkeys(event.sources) if name]
        more = f" and {len(names) - _MOST_SOURCES} more" if len(names) > _MOST_SOURCES else ""
        of = f" of {', '.join(names[:_MOST_SOURCES])}{more}" if names else ""
        return f"Found {count(len(event.passages), 'passage')}{of}."
    if isinstance(event, Read) and event.call == event.calls:
        return f"{inert_quote(event.role, 40)}: {count(event.calls, 'call')} done."
    if isinstance(event, Round):
        return f"Round {event.number} is over."
    return ""
