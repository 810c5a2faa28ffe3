"""Reads one streamed reply under the deadlines; everything that a server sends is checked."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from disputatio.errors import Malformed, Timeout
from disputatio.llm.faults import Address, Failed, Unfit, classify_refusal, line_fault, translate
from disputatio.types import Token, Usage

if TYPE_CHECKING:
    import openai

_LONGEST = 4_000_000  # characters of a reply
_MOST_TOKENS = 200_000
THINKING = ("<think>", "</think>")
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")  # what servers call thoughts beside the reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """The seconds after which an endpoint is given up: to `connect`, to the first piece of a reply (headers
    do not count), from each piece to the next, and for a call with its repeats, once it has a place.
    """

    connect: float = 10.0
    first_byte: float = 120.0
    between_tokens: float = 60.0
    total: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A whole reply: its text and end, its tokens, the first one's alternatives, and whether it `thought`."""

    text: str
    finish_reason: Literal["stop", "length"]
    usage: Usage
    tokens: tuple[Token, ...]
    top: tuple[Token, ...]
    thought: bool = False


def without_thinking(received: Received) -> Received:
    """Return a reply without the thoughts between `<think>` marks at its start; all, if without an end."""
    start = received.text.lstrip()
    if not start.startswith(THINKING[0]):
        return received
    thoughts, end, rest = received.text.partition(THINKING[1])
    passed, place = len(thoughts) + len(end), 0
    tokens = []
    for token in received.tokens:
        if place >= passed:
            tokens.append(token)
        place += len(token.text)
    return replace(received, text=rest.lstrip(), tokens=tuple(tokens), top=())


class _Unreadable(Exception):
    """A piece of a reply that is not what the protocol promises."""


@dataclass(slots=True)
class _Reply:
    """The pieces of a reply as they come."""

    text: list[str] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)
    top: tuple[Token, ...] = ()
    finish: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    pieces: int = 0
    length: int = 0
    begun: bool = False
    thought: bool = False

    def add(self, piece: object) -> bool:
        """Add a piece; returns True if it has a part of the reply. Raises `_Unreadable`."""
        data = _require_mapping(piece, "a piece")
        self.usage = _require_mapping(data.get("usage"), "usage") or self.usage
        choices = data.get("choices") or []
        if not isinstance(choices, list):
            raise _Unreadable("choices that are no list")
        if not choices:
            return False
        choice = _require_mapping(choices[0], "a choice")
        finish = choice.get("finish_reason")
        if finish is not None:
            self.finish = str(finish)
        # A server that does not stream sends one whole message instead of deltas.
        delta = _require_mapping(choice.get("delta") or choice.get("message"), "a delta")
        content = delta.get("content")
        if content is not None and not isinstance(content, str):
            raise _Unreadable("content that is no text")
        if content:
            self.text.append(content)
            self.length += len(content)
            self.pieces += 1
        if self.length > _LONGEST:
            raise _Unreadable(f"more than {_LONGEST} characters")
        listed = _require_mapping(choice.get("logprobs"), "logprobs").get("content") or []
        if not isinstance(listed, list):
            raise _Unreadable("logprobs that are no list")
        for entry in listed:
            self._add_token(_require_mapping(entry, "a token"))
        bears = finish is not None or any(value for name, value in delta.items() if name != "role")
        self.begun = self.begun or bears
        self.thought = self.thought or any(delta.get(name) for name in _THOUGHTS)
        return bears

    def _add_token(self, entry: Mapping[str, Any]) -> None:
        if not self.tokens:
            others = entry.get("top_logprobs") or []
            if not isinstance(others, list):
                raise _Unreadable("top_logprobs that are no list")
            read = [_token(_require_mapping(other, "a token")) for other in others]
            self.top = tuple(token for token in read if math.isfinite(token.logprob))
        token = _token(entry)
        if not math.isfinite(token.logprob):
            raise _Unreadable("a log-probability that is no finite number")
        self.tokens.append(token)
        if len(self.tokens) > _MOST_TOKENS:
            raise _Unreadable(f"more than {_MOST_TOKENS} tokens")

    def build_reply(self) -> Received:
        """Return the complete reply; raises `_Unreadable` for one without a proper end."""
        if self.finish not in ("stop", "length"):
            raise _Unreadable(f"the finish reason {self.finish!r}")
        details = self.usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, Mapping) else 0
        written = self.usage.get("completion_tokens_details")
        hidden = written.get("reasoning_tokens") if isinstance(written, Mapping) else 0
        text = _join_surrogates("".join(self.text))
        between = text.lstrip().removeprefix(THINKING[0]).partition(THINKING[1])[0]
        marked = text.lstrip().startswith(THINKING[0]) and bool(between.strip())
        return Received(
            text=text,
            thought=self.thought or marked or _count(hidden) > 0,
            finish_reason="stop" if self.finish == "stop" else "length",
            usage=Usage(
                calls=1,
                prompt_tokens=_count(self.usage.get("prompt_tokens")),
                cached_tokens=_count(cached),
                completion_tokens=_count(self.usage.get("completion_tokens"))
                or len(self.tokens)
                or self.pieces,
            ),
            tokens=tuple(self.tokens),
            top=self.top,
        )


