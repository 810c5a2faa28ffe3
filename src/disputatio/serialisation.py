"""Nouns as JSON values, and back; it knows dataclasses, and none of the nouns."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Self, cast

from disputatio.errors import InputError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

# What may steer a terminal or a page: controls that JSON leaves as they are, marks that turn the direction
# of writing, and halves of characters.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class Serialisable:
    """A noun that can be written as JSON and read back."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values, in their order."""
        return fields_of(self)

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the same as JSON text; controls, marks of direction and halves of characters are escaped."""
        return json_text(self.to_dict(), indent=indent)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote, and leave out unknown fields.

        Raises `InputError` that names the first field whose value does not fit.
        """
        from pydantic import ValidationError

        try:
            return cast(
                "Self", _reader(cast("Any", cls)).validate_python(_with_causes(cls.of_earlier(values)))
            )
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "the whole"
            raise InputError(f"{cls.__name__}: {where}: {first['msg']}") from error

    @classmethod
    def of_earlier(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Convert what an earlier version wrote; a noun whose fields changed overrides this."""
        return values


def fields_of(noun: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as JSON values, in their order."""
    return {field.name: json_value(getattr(noun, field.name)) for field in fields(noun)}


def json_value(value: object) -> Any:
    """Convert nouns, mappings and sequences to what JSON has."""
    if isinstance(value, Serialisable):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return fields_of(value)
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    return value


def json_text(value: object, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """Return JSON that any terminal or page may show: what could steer it is escaped.

    >>> json_text(["caf\u00e9", "\u202e"])
    '["café", "\\\\u202e"]'
    """
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


@cache
def _reader(kind: type[Any]) -> TypeAdapter[Any]:
    """Return the validator of a noun, which takes some 20 ms to make."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _with_causes(value: object) -> Any:
    """Put the `details` of a position into its `cause`, where the nouns hold them."""
    if isinstance(value, Mapping):
        values = {key: _with_causes(item) for key, item in value.items()}
        if isinstance(values.get("cause"), str) and isinstance(values.get("details"), Mapping):
            return values | {"cause": {**values["details"], "kind": values["cause"]}}
        return values
    if isinstance(value, list | tuple):
        return [_with_causes(item) for item in value]
    return value
