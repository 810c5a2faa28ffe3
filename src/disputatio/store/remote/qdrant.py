"""Qdrant as a vector engine: the tables of an index as two collections of a server, 1.16 or newer.

The server multiplies the rarity of words into the part of BM25 that is stored, and counts it in each shard.
The best of each source come from its groups, which it looks for in a bounded number of rounds.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from disputatio.errors import StoreError, require_package
from disputatio.store.remote.engine import (
    DENSE,
    PASSAGES,
    SPARSE,
    AddressForm,
    CollectionAddress,
    Condition,
    Engine,
    Query,
    Row,
    ScoredRow,
    Scorer,
    StoredRow,
    Table,
    query_weights,
    report_faults,
    term_weights,
)
from disputatio.store.remote.vector_index import VectorIndex
from disputatio.store.segments.days import NO_DAY

_KEY = "disputatio collection"
_SECONDS = 30
_PAGE = 1_000
_MOST_SOURCES = 10_000
_SPARE = 12  # of each source's points beyond those wanted, so that one good by both scorers is among them
_FORM = AddressForm(
    scheme="qdrant",
    engine="Qdrant",
    port=6333,
    key="QDRANT_API_KEY",
    example="qdrant://:KEY@host:6333/collection",
)


class Qdrant(Engine):
    """A Qdrant server's collections."""

    longest, product, oldest = 4_000_000, "Qdrant", (1, 16)  # collections have metadata since

    # --- the tables ---------------------------------------------------------------------------------
    def settings(self) -> dict[str, Any] | None:
        metadata_of = {}
        with self._report_faults("opening the index"):
            client = self._get_client()
            for table, name in self._names.items():
                if client.collection_exists(name):
                    metadata_of[table] = dict(client.get_collection(name).config.metadata or {})
        for table, metadata in metadata_of.items():
            if _KEY not in metadata:
                raise StoreError(
                    f"{self._address.shown}: {self._names[table]} is a collection of another program; "
                    "choose another name"
                )
        if "passages" not in metadata_of:
            return None
        self._settings = {**metadata_of["passages"], "version": metadata_of["passages"].pop(_KEY)}
        return dict(self._settings)

    def make(self, settings: Mapping[str, Any]) -> None:
        from qdrant_client import models
        from qdrant_client.http.exceptions import UnexpectedResponse

        metadata = {_KEY: settings["version"], **settings}
        size = settings["dimension"]
        vectors = {DENSE: models.VectorParams(size=size, distance=models.Distance.COSINE)} if size else {}
        sparse = {SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)}
        client = self._get_client()
        for table, name in reversed(self._names.items()):
            with self._report_faults("making the index"):
                try:
                    client.create_collection(
                        name,
                        vectors_config=vectors if table == PASSAGES else {},
                        sparse_vectors_config=sparse if table == PASSAGES else None,
                        metadata=metadata,
                    )
                except UnexpectedResponse:
                    if not client.collection_exists(name):
                        raise
                client.create_payload_index(name, "facts", models.PayloadSchemaType.KEYWORD)
                if table == PASSAGES:
                    client.create_payload_index(name, "source", models.PayloadSchemaType.KEYWORD)
                    client.create_payload_index(name, "day", models.PayloadSchemaType.INTEGER)

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        from qdrant_client import models

        if table == PASSAGES and "mean_length" not in self._settings:
            self.settings()
        points = []
        for row in rows:
            payload: dict[str, Any] = {"facts": list(row.facts), "body": row.body, "order": row.order}
            vectors: dict[str, Any] = {}
            if table == PASSAGES:
                payload |= {"source": row.source, **({} if row.day == NO_DAY else {"day": row.day})}
                if row.terms is not None:
                    vectors[SPARSE] = _sparse(term_weights(row.terms, self._settings))
                if row.vector is not None:
                    vectors[DENSE] = row.vector
            points.append(models.PointStruct(id=row.id, vector=vectors, payload=payload))
        with self._report_faults("writing"):
            self._get_client().upsert(self._names[table], points, wait=True)

    def fetch(self, table: Table, ids: Sequence[str]) -> dict[str, str]:
        with self._report_faults("reading"):
            records = self._get_client().retrieve(self._names[table], list(ids), with_payload=["body"])
        return {str(record.id): record.payload["body"] for record in records}

    def vectors(self, ids: Sequence[str]) -> dict[str, list[float]]:
        if not self._settings.get("dimension"):
            return {}
        with self._report_faults("reading"):
            records = self._get_client().retrieve(
                self._names[PASSAGES], list(ids), with_payload=False, with_vectors=[DENSE]
            )
        return {str(record.id): list(record.vector[DENSE]) for record in records}

    def scan(self, table: Table, facts: Sequence[str] = ()) -> Iterator[StoredRow]:
        at: Any = None
        while True:
            with self._report_faults("reading"):
                records, at = self._get_client().scroll(
                    self._names[table],
                    scroll_filter=_match_facts(facts) if facts else None,
                    limit=_PAGE,
                    offset=at,
                    with_payload=["body", "order"],
                )
            for record in records:
                yield StoredRow(str(record.id), record.payload["body"], record.payload["order"])
            if at is None:
                return

    def erase(self, table: Table, *, ids: Sequence[str] = (), facts: Sequence[str] = ()) -> None:
        from qdrant_client import models

        selectors: list[Any] = []
        if ids:
            selectors.append(models.PointIdsList(points=list(ids)))
        if facts:
            selectors.append(models.FilterSelector(filter=_match_facts(facts)))
        for selector in selectors:
            with self._report_faults("deleting"):
                self._get_client().delete(self._names[table], selector, wait=True)

    def count(self, table: Table) -> int:
        with self._report_faults("counting"):
            return int(self._get_client().count(self._names[table], exact=True).count)

    def tidy(self) -> None:
        """Do nothing: the server clears up by itself."""

    # --- searches -----------------------------------------------------------------------------------
    def best(
        self, scorer: Scorer, query: Query, condition: Condition, most: int, among: Sequence[str] = ()
    ) -> list[ScoredRow]:
        from qdrant_client import models

        with self._report_faults("searching"):
            response = self._get_client().query_points(
                self._names[PASSAGES],
                query=_as_query(query),
                using=scorer,
                query_filter=_filter(condition, among),
                limit=most,
                with_payload=["source", "order"],
                search_params=models.SearchParams(exact=True) if among and scorer == DENSE else None,
            )
        return [_to_scored_row(point) for point in response.points]

    def best_of_each(
        self, scorer: Scorer, query: Query, condition: Condition, per_source: int
    ) -> list[ScoredRow]:
        only, name = _filter(condition), self._names[PASSAGES]
        with self._report_faults("searching"):
            facets = self._get_client().facet(name, "source", facet_filter=only, limit=_MOST_SOURCES)
            if not facets.hits:
                return []
            response = self._get_client().query_points_groups(
                name,
                "source",
                query=_as_query(query),
                using=scorer,
                query_filter=only,
                limit=len(facets.hits),
                group_size=per_source + _SPARE,
                with_payload=["source", "order"],
            )
        return [_to_scored_row(point) for group in response.groups for point in group.hits]

    # --- the connection -----------------------------------------------------------------------------
    def _connect(self) -> tuple[Any, str]:
        client = _client(self._address)
        return client, client.info().version

    def _report_faults(self, doing: str) -> AbstractContextManager[None]:
        with require_package("qdrant-client", "scale"):
            from qdrant_client.http.exceptions import ApiException
        return report_faults(self._address, doing, ApiException)


