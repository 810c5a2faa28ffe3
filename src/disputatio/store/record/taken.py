"""Documents that were taken out one by one: what has to be kept of each so that it can be put back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disputatio.errors import InputError
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.fingerprint import Fingerprint, look
from disputatio.store.ingesting.prepare import PreparedDocument, passage_at
from disputatio.store.ingesting.statements import read_metadata
from disputatio.store.record.database import RecordFile
from disputatio.store.record.opened import document_of
from disputatio.store.record.overlay import OWN

if TYPE_CHECKING:
    from disputatio.store.record.writer import Writer


def taken_of(record: RecordFile, document: str) -> dict[str, Any]:
    """Return what is kept of a document: what it states itself, its text, its places, and its passages.

    Raises `InputError` for a document that is not there.
    """
    about = record.about(document)
    if about is None:
        raise InputError(f"there is no document {document[:80]!r}")
    own = [json.loads(row[-1]) for row in record.descriptions() if row[5] == OWN and row[4] == document]
    [text, *_] = [row["text"] for row in document_of(record, document)]
    places = [[file, path, row] for file, path, row, name in record.places() if name == document]
    prints = record.fingerprints()
    return {
        "id": document,
        "about": own[-1] if own else about,
        "text": text,
        "places": places,
        "passages": [[row[1], row[3], row[4]] for row in record.rows_of(document)],
        "prints": [asdict(prints[file]) for file, _, row in places if not row and file in prints],
    }


def put_back(writer: Writer, taken: Mapping[str, Any]) -> None:
    """Queue a document that was taken out, under its id and in its places."""
    about = dict(taken["about"])
    fields: dict[str, Any] = {**about, **read_metadata(about["metadata"])}
    for file, path, row in taken["places"]:
        document = Document(**fields, text=taken["text"], path=path, row=row, id=taken["id"])
        passages = tuple(passage_at(document, name, start, end) for name, start, end in taken["passages"])
        writer.put_back(
            file,
            PreparedDocument(document=document, passages=passages, file=file, metadata=about["metadata"]),
        )
    for known in (Fingerprint(**each) for each in taken["prints"]):
        if look(Path(known.path), known.settings, known).unchanged:
            writer.remember(known)
