"""The request of a chat client, and the question in it, made to stand alone."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from disputatio.agents.follow_up import Turn, make_standalone
from disputatio.api.asking import in_thread
from disputatio.errors import BudgetSpent, InputError, ReplyError
from disputatio.pipeline import check_question
from disputatio.protocols import Cancel
from disputatio.server.service import Service
from disputatio.server.shapes import AskFields, Name
from disputatio.trace import Trace
from disputatio.types import Usage

_MOST_MESSAGES = 1_000
_MOST_PARTS = 100  # of one message
_TEXTS = ("text", "input_text", "output_text")


class Message(BaseModel):
    """One message of a chat; only texts of users and assistants are read."""

    model_config = ConfigDict(extra="allow")

    role: str = Field(max_length=40)
    content: str | Annotated[list[dict[str, Any]], Field(max_length=_MOST_PARTS)] | None = None


class StreamOptions(BaseModel):
    """Options of a stream; with `include_usage` the last chunk has the usage."""

    model_config = ConfigDict(extra="allow")

    include_usage: bool = False


class AskOptions(AskFields):
    """The options of a chat request: how to answer, and how much of the answer to show."""

    text: Literal["full", "answer"] = Field(
        "full", description="the answer with the other positions and the quotes, or the answer alone"
    )
    model: Name | None = Field(None, description="the language model, one that GET /api/ready lists")


class ChatBody(BaseModel):
    """A request for a completion. Fields without a meaning here (temperature, penalties) are ignored."""

    model_config = ConfigDict(extra="allow")

    model: str = Field(max_length=300)
    messages: Annotated[list[Message], Field(min_length=1, max_length=_MOST_MESSAGES)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    tool_choice: Any = None
    response_format: dict[str, Any] | None = None
    logprobs: bool | None = None
    disputatio: AskOptions | None = None


class ResponseItem(BaseModel):
    """One item of the input of a response: messages are read; reasoning and calls of tools are not."""

    model_config = ConfigDict(extra="allow")

    type: str = Field("message", max_length=60)
    role: str = Field("", max_length=40)
    content: str | Annotated[list[dict[str, Any]], Field(max_length=_MOST_PARTS)] | None = None


class ResponseBody(BaseModel):
    """A request for a response. Fields without a meaning here (instructions, temperature) are ignored."""

    model_config = ConfigDict(extra="allow")

    model: str = Field(max_length=300)
    input: str | Annotated[list[ResponseItem], Field(min_length=1, max_length=_MOST_MESSAGES)]
    stream: bool | None = None
    background: bool | None = None
    previous_response_id: str | None = None
    conversation: Any = None
    tool_choice: Any = None
    text: dict[str, Any] | None = None
    disputatio: AskOptions | None = None

    def messages(self) -> list[Message]:
        if isinstance(self.input, str):
            return [Message(role="user", content=self.input)]
        said = [item for item in self.input if item.type == "message"]
        return [Message(role=item.role, content=item.content) for item in said]


def check_response_supported(body: ResponseBody) -> None:
    """Raise `InputError` for options that change the response and are not supported."""
    if body.previous_response_id is not None or body.conversation is not None:
        name = "conversation" if body.previous_response_id is None else "previous_response_id"
        raise InputError(f"{name}: no conversation is kept here; send the turns before it as input")
    if body.background:
        raise InputError("background: a response is not kept to be fetched; use stream instead")
    if isinstance(body.tool_choice, dict) or body.tool_choice == "required":
        raise InputError("tool_choice: no tools are called here; leave it out")
    form = (body.text or {}).get("format")
    if isinstance(form, dict) and form.get("type") not in (None, "text"):
        raise InputError("text.format: the reply is text; its `disputatio` object has the answer as JSON")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A question, and the turns before it, the oldest first."""

    question: str
    earlier: tuple[Turn, ...] = ()


def check_supported(body: ChatBody) -> None:
    """Raise `InputError` for options that change the reply and are not supported."""
    if body.n not in (None, 1):
        raise InputError("n: there is one answer to a question; leave n out")
    if isinstance(body.tool_choice, dict) or body.tool_choice == "required":
        raise InputError("tool_choice: no tools are called here; leave it out")
    if body.response_format and body.response_format.get("type") not in (None, "text"):
        raise InputError("response_format: the reply is text; its `disputatio` object has the answer as JSON")
    if body.logprobs:
        raise InputError("logprobs: an answer has none; its `disputatio` object has those of positions")


def conversation_of(messages: list[Message], name: str = "messages") -> Conversation:
    """Return the last question of a chat and the turns before it; raises `InputError` if there is none.

    `name` is the field of the request that has the messages.

    >>> conversation_of([Message(role="user", content=[{"type": "text", "text": "Who?"}])]).question
    'Who?'
    """
    turns = [
        Turn(role="user" if message.role == "user" else "assistant", text=text)
        for number, message in enumerate(messages)
        if message.role in ("user", "assistant") and (text := _text(message, f"{name}.{number}")).strip()
    ]
    if not turns or turns[-1].role != "user" or messages[-1].role != "user":
        raise InputError(f"{name}: the last one is to be a question of the user's, as text")
    *earlier, last = turns
    check_question(last.text)
    return Conversation(question=last.text.strip(), earlier=tuple(earlier))


def _text(message: Message, place: str) -> str:
    """Return the text of a message; raises `InputError` for other content in a user's message."""
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    texts = []
    for part in message.content:
        if part.get("type") in _TEXTS and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif message.role == "user":
            kind = str(part.get("type"))[:40]
            raise InputError(f"{place}: {kind!r} is not read here: write the question as text")
    return "\n".join(texts)


# --- the question made to stand alone ----------------------------------------------------------------
Rewriting = Literal["first", "done", "no_model", "unusable"]
_NOTES = {
    "no_model": "there is no language model here that could put what was said before into the question",
    "unusable": "the language model could not put what was said before into the question",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standalone:
    """The question that is asked, and how it was made from the chat's last one (`rewriting`).

    A `first` question needs no rewriting. With `no_model`, or after an `unusable` reply, the question is
    asked as it is, and the answer has a note.
    """

    question: str
    rewriting: Rewriting
    usage: Usage = field(default_factory=Usage)

    @property
    def note(self) -> str:
        """Return the note for the reader; empty if the rewriting worked."""
        why = _NOTES.get(self.rewriting)
        return f"This was asked as it stands: {why}. Name what you mean in the question." if why else ""


async def standalone(
    conversation: Conversation, service: Service, *, model: str | None, client: str
) -> Standalone:
    """Rewrite the last question so that it stands alone; raises `Full`, `LLMError`, `BudgetSpent`."""
    question, earlier = conversation.question, conversation.earlier
    if not earlier:
        return Standalone(question=question, rewriting="first")
    kit = service.kit_of(model)
    if not kit.has_model:
        return Standalone(question=question, rewriting="no_model")
    cancel, trace, limits = Cancel(), Trace(), service.limits
    kit = replace(limits.meter().wrap(kit.with_trace(trace)), cancel=cancel)
    async with service.turns.turn(client):
        work = in_thread(lambda: make_standalone(question, earlier, kit), "disputatio follow-up")
        try:
            async with asyncio.timeout(limits.seconds):
                rewritten = await asyncio.wrap_future(work)
        except TimeoutError as error:
            raise BudgetSpent(f"the question was not understood within {limits.seconds:g} s") from error
        except ReplyError:
            return Standalone(question=question, rewriting="unusable", usage=trace.usage())
        finally:
            cancel.cancel()
    return Standalone(question=rewritten, rewriting="done", usage=trace.usage())
