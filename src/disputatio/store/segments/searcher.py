"""Some segments searched as one: two legs, filters, fusion, the best of all or of each source.

Rows are numbered through, segment after segment, and ties are broken by that number, so that a
result does not depend on how passages are divided into segments.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np

from disputatio.errors import InputError, StoreError
from disputatio.protocols import Reranker
from disputatio.store.segments import minhash
from disputatio.store.segments.candidates import Scope, allowed_rows, candidates
from disputatio.store.segments.days import bounds
from disputatio.store.segments.legs import Query, plan
from disputatio.store.segments.search import CANDIDATES, Fusion, best_per_group, cut, fuse
from disputatio.store.segments.segment import Segment
from disputatio.store.segments.words import query_terms
from disputatio.types import Hit, Passage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_] | None

RERANKED = 50
_NOBODY = Passage(text="")
_new = object.__new__
_passage, _score, _scores, _duplicate_of = (getattr(Hit, field.name).__set__ for field in fields(Hit))


class Found(NamedTuple):
    """Rows of a searcher, best first, with their scores, each leg in [0, 1] and raw, and their sources.

    `dense` and `cosine` are None where there was no dense leg; `sources` are numbers in `Searcher.sources`.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]
    sparse: NDArray[np.float32]
    dense: NDArray[np.float32] | None
    bm25: NDArray[np.float32]
    cosine: NDArray[np.float32] | None
    sources: NDArray[np.int32]


