"""Baselines: a file of contradictions that were accepted, so that a check fails for new ones alone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from disputatio.errors import UNREADABLE, InputError
from disputatio.text import one_line
from disputatio.types import Contradiction

FORMAT = 1
LARGEST = 64 << 20  # bytes of a baseline
_QUOTED = 200  # characters of each quote that the file shows to who reads it


def read_baseline(path: str | Path) -> frozenset[str]:
    """Return the ids that a baseline has accepted; raises `InputError` for a file that is none."""
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
    entries: list[dict[str, Any]] = [
        {
            "id": each.id,
            "kind": each.kind,
            "first": {
                "document": each.first.path or each.first.title,
                "quote": one_line(each.first.quote)[:_QUOTED],
            },
            "second": {
                "document": each.second.path or each.second.title,
                "quote": one_line(each.second.quote)[:_QUOTED],
            },
        }
        for each in sorted(contradictions, key=lambda each: each.id)
    ]
    return json.dumps({"format": FORMAT, "accepted": entries}, ensure_ascii=False, indent=1) + "\n"
