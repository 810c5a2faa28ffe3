"""The statements of people about documents, put in force in the rows of the record (`ingesting/history`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.history import History, about_of, own_row, restated
from disputatio.store.ingesting.statements import read_metadata, stored_metadata
from disputatio.store.record.database import RecordFile
from disputatio.store.record.reembed import SegmentBuilder
from disputatio.types import Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from disputatio.store.record.transaction import Transaction

_ROWS = 8192


def history_of(record: RecordFile) -> History:
    """Return what people stated, as the record has it."""
    return History(record.descriptions())


def muted_documents(record: RecordFile) -> list[str]:
    """Return the ids of the documents that people muted."""
    wanted = history_of(record).wanted(record.places())
    return [name for name, fields in wanted.items() if fields.get("mute") == "yes"]


def restate(transaction: Transaction) -> int:
    """Put in force what people state of the documents that are there; how many documents changed.

    One commit, together with the statements that were added since the last one.
    """
    record = transaction.record
    history = history_of(record)
    if not history:
        return 0
    own, wanted = history.own, history.wanted(record.places())
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
            fresh.append(own_row(document, about))
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
    now = [restated(passage, own, stated) for passage in passages]
    first = Document(text="", url=own["url"], metadata=read_metadata(own["metadata"])["metadata"])
    about = about_of(restated(first, own, stated))
    record.restate(document, about, rows, [stored_metadata(passage) for passage in now])
    return now, vectors


def _joined(vectors: Sequence[NDArray[np.float32]]) -> NDArray[np.float32] | None:
    import numpy as np

    return np.concatenate(vectors) if vectors else None
