"""A served engine behind the same search: passages in a Qdrant collection.

What is the same as in `Index`: the words, BM25 in Lucene's form, the fusion and the choice of the
best of each source, which are the functions of `search.py` on scores that the server gives. What
differs, and cannot be otherwise on a server that keeps vectors:

- k1, b and the mean length are fixed when the collection is made. The server counts the IDF over
  each shard by itself, with points that were deleted and are not yet cleared away.
- A term is a number of 32 bits there (64 in a segment): some pairs of rare terms are one.
- The dense leg is the server's approximate index. The best of each source come from its groups,
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
from typing import TYPE_CHECKING, Any, Self

from disputatio.errors import InputError, MissingDependency, StoreError
from disputatio.protocols import Embedder, Reranker
from disputatio.store.remote import qdrant_points as points
from disputatio.store.remote.qdrant_points import DENSE, SPARSE, Settings
from disputatio.store.remote.served import Candidate, Won, marked, ranked, reranked
from disputatio.types import Hit, Passage

if TYPE_CHECKING:
    from disputatio.store.segments.search import Fusion

DEFAULT_K = 8
_BATCH = 256
_MOST_SOURCES = 10_000
_SPARE = 12  # of each source's points beyond those asked for, so that one good on both legs is among them
_TOLD = ("source", "order")


class Qdrant:
    """Passages in a collection of a Qdrant server (`Retriever`); `search` takes what `Index.search` does.

    Any number of readers and writers, as the server orders them. Faults of the server are `StoreError`.
    """

    def __init__(self, client: Any, collection: str, embedder: Embedder | None, settings: Settings) -> None:
        """Use `Qdrant.open`."""
        self._client, self._collection = client, collection
        self._embedder, self.settings = embedder, settings

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
        api_key: str | None = None,
        timeout: int = 30,
    ) -> Self:
        """Open a collection, or make it: `server` is a URL, `:memory:` for tests, or a `QdrantClient`.

        `k1` (1.2), `b` (0.75), `mean_length` (in terms; that of the first passages added) and the
        `language` of stemming (english; none for none) are settled when a collection is made.
        `timeout` is in seconds. Raises `StoreError` when the server cannot be reached, or the collection
        is not there, not ours, or made with other settings or another embedder; `InputError` for
        a language without a stemmer.
        """
        from disputatio.store.segments.words import stemmer

        client = _client(server, api_key, timeout) if isinstance(server, str) else server
        name, size = (embedder.name, embedder.dimension) if embedder else ("", 0)
        told = {"language": language, "k1": k1, "b": b, "mean_length": mean_length}
        given: dict[str, Any] = {key: one for key, one in told.items() if one is not None}
        wanted = Settings(embedder=name, dimension=size, **given)
        stemmer(_stemming(wanted))
        with _reported(collection, "opening the collection"):
            if client.collection_exists(collection):
                metadata = client.get_collection(collection).config.metadata
                found = points.settings_of(collection, metadata)
                points.check(collection, found, told, name)
                return cls(client, collection, embedder, found)
            if not create:
                raise StoreError(f"{collection}: there is no such collection")
            _make(client, collection, wanted)
        return cls(client, collection, embedder, wanted)

    # --- writing ------------------------------------------------------------------------------------
    def add(self, passages: Iterable[Passage]) -> int:
        """Put passages in, those of a known id in place of the old; how many were written.

        A batch of 256 is acknowledged when the server has applied it. Raises `InputError` for a passage
        without text, `StoreError` for a fault of the server.
        """
        written, rest = 0, iter(passages)
        while batch := list(itertools.islice(rest, _BATCH)):
            named = [points.named(one, number) for number, one in enumerate(batch, written + 1)]
            made = self._points(named)
            with _reported(self._collection, "writing"):
                self._client.upsert(self._collection, made, wait=True)
            written += len(batch)
        return written

    def remove(self, *, passages: Collection[str] = (), documents: Collection[str] = ()) -> None:
        """Take passages out, by their ids or those of their documents."""
        from qdrant_client import models

        chosen: list[Any] = []
        if passages:
            chosen.append(models.PointIdsList(points=[points.point_id(one) for one in passages]))
        if documents:
            facts = models.MatchAny(any=[points.fact("document", one) for one in documents])
            only = models.Filter(must=[models.FieldCondition(key="facts", match=facts)])
            chosen.append(models.FilterSelector(filter=only))
        for selector in chosen:
            with _reported(self._collection, "deleting"):
                self._client.delete(self._collection, selector, wait=True)

    def count(self) -> int:
        """How many passages the collection holds."""
        with _reported(self._collection, "counting"):
            return int(self._client.count(self._collection, exact=True).count)

    def _points(self, batch: Sequence[Passage]) -> list[Any]:
        from qdrant_client import models

        from disputatio.store.segments.words import count, words

        titles, texts = [one.title for one in batch], [one.text for one in batch]
        counted = count(titles, texts, _stemming(self.settings))
        spans = itertools.pairwise([0, *counted.ends.tolist()])
        tokens = [counted.hashes[counted.tokens[start:end]] for start, end in spans]
        if not self.settings.mean_length:  # the first passages tell it, once for all
            self.settings = replace(self.settings, mean_length=max(1.0, counted.tokens.size / len(batch)))
            with _reported(self._collection, "writing"):
                self._client.update_collection(self._collection, metadata=points.metadata_of(self.settings))
        vectors = None
        if self._embedder is not None:
            vectors = self._embedder.embed([words(*one) for one in zip(titles, texts, strict=True)]).tolist()
        now = time.time_ns()
        made = []
        for at, passage in enumerate(batch):
            sparse = models.SparseVector(**points.weights(tokens[at], self.settings))
            vector: dict[str, Any] = (
                {SPARSE: sparse} if vectors is None else {SPARSE: sparse, DENSE: vectors[at]}
            )
            payload = points.payload_of(passage, now + at)
            made.append(models.PointStruct(id=points.point_id(passage.id), vector=vector, payload=payload))
        return made

    # --- reading ------------------------------------------------------------------------------------
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
        fusion: Fusion = "weighted",
        k1: float | None = None,
        b: float | None = None,
        reranker: Reranker | None = None,
        min_reliability: float | None = None,
        reliability: Mapping[str, float] | None = None,
    ) -> list[Hit]:
        """The best `k` passages (8 when None), or the best `per_source` of every source that matches.

        Candidates are the best of each leg on the server; each then gets its true score on the other
        leg, and they are fused here. `k1` and `b` other than the collection's are refused. Raises
        `InputError` for an empty query or values out of range, `StoreError` for a fault of the server.
        """
        from disputatio.store.segments.search import CANDIDATES
        from disputatio.store.segments.searcher import RERANKED, check_options, check_query

        check_query(query)
        k = DEFAULT_K if k is None else k
        told = self.settings
        check_options(
            k=k, alpha=alpha, per_source=per_source, fusion=fusion, k1=_or(k1, told.k1), b=_or(b, told.b)
        )
        for name, asked in (("k1", k1), ("b", b)):
            if asked is not None and asked != getattr(told, name):
                raise InputError(
                    f"{name} is {getattr(told, name):g} in the collection {self._collection}, not {asked:g}: "
                    "it is settled when a collection is made"
                )
        if min_reliability is not None:
            trusted = {name for name, one in (reliability or {}).items() if one >= min_reliability}
            sources = trusted if sources is None else trusted & set(sources)
        allowed = points.filter_of(sources, exclude, after, before, where)
        legs = self._legs(query)
        if not legs or (sources is not None and not sources):
            return []
        pool, many = (
            (k, per_source) if reranker is None else (max(RERANKED, 2 * k), per_source and 2 * per_source)
        )
        found = self._candidates(legs, allowed, max(pool, CANDIDATES), many)
        self._complete(legs, found)
        won = ranked(found, dense=DENSE in legs, k=pool, alpha=alpha, per_source=many, fusion=fusion)
        hits = self._hits(won)
        if reranker is not None and hits:
            hits = reranked(reranker, query, hits, k, per_source)
        return marked(hits, _stemming(self.settings))

    def _legs(self, query: str) -> dict[str, Any]:
        """What each leg is asked with."""
        from qdrant_client import models

        from disputatio.store.segments.words import query_terms

        legs: dict[str, Any] = {}
        if terms := query_terms(query, _stemming(self.settings)):
            legs[SPARSE] = models.SparseVector(**points.query_weights(terms))
        if self._embedder is not None:
            legs[DENSE] = self._embedder.embed([query], query=True)[0].tolist()
        return legs

    def _candidates(
        self, legs: Mapping[str, Any], allowed: Any, most: int, per_source: int | None
    ) -> dict[str, Candidate]:
        """The best points of each leg by their ids; with `per_source` some of every source that matches.

        A source matches when it has a passage with a term of the query, or one of the `most` best by
        meaning.
        """
        from qdrant_client import models

        found: dict[str, Candidate] = {}

        def keep(leg: str, answer: Iterable[Any]) -> None:
            for one in answer:
                new = Candidate(one.payload["source"], one.payload["order"], {})
                found.setdefault(str(one.id), new).legs[leg] = one.score

        plain = legs if per_source is None else {leg: one for leg, one in legs.items() if leg == DENSE}
        with _reported(self._collection, "searching"):
            for leg, answer in self._query(plain, dict.fromkeys(plain, allowed), most).items():
                keep(leg, answer)
            if per_source is None:
                return found
            facets = self._client.facet(self._collection, "source", facet_filter=allowed, limit=_MOST_SOURCES)
            only = allowed
            for leg in (SPARSE, DENSE):
                groups = len(facets.hits) if leg == SPARSE else len({one.source for one in found.values()})
                if leg not in legs or not groups:
                    continue
                if leg == DENSE:
                    matched = models.MatchAny(any=sorted({one.source for one in found.values()}))
                    among = models.FieldCondition(key="source", match=matched)
                    only = models.Filter(must=[*allowed.must, among], must_not=allowed.must_not)
                answer = self._client.query_points_groups(
                    self._collection,
                    "source",
                    query=legs[leg],
                    using=leg,
                    query_filter=only,
                    limit=groups,
                    group_size=per_source + _SPARE,
                    with_payload=list(_TOLD),
                )
                keep(leg, (point for group in answer.groups for point in group.hits))
        return found

    def _complete(self, legs: Mapping[str, Any], found: Mapping[str, Candidate]) -> None:
        """Give each candidate its score on the legs that did not find it, in one more call."""
        from qdrant_client import models

        missing = {leg: [id_ for id_, one in found.items() if leg not in one.legs] for leg in legs}
        asked = {leg: legs[leg] for leg, ids in missing.items() if ids}
        if asked:
            only = {leg: models.Filter(must=[models.HasIdCondition(has_id=missing[leg])]) for leg in asked}
            with _reported(self._collection, "searching"):
                answers = self._query(asked, only, max(map(len, missing.values())), exact=True)
            for leg, answer in answers.items():
                for one in answer:
                    found[str(one.id)].legs[leg] = one.score

    def _query(
        self, legs: Mapping[str, Any], filters: Mapping[str, Any], limit: int, *, exact: bool = False
    ) -> dict[str, list[Any]]:
        from qdrant_client import models

        requests = [
            models.QueryRequest(
                query=asked,
                using=leg,
                filter=filters[leg],
                limit=limit,
                with_payload=False if exact else list(_TOLD),
                params=models.SearchParams(exact=True) if exact and leg == DENSE else None,
            )
            for leg, asked in legs.items()
        ]
        answers = self._client.query_batch_points(self._collection, requests) if requests else []
        return {leg: answer.points for leg, answer in zip(legs, answers, strict=True)}

    def _hits(self, won: Sequence[Won]) -> list[Hit]:
        """The winners with their passages."""
        with _reported(self._collection, "searching"):
            ids = [one.id for one in won]
            records = self._client.retrieve(self._collection, ids, with_payload=True) if ids else []
        passages = {str(one.id): points.passage_of(one.payload) for one in records}
        return [
            Hit(passage=passages[one.id], score=one.score, scores=one.scores)
            for one in won
            if one.id in passages
        ]


def _stemming(settings: Settings) -> str:
    """The language as the stemmer takes it, empty for none."""
    return "" if settings.language == "none" else settings.language


def _or(asked: float | None, otherwise: float) -> float:
    return otherwise if asked is None else asked


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
        words = " ".join(str(error).split()) or type(error).__name__
        raise StoreError(f"{collection}: {doing} failed: {words[:200]}") from error
