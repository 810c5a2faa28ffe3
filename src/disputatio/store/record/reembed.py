"""New vectors for every passage of an index, put in force by one switch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from disputatio.errors import StoreError
from disputatio.protocols import Embedder
from disputatio.store.record.manifest import SegmentEntry, reported
from disputatio.store.record.tables import PASSAGE_COLUMNS, Pinned, Tables, make_table, passage_rows, schema
from disputatio.store.record.transaction import FAN, Transaction, due, stemming
from disputatio.store.segments.terms import searched_text
from disputatio.types import Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_EMBEDDED = 256
_ROWS = 8192


def reembed(
    transaction: Transaction, embedder: Embedder | None, progress: Callable[[int, int], None] | None = None
) -> int:
    """Give every passage a new vector (none without an embedder); how many passages there are.

    They go into a table and segments of their own, and the manifest is switched when all are there.
    Raises `StoreError` when the disk is full, or passages and vectors do not fit one another.
    """
    path, manifest = transaction.path, transaction.manifest
    dimension = 0 if embedder is None else embedder.dimension
    name = next_name(path, transaction.tables.names["passages"])
    table = make_table(path, name, schema("passages", dimension))
    build = Building(transaction)
    done, total = 0, manifest.passages.rows
    for passages, metadata in _batches(Pinned(path, manifest)):
        vectors = _vectors(embedder, passages, progress, done, total)
        with reported(path, "writing to the index"):
            table.add(passage_rows(passages, metadata, vectors))
        build.add(passages, vectors)
        done += len(passages)
        _tell(progress, done, total)
    if done != total:
        raise StoreError(
            f"{path}: {total} passages are on record and {done} could be read; run: "
            f"disputatio index check --index {path}"
        )
    transaction.adopt(
        Tables(path, {**transaction.tables.names, "passages": name}, dimension),
        build.entries,
        embedder="" if embedder is None else embedder.name,
        dimension=dimension,
    )
    return done


class Building:
    """Segments made of a stream of passages, few in number however many there are."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self.entries: list[SegmentEntry] = []

    def add(self, passages: list[Passage], vectors: NDArray[np.float32] | None) -> None:
        """One more segment; eight of a size become one."""
        from disputatio.store.segments.segment import Segment

        if not passages:
            return
        language = stemming(self._transaction.manifest.language)
        self.entries.append(self._transaction.save(Segment.build(passages, vectors, language=language)))
        while len(self.entries) >= FAN and (group := due(self.entries)):
            merged = self._transaction.joined(group)
            gone = {entry.name for entry in group}
            self.entries = [merged, *(entry for entry in self.entries if entry.name not in gone)]
            self._transaction.discard(gone)


def next_name(path: Path, name: str) -> str:
    """Return a name for a table that takes the place of `name`: `passages-2`, `passages-3`."""
    table, number = name.partition("-")[0], 2
    while (new := f"{table}-{number}") == name or (path / f"{new}.lance").exists():
        number += 1
    return new


def _batches(pinned: Pinned) -> Iterator[tuple[list[Passage], list[str]]]:
    """Yield passages with their metadata as JSON, in lists of 8,192."""
    passages: list[Passage] = []
    metadata: list[str] = []
    for batch in pinned.batches("passages", [*PASSAGE_COLUMNS, "start", "end"]):
        for row in batch.to_pylist():
            metadata.append(row["metadata"])
            passages.append(passage_of(row))
            if len(passages) >= _ROWS:
                yield passages, metadata
                passages, metadata = [], []
    if passages:
        yield passages, metadata


def passage_of(row: dict[str, Any]) -> Passage:
    """Return the passage that a row of the table stands for."""
    fields = {name: row[name] for name in (*PASSAGE_COLUMNS, "start", "end")}
    return Passage(**{**fields, "metadata": json.loads(fields["metadata"])})


def _vectors(
    embedder: Embedder | None,
    passages: list[Passage],
    progress: Callable[[int, int], None] | None,
    done: int,
    total: int,
) -> NDArray[np.float32] | None:
    if embedder is None:
        return None
    import numpy as np

    parts = []
    for at in range(0, len(passages), _EMBEDDED):
        part = passages[at : at + _EMBEDDED]
        parts.append(embedder.embed([searched_text(passage.title, passage.text) for passage in part]))
        _tell(progress, done + at + len(part), total)
    return np.concatenate(parts).astype(np.float32, copy=False)


def _tell(progress: Callable[[int, int], None] | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)
