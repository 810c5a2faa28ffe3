"""Model calls by content: the key that names one, and its result as JSON and back.

Nothing of a call enters here but what decides its result: no clock, no path, no role.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from disputatio.types import Choice, Completion, Prompt, Sampling, Token, Usage

FORMAT = 1
"""Part of every key: raise it when what a key or a value means changes."""


def completion_key(model: str, engine: str, prompt: Prompt, sampling: Sampling) -> str:
    """Return the name of a completion; the order of a schema's fields counts, as it does for an engine.

    >>> from disputatio.types import Message
    >>> prompt = Prompt(messages=(Message(role="user", content="Hi"),))
    >>> a = completion_key("local:m", "e 1", prompt, Sampling())
    >>> a == completion_key("local:m", "e 1", prompt, Sampling(temperature=0)), len(a)
    (True, 64)
    >>> a == completion_key("local:m", "e 2", prompt, Sampling())
    False
    """
    how = {
        "max_tokens": sampling.max_tokens,
        "temperature": float(sampling.temperature),
        "top_p": float(sampling.top_p),
        "seed": sampling.seed,
        "schema": sampling.schema,
    }
    return _key("complete", model, engine, prompt, how)


def choice_key(model: str, engine: str, prompt: Prompt, options: Sequence[str]) -> str:
    """Return the name of a choice among options, whose order counts."""
    return _key("choose", model, engine, prompt, list(options))


def _key(kind: str, model: str, engine: str, prompt: Prompt, how: object) -> str:
    messages = [[message.role, message.content] for message in prompt.messages]
    text = canonical([FORMAT, model, engine, kind, messages, how])
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def canonical(value: object) -> str:
    """Return JSON with nothing to choose about it: ASCII, no spaces, mappings in the order they have."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "item"):  # a number of numpy's
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot stand in a journal")


def encode(result: Completion | Choice) -> str:
    """Return a completion or choice as canonical JSON, without whether it came from the journal."""
    value: dict[str, object]
    if isinstance(result, Completion):
        tokens = [[token.text, token.logprob] for token in result.tokens]
        value = {"text": result.text, "finish_reason": result.finish_reason, "tokens": tokens}
    else:
        value = {"options": result.options, "logprobs": result.logprobs, "bounded": result.bounded}
    return canonical({**value, "usage": asdict(result.usage)})


def decode_completion(text: str) -> Completion:
    """Return what `encode` made of a completion."""
    value = json.loads(text)
    tokens = tuple(Token(text=token, logprob=logprob) for token, logprob in value["tokens"])
    return Completion(
        text=value["text"],
        finish_reason=value["finish_reason"],
        usage=Usage(**value["usage"]),
        tokens=tokens,
    )


def decode_choice(text: str) -> Choice:
    """Return what `encode` made of a choice."""
    value = json.loads(text)
    return Choice(
        options=tuple(value["options"]),
        logprobs=tuple(value["logprobs"]),
        bounded=tuple(value["bounded"]),
        usage=Usage(**value["usage"]),
    )
