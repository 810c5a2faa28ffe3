"""One chat completion, whole or in chunks, in the form of OpenAI's protocol."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from disputatio.errors import Cancelled, DisputatioError
from disputatio.serialisation import json_text
from disputatio.server.chat.asking import Chat
from disputatio.server.chat.faults import error_of
from disputatio.server.chat.wording import pieces
from disputatio.types import Answer


@dataclass(slots=True, kw_only=True)
class Completion(Chat):
    """A chat completion; a stream of one ends with the usage if `include_usage` is set."""

    include_usage: bool = False
    name: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")

    def whole(self, answer: Answer) -> dict[str, Any]:
        """Return the whole completion."""
        wording = self.wording(answer)
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
            "disputatio": self.beside(answer),
        }

    async def frames(self) -> AsyncGenerator[str, None]:
        """Yield the chunks, and the line that ends them."""
        async with aclosing(self._chunks()) as chunks:
            async for chunk in chunks:
                yield f"data: {json_text(chunk)}\n\n"
        yield "data: [DONE]\n\n"

    async def _chunks(self) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the role at once, then progress, then the answer or the error."""
        yield self._chunk({"role": "assistant", "content": ""})
        try:
            running = await self.begin()
            async with aclosing(self.progress(running)) as lines:
                async for line in lines:
                    yield self._chunk({"reasoning_content": line})
        except DisputatioError as error:
            yield error_of(error)[1]
            return
        answer = running.answer
        if answer is None:
            yield error_of(running.error or Cancelled())[1]
            return
        wording = self.wording(answer)
        for piece in pieces(wording.text):
            yield self._chunk({"content": piece})
        if wording.annotations:
            yield self._chunk({"annotations": wording.annotations})
        yield {**self._chunk({}, finish_reason="stop"), "disputatio": self.beside(answer)}
        if self.include_usage:
            yield {**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage(answer)}

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return {**self._head("chat.completion.chunk"), "choices": [choice]}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.name, "object": kind, "created": self.created, "model": self.model}

    def _usage(self, answer: Answer) -> dict[str, Any]:
        """Return the cost in OpenAI's terms."""
        spent = self.spent(answer)
        return {
            "prompt_tokens": spent.prompt_tokens,
            "completion_tokens": spent.completion_tokens,
            "total_tokens": spent.prompt_tokens + spent.completion_tokens,
            "prompt_tokens_details": {"cached_tokens": spent.cached_tokens},
        }
