"""Shared steps for every agent's reply: strict parsing, and whether an answer is in its passage."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from disputatio.errors import ReplyError
from disputatio.text import add_headings, fence
from disputatio.types import Abstention, Completion, Passage, Reply
from disputatio.values import bears, states
from disputatio.versions.dates import get_stated_date

MOST_CHARACTERS = 8_000  # a longer reply is unusable
_SHOWN = 80  # characters of a reply that is no JSON
TEXT: Mapping[str, Any] = {"type": "string"}


def object_of(**fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the JSON schema of an object with these fields, all of them required, and no others."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def list_of(items: Mapping[str, Any], *, most: int | None = None) -> Mapping[str, Any]:
    """Return the JSON schema of a list of at most `most` items."""
    return {"type": "array", "items": items, **({} if most is None else {"maxItems": most})}


def shown(passage: Passage) -> str:
    """Return a passage as an agent reads it: title, headings and stated date, then its text in a fence."""
    title = add_headings(passage.title, passage.metadata.get("heading", ""), passage.text)
    head = [f"Title: {title}"] if title else []
    head += [f"Date: {date}"] if (date := get_stated_date(passage)) else []
    return fence("passage", "\n".join([*head, passage.text]))


def echoes(question: str, answer: str) -> bool:
    """Return whether an answer only repeats words of the question, unless the question offers a choice.

    >>> echoes("Where is Costa Maya?", "Costa Maya"), echoes("Is it red or blue?", "blue")
    (True, False)
    """
    return states(question, answer) and not states(question, "or")


def stands_in(passage: Passage, answer: str) -> bool:
    """Return whether an answer is in the words of a passage, or a bare yes or no."""
    return bears(f"{passage.title} {passage.text}", answer)


def why_none(replies: Sequence[Reply]) -> Abstention:
    """Return why no agent has an answer: a fault if every reply was unusable, else no evidence."""
    return "fault" if replies and all(reply.fault for reply in replies) else "no_evidence"


def parse_object(completion: Completion, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON object that a reply must be; raises `ReplyError` with the reason.

    >>> from disputatio.types import Usage
    >>> reply = Completion(text='{"year": "1921"}', finish_reason="stop", usage=Usage())
    >>> parse_object(reply, {"type": "object", "properties": {"year": {"type": "string"}}})
    {'year': '1921'}
    """
    raw = completion.text
    if completion.finish_reason != "stop":
        raise ReplyError("it was cut off before its end", raw)
    if len(raw) > MOST_CHARACTERS:
        raise ReplyError(f"it has {len(raw)} characters, more than {MOST_CHARACTERS}", raw)
    try:
        fields = json.loads(raw, object_pairs_hook=_no_twice)
    except (ValueError, RecursionError) as error:
        begins = raw.strip()[:_SHOWN]
        kind = "" if begins[:1] in ("", "{", "[", '"', "`") else "prose, "
        raise ReplyError(f"it is {kind}not one JSON object: it begins {begins!r}", raw) from error
    fault = _breach(fields, schema)
    if fault:
        raise ReplyError(fault, raw)
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ReplyError("it holds half a character", raw) from error
    return dict(fields)


def _no_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a field stands twice")
    return dict(pairs)


def _breach(value: object, schema: Mapping[str, Any], where: str = "the reply") -> str:
    """Return how `value` breaks the schema (the part of JSON Schema that agents use), else ""."""
    if "enum" in schema:
        return "" if value in schema["enum"] else f"{where} is none of {schema['enum']}"
    kind = schema["type"]
    if kind == "object":
        if not isinstance(value, dict):
            return f"{where} is not an object"
        names = schema["properties"]
        if set(value) != set(names):
            return f"{where} has the fields {sorted(value)}, not {sorted(names)}"
        return next((bad for n in names if (bad := _breach(value[n], names[n], f"{n!r}"))), "")
    if kind == "array":
        if not isinstance(value, list):
            return f"{where} is not a list"
        if len(value) > schema.get("maxItems", len(value)):
            return f"{where} has {len(value)} items"
        return next(
            (bad for item in value if (bad := _breach(item, schema["items"], f"an item of {where}"))), ""
        )
    if kind == "number":
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return "" if is_number else f"{where} is not a number"
    return "" if isinstance(value, str) else f"{where} is not text"
