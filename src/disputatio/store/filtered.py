"""A retriever limited to some sources and dates, whatever is searched for."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from itertools import zip_longest
from pathlib import PurePath
from typing import TYPE_CHECKING, Unpack

from disputatio.errors import InputError, UnknownName
from disputatio.protocols import PartialRetriever
from disputatio.store.contract import Index
from disputatio.store.in_memory import InMemory
from disputatio.store.segments.days import bounds
from disputatio.types import PASSAGE

if TYPE_CHECKING:
    from disputatio.protocols import Retriever, SearchOptions
    from disputatio.types import Hit, Source, Unsearched

_NAMED, _LISTED = 20, "disputatio sources"  # sources that a message names; what lists more


class Filtered:
    """Another retriever, limited in each search to `sources`, dates (inclusive), and what is not in `mute`,
    beside the limits of the search itself. Raises `InputError` for what is no date.
    """

    def __init__(
        self,
        retriever: Retriever,
        *,
        sources: Collection[str] | None = None,
        after: str | None = None,
        before: str | None = None,
        mute: Collection[str] = (),
    ) -> None:
        bounds(after, before)
        self.mute = tuple(mute)
        self._retriever = retriever
        self._sources = None if sources is None else frozenset(sources)
        self._after, self._before = after, before

    @property
    def inner(self) -> Retriever:
        return self._retriever

    def limits(self) -> tuple[list[str] | None, str | None, str | None]:
        return (None if self._sources is None else sorted(self._sources), self._after, self._before)

    def search(self, query: str, **options: Unpack[SearchOptions]) -> list[Hit]:
        """Return the hits of the other retriever within both its own limits and these."""
        sources = options.get("sources")
        if self._sources is not None:
            options["sources"] = self._sources if sources is None else self._sources.intersection(sources)
        after = _later(self._after, options.get("after"))
        before = _earlier(self._before, options.get("before"))
        if after is not None:
            options["after"] = after
        if before is not None:
            options["before"] = before
        if self.mute:
            options["exclude"] = [*options.get("exclude", ()), *self.mute]
        return self._retriever.search(query, **options)

    def unsearched(self) -> tuple[Unsearched, ...]:
        return self._retriever.unsearched() if isinstance(self._retriever, PartialRetriever) else ()

    def estimates(self) -> dict[str, Source]:
        """Return the estimates of the other retriever's sources; empty where it has none."""
        estimates = getattr(self._retriever, "estimates", None)
        known: dict[str, Source] = estimates() if callable(estimates) else {}
        return known


def check_sources(retriever: object, sources: Collection[str] | None) -> None:
    """Raise `UnknownName`, with the nearest, for a source that an index or passages in hand do not have."""
    if not sources:
        return
    known: set[str] = set()
    if isinstance(retriever, InMemory):
        known = {passage.source for passage in retriever.passages}
    elif isinstance(retriever, Index) and (stored := retriever.source_passages()) is not None:
        known = set(stored.counts())
    else:
        return
    known.discard("")
    for name in sources:
        if name not in known:
            raise UnknownName("source", name, known, command=_LISTED if len(known) > _NAMED else "")


def find_muted_ids(retriever: object, names: Collection[str]) -> list[str]:
    """Return the ids of documents by id, file or title, or of passages by id (`p3` or `passage:p3`).

    Raises `UnknownName` with the nearest name. Another retriever than an index or passages in hand is given
    the names as they are.
    """
    known: dict[str, list[str]] = {}
    if isinstance(retriever, InMemory):
        for each in retriever.passages:
            for name in {each.id, each.id.removeprefix(PASSAGE), each.document, each.title} - {""}:
                known.setdefault(name, []).append(each.id)
    elif isinstance(retriever, Index):
        for document in retriever.documents(text=False) if names else ():
            file = PurePath(document.path).name
            own = {document.path.removeprefix(PASSAGE), document.metadata.get("id", "")}
            for name in {document.id, document.path, file, document.title, *own} - {""}:
                known.setdefault(name, []).append(document.id)
    else:
        return list(names)
    chosen: list[str] = []
    for name in names:
        ids = known.get(name) or known.get(name.removeprefix(PASSAGE))
        if ids is None and isinstance(retriever, Index):
            with contextlib.suppress(InputError):  # the id of a part of a document
                ids = [retriever.passage(name.removeprefix(PASSAGE)).id]
        if ids is None:
            labels = (each for each in known if "/" not in each and each == each.removeprefix(PASSAGE))
            shown = [each for each in labels if each not in known[each]]
            listing = retriever.listing if isinstance(retriever, Index) else ""
            command = listing if len(shown) > _NAMED else ""
            raise UnknownName("document", name.removeprefix(PASSAGE), shown, command=command)
        chosen += ids
    return chosen


def _later(first: str | None, second: str | None) -> str | None:
    """Return the bound that begins later.

    >>> _later("2021", "2020-12-31"), _later(None, "2020"), _later(None, None)
    ('2021', '2020', None)
    """
    days = {date: (bounds(date, None) or (0, 0))[0] for date in (first, second) if date is not None}
    return max(days, key=days.__getitem__, default=None)


def _earlier(first: str | None, second: str | None) -> str | None:
    """Return the bound that ends earlier.

    >>> _earlier("2021", "2021-11"), _earlier("2020", None)
    ('2021-11', '2020')
    """
    days = {date: (bounds(None, date) or (0, 0))[1] for date in (first, second) if date is not None}
    return min(days, key=days.__getitem__, default=None)


# --- the best of every source -------------------------------------------------------------------------
PER_SOURCE, MOST = 3, 48  # passages of one source, and of all


class EachSource:
    """Another retriever, whose search for `question` gives the best of each source in turns, `k` (48) in all;
    `unread` are sources without room. Other searches, and those that go on, are as they were.
    """

    def __init__(self, retriever: Retriever, question: str) -> None:
        self._retriever, self._question = retriever, question
        self.unread: frozenset[str] = frozenset()

    def search(self, query: str, **options: Unpack[SearchOptions]) -> list[Hit]:
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
        return self._retriever.unsearched() if isinstance(self._retriever, PartialRetriever) else ()
