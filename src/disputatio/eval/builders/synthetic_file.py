"""The file of synthetic questions: a row at a time, so that an interrupted run goes on where it was.

Beside `FILE` stand `FILE.about.json`, what the questions were made from and by whom, and `FILE.failed.jsonl`,
the numbers of which nothing came, with the reasons.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from disputatio.errors import InputError, StoreError
from disputatio.eval.builders.synthesis import Draw, Mix, Synthetic, row_of, synthetic
from disputatio.eval.data.rows import read_text
from disputatio.kit import Kit

if TYPE_CHECKING:
    from disputatio.store.folder_index import FolderIndex
    from disputatio.types import Passage


def synthesize(
    index: FolderIndex,
    out: Path,
    kit: Kit,
    *,
    questions: int,
    mix: Mix,
    seed: int = 0,
    about: Mapping[str, Any] | None = None,
    say: Callable[[Synthetic], None] = lambda _: None,
) -> tuple[int, dict[str, int]]:
    """Make the questions that the file lacks; how many it then has, and of how many nothing came, by reason.

    `about` is kept beside the file, and must be the same when a run goes on. Raises `InputError` where it is
    not or the file is another, `StoreError` for an index without passages, `LLMError`.
    """
    header = json.loads(
        json.dumps({**(about or {}), "seed": seed, "mix": {k: dict(v) for k, v in mix.items()}})
    )
    notes, failures = out.with_name(out.name + ".about.json"), out.with_name(out.name + ".failed.jsonl")
    rows, failed = _begun(out, notes, failures, header)
    done = {row["n"] for row in (*rows, *failed)}
    remaining = [n for n in range(questions) if n not in done]
    count = sum(row["n"] < questions for row in rows)
    reasons: dict[str, int] = {}
    for row in failed:
        if row["n"] < questions:
            reasons[row["fault"]] = reasons.get(row["fault"], 0) + 1
    seen = [row["question"] for row in rows]
    for question in (
        synthetic(remaining, kit, draw_from(index), mix=mix, seed=seed, seen=seen) if remaining else ()
    ):
        if question.question:
            _append(out, row_of(question))
            count += 1
        else:
            _append(
                failures, {"n": question.n, "categories": dict(question.categories), "fault": question.fault}
            )
            reasons[question.fault] = reasons.get(question.fault, 0) + 1
        say(question)
    return count, reasons


def draw_from(index: FolderIndex) -> Draw:
    """Return a passage of the index at random, by the dice given; raises `StoreError` where it holds none."""
    view = index.view()
    live = (
        []
        if view is None
        else [_live(dead, segment.rows) for segment, dead in zip(view.segments, view.dead, strict=True)]
    )
    ends = np.cumsum([len(rows) for rows in live], dtype=np.int64)
    if view is None or not len(ends) or not ends[-1]:
        raise StoreError(f"{index.path}: holds no passages; put some in with: disputatio ingest PATH")

    def draw(dice: random.Random) -> Passage:
        at = dice.randrange(int(ends[-1]))
        which = int(np.searchsorted(ends, at, side="right"))
        before = int(ends[which - 1]) if which else 0
        return view.segments[which].passage(int(live[which][at - before]))

    return draw


def _live(dead: np.ndarray[Any, np.dtype[np.bool_]] | None, rows: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.arange(rows) if dead is None else np.flatnonzero(~dead)


def _begun(
    out: Path, notes: Path, failures: Path, header: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows and the failures that are there; a last line that was cut off by a kill is dropped."""
    if notes.is_file():
        try:
            before = json.loads(read_text(notes))
        except ValueError as error:
            raise InputError(f"{notes}: not JSON: {error}") from error
        for key in sorted({*before, *header}):
            if before.get(key) != header.get(key):
                raise InputError(
                    f"{out}: begun with {key} {json.dumps(before.get(key))}, now it is "
                    f"{json.dumps(header.get(key))}: give another --out, or ask as before"
                )
        return _rows(out), _rows(failures)
    if out.exists():
        raise InputError(f"{out}: is there already and not of this command ({notes.name} is missing)")
    try:
        notes.write_text(json.dumps(header, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{notes}: {error.strerror or error}") from error
    return [], []


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    text = read_text(path)
    complete, _, torn = text.rpartition("\n")
    if torn:
        with path.open("r+b") as file:
            file.truncate(len(f"{complete}\n".encode()) if complete else 0)
    rows = []
    for number, line in enumerate(complete.split("\n") if complete else [], 1):
        try:
            row = json.loads(line)
            if not isinstance(row["n"], int):
                raise TypeError
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"{path}:{number}: not a row of this command") from error
        rows.append(row)
    return rows


def _append(path: Path, row: Mapping[str, Any]) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; what was written is kept") from error
