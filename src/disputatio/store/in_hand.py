"""Passages that the caller holds, as a retriever: all of them, in their order, or the best by BM25."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from disputatio.errors import InputError
from disputatio.protocols import Embedder, Reranker
from disputatio.store.ingesting.readers import clean, domain
from disputatio.store.ingesting.split import count_words, split
from disputatio.store.reliabilities import reliable
from disputatio.text import content_id
from disputatio.types import Hit, Passage

if TYPE_CHECKING:
    from disputatio.store.segments.searcher import Searcher

LONG = 400
MOST = 24
_FIELDS = ("id", "source", "title", "url", "date", "owner")


class InHand:
    """Passages given by the caller (`Retriever`).

    An empty id is filled from the content; the same id with the same content is kept once. A
    passage of more than 400 words is divided, each part with its offsets and the whole one's id as
    its `document`. Raises `InputError` for one id with two contents, or a passage without text.

    They are searched as an index is, by the same code on arrays in memory, made at the first search
    that needs them; for some thousand passages that is done without compiled code. Words are not
    stemmed, so that nothing beyond numpy is needed.
    """

    def __init__(
        self,
        passages: Sequence[Passage],
        *,
        embedder: Embedder | None = None,
        reliabilities: Mapping[str, float] | None = None,
    ) -> None:
        """Hold the passages; `embedder` adds the dense leg to ranked searches.

        `reliabilities` has the probability of being right of each source, for `min_reliability`.
        """
        kept: dict[str, Passage] = {}
        self._divided = False
        for number, given in enumerate(passages, start=1):
            if not given.text.strip():
                raise InputError(f"passage {number}: has no text")
            passage = replace(given, id=given.id or content_id("p", given.source, given.text))
            twin = kept.setdefault(passage.id, passage)
            if (twin.source, twin.text) != (passage.source, passage.text):
                raise InputError(f"passage {number}: the id {passage.id!r} stands for another text already")
        self._passages: list[Passage] = []
        for passage in kept.values():
            parts = _parts(passage)
            self._divided = self._divided or len(parts) > 1
            self._passages += parts
        self._embedder = embedder
        self._reliabilities = dict(reliabilities or {})
        self._searchers: dict[bool, Searcher] = {}
        self._lock = threading.Lock()

    @property
    def passages(self) -> list[Passage]:
        """All of them, long ones divided."""
        return list(self._passages)

    def search(
        self,
        query: str,
        *,
        k: int | None = None,
        alpha: float = 0.35,
        per_source: int | None = None,
        sources: Collection[str] | None = None,
        exclude: Collection[str] = (),
        after: str | None = None,
        before: str | None = None,
        where: Mapping[str, str] | None = None,
        fusion: Literal["weighted", "rrf"] = "weighted",
        k1: float = 1.2,
        b: float = 0.75,
        min_reliability: float | None = None,
        reranker: Reranker | None = None,
    ) -> list[Hit]:
        """Every passage in the order given, scored 1 (k=None), or the best `k` of them.

        Where division made more than 24, `k=None` gives the best 24 in the order of the text. A
        ranked search takes what `Index.search` takes and scores as it does, over all passages that
        the filters leave; those that match nothing come last, so that `k` passages are returned
        where there are as many. Raises `InputError` as `Index.search` does.
        """
        from disputatio.store.segments.searcher import check_options, check_query

        check_query(query)
        check_options(
            k=MOST if k is None else k, alpha=alpha, per_source=per_source, fusion=fusion, k1=k1, b=b
        )
        sources = reliable(self._reliabilities, min_reliability, sources)
        rows = list(range(len(self._passages)))
        if sources is not None or exclude or after is not None or before is not None or where:
            rows = (
                self._searcher(dense=False)
                .allowed(sources=sources, exclude=exclude, after=after, before=before, where=where)
                .tolist()
            )
        if k is None and per_source is None and not (self._divided and len(rows) > MOST):
            return [Hit(passage=self._passages[row], score=1.0) for row in rows]
        hits = self._searcher(dense=self._embedder is not None).search(
            query,
            None if self._embedder is None else self._embedder.embed([query], query=True)[0],
            k=MOST if k is None else k,
            alpha=alpha,
            per_source=per_source,
            sources=sources,
            exclude=exclude,
            after=after,
            before=before,
            where=where,
            fusion=fusion,
            k1=k1,
            b=b,
            reranker=reranker,
        )
        if k is None and per_source is None:
            order = {one.id: row for row, one in enumerate(self._passages)}
            hits.sort(key=lambda hit: order[hit.passage.id])
        return hits

    def _searcher(self, *, dense: bool) -> Searcher:
        """The passages as arrays, with their vectors where the dense leg is wanted."""
        from disputatio.store.segments.searcher import Searcher
        from disputatio.store.segments.segment import Segment
        from disputatio.store.segments.words import words

        with self._lock:
            if dense not in self._searchers:
                vectors = None
                if dense and self._embedder is not None and self._passages:
                    vectors = self._embedder.embed([words(one.title, one.text) for one in self._passages])
                segment = Segment.build(self._passages, vectors, language="")
                self._searchers[dense] = Searcher([segment], language="", everything=True)
            return self._searchers[dense]


def _parts(passage: Passage) -> list[Passage]:
    """A long passage divided; another one as it is."""
    if count_words(passage.text) <= LONG:
        whole = passage.document or passage.start or passage.end
        return [passage if whole else replace(passage, end=len(passage.text))]
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


def load_passages(path: str | Path) -> list[Passage]:
    """The passages of a JSONL file, one object a line: text, source?, id?, title?, url?, date?, owner?.

    A passage without a source takes the domain of its URL. Raises `InputError` that names the file
    and the row.
    """
    path = Path(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    passages = []
    for number, line in enumerate(raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if line.strip():
            passages.append(_passage(line, f"{path}, row {number}"))
    if not passages:
        raise InputError(f"{path}: has no passages")
    return passages


def _passage(line: bytes, where: str) -> Passage:
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: is not UTF-8 text") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: is not JSON ({str(error)[:80]})") from error
    if not isinstance(row, dict):
        raise InputError(f"{where}: is not a JSON object")
    text = row.get("text")
    if text is None:
        raise InputError(f"{where}: has no text")
    if not isinstance(text, str):
        raise InputError(f"{where}: 'text' is not text")
    text = clean(text)
    if not text.strip():
        raise InputError(f"{where}: has no text")
    told: dict[str, str] = {}
    for name in _FIELDS:
        value = row.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str | None):
            raise InputError(f"{where}: {name!r} is not text")
        told[name] = " ".join(clean(value or "").split())
    return Passage(
        text=text,
        id=told["id"],
        source=told["source"] or domain(told["url"]),
        owner=told["owner"],
        title=told["title"],
        url=told["url"],
        date=told["date"],
    )
