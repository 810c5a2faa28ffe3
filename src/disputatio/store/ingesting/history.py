"""The history of what people state about documents: rows that are added and never changed.

A row names its document by its place, so that what was stated outlives a change of the document's text, or by
its id where it has no file. Documents keep their ids and passages theirs, whatever is stated; what a document
states itself is kept in a row of its own (`OWN`), and comes back when a statement is taken back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from disputatio.errors import InputError, UnknownName
from disputatio.store.ingesting.description import (
    Description,
    Target,
    apply_description,
    merge_descriptions,
    target_of,
)
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.files import display_path
from disputatio.store.ingesting.statements import NounT, read_metadata, write_metadata
from disputatio.types import PASSAGE
from disputatio.versions.dates import moment

OWN, _UNDO = "document", "undo"  # of rows that are no statements: a document's own fields, a taking back
_NAMED = 20  # files that a message names
_ABOUT = ("title", "url", "date", "date_origin", "source", "owner")
_DERIVED = ("date_quote", "version", "family", "authority")

Row = tuple[Any, ...]  # key (None until it is kept), file, member, row, document, by, at, fields
Place = tuple[str, str, int, str]  # file, path, row and id of a document


class History:
    """The statements of people from their rows, the oldest first; it says what they come to."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = list(rows)
        undone = {int(json.loads(row[-1])["key"]): str(row[-2]) for row in self._rows if row[-3] == _UNDO}
        self.descriptions = [
            Description(
                target=Target(file=file, member=member, row=number, id=document),
                fields=json.loads(fields),
                by=by,
                at=at,
                key=key,
                undone=undone.get(key, ""),
            )
            for key, file, member, number, document, by, at, fields in self._rows
            if by not in (OWN, _UNDO)
        ]
        self.own: dict[str, dict[str, str]] = {
            str(row[4]): json.loads(row[-1]) for row in self._rows if row[5] == OWN
        }

    def __bool__(self) -> bool:
        return bool(self._rows)

    @property
    def files(self) -> set[str]:
        return {each.target.file for each in self.descriptions if each.target.file}

    def with_rows(self, fresh: Sequence[Row]) -> History:
        last = max((row[0] for row in self._rows), default=0)
        return History([*self._rows, *((last + at, *row[1:]) for at, row in enumerate(fresh, start=1))])

    def of(self, targets: Iterable[Target]) -> list[Description]:
        named = set(targets)
        return [each for each in self.descriptions if each.target in named]

    def rows_of(self, fresh: Iterable[Description]) -> list[Row]:
        """Return the rows of new statements, but for those that change nothing."""
        rows: list[Row] = []
        known: dict[Target, list[Description]] = {}
        for each in self.descriptions:
            known.setdefault(each.target, []).append(each)
        for each in fresh:
            earlier = [other for other in known.get(each.target, []) if not other.undone]
            if not _says_nothing_new(each, earlier):
                known.setdefault(each.target, []).append(each)
                rows.append(_row(each.target, each.by, dict(each.fields)))
        return rows

    def row_of_undo(self, key: int) -> Row:
        """Return the row that takes one statement back; raises `InputError` for a number of none."""
        stated = next((each for each in self.descriptions if each.key == key), None)
        if stated is None or stated.undone:
            raise InputError(f"there is no statement {key} to take back: see its history")
        if stated.is_of_a_sidecar:
            raise InputError(
                f"statement {key} is the sidecar's: change the file, and ingest the folder again"
            )
        return _row(stated.target, _UNDO, {"key": str(key)})

    def find_stated(self, places: Iterable[Place]) -> dict[str, dict[str, str]]:
        by_target: dict[Target, list[Description]] = {}
        for each in self.descriptions:
            by_target.setdefault(each.target, []).append(each)
        by_document: dict[str, list[Description]] = {
            target.id: list(stated) for target, stated in by_target.items() if target.id
        }
        files = self.files
        for file, path, row, document in places if files else ():
            if file in files:
                by_document.setdefault(document, []).extend(
                    by_target.get(target_of(file, path, row, document), ())
                )
        wanted = {}
        for document, stated in by_document.items():
            fields = merge_descriptions(
                sorted({each.key: each for each in stated}.values(), key=lambda each: each.key)
            )
            if fields:
                wanted[document] = fields
        return wanted


def targets_of(
    documents: Sequence[str | Path], places: Iterable[Place], *, listing: str
) -> dict[str, list[Target]]:
    """Return the targets of names: an id, a file with its documents, a file's name; raises `UnknownName`."""
    by_name: dict[str, dict[Target, None]] = {}
    files_of: dict[str, set[str]] = {}
    for file, path, row, document in places:
        target = target_of(file, path, row, document)
        for name in {document, file, path, path.removeprefix(PASSAGE)} - {""}:
            by_name.setdefault(name, {})[target] = None
        short = PurePath(file or path).name
        files_of.setdefault(short, set()).add(file or path)
    found: dict[str, list[Target]] = {}
    for each in documents:
        name = str(each)
        files = files_of.get(name, set())
        if name not in by_name and len(files) > 1:
            raise InputError(
                f"{name[:100]}: {len(files)} files are called so: give the path, or a document's id"
            )
        keys = [name, name.removeprefix(PASSAGE), display_path(Path(name).resolve()), *files]
        chosen = next((by_name[key] for key in keys if key in by_name), None)
        if chosen is None:
            command = listing if len(files_of) > _NAMED else ""
            raise UnknownName("document", name[:200], files_of, command=command)
        found[name] = list(chosen)
    return found


def own_row(document: str, about: Mapping[str, str]) -> Row:
    return _row(Target(id=document), OWN, about)


def about_of(document: Document) -> dict[str, str]:
    """Return the fields of a document as they are stored, without its text and its place."""
    return {**{name: getattr(document, name) for name in _ABOUT}, "metadata": write_metadata(document)}


def reapply_description(noun: NounT, own: Mapping[str, str], stated: Mapping[str, str]) -> NounT:
    """Return a document or passage as people describe it, from what the document states itself (`own`)."""
    fields = read_metadata(own["metadata"])
    first: dict[str, Any] = {name: own[name] for name in _ABOUT if name != "url"}
    first |= {name: fields.get(name, "") for name in _DERIVED}
    first |= {"relations": fields.get("relations", ()), "by_people": {}}
    return apply_description(replace(noun, **first), stated)


def _says_nothing_new(fresh: Description, earlier: Sequence[Description]) -> bool:
    if fresh.is_of_a_sidecar:
        last = next((each for each in reversed(earlier) if each.by == fresh.by), None)
        return dict(fresh.fields) == ({} if last is None else dict(last.fields))
    people: dict[str, str] = {}
    for each in earlier:
        people |= {} if each.is_of_a_sidecar else each.fields
    return all(name in people and people[name] == value for name, value in fresh.fields.items())


def _row(target: Target, by: str, fields: Mapping[str, str]) -> Row:
    at = moment()
    body = json.dumps(dict(fields), ensure_ascii=False, sort_keys=True)
    return (None, target.file, target.member, target.row, target.id, by, at, body)
