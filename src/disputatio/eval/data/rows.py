"""Rows of data files: where one stands, and its fields read with an error that names the place."""

from __future__ import annotations

import ast
import json
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from disputatio.errors import InputError
from disputatio.text import content_id, squad_normalise
from disputatio.types import Example, Passage

_LONGEST_LITERAL = 1 << 20  # characters of a list that stands in one cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place of a row: its file and its number from 0. Errors count lines from 1.

    `dataset` is what tables call the data set: `ramdocs:dev.jsonl`. `name` is the row's own in a file
    that is not one of lines. `line` is its line from 0 where that is another number, as in the second
    file of a folder. `part` is the part that was asked for, empty for all; `facts` is what the format
    found out of the file as a whole.
    """

    dataset: str
    path: Path
    row: int
    name: str = ""
    line: int | None = None
    part: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def wrong(self, reason: str) -> InputError:
        if self.name:
            return InputError(f"{self.path}: {self.name}: {reason}")
        line = self.row if self.line is None else self.line
        return InputError(f"{self.path}:{line + 1}: {reason}")

    def example(
        self,
        row: Mapping[str, Any],
        question: str,
        *,
        gold: tuple[str, ...] = (),
        wrong: tuple[str, ...] = (),
        passages: tuple[Passage, ...] = (),
        **metadata: Any,
    ) -> Example:
        """Return the example of the row here; its id names its data set, its place there and its content."""
        content = json.dumps(row, sort_keys=True, default=str)
        return Example(
            id=content_id("x", self.dataset, str(self.row), content),
            row=self.row,
            question=question,
            gold=gold,
            wrong=wrong,
            passages=passages,
            metadata={"dataset": self.dataset, **metadata},
        )


def read_text(path: Path) -> str:
    """Return a file's text; raises `InputError` where it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from error


def string(row: Mapping[str, Any], key: str, place: Place, at: str = "") -> str:
    """Return a field that must be text, and not empty."""
    content = get_required(row, key, place, at)
    if not isinstance(content, str) or not content.strip():
        raise place.wrong(f"{at}{key} must be text, and not empty")
    return content


def optional(row: Mapping[str, Any], key: str, place: Place, at: str = "") -> str:
    """Return a field that may be text, null or missing."""
    content = row.get(key)
    if content is not None and not isinstance(content, str):
        raise place.wrong(f"{at}{key} must be text")
    return content or ""


def scalar_text(row: Mapping[str, Any], key: str) -> str:
    """Return a field that says something in a word or a number, empty where it does not."""
    content = row.get(key)
    return str(content).strip() if isinstance(content, str | int | float) else ""


def number(row: Mapping[str, Any], key: str, place: Place) -> float:
    content = get_required(row, key, place)
    if isinstance(content, bool) or not isinstance(content, int | float) or not math.isfinite(content):
        raise place.wrong(f"{key} must be a number")
    return float(content)


def list_field(row: Mapping[str, Any], key: str, kind: type, place: Place) -> list[Any]:
    """Return a field that must be a list of texts, or of objects.

    Two spellings are read as well: a list of objects told by columns, {"a": [...], "b": [...]}, as a
    parquet file has it, and a list written out in a text, as a table has it.
    """
    content = literal(get_required(row, key, place))
    if kind is dict and isinstance(content, dict):
        content = objects_of_columns(content)
    if not isinstance(content, list) or not all(isinstance(item, kind) for item in content):
        raise place.wrong(f"{key} must be a list of {'objects' if kind is dict else 'texts'}")
    return content


def objects_of_columns(columns: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the objects of a list that is told by its columns; None where the columns do not match.

    >>> objects_of_columns({"title": ["a", "b"], "text": ["x", "y"]})
    [{'title': 'a', 'text': 'x'}, {'title': 'b', 'text': 'y'}]
    """
    lists = {key: column for key, column in columns.items() if isinstance(column, list)}
    if len({len(column) for column in lists.values()}) != 1:
        return None
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def literal(cell: Any) -> Any:
    """Parse a text that writes out a list or an object; return anything else as it is.

    >>> literal('["a", "b"]'), literal("['a']"), literal("[a] b")
    (['a', 'b'], ['a'], '[a] b')
    """
    if not isinstance(cell, str) or len(cell) > _LONGEST_LITERAL:
        return cell
    text = cell.strip()
    if not (text.startswith("[") and text.endswith("]")) and not (
        text.startswith("{") and text.endswith("}")
    ):
        return cell
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        with warnings.catch_warnings():  # of backslashes that escape nothing
            warnings.simplefilter("ignore")
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return cell


def get_required(row: Mapping[str, Any], key: str, place: Place, at: str = "") -> Any:
    if key not in row:
        raise place.wrong(f"the field {at}{key} is missing")
    return row[key]


def answers(row: Mapping[str, Any], key: str, place: Place) -> tuple[str, ...]:
    """Return the answers of a list, each once (as they compare), in order; it may hold none."""
    return distinct(list_field(row, key, str, place))


def distinct(values: list[Any] | tuple[Any, ...]) -> tuple[str, ...]:
    """Return the texts of a list, each once (as they compare), in order, without empty ones.

    >>> distinct(["UK", "the UK.", " ", "Britain"])
    ('UK', 'Britain')
    """
    unique: dict[str, str] = {}
    for value in values:
        if isinstance(value, str):
            unique.setdefault(squad_normalise(value), value)
    unique.pop("", None)
    return tuple(unique.values())


def document(number: int, text: str, *, title: str = "", url: str = "", date: str = "") -> Passage:
    """Return a row's passage of a data set that names no sources: they are doc1, doc2, ..."""
    source = f"doc{number}"
    return Passage(
        text=text, source=source, id=content_id("p", source, text), title=title, url=url, date=date
    )