class Searcher:
    """Some segments searched as one; may be used by several threads at once.

    `rows` is the number of rows, dead ones among them; `sources` the names of all sources.
    """

    def __init__(
        self,
        segments: Sequence[Segment],
        dead: Sequence[NDArray[np.bool_] | None] | None = None,
        *,
        language: str = "english",
        everything: bool = False,
    ) -> None:
        """Search `segments` without the rows that are `dead`; `language` stems queries.

        With `everything`, passages that match nothing are found as well, after those that do.

        Raises `StoreError` when segments do not fit one another or their dead rows.
        """
        gone = list(dead) if dead is not None else [None] * len(segments)
        if len(gone) != len(segments):
            raise StoreError(f"{len(segments)} segments came with {len(gone)} arrays of dead rows")
        dimensions = {one.dimension for one in segments if one.rows}
        if len(dimensions) > 1:
            raise StoreError(f"the segments have vectors of different dimensions: {sorted(dimensions)}")
        self.dimension = max(dimensions, default=0)
        self.segments: list[Segment] = []
        self._alive: list[Mask] = []
        for one, rows in zip(segments, gone, strict=True):
            if rows is not None and rows.shape != (one.rows,):
                raise StoreError(f"{one.where}: {rows.size} marks of dead rows for {one.rows} rows")
            if one.rows:
                self.segments.append(one)
                self._alive.append(None if rows is None or not rows.any() else ~rows)
        self._language, self._everything = language, everything
        self._firsts = np.r_[0, np.cumsum([one.rows for one in self.segments])].astype(np.int64)
        self.rows = int(self._firsts[-1])
        numbers: dict[str, int] = {}
        self._groups: list[NDArray[np.int32]] = []
        self._numbers: list[NDArray[np.int32]] = []
        for one in self.segments:
            if int(one.source_of.min()) < 0 or int(one.source_of.max()) >= len(one.sources):
                raise StoreError(f"{one.where}: a source's number is damaged; run: disputatio index check")
            table = [numbers.setdefault(name, len(numbers)) for name in one.sources]
            own = np.array(table, dtype=np.int32)
            own.flags.writeable = False
            same = table == list(range(len(table)))
            groups = one.source_of if same else own[one.source_of]
            groups.flags.writeable = False
            self._groups.append(groups)
            self._numbers.append(own)
        self.sources: tuple[str, ...] = tuple(numbers)
        self._sizes = np.zeros(len(numbers), dtype=np.int64)
        for one, own in zip(self.segments, self._numbers, strict=True):
            np.add.at(self._sizes, own, np.diff(one.source_starts))

    def search(
        self,
        query: str,
        vector: NDArray[np.float32] | None = None,
        *,
        k: int = 8,
        alpha: float = 0.35,
        per_source: int | None = None,
        sources: Collection[str] | None = None,
        exclude: Collection[str] = (),
        after: str | None = None,
        before: str | None = None,
        where: Mapping[str, str] | None = None,
        fusion: Fusion = "weighted",
        k1: float = 1.2,
        b: float = 0.75,
        reranker: Reranker | None = None,
    ) -> list[Hit]:
        """The best `k` passages, or the best `per_source` of every source that matches; best first.

        `vector` is the query's own and adds the dense leg. `where` asks for exact values of metadata
        fields, owner, title, url, document or source; `after` and `before` are ISO dates, both within.
        `Hit.scores` has `sparse` and `dense` in [0, 1] over the candidates, and `bm25` and `cosine`.
        Raises `InputError` for figures out of range, `StoreError` for damaged rows.
        """
        pool, many = k, per_source
        if reranker is not None:
            pool, many = max(RERANKED, 2 * k), per_source and 2 * per_source
        check_options(k=k, alpha=alpha, per_source=per_source, fusion=fusion, k1=k1, b=b)
        found = self.rank(
            query,
            vector,
            k=pool,
            alpha=alpha,
            per_source=many,
            sources=sources,
            exclude=exclude,
            after=after,
            before=before,
            where=where,
            fusion=fusion,
            k1=k1,
            b=b,
        )
        hits, rows = self.fetch(found), found.rows
        if reranker is not None and hits:
            hits, order = _reranked(reranker, query, hits)
            kept = np.arange(min(k, len(hits)))
            if per_source is not None:
                falling = -np.arange(len(hits), dtype=np.float32)
                kept = best_per_group(falling, found.sources[order], per_source)
            hits, rows = [hits[one] for one in kept.tolist()], rows[order][kept]
        return self._marked(hits, rows)

    def rank(
        self,
        query: str,
        vector: NDArray[np.float32] | None = None,
        *,
        k: int = 8,
        alpha: float = 0.35,
        per_source: int | None = None,
        sources: Collection[str] | None = None,
        exclude: Collection[str] = (),
        after: str | None = None,
        before: str | None = None,
        where: Mapping[str, str] | None = None,
        fusion: Fusion = "weighted",
        k1: float = 1.2,
        b: float = 0.75,
    ) -> Found:
        """What `search` finds, as numbers of rows and scores: no passage is read. Raises as it does."""
        check_options(k=k, alpha=alpha, per_source=per_source, fusion=fusion, k1=k1, b=b)
        scope = self._scope(sources, exclude, bounds(after, before), where)
        asked = self._query(query, vector, k1, b)
        if not self.rows:
            none = np.zeros(0, dtype=np.float32)
            return Found(none.astype(np.int64), none, none, None, none, None, none.astype(np.int32))
        rows, bm25, cosine, groups = candidates(scope, asked, max(k, CANDIDATES), per_source)
        ranking = cut(fuse(bm25, cosine, np.arange(rows.size), alpha, fusion), k, groups, per_source)
        at = ranking.rows
        meaning = None if cosine is None else cosine[at]
        return Found(rows[at], ranking.scores, ranking.sparse, ranking.dense, bm25[at], meaning, groups[at])

    def allowed(
        self,
        *,
        sources: Collection[str] | None = None,
        exclude: Collection[str] = (),
        after: str | None = None,
        before: str | None = None,
        where: Mapping[str, str] | None = None,
    ) -> NDArray[np.int64]:
        """The rows, rising, that a search with these filters may find; raises as `search` does."""
        scope = self._scope(sources, exclude, bounds(after, before), where)
        return allowed_rows(scope)

    def fetch(self, found: Found) -> list[Hit]:
        """The hits of what `rank` found; raises `StoreError` for a damaged row."""
        sparse, bm25 = found.sparse.tolist(), found.bm25.tolist()
        if found.dense is None or found.cosine is None:
            legs = [{"sparse": one, "bm25": raw} for one, raw in zip(sparse, bm25, strict=True)]
        else:
            columns = zip(sparse, bm25, found.dense.tolist(), found.cosine.tolist(), strict=True)
            legs = [
                {"sparse": one, "bm25": raw, "dense": near, "cosine": cosine}
                for one, raw, near, cosine in columns
            ]
        passages: list[Passage] = [_NOBODY] * found.rows.size
        for segment, here, own in self._by_segment(found.rows):
            for at, passage in zip(here.tolist(), segment.passages(own), strict=True):
                passages[at] = passage
        hits = []
        for passage, score, leg in zip(passages, found.scores.tolist(), legs, strict=True):
            hit = _new(Hit)  # filled without its __init__: a long answer has thousands
            _passage(hit, passage)
            _score(hit, score)
            _scores(hit, leg)
            _duplicate_of(hit, "")
            hits.append(hit)
        return hits

    def _by_segment(
        self, rows: NDArray[np.int64]
    ) -> Iterator[tuple[Segment, NDArray[np.int64], NDArray[np.int64]]]:
        """Each segment that some rows are in, with their places in `rows` and their own numbers."""
        if len(self.segments) == 1:
            yield self.segments[0], np.arange(rows.size), rows
            return
        places = np.searchsorted(self._firsts, rows, side="right") - 1
        for place in sorted(set(places.tolist())):
            here = np.flatnonzero(places == place)
            yield self.segments[place], here, rows[here] - self._firsts[place]

    def _query(self, query: str, vector: NDArray[np.float32] | None, k1: float, b: float) -> Query:
        if vector is not None and self.dimension:
            if vector.shape != (self.dimension,):
                raise InputError(
                    f"the query's vector has the shape {vector.shape}, the index {self.dimension}"
                )
            if not np.isfinite(vector).all():
                raise InputError("the query's vector has a number that is not finite")
        used = vector if self.dimension else None
        return plan(self.segments, query_terms(query, self._language), used, k1, b)

    def _scope(
        self,
        sources: Collection[str] | None,
        exclude: Collection[str],
        days: tuple[int, int] | None,
        where: Mapping[str, str] | None,
    ) -> Scope:
        """What may be found."""
        fields = dict(where or {})
        if "source" in fields:
            one = fields.pop("source")
            sources = [one] if sources is None or one in sources else []
        named = None
        if sources is not None:
            chosen = frozenset(sources)
            named = np.array([name in chosen for name in self.sources], dtype=np.bool_)
        unwanted = list(exclude)
        masks: list[Mask] = []
        for segment, alive in zip(self.segments, self._alive, strict=True):
            mask = alive
            if days is not None:
                mask = _both(mask, (segment.days >= days[0]) & (segment.days <= days[1]))
            for field, value in fields.items():
                having = np.zeros(segment.rows, dtype=np.bool_)
                having[segment.having(field, [value])] = True
                mask = _both(mask, having)
            if unwanted:
                rows = segment.find(unwanted)
                rows = rows[rows >= 0]
                if rows.size:
                    mask = np.ones(segment.rows, dtype=np.bool_) if mask is None else mask.copy()
                    mask[rows] = False
            masks.append(mask)
        return Scope(
            self.segments,
            self._firsts,
            self._groups,
            self._numbers,
            self._sizes,
            named,
            masks,
            self._everything,
        )

    def _marked(self, hits: list[Hit], rows: NDArray[np.int64]) -> list[Hit]:
        """Hits with near duplicates of better ones marked."""
        if len(hits) < 2:
            return hits
        sketches = np.zeros((len(hits), minhash.BINS), dtype=np.uint8)
        for segment, here, own in self._by_segment(rows):
            sketches[here] = segment.sketches[own]
        for at, better in enumerate(minhash.repeats(sketches)):
            if better >= 0:
                hits[at] = replace(hits[at], duplicate_of=hits[better].passage.id)
        return hits


