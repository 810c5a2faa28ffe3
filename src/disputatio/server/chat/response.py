"""One response in the form of OpenAI's Chat Completions or Responses API, whole or as its events."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from disputatio.errors import Cancelled, DisputatioError
from disputatio.serialisation import json_text
from disputatio.server.chat.asking import Chat
from disputatio.server.chat.faults import error_of
from disputatio.server.chat.wording import Wording, pieces
from disputatio.types import Answer


# --- completions --------------------------------------------------------------------------------------
@dataclass(slots=True, kw_only=True)
class Completion(Chat):
    """A chat completion; a stream of one ends with the usage if `include_usage` is set."""

    include_usage: bool = False
    name: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")

    def whole(self, answer: Answer) -> dict[str, Any]:
        wording = self.to_wording(answer)
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
        wording = self.to_wording(answer)
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
        spent = self.spent(answer)
        return {
            "prompt_tokens": spent.prompt_tokens,
            "completion_tokens": spent.completion_tokens,
            "total_tokens": spent.prompt_tokens + spent.completion_tokens,
            "prompt_tokens_details": {"cached_tokens": spent.cached_tokens},
        }


@dataclass(slots=True, kw_only=True)
class Response(Chat):
    """A response: a message whose text has an annotation for each quote, after what was done as reasoning."""

    name: str = field(default_factory=lambda: f"resp_{secrets.token_hex(12)}")
    reasoning: str = ""
    sent: int = 0  # events

    def whole(self, answer: Answer) -> dict[str, Any]:
        output = [self._make_reasoning("completed")] if self.reasoning else []
        usage = self.spent(answer)
        return self._body("completed") | {
            "output": [*output, self._message("completed", self._part(self.to_wording(answer)))],
            "usage": {
                "input_tokens": usage.prompt_tokens,
                "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
                "output_tokens": usage.completion_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.prompt_tokens + usage.completion_tokens,
            },
            "disputatio": self.beside(answer),
        }

    async def frames(self) -> AsyncGenerator[str, None]:
        """Yield the events: what is done as a summary of reasoning, then the text, then the annotations."""
        yield self._event("response.created", response=self._body("in_progress"))
        yield self._event("response.in_progress", response=self._body("in_progress"))
        try:
            running = await self.begin()
            async with aclosing(self.progress(running)) as lines:
                async for line in lines:
                    for event in self._thought(line):
                        yield event
        except DisputatioError as error:
            yield self._failure(error)
            return
        answer = running.answer
        if answer is None:
            yield self._failure(running.error or Cancelled())
            return
        if self.reasoning:
            for event in self._end_of_thought():
                yield event
        for event in self._text(self.to_wording(answer)):
            yield event
        yield self._event("response.completed", response=self.whole(answer))

    # --- events ---------------------------------------------------------------------------------
    def _event(self, kind: str, **fields: Any) -> str:
        data = {"type": kind, "sequence_number": self.sent, **fields}
        self.sent += 1
        return f"event: {kind}\ndata: {json_text(data)}\n\n"

    def _thought(self, line: str) -> Iterator[str]:
        """Yield a line of what is done; the first one opens its item."""
        place = {"item_id": f"rs_{self.name}", "output_index": 0, "summary_index": 0}
        if not self.reasoning:
            item = self._make_reasoning("in_progress")
            yield self._event("response.output_item.added", output_index=0, item=item)
            part = {"type": "summary_text", "text": ""}
            yield self._event("response.reasoning_summary_part.added", **place, part=part)
        self.reasoning += line
        yield self._event("response.reasoning_summary_text.delta", **place, delta=line)

    def _end_of_thought(self) -> Iterator[str]:
        place = {"item_id": f"rs_{self.name}", "output_index": 0, "summary_index": 0}
        item = self._make_reasoning("completed")
        yield self._event("response.reasoning_summary_text.done", **place, text=self.reasoning)
        yield self._event("response.reasoning_summary_part.done", **place, part=item["summary"][0])
        yield self._event("response.output_item.done", output_index=0, item=item)

    def _text(self, wording: Wording) -> Iterator[str]:
        at = 1 if self.reasoning else 0
        place = {"item_id": f"msg_{self.name}", "output_index": at, "content_index": 0}
        yield self._event("response.output_item.added", output_index=at, item=self._message("in_progress"))
        empty = self._part(Wording(text="", annotations=[]))
        yield self._event("response.content_part.added", **place, part=empty)
        for piece in pieces(wording.text):
            yield self._event("response.output_text.delta", **place, delta=piece, logprobs=[])
        part = self._part(wording)
        for number, annotation in enumerate(part["annotations"]):
            kind = "response.output_text.annotation.added"
            yield self._event(kind, **place, annotation_index=number, annotation=annotation)
        yield self._event("response.output_text.done", **place, text=wording.text, logprobs=[])
        yield self._event("response.content_part.done", **place, part=part)
        item = self._message("completed", part)
        yield self._event("response.output_item.done", output_index=at, item=item)

    def _failure(self, error: BaseException) -> str:
        fault, body = error_of(error)
        known = {429: "rate_limit_exceeded"}.get(fault.status, "invalid_prompt")
        code = "server_error" if fault.status >= 500 else known  # the protocol has a list of codes
        failed = self._body("failed") | {"error": {**body["error"], "code": code}}
        return self._event("response.failed", response=failed)

    # --- parts ----------------------------------------------------------------------------------
    def _body(self, status: str) -> dict[str, Any]:
        return {
            "id": self.name,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "model": self.model,
            "output": [],
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "parallel_tool_calls": False,
            "previous_response_id": None,
            "store": False,
            "temperature": None,
            "text": {"format": {"type": "text"}},
            "tool_choice": "none",
            "tools": [],
            "top_p": None,
            "usage": None,
        }

    def _make_reasoning(self, status: str) -> dict[str, Any]:
        summary = [{"type": "summary_text", "text": self.reasoning}] if self.reasoning else []
        return {"id": f"rs_{self.name}", "type": "reasoning", "status": status, "summary": summary}

    def _message(self, status: str, *content: dict[str, Any]) -> dict[str, Any]:
        kind = {"id": f"msg_{self.name}", "type": "message", "role": "assistant"}
        return {**kind, "status": status, "content": list(content)}

    @staticmethod
    def _part(wording: Wording) -> dict[str, Any]:
        flat = [{"type": each["type"], **each["url_citation"]} for each in wording.annotations]
        return {"type": "output_text", "text": wording.text, "annotations": flat, "logprobs": []}
