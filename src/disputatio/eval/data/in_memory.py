"""Examples that a program holds: which data set they are, and what is measured on them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from disputatio.errors import InputError
from disputatio.eval.data.datasets import Identity
from disputatio.eval.data.formats.catalogue import FORMATS
from disputatio.eval.data.formats.own import FORMATS as PLAIN
from disputatio.types import Example

NAME = "examples"  # of a data set whose examples name none


def as_dataset(
    examples: Sequence[Example], *, limit: int | None = None, rows: Sequence[int] | None = None
) -> tuple[list[Example], list[Identity]]:
    """Return the examples with the name of their data set in their metadata, and an identity for each name.

    Examples of `load` keep their data set and its metrics; others are the data set `examples`, measured as
    `jsonl` is. `rows` keeps the examples of these row numbers, `limit` the first so many. Raises
    `InputError` where nothing is left, for a row that is not there and for an id that stands twice.
    """
    if limit is not None and limit < 1:
        raise InputError(f"a limit of {limit} leaves no rows")
    if rows is not None:
        by_row = {example.row: example for example in examples}
        for row in rows:
            if row not in by_row:
                raise InputError(f"the examples have no row {row} (rows count from 0)")
        examples = [by_row[row] for row in dict.fromkeys(rows)]
    named = [_named(example) for example in examples[:limit]]
    if not named:
        raise InputError("no examples")
    ids: set[str] = set()
    for example in named:
        if not example.id or example.id in ids:
            raise InputError(f"row {example.row}: the id {example.id!r} must be there, and stand once")
        ids.add(example.id)
    names = dict.fromkeys(example.metadata["dataset"] for example in named)
    return named, [_identity(name, named) for name in names]


def _named(example: Example) -> Example:
    if example.metadata.get("dataset"):
        return example
    return replace(example, metadata={**example.metadata, "dataset": NAME})


def _identity(name: str, examples: Sequence[Example]) -> Identity:
    """Return the identity of a data set by the content of its examples."""
    digest = hashlib.sha256()
    for example in examples:
        if example.metadata["dataset"] == name:
            digest.update(json.dumps(asdict(example), sort_keys=True, default=str).encode())
    form = FORMATS.get(name.partition(":")[0], PLAIN[0])
    return Identity(name=name, sha256=digest.hexdigest(), metrics=form.metrics, judged=form.judged)
