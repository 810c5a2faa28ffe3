"""The format of a data set: its loader, the fields that identify its rows, and its metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from disputatio.eval.data.rows import Place
from disputatio.types import Example

Loader = Callable[[Mapping[str, Any], Place], Example]
Rows = Iterable[tuple[str, Mapping[str, Any]]]
"""Rows with the names that messages give them, empty in a file of lines."""

BY_ANSWER = ("em", "precision", "recall", "f1")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetFormat:
    """A data set's file format: who reads it, what its rows have, the metrics it defines.

    `origin` is its paper and where it is published, `licence` as stated there, `shape` the kind of file,
    `measure` in words what counts. `expects` is how many answers of a question are right where the task
    says so. `passages` is false where the rows carry none, so that an index is to be searched. `judged`
    where only a judge can score its answers.

    `shapes` are the fields by which its rows are known, one tuple a published variant. `parted` where its
    rows belong to parts; `views` are parts that every row has, of which the first is meant where none is
    named. `whole` takes the rows out of a file that is one JSON object. `columns` names those of a table
    without a head, `quoted` whether its cells may stand in quotes. `gather` finds in all rows of a file
    what one of them does not tell (`Place.facts`). `files` are the patterns of its files in a folder, the
    best first; all that match one are read. `beside` are files in the same folder that are read too, if
    they are there.
    """

    name: str
    description: str
    origin: str
    licence: str
    shape: str
    fields: str
    measure: str
    metrics: tuple[str, ...]
    loader: Loader
    shapes: tuple[tuple[str, ...], ...]
    expects: Literal["one", "several", ""] = ""
    passages: bool = True
    parted: bool = False
    judged: bool = False
    views: tuple[str, ...] = ()
    whole: Callable[[Any, Path], Rows] | None = None
    columns: tuple[str, ...] = ()
    quoted: bool = True
    gather: Callable[[Sequence[Mapping[str, Any]], Path], Mapping[str, Any]] | None = None
    files: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    def knows(self, row: Mapping[str, Any]) -> int:
        """Count the fields of the variant that a row has all of; 0 if it has all of none."""
        return max((len(keys) for keys in self.shapes if all(key in row for key in keys)), default=0)
