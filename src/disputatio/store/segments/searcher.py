"""Several segments searched as one: two scorers, filters, fusion, the best of all or of each source.

Rows are numbered through, segment after segment, and ties are broken by that number, so that a
result does not depend on how passages are divided into segments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from disputatio.errors import InputError, StoreError
from disputatio.protocols import Reranker, Search
from disputatio.store.options import DEFAULT_K, K1, B, check_search
from disputatio.store.segments import minhash
from disputatio.store.segments.candidates import Scope, candidates, find_allowed_rows
from disputatio.store.segments.days import bounds
from disputatio.store.segments.query import Query, plan
from disputatio.store.segments.search import CANDIDATES, Ranking, cut, first_of_groups, fuse, name_scores
from disputatio.store.segments.segment import Segment
from disputatio.store.segments.stored import field_setters
from disputatio.store.segments.terms import query_terms
from disputatio.types import Hit, Passage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_] | None

RERANKED = 50
_DEFAULTS = Search()
_NO_PASSAGE = Passage(text="")
_new = object.__new__
_passage, _score, _scores, _duplicate_of = field_setters(Hit)


@contextmanager
def _sound() -> Iterator[None]:
    """Turn index errors from mismatched arrays into a `StoreError` of one line."""
    try:
        yield
    except (IndexError, ValueError, OverflowError, MemoryError, RecursionError) as error:
        words = " ".join(f"{type(error).__name__}: {error}".split())[:160]
        raise StoreError(
            f"the index's arrays do not fit one another ({words}); run: disputatio index check"
        ) from error


class Searcher:
    """Several segments searched as one, with all `rows` and `sources`; threads may share it."""

    def __init__(
        self,
        segments: Sequence[Segment],
        dead: Sequence[NDArray[np.bool_] | None] | None = None,
        *,
        language: str = "english",
        everything: bool = False,
    ) -> None:
        """Search live rows; with `everything` also what matches nothing. Raises `StoreError`."""
        marks = list(dead) if dead is not None else [None] * len(segments)
        if len(marks) != len(segments):
            raise StoreError(f"{len(segments)} segments came with {len(marks)} arrays of dead rows")
        dimensions = {segment.dimension for segment in segments if segment.rows}
        if len(dimensions) > 1:
            raise StoreError(f"the segments have vectors of different dimensions: {sorted(dimensions)}")
        self.dimension = max(dimensions, default=0)
        self.segments: list[Segment] = []
        self._alive: list[Mask] = []
        for segment, dead_rows in zip(segments, marks, strict=True):
            if dead_rows is not None and dead_rows.shape != (segment.rows,):
                raise StoreError(
                    f"{segment.where}: {dead_rows.size} marks of dead rows for {segment.rows} rows"
                )
            if segment.rows:
                self.segments.append(segment)
                self._alive.append(None if dead_rows is None or not dead_rows.any() else ~dead_rows)
        self._language, self._everything = language, everything
        self._firsts = np.r_[0, np.cumsum([segment.rows for segment in self.segments])].astype(np.int64)
        self.rows = int(self._firsts[-1])
        numbers: dict[str, int] = {}
        self._groups: list[NDArray[np.int32]] = []
        self._numbers: list[NDArray[np.int32]] = []
        for segment in self.segments:
            if int(segment.source_of.min()) < 0 or int(segment.source_of.max()) >= len(segment.sources):
                raise StoreError(
                    f"{segment.where}: a source's number is damaged; run: disputatio index check"
                )
            table = [numbers.setdefault(name, len(numbers)) for name in segment.sources]
            number_of = np.array(table, dtype=np.int32)
            number_of.flags.writeable = False
            same = table == list(range(len(table)))
            groups = segment.source_of if same else number_of[segment.source_of]
            groups.flags.writeable = False
            self._groups.append(groups)
            self._numbers.append(number_of)
        self.sources: tuple[str, ...] = tuple(numbers)
        self._sizes = np.zeros(len(numbers), dtype=np.int64)
        for segment, number_of in zip(self.segments, self._numbers, strict=True):
            np.add.at(self._sizes, number_of, np.diff(segment.source_starts))

    def search(
        self,
        query: str,
        vector: NDArray[np.float32] | None = None,
        search: Search = _DEFAULTS,
        *,
        reranker: Reranker | None = None,
    ) -> list[Hit]:
        """Return the best passages, by the query's `vector` too; `min_reliability` is for others to look at.
        Raises `InputError` for options out of range, `StoreError` for damaged rows.
        """
        check_search(query, search)
        ranking, scores = self._rank(query, vector, search if reranker is None else widen(search))
        hits, rows = self._fetch(ranking, scores), ranking.rows
        if reranker is not None and hits:
            hits, places = rerank_best(reranker, query, hits, search)
            rows = rows[places]
        return self._with_duplicates_marked(hits, rows)

    @_sound()
    def _rank(
        self, query: str, vector: NDArray[np.float32] | None, search: Search
    ) -> tuple[Ranking, list[dict[str, float]]]:
        """Return the numbers of the best rows with their scores, and those scores by name."""
        scope = self._scope(search)
        terms = self._query(query, vector, search)
        if not self.rows:
            none = np.zeros(0, dtype=np.float32)
            return Ranking(none.astype(np.int64), none, none, None), []
        k = DEFAULT_K if search.k is None else search.k
        rows, bm25, cosine, groups = candidates(scope, terms, max(k, CANDIDATES), search.per_source)
        fused = fuse(bm25, cosine, np.arange(rows.size), search.alpha, search.fusion)
        ranking = cut(fused, k, groups, search.per_source)
        kept = ranking.rows
        scores = name_scores(ranking, bm25[kept], None if cosine is None else cosine[kept])
        return ranking._replace(rows=rows[kept]), scores

    def find_allowed(self, search: Search) -> NDArray[np.int64]:
        """Return the rows, rising, that a search with these filters may find; raises as `search` does."""
        return find_allowed_rows(self._scope(search))

    @_sound()
    def _fetch(self, ranking: Ranking, by_scorer: Sequence[dict[str, float]]) -> list[Hit]:
        """Return the hits of ranked rows; raises `StoreError` for a damaged row."""
        passages: list[Passage] = [_NO_PASSAGE] * ranking.rows.size
        for segment, places, segment_rows in self._by_segment(ranking.rows):
            for number, passage in zip(places.tolist(), segment.passages(segment_rows), strict=True):
                passages[number] = passage
        hits = []
        for passage, score, scores in zip(passages, ranking.scores.tolist(), by_scorer, strict=True):
            hit = _new(Hit)
            _passage(hit, passage)
            _score(hit, score)
            _scores(hit, scores)
            _duplicate_of(hit, "")
            hits.append(hit)
        return hits

    def _by_segment(
        self, rows: NDArray[np.int64]
    ) -> Iterator[tuple[Segment, NDArray[np.int64], NDArray[np.int64]]]:
        """Yield each segment of the rows, with places in `rows` and numbers in the segment."""
        if len(self.segments) == 1:
            yield self.segments[0], np.arange(rows.size), rows
            return
        numbers = np.searchsorted(self._firsts, rows, side="right") - 1
        for number in sorted(set(numbers.tolist())):
            places = np.flatnonzero(numbers == number)
            yield self.segments[number], places, rows[places] - self._firsts[number]

    def _query(self, query: str, vector: NDArray[np.float32] | None, search: Search) -> Query:
        if vector is not None and self.dimension:
            if vector.shape != (self.dimension,):
                raise InputError(
                    f"the query's vector has the shape {vector.shape}, the index {self.dimension}"
                )
            if not np.isfinite(vector).all():
                raise InputError("the query's vector has a number that is not finite")
        return plan(
            self.segments,
            query_terms(query, self._language),
            vector if self.dimension else None,
            K1 if search.k1 is None else search.k1,
            B if search.b is None else search.b,
        )

    def _scope(self, search: Search) -> Scope:
        """Return the rows that the filters of a search allow; raises `InputError` for what is no date."""
        sources, fields = search.sources, dict(search.where or {})
        if "source" in fields:
            name = fields.pop("source")
            sources = [name] if sources is None or name in sources else []
        named = None
        if sources is not None:
            chosen = frozenset(sources)
            named = np.array([name in chosen for name in self.sources], dtype=np.bool_)
        days, excluded = bounds(search.after, search.before), list(search.exclude)
        masks: list[Mask] = []
        for segment, alive in zip(self.segments, self._alive, strict=True):
            mask = alive
            if days is not None:
                mask = _both(mask, (segment.days >= days[0]) & (segment.days <= days[1]))
            for field, value in fields.items():
                having = np.zeros(segment.rows, dtype=np.bool_)
                having[segment.find_by_field(field, [value])] = True
                mask = _both(mask, having)
            if excluded:
                rows = np.concatenate([segment.find(excluded), segment.find_by_field("document", excluded)])
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

    def _with_duplicates_marked(self, hits: list[Hit], rows: NDArray[np.int64]) -> list[Hit]:
        if len(hits) < 2:
            return hits
        sketches = np.zeros((len(hits), minhash.BINS), dtype=np.uint8)
        for segment, places, segment_rows in self._by_segment(rows):
            sketches[places] = segment.sketches[segment_rows]
        for number, better in enumerate(minhash.repeats(sketches)):
            if better >= 0:
                hits[number] = replace(hits[number], duplicate_of=hits[better].passage.id)
        return hits


def _both(mask: Mask, other: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return other if mask is None else mask & other


def widen(search: Search) -> Search:
    """Return the search whose hits are enough for a reranker to choose those of `search` from."""
    k = DEFAULT_K if search.k is None else search.k
    return replace(search, k=max(RERANKED, 2 * k), per_source=search.per_source and 2 * search.per_source)


def rerank_best(
    reranker: Reranker, query: str, hits: Sequence[Hit], search: Search
) -> tuple[list[Hit], NDArray[np.int64]]:
    """Return the best hits by the scores of a reranker, and their old places.

    `scores["fused"]` is the score before. Raises `InputError` unless the reranker gives one finite number a
    passage.
    """
    scores = np.array(reranker.rerank(query, [hit.passage for hit in hits]), dtype=np.float64)
    if scores.shape != (len(hits),) or not np.isfinite(scores).all():
        raise InputError(
            f"the reranker gave {scores.size} scores for {len(hits)} passages, or one is no number"
        )
    order = np.argsort(-scores, kind="stable")
    if search.per_source is None:
        order = order[: DEFAULT_K if search.k is None else search.k]
    else:
        numbers: dict[str, int] = {}
        sources = [numbers.setdefault(hits[at].passage.source, len(numbers)) for at in order.tolist()]
        order = order[first_of_groups(np.array(sources, dtype=np.int64), search.per_source)]
    best = []
    for at in order.tolist():
        fused = {**hits[at].scores, "fused": hits[at].score}
        best.append(replace(hits[at], score=float(scores[at]), scores=fused))
    return best, order
