"""Nouns as JSON values, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from disputatio.errors import InputError
from disputatio.types import Passage, Position

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_Noun = TypeVar("_Noun")

# What may steer a terminal or a page: controls that JSON leaves as they are, marks that turn the direction
# of writing, and halves of characters.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def to_dict(noun: object) -> dict[str, Any]:
    """Return the fields of a noun (a dataclass) as JSON values, in their order.

    A passage has its page beside its fields, where its metadata names one. A position has the kind of its
    cause as `cause`, the parameters as `details` and the English as `reason`.

    >>> from disputatio.types import Source
    >>> to_dict(Source(name="census.example", reliability=0.9))["reliability"]
    0.9
    """
    return cast("dict[str, Any]", _json_value(noun))


def from_dict(kind: type[_Noun], values: Mapping[str, Any]) -> _Noun:
    """Return the noun that `to_dict` wrote; unknown fields are left out.

    Raises `InputError` that names the first field whose value does not fit.
    """
    from pydantic import ValidationError

    try:
        return cast("_Noun", _reader(cast("Any", kind)).validate_python(_noun_values(_with_details(values))))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise InputError(f"{kind.__name__}: {where}: {first['msg']}") from error


@cache
def _reader(kind: type[Any]) -> TypeAdapter[Any]:
    """Return the validator of a noun, which takes some 20 ms to make."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def json_text(value: object, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """Return JSON that any terminal or page may show: what could steer it is escaped.

    >>> json_text(["caf\u00e9", "\u202e"])
    '["café", "\\\\u202e"]'
    """
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _json_value(value: object) -> Any:
    if isinstance(value, Passage):
        page = value.metadata.get("page")
        return _fields(value) | ({"page": page} if page is not None else {})
    if isinstance(value, Position):
        return _position(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    return value


def _position(position: Position) -> dict[str, Any]:
    """Return a position with its cause apart: the kind, the English, and the parameters last."""
    fields = _fields(position)
    details = fields.pop("cause")
    first = {name: fields.pop(name) for name in ("answer", "subject", "verdict")}
    return first | {"cause": details.pop("kind"), "reason": position.reason} | fields | {"details": details}


def _noun_values(value: object) -> Any:
    """Values as the nouns hold them: the cause of a position with its parameters."""
    if isinstance(value, Mapping):
        values = {key: _noun_values(item) for key, item in value.items()}
        if isinstance(values.get("cause"), str) and isinstance(values.get("details"), Mapping):
            return values | {"cause": {**values["details"], "kind": values["cause"]}}
        return values
    if isinstance(value, list | tuple):
        return [_noun_values(item) for item in value]
    return value


def _with_details(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values of an answer with `details`, also of one that was written before it had them."""
    basis = values.get("basis")
    if isinstance(values.get("looked"), Mapping):
        values = {**values, "details": {"looked": values["looked"]}}
    if isinstance(basis, Mapping) and "beliefs" in basis:
        recorded = {"beliefs": basis["beliefs"], "similarities": basis.get("judgements", {})}
        values = {**values, "basis": {**basis, "details": recorded}}
    return values


def _fields(noun: Any) -> dict[str, Any]:
    return {field.name: _json_value(getattr(noun, field.name)) for field in fields(noun)}
