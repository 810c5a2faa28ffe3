"""The writer of documents, whatever the backend, and the writing of a caller's own documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from disputatio.store.ingesting.description import Description
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.fingerprint import Fingerprint, look
from disputatio.store.ingesting.prepare import PreparedDocument, passage_at, prepare_item
from disputatio.store.ingesting.statements import read_metadata
from disputatio.types import Passage

Statements = Callable[[str, str, int, str], Iterable[Description]]
"""What people state of a document, by its file, its path, its row, and its id."""


class DocumentWriter(Protocol):
    """Writes documents into an index in a folder, or into one on a server.

    `counts` has added, unchanged, replaced and removed documents, and passages; `fingerprints` how known
    files looked, by path.
    """

    counts: Counter[str]
    fingerprints: dict[str, Fingerprint]

    def put(self, file: str, prepared: Iterable[PreparedDocument]) -> int:
        """Make the documents all that is kept of a file, and say how many they are."""

    def keep(self, print_of: Fingerprint) -> None:
        """Count a file as unchanged."""

    def remember(self, print_of: Fingerprint) -> None:
        """Know a file whose documents have been put by how it looked."""

    def put_back(self, file: str, prepared: PreparedDocument) -> None:
        """Add a document that was taken out of a file, beside all others of the file."""

    def describe(self, statements: Statements) -> None:
        """Add, at the end, what people state about each document: `statements` gets its place."""

    def finish(self) -> None:
        """Commit what is queued."""


def put_items(writer: DocumentWriter, items: Iterable[Document | Passage]) -> None:
    """Put documents or passages in that the caller holds, and finish; raises what `prepare_item` does."""
    for number, item in enumerate(items, start=1):
        prepared = prepare_item(item, number)
        writer.put(prepared.file, (prepared,))
    writer.finish()


def put_back(writer: DocumentWriter, taken: Mapping[str, Any]) -> None:
    """Queue a document that was taken out (`Index.take_out`), under its id and in its places, and finish."""
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
    writer.finish()
