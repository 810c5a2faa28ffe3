"""The abilities of a model at a server, for `disputatio doctor --try`; `Endpoint.try_out` makes the calls.

Which models a server has, and how much they read at once, is asked without a model: servers tell it in lists
of different forms, of which each is read as far as it goes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from disputatio.llm.connection import Connection
from disputatio.llm.request import Request
from disputatio.types import Capabilities, Message, Prompt, Sampling, Usage

if TYPE_CHECKING:
    import openai

Thinking = Literal["none", "switchable", "always"]

# The list of every server, then those of Ollama, LM Studio and llama.cpp, which tell the context in use.
_LISTS = ("models", "/api/ps", "/api/v0/models", "/props")
# What the lists call the tokens that a model reads at once: those in use before those it was trained with.
_IN_USE = ("loaded_context_length", "n_ctx", "max_model_len")
_TRAINED = ("context_length", "context_window", "max_context_length", "n_ctx_train")
_SECONDS = 5.0

_RULES = " ".join(f"Rule {number}: no word has more than {number} letters." for number in range(3, 30))
_SAMPLING = Sampling(max_tokens=64)
REPEATED, PUZZLE = (
    Request(prompt=Prompt(messages=messages), sampling=_SAMPLING, logprobs=False)
    for messages in (
        (Message(role="system", content=_RULES), Message(role="user", content="Say yes.")),
        (Message(role="user", content="How many vowels has the word lighthouse? Reply with a number."),),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A language model at a server as it was found.

    `listed` is None where the server lists no models, `context_tokens` where it does not tell.
    `cached_tokens` are those of a prompt of `prompt_tokens` that was sent twice. `thinking` is `always` for a
    model that cannot be told not to think.
    """

    capabilities: Capabilities
    listed: bool | None
    context_tokens: int | None
    cached_tokens: int
    prompt_tokens: int
    thinking: Thinking
    usage: Usage


def read_lists(connection: Connection) -> tuple[bool | None, int | None]:
    """Return whether a server lists the model, and the tokens it reads at once; None if that is not told."""
    replies = connection.run([partial(_read_list, path) for path in _LISTS])
    lists = [list(_entries(reply)) for reply in replies]
    model = connection.at.model
    ours = [
        entry
        for entries in lists
        for entry in entries
        if _names(entry) & {model, f"{model}:latest"} or "default_generation_settings" in entry
    ]
    sizes = (_size(entry, key) for key in _IN_USE + _TRAINED for entry in ours)
    listed = any(_names(entry) & {model, f"{model}:latest"} for entry in lists[0]) if lists[0] else None
    return listed, next((size for size in sizes if size), None)


async def _read_list(path: str, client: openai.AsyncOpenAI, ends: float) -> object:
    """Ask for one list; None where the server has none such."""
    import httpx2
    import openai

    # A path from the root is beside that of the protocol.
    url = f"/{path}" if path == "models" else str(client.base_url.copy_with(path=path, query=None))
    late = min(ends, asyncio.get_running_loop().time() + _SECONDS)
    try:
        async with asyncio.timeout_at(late):
            reply = await client.get(url, cast_to=httpx2.Response)
        return json.loads(reply.content)
    except (openai.OpenAIError, httpx2.HTTPError, TimeoutError, ValueError, RecursionError):
        return None  # `Unfit` is a ValueError


def _entries(reply: object) -> Iterator[Mapping[str, Any]]:
    """Yield the models of a list, and a reply that is about one model."""
    if not isinstance(reply, Mapping):
        return
    for key in ("data", "models"):
        listed = reply.get(key)
        yield from (
            entry for entry in (listed if isinstance(listed, list) else ()) if isinstance(entry, Mapping)
        )
    if isinstance(reply.get("default_generation_settings"), Mapping):
        yield reply


def _names(entry: Mapping[str, Any]) -> set[str]:
    return {str(entry[key]) for key in ("id", "name", "model") if entry.get(key)}


def _size(entry: Mapping[str, Any], key: str) -> int:
    """Return a positive number of an entry, or of what it holds about the engine; 0 if there is none."""
    for holder in (entry, entry.get("meta"), entry.get("default_generation_settings")):
        size = holder.get(key) if isinstance(holder, Mapping) else None
        if type(size) is int and size > 0:
            return size
    return 0
