"""Documents on their way to a server: gathered file by file, and put in by batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from disputatio.protocols import Embedder
from disputatio.store.ingesting.document_writer import Statements
from disputatio.store.ingesting.prepare import PreparedDocument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from disputatio.store.ingesting.fingerprint import Fingerprint
    from disputatio.store.segments.terms import Counted
    from disputatio.types import Passage

BATCH = 512  # passages that are put in at once, the last document's whole


class BatchedWriter(ABC):
    """A writer for `put_files`; a file is put whole in one batch, several small ones together.

    `counts` has added, unchanged, replaced and removed documents, and passages put in.
    """

    def __init__(
        self, embedder: Embedder | None, language: str, on_commit: Callable[[int], None] = lambda _: None
    ) -> None:
        self._embedder, self._language, self._on_commit = embedder, language, on_commit
        self.counts: Counter[str] = Counter()
        self.fingerprints: dict[str, Fingerprint] = {}
        self._waiting: dict[str, list[PreparedDocument]] = {}  # by file
        self._passages = 0
        self._beside = False  # what is queued stands beside what else its file holds
        self._statements: list[Statements] = []
        self.put_in_force: Callable[[Sequence[Statements]], int] = lambda _: 0  # set by the index

    def put(self, file: str, prepared: Iterable[PreparedDocument]) -> int:
        """Replace the documents of `file` by these, and return how many they are.

        An empty name replaces nothing. Raises `InputError` of the iterable before anything changes.
        """
        documents = {each.document.id: each for each in prepared}
        if file and file in self._waiting:
            self.commit()
        self._waiting.setdefault(file, []).extend(documents.values())
        self._passages += sum(len(each.passages) for each in documents.values())
        if self._passages >= BATCH:
            self.commit()
        return len(documents)

    def keep(self, print_of: Fingerprint) -> None:
        """Count a file as unchanged."""
        self.counts["unchanged"] += print_of.documents

    def remember(self, print_of: Fingerprint) -> None:
        """Forget it: files are read again, and documents that are in already are left alone."""
        del print_of

    def put_back(self, file: str, prepared: PreparedDocument) -> None:
        """Add a document that was taken out of a file, beside all others of the file."""
        self.commit()
        self._waiting, self._beside = {file: [prepared]}, True
        try:
            self.commit()
        finally:
            self._beside = False

    def describe(self, statements: Statements) -> None:
        """Have `finish` add what people state about each document that is then there."""
        self._statements.append(statements)

    def finish(self) -> None:
        """Commit the queued documents, and put in force what people state of them."""
        self.commit()
        stated, self._statements = self._statements, []
        self.counts["described"] += self.put_in_force(stated)

    def commit(self) -> None:
        """Put in the queued documents; raises `InputError`, `StoreError`."""
        waiting, self._waiting, self._passages = self._waiting, {}, 0
        if waiting:
            self.counts.update(self._commit(waiting))
            self._on_commit(self.counts["passages"])

    @abstractmethod
    def _commit(self, waiting: dict[str, list[PreparedDocument]]) -> Counter[str]:
        """Put in the queued documents, by file, and count."""


def count_changes(file: str, old: Collection[str], new: Collection[str], counts: Counter[str]) -> set[str]:
    """Return the documents that a file no longer holds; the changes are counted.

    >>> counts = Counter()
    >>> count_changes("a.txt", ["d1", "d2"], ["d2", "d3"], counts), sorted(counts.items())
    ({'d1'}, [('added', 0), ('removed', 0), ('replaced', 1), ('unchanged', 1)])
    """
    fresh = len(set(new) - set(old))
    gone = set(old) - set(new) if file else set()
    replaced = min(len(gone), fresh)
    counts.update(
        added=fresh - replaced, removed=len(gone) - replaced, replaced=replaced, unchanged=len(new) - fresh
    )
    return gone


def count_and_embed(
    passages: list[Passage], language: str, embedder: Embedder | None
) -> tuple[Counted, NDArray[np.float32] | None]:
    """Count the terms of passages, and embed their texts."""
    from disputatio.store.segments.terms import count, name_of, searched_text

    counted = count([*map(name_of, passages)], [passage.text for passage in passages], language)
    if embedder is None or not passages:
        return counted, None
    return counted, embedder.embed([*map(searched_text, passages)])