class QdrantIndex(VectorIndex):
    """An index in the collections of Qdrant."""

    form, engine = _FORM, Qdrant


def _client(address: CollectionAddress) -> Any:
    from qdrant_client import QdrantClient

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a key without TLS, see docs/how-to/vector-engines.md
        # The client's own check of versions warns instead of raising.
        return QdrantClient(
            url=address.server, api_key=address.secret or None, timeout=_SECONDS, check_compatibility=False
        )


def _as_query(query: Query) -> Any:
    return query if isinstance(query, list) else _sparse(query_weights(query))


def _sparse(weights: Mapping[int, float]) -> Any:
    from qdrant_client import models

    return models.SparseVector(indices=list(weights), values=list(weights.values()))


def _match_facts(facts: Sequence[str]) -> Any:
    from qdrant_client import models

    match = models.MatchAny(any=list(facts))
    return models.Filter(must=[models.FieldCondition(key="facts", match=match)])


def _filter(condition: Condition, among: Sequence[str] = ()) -> Any:
    from qdrant_client import models

    must: list[Any] = []
    if condition.sources is not None:
        match = models.MatchAny(any=list(condition.sources))
        must.append(models.FieldCondition(key="source", match=match))
    for fact in condition.facts:
        must.append(models.FieldCondition(key="facts", match=models.MatchValue(value=fact)))
    if condition.days is not None:
        first, last = condition.days
        must.append(models.FieldCondition(key="day", range=models.Range(gte=first, lte=last)))
    if among:
        must.append(models.HasIdCondition(has_id=list(among)))
    without: list[Any] = []
    if condition.exclude:
        without.append(models.HasIdCondition(has_id=list(condition.exclude)))
    if condition.without:
        match = models.MatchAny(any=list(condition.without))
        without.append(models.FieldCondition(key="facts", match=match))
    return models.Filter(must=must, must_not=without)


def _to_scored_row(point: Any) -> ScoredRow:
    return ScoredRow(str(point.id), point.payload["source"], point.payload["order"], point.score)
