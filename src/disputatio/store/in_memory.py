"""Passages that the caller holds, as a retriever: all of them in their order, or the best."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from disputatio.errors import IngestError, InputError
from disputatio.protocols import Reranker, Search, SearchOptions
from disputatio.store.ingesting.exported import is_nan, of_export
from disputatio.store.ingesting.hidden import clean
from disputatio.store.ingesting.source import domain
from disputatio.store.ingesting.split import split
from disputatio.store.ingesting.statements import with_statements
from disputatio.store.options import check_search, search_of
from disputatio.text import content_id, count_words
from disputatio.types import Hit, Passage
from disputatio.versions.dates import as_stated

if TYPE_CHECKING:
    from disputatio.store.segments.searcher import Searcher

LONG = 400
MOST = 24
_FIELDS = ("id", "source", "title", "url", "date", "owner")


class InMemory:
    """Passages given by the caller (`Retriever`).

    A date comes from the caller, so it counts as stated (`as_stated`). An empty id is filled from the
    content; the same id with the same content is kept once. A
    passage of more than 400 words is divided, each part with its offsets and the whole one's id as
    its `document`. Raises `InputError` for one id with two contents, or a passage without text.

    They are searched by keyword as an index is, by the same code on arrays in memory, made at the first
    search that needs them; for some thousand passages that is done without compiled code. Words are not
    stemmed, so that nothing beyond numpy is needed.
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        by_id: dict[str, Passage] = {}
        self._divided = False
        for number, caller_passage in enumerate(passages, start=1):
            if not caller_passage.text.strip():
                raise InputError(f"passage {number}: has no text")
            passage = with_id(as_stated(caller_passage))
            passage = passage if passage.document else with_statements(passage)
            twin = by_id.setdefault(passage.id, passage)
            if (twin.source, twin.text) != (passage.source, passage.text):
                raise InputError(f"passage {number}: the id {passage.id!r} stands for another text already")
        self._passages: list[Passage] = []
        for passage in by_id.values():
            parts = _parts(passage)
            self._divided = self._divided or len(parts) > 1
            self._passages += parts
        self._made: Searcher | None = None
        self._lock = threading.Lock()

    @property
    def passages(self) -> list[Passage]:
        return list(self._passages)

    def search(
        self,
        query: str,
        search: Search | None = None,
        *,
        reranker: Reranker | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[Hit]:
        """Return every passage in the order given, scored 1 (k=None), or the best `k` of them.

        Where division made more than 24, `k=None` gives the best 24 in the order of the text. Options,
        filters, scores and faults are those of `Index.search`, over all passages that the filters leave;
        passages that match nothing come last, so that `k` are returned where there are as many.
        """
        search = search_of(search, options)
        check_search(query, search)
        if search.min_reliability is not None:  # no source of the caller's has an estimate
            search = replace(search, sources=())
        rows = list(range(len(self._passages)))
        filters = (search.sources, search.after, search.before)
        if search.exclude or search.where or any(option is not None for option in filters):
            rows = self._searcher().find_allowed(search).tolist()
        in_order = search.k is None and search.per_source is None
        if in_order and not (self._divided and len(rows) > MOST):
            return [Hit(passage=self._passages[row], score=1.0) for row in rows]
        wanted = replace(search, k=MOST if search.k is None else search.k)
        hits = self._searcher().search(query, None, wanted, reranker=reranker)
        if in_order:
            row_of = {passage.id: row for row, passage in enumerate(self._passages)}
            hits.sort(key=lambda hit: row_of[hit.passage.id])
        return hits

    def _searcher(self) -> Searcher:
        """Return the passages as arrays."""
        from disputatio.store.segments.searcher import Searcher
        from disputatio.store.segments.segment import Segment

        with self._lock:
            if self._made is None:
                segment = Segment.build(self._passages, None, language="")
                self._made = Searcher([segment], language="", everything=True)
            return self._made


def with_id(passage: Passage) -> Passage:
    """Return the passage with an id, made from its content where it has none."""
    return passage if passage.id else replace(passage, id=content_id("p", passage.source, passage.text))


def _parts(passage: Passage) -> list[Passage]:
    if count_words(passage.text) <= LONG:
        has_span = passage.document or passage.start or passage.end
        return [passage if has_span else replace(passage, end=len(passage.text))]
    return [
        replace(
            passage,
            id=content_id("p", passage.id, f"{start}:{end}"),
            text=passage.text[start:end],
            document=passage.id,
            start=start,
            end=end,
        )
        for start, end in split(passage.text)
    ]


def passage_of(row: Mapping[str, Any], where: str) -> Passage:
    """Return the passage of named fields: text, source?, id?, title?, url?, date?, owner?, metadata?.

    A row of an export has beside these what its index read. One without a source takes the domain of its
    URL. Raises `IngestError` that names the place and the field.

    >>> passage_of({"text": "It rained.", "url": "https://weather.example/1"}, "row 1").source
    'weather.example'
    """
    text = row.get("text")
    if text is None:
        raise IngestError(where, "has no text", "no_text")
    if not isinstance(text, str):
        raise IngestError(where, "'text' is not text", "bad_row")
    text = clean(text)
    if not text.strip():
        raise IngestError(where, "has no text", "no_text")
    fields = {name: _field(name, row.get(name), where) for name in _FIELDS}
    kept = of_export(row)
    metadata = row.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise IngestError(where, "'metadata' is no object", "bad_row")
    passage = Passage(
        text=text,
        id=fields["id"],
        source=fields["source"] or domain(fields["url"]),
        owner=fields["owner"],
        title=fields["title"],
        url=fields["url"],
        date=fields["date"],
        metadata={str(name): _field(str(name), value, where) for name, value in metadata.items()},
    )
    if kept is None:
        return passage
    start, end = (each if isinstance(each := row.get(name), int) else 0 for name in ("start", "end"))
    document = _field("document", row.get("document") or passage.id, where)
    span = {"document": document, "start": start, "end": end or len(text)}
    return replace(passage, **kept | span | {"metadata": passage.metadata})


def _field(name: str, value: object, where: str) -> str:
    """Return a field as one line of text; numbers are written out."""
    if is_nan(value):
        value = None
    elif isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str | None):
        raise IngestError(where, f"{name!r} is not text", "bad_row")
    return " ".join(clean(value or "").split())
