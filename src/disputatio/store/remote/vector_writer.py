"""Writing documents into the tables of a vector engine, which has no transactions.

New rows are written before the entry of their document, and old ones deleted before theirs: whatever
interrupts a writer, the same call again finishes its work. All rows are named by their content, so writers of
the same documents write the same rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeVar

from disputatio.errors import InputError
from disputatio.protocols import Embedder
from disputatio.store.ingesting.prepare import Prepared
from disputatio.store.remote import vector_rows as rows
from disputatio.store.remote.batched_writer import BATCH, BatchedWriter, count_changes
from disputatio.store.remote.engine import DOCUMENTS, PASSAGES, Engine, Row, Table, row_id
from disputatio.store.remote.served import fact
from disputatio.store.remote.vector_rows import Entry

_MESSAGE = 4_000_000  # characters of the bodies in one call
_T = TypeVar("_T")


class VectorWriter(BatchedWriter):
    """Puts each batch in; `ready` is called with its first passages, and makes the tables."""

    def __init__(
        self,
        engine: Engine,
        embedder: Embedder | None,
        language: str,
        ready: Callable[[list[Row]], None],
        on_commit: Callable[[int], None] = lambda _: None,
    ) -> None:
        super().__init__(embedder, language, on_commit)
        self._engine, self._ready, self._is_ready = engine, ready, False

    def put(self, file: str, prepared: Iterable[Prepared]) -> int:
        """Put the documents of a file; raises `IngestError` for one that the engine cannot store."""
        return super().put(file, self._check_each(prepared))

    def _check_each(self, prepared: Iterable[Prepared]) -> Iterator[Prepared]:
        for each in prepared:
            rows.check_sizes(each, self._engine.longest)
            yield each

    def _commit(self, waiting: dict[str, list[Prepared]]) -> Counter[str]:
        every = {each.document.id: each for documents in waiting.values() for each in documents}
        exists = self._is_ready or self._engine.settings() is not None
        facts = [fact("file", file) for file in waiting if file]
        facts += [fact("document", name) for name in every]
        entries = entries_with(self._engine, facts) if exists else []
        listed = {entry.document.id for entry in entries}
        counts: Counter[str] = Counter()
        gone: list[Entry] = []
        for file, documents in waiting.items():
            old = {entry.document.id: entry for entry in entries if entry.file == file}
            names = [each.document.id for each in documents]
            gone += [old[name] for name in count_changes(file, old, names, counts)]
        new = [each for name, each in every.items() if name not in listed]
        passages = rows.passage_rows(new, self._embedder, self._language)
        if not self._is_ready:
            self._ready(passages)
            self._is_ready = True
        if exists:
            self._check_free(new, {entry.id for entry in gone})
        put(self._engine, PASSAGES, passages)
        put(self._engine, DOCUMENTS, (row for each in new for row in rows.text_rows(each.document)))
        of_files = [(file, each) for file, documents in waiting.items() for each in documents]
        known = {entry.id for entry in entries}
        entered = (rows.entry_row(file, each) for file, each in of_files)
        put(self._engine, DOCUMENTS, (row for row in entered if row.id not in known))
        take_out(self._engine, gone)
        counts["passages"] += len(passages)
        return counts

    def _check_free(self, new: list[Prepared], gone: Collection[str]) -> None:
        """Raise `InputError` where a passage's id stands for one of a document that stays."""
        owners = {row_id(each.id): each for document in new for each in document.passages}
        taken: dict[str, str] = {}
        for row, body in fetch_bodies(self._engine, list(owners)).items():
            document = rows.passage_in(body).document
            if document != owners[row].document:
                taken[document] = owners[row].id
        for entry in entries_with(self._engine, [fact("document", name) for name in taken]):
            if entry.id not in gone:
                raise InputError(f"passage {taken[entry.document.id]}: the id stands for another passage")


def entries_with(engine: Engine, facts: Collection[str]) -> list[Entry]:
    """Return the entries that have one of the facts."""
    entries = {
        kept.id: rows.entry_in(kept.id, kept.body)
        for batch in _batches(sorted(facts))
        for kept in engine.scan(DOCUMENTS, batch)
    }
    return list(entries.values())


def fetch_bodies(engine: Engine, ids: list[str]) -> dict[str, str]:
    """Return the bodies of passages by the ids of their rows."""
    return {row: body for batch in _batches(ids) for row, body in engine.fetch(PASSAGES, batch).items()}


def put(engine: Engine, table: Table, new: Iterable[Row]) -> None:
    """Write rows, batch by batch; a batch is no more than a server takes in one message."""
    batch: list[Row] = []
    size = 0
    for row in new:
        if batch and (len(batch) == BATCH or size + len(row.body) > _MESSAGE):
            engine.put(table, batch)
            batch, size = [], 0
        batch.append(row)
        size += len(row.body)
    if batch:
        engine.put(table, batch)


def take_out(engine: Engine, gone: Collection[Entry]) -> None:
    """Delete entries, and the documents that no other entry names."""
    mine = {entry.id for entry in gone}
    names = sorted({entry.document.id for entry in gone})
    others = entries_with(engine, [fact("document", name) for name in names])
    shared = {entry.document.id for entry in others if entry.id not in mine}
    drop(engine, [name for name in names if name not in shared])
    for batch in _batches(sorted(mine)):
        engine.erase(DOCUMENTS, ids=batch)


def drop(engine: Engine, documents: Collection[str]) -> None:
    """Delete the passages and the texts of documents."""
    for batch in _batches(list(documents)):
        engine.erase(PASSAGES, facts=[fact("document", name) for name in batch])
        engine.erase(DOCUMENTS, facts=[fact("text", name) for name in batch])


def _batches(items: list[_T]) -> Iterator[list[_T]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]
