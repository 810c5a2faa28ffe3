"""How answers and hits show themselves: as JSON, as text, as HTML in a notebook.

The work is done by `disputatio.rendering`, which is imported by its name when it is first used: it decides
no answer, and so it is not part of the code whose hash an evaluation records.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping
from typing import Any, Self


class Serialisable:
    """A noun that can be written as JSON and read back."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values, in their order."""
        fields: dict[str, Any] = _rendering().to_dict(self)
        return fields

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the same as JSON text; controls, marks of direction and halves of characters are escaped."""
        text: str = _rendering().json_text(self.to_dict(), indent=indent)
        return text

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return what `to_dict` wrote, without fields that are not known; raises `InputError` for unfit
        values.
        """
        value: Self = _rendering().from_dict(cls, fields)
        return value


class Presentable(Serialisable):
    """A noun that people read: `str()` of it is plain text, a notebook shows it as HTML."""

    __slots__ = ()

    def __str__(self) -> str:
        text: str = _rendering().text_of(self)
        return text

    def _repr_html_(self) -> str:
        markup: str = _rendering().html_of(self)
        return markup


def reason_of(position: object) -> str:
    """Return the cause of a position in English."""
    sentence: str = importlib.import_module("disputatio.rendering.reasons").reason(position)
    return sentence


def decided_without(
    answer: object, sources: Collection[str], owners: Collection[str], passages: Collection[str]
) -> Any:
    """Return the answer decided again without some passages (`disputatio.what_if`)."""
    what_if = importlib.import_module("disputatio.what_if")
    return what_if.without(answer, sources=sources, owners=owners, passages=passages)


def _rendering() -> Any:
    return importlib.import_module("disputatio.rendering")
