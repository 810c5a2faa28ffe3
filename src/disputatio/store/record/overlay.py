"""The statements of people about documents, kept beside them and put in force in their rows.

`descriptions` of the record is the history: rows are added and never changed. A row names its document by its
place, so that what was stated outlives a change of the document's text, or by its id where it has no file.
Documents keep their ids and passages theirs, whatever is stated; what a document states itself is kept in a
row of its own (`OWN`), and comes back when a statement is taken back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from disputatio.errors import InputError, UnknownName
from disputatio.store.ingesting.description import Description, Target, described, in_force, target_of
from disputatio.store.ingesting.files import shown
from disputatio.store.ingesting.statements import read_metadata, stored_metadata
from disputatio.store.record.database import ABOUT, RecordFile
from disputatio.store.record.reembed import SegmentBuilder
from disputatio.types import PASSAGE, Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from disputatio.store.record.transaction import Transaction

OWN, _UNDO = "document", "undo"  # of rows that are no statements: a document's own fields, a taking back
_ROWS = 8192
_NAMED = 20  # files that a message names
_DERIVED = ("date_quote", "version", "family", "authority")


def descriptions_of(record: RecordFile) -> list[Description]:
    """Return every statement of people, the oldest first, with the moment at which it was taken back."""
    rows = record.descriptions()
    undone = {int(json.loads(row[-1])["key"]): str(row[-2]) for row in rows if row[-3] == _UNDO}
    return [
        Description(
            target=Target(file=file, member=member, row=number, id=document),
            fields=json.loads(fields),
            by=by,
            at=at,
            key=key,
            undone=undone.get(key, ""),
        )
        for key, file, member, number, document, by, at, fields in rows
        if by not in (OWN, _UNDO)
    ]


def places_of(documents: Sequence[str | Path], record: RecordFile) -> dict[str, list[Target]]:
    """Return the targets that each name stands for: an id, a file with all documents in it, or a file's name.

    Raises `UnknownName` for one that stands for nothing, `InputError` for a file's name that several have.
    """
    by_name: dict[str, dict[Target, None]] = {}
    files_of: dict[str, set[str]] = {}
    for file, path, row, document in record.places():
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
        keys = [name, name.removeprefix(PASSAGE), shown(Path(name).resolve()), *files]
        chosen = next((by_name[key] for key in keys if key in by_name), None)
        if chosen is None:
            listed = "disputatio index export documents.jsonl --what documents"
            command = listed if len(files_of) > _NAMED else ""
            raise UnknownName("document", name[:200], files_of, command=command)
        found[name] = list(chosen)
    return found


def muted_documents(record: RecordFile) -> list[str]:
    """Return the ids of the documents that people muted."""
    return [name for name, fields in _wanted(record).items() if fields.get("mute") == "yes"]


def add_descriptions(transaction: Transaction, fresh: Sequence[Description]) -> None:
    """Add statements to the history, but for those that change nothing."""
    record, rows = transaction.record, []
    known: dict[Target, list[Description]] = {}
    for each in descriptions_of(record):
        known.setdefault(each.target, []).append(each)
    for each in fresh:
        earlier = [other for other in known.get(each.target, []) if not other.undone]
        if _says_nothing_new(each, earlier):
            continue
        known.setdefault(each.target, []).append(each)
        rows.append(_row(each.target, each.by, dict(each.fields)))
    if rows:
        record.insert("descriptions", rows)


def take_back(transaction: Transaction, key: int) -> None:
    """Take one statement back; raises `InputError` for a number that none has, or that was taken back."""
    record = transaction.record
    stated = next((each for each in descriptions_of(record) if each.key == key), None)
    if stated is None or stated.undone:
        raise InputError(f"there is no statement {key} to take back: see its history")
    if stated.is_of_a_sidecar:
        raise InputError(f"statement {key} is the sidecar's: change the file, and ingest the folder again")
    record.insert("descriptions", [_row(stated.target, _UNDO, {"key": str(key)})])


def restate(transaction: Transaction) -> int:
    """Put in force what people state of the documents that are there; how many documents changed.

    One commit, together with the statements that were added since the last one.
    """
    record = transaction.record
    rows = record.descriptions()
    if not rows:
        return 0
    own = {str(row[4]): json.loads(row[-1]) for row in rows if row[5] == OWN}
    wanted = _wanted(record)
    changed: list[str] = []
    fresh: list[tuple[Any, ...]] = []
    segments = SegmentBuilder(transaction)
    waiting: list[Passage] = []
    vectors: list[NDArray[np.float32]] = []
    for document in dict.fromkeys([*wanted, *own]):
        about, stated = record.about(document), wanted.get(document, {})
        if about is None or read_metadata(about["metadata"]).get("by_people", {}) == stated:
            continue
        if document not in own:
            own[document] = about
            fresh.append(_row(Target(id=document), OWN, about))
        passages, numbers = _restate_one(record, document, own[document], stated)
        changed.append(document)
        waiting += passages
        vectors += [] if numbers is None else [numbers]
        if len(waiting) >= _ROWS:
            segments.add(waiting, _joined(vectors))
            waiting, vectors = [], []
    if fresh:
        record.insert("descriptions", fresh)
    segments.add(waiting, _joined(vectors))
    if not (changed or record.is_writing):
        return 0
    names = set(changed)
    entries = [
        transaction.without(entry, names) if names else entry for entry in transaction.manifest.segments
    ]
    transaction.put_in_force([*entries, *segments.entries])
    transaction.merge_due()
    return len(changed)


def _restate_one(
    record: RecordFile, document: str, own: Mapping[str, str], stated: Mapping[str, str]
) -> tuple[list[Passage], NDArray[np.float32] | None]:
    """Change the rows of a document; its passages as they are now, with their vectors."""
    rows = record.rows_of(document)
    passages, vectors = record.batch_of(rows)
    fields = read_metadata(own["metadata"])
    first: dict[str, Any] = {name: own[name] for name in ("title", "date", "date_origin", "source", "owner")}
    first |= {name: fields.get(name, "") for name in _DERIVED}
    first |= {"relations": fields.get("relations", ()), "by_people": {}}
    now = [described(replace(passage, **first), stated) for passage in passages]
    as_document = described(Passage(text="", **first, metadata=fields["metadata"]), stated)
    about = {name: getattr(as_document, name) for name in ABOUT if name not in ("metadata", "url")}
    about |= {"url": own["url"], "metadata": stored_metadata(as_document)}
    record.restate(document, about, rows, [stored_metadata(passage) for passage in now])
    return now, vectors


def _joined(vectors: Sequence[NDArray[np.float32]]) -> NDArray[np.float32] | None:
    import numpy as np

    return np.concatenate(vectors) if vectors else None


def _wanted(record: RecordFile) -> dict[str, dict[str, str]]:
    """Return what people state of each document that is there, by its id."""
    by_target: dict[Target, list[Description]] = {}
    for each in descriptions_of(record):
        by_target.setdefault(each.target, []).append(each)
    by_document: dict[str, list[Description]] = {}
    for target, stated in by_target.items():
        if target.id:
            by_document[target.id] = list(stated)
    files = {target.file for target in by_target if target.file}
    if files:
        for file, path, row, document in record.places():
            if file in files:
                by_document.setdefault(document, []).extend(
                    by_target.get(target_of(file, path, row, document), ())
                )
    wanted = {}
    for document, stated in by_document.items():
        fields = in_force(sorted({each.key: each for each in stated}.values(), key=lambda each: each.key))
        if fields:
            wanted[document] = fields
    return wanted


def _says_nothing_new(fresh: Description, earlier: Sequence[Description]) -> bool:
    if fresh.is_of_a_sidecar:
        last = next((each for each in reversed(earlier) if each.by == fresh.by), None)
        return dict(fresh.fields) == ({} if last is None else dict(last.fields))
    people: dict[str, str] = {}
    for each in earlier:
        people |= {} if each.is_of_a_sidecar else each.fields
    return all(name in people and people[name] == value for name, value in fresh.fields.items())


def _row(target: Target, by: str, fields: Mapping[str, str]) -> tuple[Any, ...]:
    at = datetime.now(UTC).isoformat(timespec="seconds")
    body = json.dumps(dict(fields), ensure_ascii=False, sort_keys=True)
    return (None, target.file, target.member, target.row, target.id, by, at, body)
