"""Rows of data files: where one stands, and its fields read with an error that names the place."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from disputatio.errors import InputError
from disputatio.text import content_id, normalise


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a row stands: the file and its number from 0. Errors count lines from 1.

    `dataset` is what tables call the data set: `ramdocs:dev.jsonl`. `name` is the row's own in a file
    that is not one of lines.
    """

    dataset: str
    path: Path
    row: int
    name: str = ""

    def wrong(self, reason: str) -> InputError:
        """The error that names this place."""
        if self.name:
            return InputError(f"{self.path}: {self.name}: {reason}")
        return InputError(f"{self.path}:{self.row + 1}: {reason}")


def read_text(path: Path) -> str:
    """A file's text; raises `InputError` where it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from error


def string(row: Mapping[str, Any], key: str, place: Place, at: str = "") -> str:
    """A field that must be text, and not empty."""
    found = value(row, key, place, at)
    if not isinstance(found, str) or not found.strip():
        raise place.wrong(f"{at}{key} must be text, and not empty")
    return found


def optional(row: Mapping[str, Any], key: str, place: Place) -> str:
    """A field that may be text, null or missing."""
    found = row.get(key)
    if found is not None and not isinstance(found, str):
        raise place.wrong(f"{key} must be text")
    return found or ""


def number(row: Mapping[str, Any], key: str, place: Place) -> float:
    """A field that must be a number."""
    found = value(row, key, place)
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        raise place.wrong(f"{key} must be a number")
    return float(found)


def items(row: Mapping[str, Any], key: str, kind: type, place: Place) -> list[Any]:
    """A field that must be a list of texts, or of objects."""
    found = value(row, key, place)
    if not isinstance(found, list) or not all(isinstance(item, kind) for item in found):
        raise place.wrong(f"{key} must be a list of {'objects' if kind is dict else 'texts'}")
    return found


def value(row: Mapping[str, Any], key: str, place: Place, at: str = "") -> Any:
    """A field that must be there."""
    if key not in row:
        raise place.wrong(f"the field {at}{key} is missing")
    return row[key]


def answers(row: Mapping[str, Any], key: str, place: Place, *, needed: bool = True) -> tuple[str, ...]:
    """The answers of a list, each once (as they compare), in order."""
    unique: dict[str, str] = {}
    for one in items(row, key, str, place):
        unique.setdefault(normalise(one), one)
    unique.pop("", None)
    if needed and not unique:
        raise place.wrong(f"{key} holds no answer")
    return tuple(unique.values())


def example_id(row: Mapping[str, Any], place: Place) -> str:
    """The name of an example: of its data set, its place there and its content."""
    return content_id("x", place.dataset, str(place.row), json.dumps(row, sort_keys=True))
