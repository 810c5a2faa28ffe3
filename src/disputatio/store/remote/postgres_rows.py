"""What the tables of an index in PostgreSQL hold, and what does not fit together."""

from __future__ import annotations

import json
from typing import Any

from disputatio.store.ingesting.documents import Document
from disputatio.types import Passage

_OF_A_PASSAGE = (
    "text", "id", "source", "owner", "title", "url", "date", "date_origin", "document", "start", "end",
    "metadata",
)  # fmt: skip
_OF_A_DOCUMENT = (
    "id", "path", "row", "title", "url", "date", "date_origin", "source", "owner", "metadata", "text",
)  # fmt: skip
_PASSAGES = (
    "SELECT p.row, p.text, p.id, p.source, d.owner, d.title, d.url, d.date, d.date_origin, p.document, "
    "p.first, p.past, coalesce(p.metadata, d.metadata) FROM passages p JOIN documents d ON d.id = p.document"
)
SOURCES = (
    "SELECT p.source, max(d.owner), count(DISTINCT p.document), count(*) FROM passages p "
    "JOIN documents d ON d.id = p.document GROUP BY p.source"
)
_MISFITS = {
    "passages without their document": "passages x WHERE NOT EXISTS "
    "(SELECT 1 FROM documents d WHERE d.id = x.document)",
    "documents that no file stands for": "documents x WHERE NOT EXISTS "
    "(SELECT 1 FROM entries e WHERE e.document = x.id)",
    "terms without their passage": "postings x WHERE NOT EXISTS "
    "(SELECT 1 FROM passages p WHERE p.row = x.row)",
    "passages that differ from their document": "passages x JOIN documents d ON d.id = x.document "
    "WHERE x.text <> substr(d.text, x.first + 1, x.past - x.first)",
    "passages without their terms": "passages x WHERE length > 0 AND NOT EXISTS "
    "(SELECT 1 FROM postings o WHERE o.row = x.row)",
}


def passages_of(connection: Any, where: str, value: Any) -> dict[int, Passage]:
    """Return the passages that meet a condition, by their row."""
    return {
        row: Passage(**{**dict(zip(_OF_A_PASSAGE, fields, strict=True)), "metadata": json.loads(fields[-1])})
        for row, *fields in connection.execute(f"{_PASSAGES} WHERE {where}", (value,))
    }


def documents_of(connection: Any, *, text: bool) -> list[Document]:
    """Return every document, by path and row."""
    column = "d.text" if text else "''"
    rows = connection.execute(
        "SELECT d.id, e.path, e.row_number, d.title, d.url, d.date, d.date_origin, d.source, d.owner, "
        f"d.metadata, {column} FROM entries e JOIN documents d ON d.id = e.document"
    )
    documents = []
    for row in rows:
        fields = dict(zip(_OF_A_DOCUMENT, row, strict=True))
        documents.append(Document(**{**fields, "metadata": json.loads(fields["metadata"])}))
    return sorted(documents, key=lambda each: (each.path, each.row or 0, each.id))


def misfits(connection: Any) -> list[str]:
    """Return what does not fit together in the tables, a line for each kind."""
    wrong = []
    for said, sql in _MISFITS.items():
        (many,) = connection.execute(f"SELECT count(*) FROM {sql}").fetchone()
        if many:
            wrong.append(f"{many} {said}")
    return wrong
