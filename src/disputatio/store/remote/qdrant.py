"""Passages in a Qdrant collection, behind the same search as an index.

The same as in `Index`: the terms, BM25 in Lucene's form, the fusion and the choice of the best of each
source, which are the functions of `search.py` on scores that the server gives. Different, as a server
that keeps vectors requires:

- k1, b and the mean length are fixed when the collection is made. The server counts the IDF over
  each shard by itself, with points that were deleted and are not yet cleared away.
- A term is a number of 32 bits there (64 in a segment): some pairs of rare terms are one.
- The dense scorer is the server's approximate index. The best of each source come from its groups,
  which it looks for in a bounded number of rounds; scores are normalised over those candidates, not
  over all passages of the source.
- A search is several calls, not one state: what is deleted between them is left out.

The server is to be 1.16 or newer (metadata of collections).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self, Unpack

from disputatio.errors import InputError, MissingDependency, StoreError
from disputatio.protocols import Embedder, Reranker, Search, SearchOptions
from disputatio.store.options import DEFAULT_K, check_search, search_of
from disputatio.store.reliabilities import reliable
from disputatio.store.remote import qdrant_points as points
from disputatio.store.remote.qdrant_points import DENSE, SPARSE, Settings
from disputatio.store.remote.served import (
    Candidate,
    RankedPoint,
    best_reranked,
    ranked,
    with_duplicates_marked,
)
from disputatio.types import Hit, Passage

_BATCH = 256
_MOST_SOURCES = 10_000
_SPARE = 12  # of each source's points beyond those wanted, so that one good by both scorers is among them
_CANDIDATE_FIELDS = ("source", "order")


class Qdrant:
    """Passages in a collection of a Qdrant server (`Retriever`); `search` takes what `Index.search` does.

    Any number of readers and writers, as the server orders them. Faults of the server are `StoreError`.
    """

    def __init__(
        self,
        client: Any,
        collection: str,
        embedder: Embedder | None,
        settings: Settings,
        reliabilities: Mapping[str, float],
    ) -> None:
        """Use `Qdrant.open`."""
        self._client, self._collection = client, collection
        self._embedder, self.settings = embedder, settings
        self._reliabilities = dict(reliabilities)

    @classmethod
    def open(
        cls,
        server: str | Any,
        collection: str,
        *,
        embedder: Embedder | None = None,
        language: str | None = None,
        k1: float | None = None,
        b: float | None = None,
        mean_length: float | None = None,
        create: bool = True,
        reliabilities: Mapping[str, float] | None = None,
        api_key: str | None = None,
        timeout: int = 30,
    ) -> Self:
        """Open a collection, or make it: `server` is a URL, `:memory:` for tests, or a `QdrantClient`.

        `k1` (1.2), `b` (0.75), `mean_length` (in terms; that of the first passages added) and the
        `language` of stemming (english; none for none) are settled when a collection is made.
        `reliabilities` has the probability of being right of each source, for `min_reliability`.
        `timeout` is in seconds. Raises `StoreError` when the server cannot be reached, or the collection
        is not there, not ours, or made with other settings or another embedder; `InputError` for
        a language without a stemmer.
        """
        from disputatio.store.segments.terms import stemmer

        client = _client(server, api_key, timeout) if isinstance(server, str) else server
        name, size = (embedder.name, embedder.dimension) if embedder else ("", 0)
        settled = {"language": language, "k1": k1, "b": b, "mean_length": mean_length}
        fields: dict[str, Any] = {key: value for key, value in settled.items() if value is not None}
        settings = Settings(embedder=name, dimension=size, **fields)
        stemmer(_stemming(settings))
        with _reported(collection, "opening the collection"):
            if client.collection_exists(collection):
                metadata = client.get_collection(collection).config.metadata
                settings = points.settings_of(collection, metadata)
                points.check(collection, settings, fields, name)
            elif create:
                _make(client, collection, settings)
            else:
                raise StoreError(f"{collection}: there is no such collection")
        return cls(client, collection, embedder, settings, reliabilities or {})

    # --- writing ------------------------------------------------------------------------------------
    def add(self, passages: Iterable[Passage]) -> int:
        """Put passages in, those of a known id in place of the old; how many were written.

        A batch of 256 is acknowledged when the server has applied it. Raises `InputError` for a passage
        without text, `StoreError` for a fault of the server.
        """
        written, rest = 0, iter(passages)
        while batch := list(itertools.islice(rest, _BATCH)):
            named = [points.named(passage, number) for number, passage in enumerate(batch, written + 1)]
            new_points = self._points(named)
            with _reported(self._collection, "writing"):
                self._client.upsert(self._collection, new_points, wait=True)
            written += len(batch)
        return written

    def remove(self, *, passages: Collection[str] = (), documents: Collection[str] = ()) -> None:
        """Take passages out, by their ids or those of their documents."""
        from qdrant_client import models

        selectors: list[Any] = []
        if passages:
            selectors.append(models.PointIdsList(points=[points.point_id(name) for name in passages]))
        if documents:
            facts = models.MatchAny(any=[points.fact("document", name) for name in documents])
            only = models.Filter(must=[models.FieldCondition(key="facts", match=facts)])
            selectors.append(models.FilterSelector(filter=only))
        for selector in selectors:
            with _reported(self._collection, "deleting"):
                self._client.delete(self._collection, selector, wait=True)

    def count(self) -> int:
        """How many passages the collection holds."""
        with _reported(self._collection, "counting"):
            return int(self._client.count(self._collection, exact=True).count)

    def _points(self, batch: Sequence[Passage]) -> list[Any]:
        from qdrant_client import models

        from disputatio.store.segments.terms import count, searched_text

        titles, texts = [passage.title for passage in batch], [passage.text for passage in batch]
        counted = count(titles, texts, _stemming(self.settings))
        spans = itertools.pairwise([0, *counted.ends.tolist()])
        tokens = [counted.hashes[counted.tokens[start:end]] for start, end in spans]
        if not self.settings.mean_length:  # the first passages settle it
            self.settings = replace(self.settings, mean_length=max(1.0, counted.tokens.size / len(batch)))
            with _reported(self._collection, "writing"):
                self._client.update_collection(self._collection, metadata=points.metadata_of(self.settings))
        vectors = None
        if self._embedder is not None:
            searched = [searched_text(title, text) for title, text in zip(titles, texts, strict=True)]
            vectors = self._embedder.embed(searched).tolist()
        now = time.time_ns()
        new_points = []
        for row, passage in enumerate(batch):
            vector: dict[str, Any] = {
                SPARSE: models.SparseVector(**points.weights(tokens[row], self.settings))
            }
            if vectors is not None:
                vector[DENSE] = vectors[row]
            payload = points.payload_of(passage, now + row)
            point_id = points.point_id(passage.id)
            new_points.append(models.PointStruct(id=point_id, vector=vector, payload=payload))
        return new_points

    # --- reading ------------------------------------------------------------------------------------
    def search(
        self,
        query: str,
        search: Search | None = None,
        *,
        reranker: Reranker | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[Hit]:
        """The best `k` passages (8 when None), or the best `per_source` of every source that matches.

        Candidates are the best of each scorer on the server; each then gets its exact score by the other
        scorer, and they are fused here. `k1` and `b` other than the collection's are refused. Raises
        `InputError` for an empty query or options out of range, `StoreError` for a fault of the server.
        """
        from disputatio.store.segments.search import CANDIDATES
        from disputatio.store.segments.searcher import RERANKED

        search = self._checked(query, search_of(search, options))
        k = DEFAULT_K if search.k is None else search.k
        if search.min_reliability is not None:
            names = reliable(self._reliabilities, search.min_reliability, search.sources)
            search = replace(search, sources=names)
        condition = points.filter_of(search)
        queries = self._queries(query)
        if not queries or (search.sources is not None and not search.sources):
            return []
        pool = replace(search, k=k)
        if reranker is not None:
            pool = replace(
                search, k=max(RERANKED, 2 * k), per_source=search.per_source and 2 * search.per_source
            )
        candidates = self._candidates(queries, condition, max(pool.k or k, CANDIDATES), pool.per_source)
        self._complete(queries, candidates)
        hits = self._hits(ranked(candidates, pool, dense=DENSE in queries))
        if reranker is not None and hits:
            hits = best_reranked(reranker, query, hits, replace(search, k=k))
        return with_duplicates_marked(hits, _stemming(self.settings))

    def _checked(self, query: str, search: Search) -> Search:
        """The search, which asks for nothing that the collection cannot do; raises `InputError`."""
        check_search(query, search)
        for name in ("k1", "b"):
            wanted, settled = getattr(search, name), getattr(self.settings, name)
            if wanted is not None and wanted != settled:
                raise InputError(
                    f"{name} is {settled:g} in the collection {self._collection}, not {wanted:g}: "
                    "it is settled when a collection is made"
                )
        return search

    def _queries(self, query: str) -> dict[str, Any]:
        """The query as each scorer takes it."""
        from qdrant_client import models

        from disputatio.store.segments.terms import query_terms

        queries: dict[str, Any] = {}
        if terms := query_terms(query, _stemming(self.settings)):
            queries[SPARSE] = models.SparseVector(**points.query_weights(terms))
        if self._embedder is not None:
            queries[DENSE] = self._embedder.embed([query], query=True)[0].tolist()
        return queries

    def _candidates(
        self, queries: Mapping[str, Any], condition: Any, most: int, per_source: int | None
    ) -> dict[str, Candidate]:
        """The best points of each scorer by their ids; with `per_source` some of every source that matches.

        A source matches when it has a passage with a term of the query, or one of the `most` best by
        meaning.
        """
        from qdrant_client import models

        candidates: dict[str, Candidate] = {}

        def keep(scorer: str, scored_points: Iterable[Any]) -> None:
            for point in scored_points:
                new = Candidate(point.payload["source"], point.payload["order"], {})
                candidates.setdefault(str(point.id), new).scores[scorer] = point.score

        ungrouped = queries
        if per_source is not None:
            ungrouped = {scorer: query for scorer, query in queries.items() if scorer == DENSE}
        with _reported(self._collection, "searching"):
            conditions = dict.fromkeys(ungrouped, condition)
            for scorer, scored_points in self._query(ungrouped, conditions, most).items():
                keep(scorer, scored_points)
            if per_source is None:
                return candidates
            facets = self._client.facet(
                self._collection, "source", facet_filter=condition, limit=_MOST_SOURCES
            )
            for scorer in (SPARSE, DENSE):
                sources = {candidate.source for candidate in candidates.values()}
                groups = len(facets.hits) if scorer == SPARSE else len(sources)
                if scorer not in queries or not groups:
                    continue
                only = condition
                if scorer == DENSE:
                    matched = models.MatchAny(any=sorted(sources))
                    of_them = models.FieldCondition(key="source", match=matched)
                    only = models.Filter(must=[*condition.must, of_them], must_not=condition.must_not)
                response = self._client.query_points_groups(
                    self._collection,
                    "source",
                    query=queries[scorer],
                    using=scorer,
                    query_filter=only,
                    limit=groups,
                    group_size=per_source + _SPARE,
                    with_payload=list(_CANDIDATE_FIELDS),
                )
                keep(scorer, (point for group in response.groups for point in group.hits))
        return candidates

    def _complete(self, queries: Mapping[str, Any], candidates: Mapping[str, Candidate]) -> None:
        """Give each candidate its score by the scorers that did not find it, in one more call."""
        from qdrant_client import models

        missing = {
            scorer: [point for point, candidate in candidates.items() if scorer not in candidate.scores]
            for scorer in queries
        }
        wanted = {scorer: queries[scorer] for scorer, ids in missing.items() if ids}
        if wanted:
            only = {
                scorer: models.Filter(must=[models.HasIdCondition(has_id=missing[scorer])])
                for scorer in wanted
            }
            with _reported(self._collection, "searching"):
                responses = self._query(wanted, only, max(map(len, missing.values())), exact=True)
            for scorer, scored_points in responses.items():
                for point in scored_points:
                    candidates[str(point.id)].scores[scorer] = point.score

    def _query(
        self, queries: Mapping[str, Any], filters: Mapping[str, Any], limit: int, *, exact: bool = False
    ) -> dict[str, list[Any]]:
        from qdrant_client import models

        requests = [
            models.QueryRequest(
                query=query,
                using=scorer,
                filter=filters[scorer],
                limit=limit,
                with_payload=False if exact else list(_CANDIDATE_FIELDS),
                params=models.SearchParams(exact=True) if exact and scorer == DENSE else None,
            )
            for scorer, query in queries.items()
        ]
        responses = self._client.query_batch_points(self._collection, requests) if requests else []
        return {scorer: response.points for scorer, response in zip(queries, responses, strict=True)}

    def _hits(self, winners: Sequence[RankedPoint]) -> list[Hit]:
        """The winners with their passages."""
        with _reported(self._collection, "searching"):
            ids = [winner.id for winner in winners]
            records = self._client.retrieve(self._collection, ids, with_payload=True) if ids else []
        passages = {str(record.id): points.passage_of(record.payload) for record in records}
        return [
            Hit(passage=passages[winner.id], score=winner.score, scores=winner.scores)
            for winner in winners
            if winner.id in passages
        ]


def _stemming(settings: Settings) -> str:
    """The language as the stemmer takes it, empty for none."""
    return "" if settings.language == "none" else settings.language


def _client(server: str, api_key: str | None, timeout: int) -> Any:
    try:
        from qdrant_client import QdrantClient
    except ImportError as error:
        raise MissingDependency("qdrant-client", "scale") from error
    if server == ":memory:":
        return QdrantClient(":memory:")
    # The check of versions is a call of its own that warns instead of raising.
    return QdrantClient(url=server, api_key=api_key, timeout=timeout, check_compatibility=False)


def _make(client: Any, collection: str, settings: Settings) -> None:
    from qdrant_client import models

    vectors = {DENSE: models.VectorParams(size=settings.dimension, distance=models.Distance.COSINE)}
    client.create_collection(
        collection,
        vectors_config=vectors if settings.dimension else {},
        sparse_vectors_config={SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
        metadata=points.metadata_of(settings),
    )
    for field in ("source", "facts"):
        client.create_payload_index(collection, field, models.PayloadSchemaType.KEYWORD)
    client.create_payload_index(collection, "day", models.PayloadSchemaType.INTEGER)


@contextmanager
def _reported(collection: str, doing: str) -> Iterator[None]:
    """Faults of the server, or of the way to it, as a `StoreError` of one line."""
    from qdrant_client.http.exceptions import ApiException

    try:
        yield
    except (ApiException, ValueError, OSError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise StoreError(f"{collection}: {doing} failed: {reason[:200]}") from error