def check_options(*, k: int, alpha: float, per_source: int | None, fusion: str, k1: float, b: float) -> None:
    """Raise `InputError` for the first figure that is out of range."""
    if k < 1 or (per_source is not None and per_source < 1):
        raise InputError("k and per_source are at least 1")
    if not 0 <= alpha <= 1:
        raise InputError(f"alpha lies between 0 and 1, not at {alpha:g}")
    if fusion not in get_args(Fusion):
        raise InputError(f"fusion is one of {', '.join(get_args(Fusion))}, not {fusion!r}")
    if not (k1 >= 0 and math.isfinite(k1)):
        raise InputError(f"k1 is a number of at least 0, not {k1:g}")
    if not 0 <= b <= 1:
        raise InputError(f"b lies between 0 and 1, not at {b:g}")


def check_query(query: str) -> None:
    """Raise `InputError` for a query that is empty, or that no text could be."""
    if not query.strip():
        raise InputError("the question is empty")
    if not query.isascii():
        try:
            query.encode()
        except UnicodeEncodeError as error:
            raise InputError("the question is not UTF-8 text") from error


def _both(mask: Mask, other: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return other if mask is None else mask & other


def _reranked(reranker: Reranker, query: str, hits: Sequence[Hit]) -> tuple[list[Hit], NDArray[np.int64]]:
    """Hits in the order of a reranker's scores, which become their own; `fused` keeps what they had."""
    given = np.array(reranker.rerank(query, [one.passage for one in hits]), dtype=np.float64)
    if given.shape != (len(hits),) or not np.isfinite(given).all():
        raise InputError(
            f"the reranker gave {given.size} scores for {len(hits)} passages, or one is no number"
        )
    order = np.argsort(-given, kind="stable")
    told = [
        replace(hits[at], score=float(given[at]), scores={**hits[at].scores, "fused": hits[at].score})
        for at in order.tolist()
    ]
    return told, order