async def receive(
    client: openai.AsyncOpenAI, body: Mapping[str, Any], deadlines: Deadlines, at: Address, ends: float
) -> Received | Failed:
    """Make one call and read its reply, until `ends` on the loop's clock; a fault is returned, not raised."""
    import httpx2
    import openai

    now = asyncio.get_running_loop().time
    reply = _Reply()
    failed: Failed | None = None
    try:
        async with asyncio.timeout_at(min(now() + deadlines.first_byte, ends)) as alarm:
            stream: Any = await client.chat.completions.create(**body, stream=True)
            async with stream:
                kind = stream.response.headers.get("content-type", "").partition(";")[0].strip().lower()
                if kind == "application/json":
                    return _read_whole(reply, await stream.response.aread(), at)
                if kind in ("text/html", "application/xhtml+xml"):
                    raise _Unreadable(f"{kind} where a stream of events was due")
                async for chunk in stream:
                    if reply.add(chunk.to_dict(warnings=False) if hasattr(chunk, "to_dict") else chunk):
                        alarm.reschedule(min(now() + deadlines.between_tokens, ends))
    except TimeoutError:
        late = "total" if now() >= ends else ("between_tokens" if reply.begun else "first_byte")
        failed = Failed(fault=Timeout(late, getattr(deadlines, late), at.shown))
    except openai.OpenAIError as error:
        failed = translate(error, at, deadlines.connect, deadlines.first_byte)
        if reply.begun and isinstance(error, openai.APIConnectionError):
            failed = _broken(at, "the connection broke")
    except httpx2.HTTPError as error:  # which the client lets show in the body of a reply
        failed = Failed(fault=line_fault(type(error).__name__, at.words(str(error)), at))
    except (_Unreadable, ValueError, RecursionError) as error:  # the latter two: no JSON, or no UTF-8
        return _make_malformed(at, error)
    if reply.finish:  # it was complete: what should have followed is no matter
        failed = None
    return failed or _whole(reply, at)


def _read_whole(reply: _Reply, content: bytes, at: Address) -> Received | Failed:
    """Read the reply of a server that does not stream, or the error that it reports with status 200."""
    data = _require_mapping(json.loads(content), "a reply")
    if data.get("error"):
        return classify_refusal(200, data["error"], at)
    reply.add(data)
    if not reply.finish:
        raise _Unreadable("a message without a choice or a finish reason")
    return _whole(reply, at)


def _whole(reply: _Reply, at: Address) -> Received | Failed:
    if not reply.finish:
        return _broken(at, "it stopped without a finish reason")
    try:
        return reply.build_reply()
    except _Unreadable as error:
        return _make_malformed(at, error)


def _make_malformed(at: Address, error: Exception) -> Failed:
    known = isinstance(error, _Unreadable | Unfit)
    what = str(error) if known else f"not JSON in UTF-8 ({type(error).__name__})"
    return Failed(fault=Malformed(f"{at.shown} sent a reply that cannot be used: {at.words(what)}"))


def _broken(at: Address, how: str) -> Failed:
    return Failed(fault=Malformed(f"{at.shown} sent half a reply: {how}"), once=True)


def _require_mapping(value: object, what: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _Unreadable(f"{what} that is no object")
    return value


def _token(entry: Mapping[str, Any]) -> Token:
    text, logprob = entry.get("token"), entry.get("logprob")
    if not isinstance(text, str) or not isinstance(logprob, int | float):
        raise _Unreadable("a token without text or log-probability")
    try:
        return Token(text=_join_surrogates(text), logprob=min(float(logprob), 0.0))
    except OverflowError:
        raise _Unreadable("a log-probability that is no finite number") from None


def _join_surrogates(text: str) -> str:
    """Join halves of characters that were split between pieces; replace lone ones.

    >>> _join_surrogates(chr(0xD83D) + chr(0xDE00)), _join_surrogates("a" + chr(0xD83D))
    ('😀', 'a�')
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _count(value: object) -> int:
    """Read a count of tokens, 0 if the server gives none.

    >>> _count(12), _count(None), _count("many"), _count(-1)
    (12, 0, 0, 0)
    """
    return value if isinstance(value, int) and value > 0 else 0
