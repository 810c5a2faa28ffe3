"""The answers that stand in an evaluation's journal beside the scores: read, never written, here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from disputatio.eval.running.run_log import reading

Pair = tuple[str, str]  # entrant's label, example's id


def read_confidences(out: Path) -> dict[Pair, float | None]:
    """The confidence of every answer that was recorded, None where it states none."""
    query = "SELECT entrant, example, json_extract(answer, '$.confidence') FROM records WHERE state = 'done'"
    return {
        (entrant, example): None if confidence is None else float(confidence)
        for entrant, example, confidence in _read(out, query)
    }


def read_answers(out: Path, entrant: str) -> dict[str, Mapping[str, Any]]:
    """The answers of one entrant by the id of their question, as they were recorded."""
    query = "SELECT example, answer FROM records WHERE state = 'done' AND entrant = ?"
    return {example: json.loads(answer) for example, answer in _read(out, query, entrant)}


def _read(out: Path, query: str, *values: str) -> list[tuple[Any, ...]]:
    with reading(out) as database:
        return list(database.execute(query, values))
