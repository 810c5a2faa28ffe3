"""New vectors for every passage of an index, put in force by one commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from disputatio.errors import StoreError
from disputatio.protocols import Embedder
from disputatio.store.record.manifest import SegmentEntry, check_command
from disputatio.store.record.transaction import FAN, Transaction, due, stemming
from disputatio.store.segments.terms import searched_text
from disputatio.types import Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_EMBEDDED = 256
_ROWS = 8192

Progress = Callable[[int, int], None]


def reembed(transaction: Transaction, embedder: Embedder | None, progress: Progress = lambda *_: None) -> int:
    """Give every passage a new vector (none without an embedder); how many passages there are.

    Raises `StoreError` when the disk is full, or the record lacks passages.
    """
    record, total = transaction.record, transaction.manifest.passages
    segments = SegmentBuilder(transaction)
    done = 0
    for rows in record.passage_rows(_ROWS):
        passages = record.batch_of(rows).passages
        vectors = None
        if embedder is not None:
            vectors = _embed(embedder, passages, lambda part, done=done: progress(done + part, total))  # type: ignore[misc]
        record.set_vectors(rows, vectors)
        segments.add(passages, vectors)
        done += len(passages)
        progress(done, total)
    if done != total:
        raise StoreError(
            f"{transaction.path}: {total} passages are on record and {done} could be read; run: "
            f"{check_command(transaction.path)}"
        )
    transaction.put_in_force(
        segments.entries,
        embedder="" if embedder is None else embedder.name,
        dimension=0 if embedder is None else embedder.dimension,
    )
    return done


def _embed(
    embedder: Embedder, passages: list[Passage], progress: Callable[[int], None]
) -> NDArray[np.float32]:
    """Embed passages in parts of 256; `progress` gets the number done after each."""
    import numpy as np

    parts = []
    for at in range(0, len(passages), _EMBEDDED):
        part = passages[at : at + _EMBEDDED]
        parts.append(embedder.embed([*map(searched_text, part)]))
        progress(at + len(part))
    return np.concatenate(parts).astype(np.float32, copy=False)


class SegmentBuilder:
    """Segments of a stream of passages, few in number however many passages there are."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self.entries: list[SegmentEntry] = []

    def add(self, passages: list[Passage], vectors: NDArray[np.float32] | None) -> None:
        """Save one more segment; eight of a size become one."""
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
