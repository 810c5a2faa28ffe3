"""Documents as they are opened one by one, taken out and put back; the table around a row; statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from disputatio.errors import InputError
from disputatio.store.ingesting.history import History
from disputatio.store.record.database import RecordFile

_AT_ONCE = 500  # ids in one statement
_OWN = (
    "(SELECT {} FROM entries o JOIN documents n ON n.key = o.document WHERE n.id = ?1 AND o.row > 0 LIMIT 1)"
)


def history_of(record: RecordFile) -> History:
    """Return what people stated, as the record has it."""
    return History(record.descriptions())


def muted_documents(record: RecordFile) -> list[str]:
    """Return the ids of the documents that people muted."""
    wanted = history_of(record).wanted(record.places())
    return [name for name, fields in wanted.items() if fields.get("mute") == "yes"]


def document_of(record: RecordFile, document: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of a document by its id, with its text."""
    yield from record.documents_of("entries", "WHERE d.id = ? ORDER BY e.path, e.row", document, text=True)


def facts_of(record: RecordFile, documents: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield id, file, size, hash, moment of reading and number of passages of some documents."""
    counted = "(SELECT count(*) FROM passages p WHERE p.document = d.key)"
    for first in range(0, len(documents), _AT_ONCE):
        some = documents[first : first + _AT_ONCE]
        yield from record.rows(
            f"SELECT d.id, e.file, f.size, f.hash, f.seen_ns, {counted} FROM documents d "
            "JOIN entries e ON e.document = d.key LEFT JOIN files f ON f.path = e.file "
            f"WHERE d.id IN ({', '.join('?' * len(some))})",
            some,
        )


def siblings_of(record: RecordFile, document: str, count: int) -> list[dict[str, Any]]:
    """Return the rows of the table that a document is a row of, up to `count` on either side."""
    where = f"WHERE e.path = {_OWN.format('o.path')} AND e.row {{}} {_OWN.format('o.row')} "
    order = "ORDER BY e.row {} LIMIT ?2"
    before = (where + order).format("<", "DESC")
    after = (where + order).format(">=", "ASC")
    return [
        *list(record.documents_of("entries", before, document, count, text=True))[::-1],
        *record.documents_of("entries", after, document, count + 1, text=True),
    ]


# --- a document that is taken out and put back --------------------------------------------------------
def taken_of(record: RecordFile, document: str) -> dict[str, Any]:
    """Return what is kept of a document: what it states itself, its text, its places, and its passages.

    Raises `InputError` for a document that is not there.
    """
    about = record.about(document)
    if about is None:
        raise InputError(f"there is no document {document[:80]!r}")
    [text, *_] = [row["text"] for row in document_of(record, document)]
    places = [[file, path, row] for file, path, row, name in record.places() if name == document]
    prints = record.fingerprints()
    return {
        "id": document,
        "about": history_of(record).own.get(document, about),
        "text": text,
        "places": places,
        "passages": [[row[1], row[3], row[4]] for row in record.rows_of(document)],
        "prints": [asdict(prints[file]) for file, _, row in places if not row and file in prints],
    }
