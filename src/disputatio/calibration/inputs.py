"""Reads a user's input for a calibration: questions or claims, verified anchors, owners of sources."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from disputatio.errors import InputError
from disputatio.store.calibration_log import FactQuestion, check_id
from disputatio.store.ingesting.rows import Unreadable, decode, json_rows
from disputatio.text import one_line

_LONGEST = 2000  # characters of a question
_TABLES = {".csv": ",", ".tsv": "\t"}
_TRUTHS = {"true": "yes", "false": "no"}


Row = tuple[str, Mapping[str, Any]]
"""Where a row is (file and row), and its fields."""


def read_questions(path: Path) -> list[FactQuestion]:
    """Return the questions of a file: one on each line, or rows with `question` or `claim`.

    A claim becomes the question whether it is true. Raises `InputError` that names the file and the row.
    """
    if path.suffix.lower() in (".jsonl", ".ndjson", ".json", *_TABLES):
        return questions_of(_rows(path), str(path))
    lines = enumerate(_text(path).splitlines(), start=1)
    rows = [(f"{path}, row {n}", {"question": line}) for n, line in lines if line.strip()]
    return questions_of(rows, str(path))


def questions_of(rows: Iterable[Row], where: str) -> list[FactQuestion]:
    """Return the questions of rows with `question` or `claim`, each once; raises `InputError`."""
    checks = [_check(location, row) for location, row in rows]
    if not checks:
        raise InputError(f"{where}: has no questions")
    return list({check.id: check for check in checks}.values())


def read_anchors(path: Path) -> list[FactQuestion]:
    """Return verified questions: rows with `question` (or `claim`) and `answer`, one or a list.

    Raises `InputError` that names the file and the row, also if two rows contradict each other.
    """
    return anchors_of(_rows(path), str(path))


def anchors_of(rows: Iterable[Row], where: str) -> list[FactQuestion]:
    """Return the verified questions of rows; raises like `read_anchors`."""
    anchors: dict[str, FactQuestion] = {}
    for location, row in rows:
        check = _check(location, row)
        answer = row.get("answer", row.get("answers"))
        wordings = [
            _word(location, wording) for wording in (answer if isinstance(answer, list | tuple) else [answer])
        ]
        if not wordings:
            raise InputError(f"{location}: has no answer")
        if "claim" in row:
            wordings = [_TRUTHS.get(wording.casefold(), wording.casefold()) for wording in wordings]
            if len(set(wordings)) != 1 or wordings[0] not in ("yes", "no"):
                raise InputError(f"{location}: the answer to a claim is yes or no, not {answer!r}")
        anchor = FactQuestion(
            id=check.id, text=check.text, kind="anchor", gold=tuple(dict.fromkeys(wordings))
        )
        if anchors.setdefault(check.id, anchor).gold != anchor.gold:
            raise InputError(f"{location}: the same question has another answer in an earlier row")
    if not anchors:
        raise InputError(f"{where}: has no anchors")
    return list(anchors.values())


def read_owners(path: Path) -> dict[str, str]:
    """Return the owner of each source: rows with `source` and `owner` (.jsonl, .csv, .tsv).

    Raises `InputError` that names the file and the row, also if a source has two owners.
    """
    owners: dict[str, str] = {}
    for where, row in _rows(path):
        source, owner = (_word(where, row.get(name), name) for name in ("source", "owner"))
        if owners.setdefault(source, owner) != owner:
            raise InputError(f"{where}: {source!r} is owned by {owners[source]!r} in an earlier row")
    if not owners:
        raise InputError(f"{path}: has no owners")
    return owners


def _check(where: str, row: Mapping[str, Any]) -> FactQuestion:
    if (row.get("question") or "") and (row.get("claim") or ""):
        raise InputError(f"{where}: has both a question and a claim")
    name = "claim" if row.get("claim") else "question"
    if row.get(name) in (None, ""):
        raise InputError(f"{where}: has neither a question nor a claim")
    text = _word(where, row[name], name)
    if len(text) > _LONGEST:
        raise InputError(f"{where}: the {name} has {len(text)} characters, more than {_LONGEST}")
    if name == "claim":
        text = f"Is it true that {text.rstrip('.')}?"
    return FactQuestion(id=check_id(text), text=text, kind="given")


def _word(where: str, value: object, name: str = "answer") -> str:
    """Return a field as text; raises `InputError` if it is empty."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return str(value)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{where}: {name!r} is not text")
    text = one_line(value or "").strip()
    if not text:
        raise InputError(f"{where}: has no {name}")
    return text


def _rows(path: Path) -> Iterator[Row]:
    delimiter = _TABLES.get(path.suffix.lower())
    if delimiter is None:
        for number, fields in json_rows(io.BytesIO(_bytes(path))):
            if isinstance(fields, str):
                raise InputError(f"{path}, row {number}: {fields}")
            yield f"{path}, row {number}", fields
        return
    table = csv.DictReader(io.StringIO(_text(path)), strict=True, delimiter=delimiter)
    try:
        for number, row in enumerate(table, start=2):
            if None in row or None in row.values():
                raise InputError(f"{path}, row {number}: has not as many fields as the header")
            yield f"{path}, row {number}", {name.strip().lower(): value for name, value in row.items()}
    except csv.Error as error:
        raise InputError(f"{path}, row {table.line_num}: is not proper CSV ({error})") from error


def _text(path: Path) -> str:
    try:
        return decode(_bytes(path))
    except Unreadable as error:
        raise InputError(f"{path}: {error}") from error


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from error
