"""A retriever that gives the best passages of every source for one question."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Unpack

from disputatio.protocols import PartialRetriever

if TYPE_CHECKING:
    from disputatio.protocols import Retriever, SearchOptions
    from disputatio.types import Hit, Unsearched

PER_SOURCE, MOST = 3, 48  # passages of one source, and of all


class EachSource:
    """Another retriever, whose search for `question` gives the best passages of every source (`Retriever`).

    The best of each source come before the second best of any, `k` (48) in all; `unread` then has the sources
    that there was no room for. A passage without a source counts as one. Other searches, and those that go on
    from what was read, are as they were.
    """

    def __init__(self, retriever: Retriever, question: str) -> None:
        self._retriever, self._question = retriever, question
        self.unread: frozenset[str] = frozenset()

    def search(self, query: str, **options: Unpack[SearchOptions]) -> list[Hit]:
        """Return the hits, source by source in turn."""
        if query != self._question or options.get("exclude"):
            return self._retriever.search(query, **options)
        most = options.get("k") or MOST
        options["k"], options["per_source"] = None, PER_SOURCE
        hits = self._retriever.search(query, **options)
        if any(not hit.passage.source for hit in hits):
            options["k"], options["per_source"], options["sources"] = MOST, None, ("",)
            hits = [hit for hit in hits if hit.passage.source] + self._retriever.search(query, **options)
        shelves: dict[tuple[bool, str], list[Hit]] = {}
        for hit in sorted(hits, key=lambda hit: -hit.score):
            source = hit.passage.source
            shelves.setdefault((bool(source), source or hit.passage.id), []).append(hit)
        turns = zip_longest(*(shelf[:PER_SOURCE] for shelf in shelves.values()))
        self.unread = frozenset(name for _, name in list(shelves)[most:])
        return [hit for turn in turns for hit in turn if hit is not None][:most]

    def unsearched(self) -> tuple[Unsearched, ...]:
        """Return the indexes that the newest search of the other retriever left out."""
        return self._retriever.unsearched() if isinstance(self._retriever, PartialRetriever) else ()
