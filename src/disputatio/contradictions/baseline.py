"""Baselines: a file of contradictions that were accepted, so that a check fails for new ones alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from disputatio.errors import UNREADABLE, InputError
from disputatio.text import one_line
from disputatio.types import Contradiction

FORMAT = 1
LARGEST = 64 << 20  # bytes of a baseline
_QUOTED = 200  # characters of each quote that the file shows to who reads it


def read_baseline(path: str | Path) -> frozenset[str]:
    """Return the ids that a baseline has accepted; raises `InputError` for any other file."""
    file = Path(path)
    try:
        if file.stat().st_size > LARGEST:
            raise InputError(f"{file}: is larger than {LARGEST >> 20} MB: it is no baseline")
        values = json.loads(file.read_text(encoding="utf-8"))
        if values["format"] != FORMAT:
            raise InputError(f"{file}: is a baseline of format {values['format']!r}, not {FORMAT}")
        return frozenset(str(entry["id"]) for entry in values["accepted"])
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error
    except UNREADABLE as error:
        raise InputError(
            f"{file}: is no baseline (write one with: disputatio check --write-baseline)"
        ) from error


def baseline_text(contradictions: Iterable[Contradiction]) -> str:
    """Return the file that accepts some contradictions: by id, with both quotes for who reviews it."""
    return text_of_entries(map(entry_of, contradictions))


def entry_of(contradiction: Contradiction) -> dict[str, Any]:
    """Return the entry of a contradiction in a baseline; other fields may stand beside these."""
    sides = {"first": contradiction.first, "second": contradiction.second}
    return {
        "id": contradiction.id,
        "kind": contradiction.kind,
        **{
            name: {"document": side.path or side.title, "quote": one_line(side.quote)[:_QUOTED]}
            for name, side in sides.items()
        },
    }


def text_of_entries(entries: Iterable[Mapping[str, Any]]) -> str:
    """Return a baseline with some entries, by their ids."""
    accepted = sorted(entries, key=lambda entry: str(entry["id"]))
    return json.dumps({"format": FORMAT, "accepted": accepted}, ensure_ascii=False, indent=1) + "\n"


def read_entries(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a baseline; raises `InputError` for any other file."""
    read_baseline(path)
    accepted: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["accepted"]
    return accepted
