"""The answers that stand in an evaluation's journal beside the scores: read, never written, here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from disputatio.eval.running.run_log import reading
from disputatio.eval.running.run_log_file import FILE, read_passages, verify_row

Pair = tuple[str, str]  # entrant's label, example's id


def read_confidences(out: Path) -> dict[Pair, float | None]:
    """Return the confidence of every answer that was recorded, None where it states none."""
    query = "SELECT entrant, example, json_extract(answer, '$.confidence') FROM records WHERE state = 'done'"
    return {
        (entrant, example): None if confidence is None else float(confidence)
        for entrant, example, confidence in _read(out, query)
    }


def read_answers(out: Path, entrant: str) -> dict[str, Mapping[str, Any]]:
    """Return the answers of one entrant by the id of their question, as they were recorded."""
    query = "SELECT example, answer FROM records WHERE state = 'done' AND entrant = ?"
    return {example: json.loads(answer) for example, answer in _read(out, query, entrant)}


def read_answer(out: Path, entrant: str, example: str) -> dict[str, Any] | None:
    """Return one answer as it was given, with its passages; None where there is none.

    Raises `InputError` where the answer or a passage is not what was written.
    """
    query = "SELECT n, example, entrant, state, body, answer, detail FROM records"
    with reading(out) as database:
        row = database.execute(
            f"{query} WHERE state = 'done' AND entrant = ? AND example = ?", (entrant, example)
        ).fetchone()
        if row is None:
            return None
        verify_row(database, out / FILE, "records", *row)
        fields: dict[str, Any] = json.loads(row[5])
        kept = read_passages(database, out / FILE, fields["passages"])
    fields["passages"] = [kept[name] for name in fields["passages"]]
    return fields


def _read(out: Path, query: str, *values: str) -> list[tuple[Any, ...]]:
    with reading(out) as database:
        return list(database.execute(query, values))
