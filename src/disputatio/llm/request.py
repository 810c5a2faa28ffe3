"""A request to an endpoint in the project's types, and its JSON body."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from disputatio.text import content_id
from disputatio.types import Message, Prompt, Sampling, Token

_SCHEMA_WORDS = "Reply with one JSON object and nothing else. It must be valid against this JSON schema:\n"
_UNKNOWN = re.compile(
    r"unsupported|not (?:support|permitted|allowed|available)|unrecogni|unknown|unexpected|does not accept",
    re.IGNORECASE,
)
NOTHING: Mapping[str, Any] = MappingProxyType({})
_OPTIONAL = ("max_tokens", "temperature", "top_p", "seed", "stream_options", "logprobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call, with so many `top` alternatives of the first token. A schema is `prompted` where a server
    holds to none; `fixed` is a call about log-probabilities or a schema, not to be repeated without.
    """

    prompt: Prompt
    sampling: Sampling
    top: int = 0
    logprobs: bool = True
    prompted: bool = False
    fixed: bool = False


def body(
    request: Request, model: str, dropped: Collection[str], extra: Mapping[str, Any] = NOTHING
) -> dict[str, Any]:
    """Make the JSON body of a request, with `extra` fields and without those that are refused.

    >>> ask = Request(prompt=Prompt(messages=(Message(role="user", content="Hi"),)), sampling=Sampling())
    >>> body(ask, "m", {"max_tokens", "temperature", "seed", "logprobs", "stream_options"})
    {'model': 'm', 'messages': [{'role': 'user', 'content': 'Hi'}], 'max_completion_tokens': 256}
    """
    sampling = request.sampling
    messages = request.prompt.messages
    made: dict[str, Any] = {"model": model, "messages": []}
    optional: dict[str, Any] = {
        "temperature": sampling.temperature,
        "max_tokens": sampling.max_tokens,
        "seed": sampling.seed,
        "stream_options": {"include_usage": True},
    }
    if sampling.top_p != 1.0:
        optional["top_p"] = sampling.top_p
    if request.logprobs or request.top:
        optional["logprobs"] = True
    made |= {name: value for name, value in optional.items() if name not in dropped}
    beside = {name: value for name, value in extra.items() if name not in dropped}
    if beside:
        made["extra_body"] = beside
    if "max_tokens" in dropped:
        made["max_completion_tokens"] = sampling.max_tokens
    if request.top:
        made |= {"logprobs": True, "top_logprobs": request.top}
    if sampling.schema is not None:
        if request.prompted or schema_mark(sampling) in dropped:
            messages = with_schema(messages, sampling.schema)
        else:
            made["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "strict": True, "schema": sampling.schema},
            }
    made["messages"] = [{"role": message.role, "content": sendable(message.content)} for message in messages]
    return made


def sendable(text: str) -> str:
    """Replace characters that cannot be encoded (lone surrogates) by question marks.

    >>> sendable("café " + chr(0xD800))
    'café ?'
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def parameter_refused(
    made: dict[str, Any], request: Request, refusal: str, extra: Mapping[str, Any] = NOTHING
) -> str:
    """Find the parameter that an endpoint refused by name and that can be left out; empty if none.

    >>> ask = Request(prompt=Prompt(messages=()), sampling=Sampling())
    >>> parameter_refused({"temperature": 0.0}, ask, "Unsupported value: 'temperature'")
    'temperature'
    >>> parameter_refused({"temperature": 9.0}, ask, "temperature must be at most 2")
    ''
    """
    named_schema = re.search(r"response_format|json_schema|\bschema\b", refusal, re.IGNORECASE)
    if "response_format" in made and named_schema and not request.fixed:
        return schema_mark(request.sampling)
    if not _UNKNOWN.search(refusal):
        return ""
    for name in extra:
        # A model that cannot think refuses to be told not to: Ollama says so of `think`.
        if name in made.get("extra_body", ()) and (
            name in refusal or (name == "reasoning_effort" and "think" in refusal)
        ):
            return name
    names = [name for name in _OPTIONAL if name in made and not (request.fixed and name == "logprobs")]
    return next((name for name in names if re.search(rf"\b{name}\b", refusal)), "")


def schema_mark(sampling: Sampling) -> str:
    return content_id("schema:", json.dumps(sampling.schema, sort_keys=True))


def with_schema(messages: tuple[Message, ...], schema: Mapping[str, Any]) -> tuple[Message, ...]:
    """State a schema in the system's turn, which agents share as a prefix."""
    words = _SCHEMA_WORDS + json.dumps(schema, ensure_ascii=False)
    if messages and messages[0].role == "system":
        first = Message(role="system", content=f"{messages[0].content}\n\n{words}")
        return (first, *messages[1:])
    return (Message(role="system", content=words), *messages)


# --- options ------------------------------------------------------------------------------------------
# White space as text, and as the vocabularies of byte-level and sentence-piece tokenizers spell it.
_BLANK = " \t\r\n\u0120\u010a\u2581"
_LEAST_REST = 1e-6  # what rounding may hide of the probability that is not listed


def score_options(options: Sequence[str], top: Sequence[Token]) -> tuple[tuple[float, ...], tuple[bool, ...]]:
    """Compute the natural-log probability of each option, and whether it is only an upper bound.

    The tokens that begin an option are added up: case and outer white space aside, a token counts
    for the option that it equals, or else for the only option that it is a prefix of; one that
    begins several options counts for none. An option without a token gets the smaller of the
    least probability listed and all that is not listed.

    >>> top = [Token(text=" Yes", logprob=math.log(0.6)), Token(text="yes", logprob=math.log(0.3)),
    ...        Token(text="Maybe", logprob=math.log(0.06))]
    >>> logprobs, bounded = score_options(["Yes", "No"], top)
    >>> [round(math.exp(one), 3) for one in logprobs], bounded
    ([0.9, 0.04], (False, True))
    >>> tokens = [Token(text="un", logprob=math.log(0.7)), Token(text="s", logprob=math.log(0.2))]
    >>> logprobs, bounded = score_options(["unsupported", "supported", "silent"], tokens)
    >>> [round(math.exp(one), 3) for one in logprobs], bounded
    ([0.7, 0.1, 0.1], (False, True, True))
    """
    words = [option.strip(_BLANK).casefold() for option in options]
    listed = [token for token in top if math.isfinite(token.logprob)]
    collected: list[list[float]] = [[] for _ in options]
    for token in listed:
        owner = _owner(token.text.strip(_BLANK).casefold(), words)
        if owner is not None:
            collected[owner].append(token.logprob)
    rest = 1.0 - math.fsum(math.exp(token.logprob) for token in listed)
    least = min([token.logprob for token in listed], default=0.0)
    bound = min(least, math.log(max(rest, _LEAST_REST)), 0.0)
    logprobs = tuple(min(0.0, _logsumexp(logs)) if logs else bound for logs in collected)
    return logprobs, tuple(not logs for logs in collected)


def _owner(token: str, words: Sequence[str]) -> int | None:
    """Return the index of the one option that a token begins, None when there is none or several."""
    if not token:
        return None
    equal = [index for index, option in enumerate(words) if option == token]
    begun = equal or [index for index, option in enumerate(words) if option.startswith(token)]
    return begun[0] if len(begun) == 1 else None


def _logsumexp(logs: Sequence[float]) -> float:
    """Compute the log of a sum of exponentials.

    >>> round(math.exp(_logsumexp([math.log(0.25), math.log(0.5)])), 6)
    0.75
    """
    top = max(logs)
    return top + math.log(math.fsum(math.exp(log - top) for log in logs))
