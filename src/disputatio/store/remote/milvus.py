"""Milvus as a vector engine: the tables of an index as two collections of a server, 2.5 or newer, or of Lite.

BM25 is a product of sparse vectors: what depends on the passage is stored, and the query's has the rarity of
its words. Milvus's own function for that would analyse language in its way, and its Lite edition counts
rarity in each part of the index, among what a filter leaves; so words are facts, too, and counted.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from disputatio.errors import InputError, MissingDependency, StoreError, require_package
from disputatio.store.remote.engine import (
    DENSE,
    DOCUMENTS,
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
    row_id,
    term_weights,
)
from disputatio.store.remote.served import fact
from disputatio.store.remote.vector_index import VectorIndex

_SECONDS = 30
_TRIES, _PAUSE = 24, 0.25  # and the seconds between them, while another writer makes the collections
_PAGE = 1_000
_LONGEST = 65_535  # bytes of a field of text
_MOST = 16_384  # rows of one search
_MOST_OF_A_GROUP = 10  # by the server's default settings
_MOST_GROUPS = 1_000
_SETTINGS = row_id("settings")
# The client pings a connection without calls every ten seconds; a server that bears no more than one in five
# minutes, such as Lite's, then closes it, at times in the middle of the next call.
_QUIET_WHILE_IDLE = {"grpc.keepalive_permit_without_calls": False}
_NO_TERM = 0xFFFFFFFE  # of a passage without terms, for a sparse vector has one
_FORM = AddressForm(
    scheme="milvus",
    engine="Milvus",
    port=19530,
    key="MILVUS_TOKEN",
    options=("tls", "database", "collection"),
    file_suffix=".db",
    has_users=True,
    example="milvus://user:password@host:19530/collection, or milvus:FILE.db",
)


class Milvus(Engine):
    """The collections of a Milvus server, or of a file of Milvus Lite."""

    longest, product, oldest = _LONGEST, "Milvus", (2, 5)

    def __init__(self, address: CollectionAddress) -> None:
        super().__init__(address)
        self._loaded = False
        self._total = 0  # passages when the words were counted
        self._counts: dict[int, int] = {}  # passages that have a word

    # --- the tables ---------------------------------------------------------------------------------
    def settings(self) -> dict[str, Any] | None:
        if self._address.is_file and not Path(self._address.server).exists():
            return None
        collections: list[str] = []
        for _ in range(_TRIES):
            with self._report_faults("opening the index"):
                client = self._get_client()
                collections = [name for name in self._names.values() if client.has_collection(name)]
                for name in collections if not self._loaded else ():
                    client.load_collection(name)  # Lite opens its file with none in memory
            if not collections:
                return None
            body = (
                self.fetch(DOCUMENTS, [_SETTINGS]).get(_SETTINGS)
                if len(collections) > 1 and self._ours()
                else None
            )
            if body is not None:
                self._settings, self._loaded = json.loads(body), True
                return dict(self._settings)
            time.sleep(_PAUSE)  # another writer may be making them
        raise StoreError(
            f"{self._address.shown}: {collections[0]} is a collection of another program, or was not "
            "finished; choose another name, or drop it"
        )

    def _ours(self) -> bool:
        with self._report_faults("opening the index"):
            description = self._get_client().describe_collection(self._names[DOCUMENTS])
        return {"id", "facts", "body", "stamp"} <= {field["name"] for field in description["fields"]}

    def make(self, settings: Mapping[str, Any]) -> None:
        client = self._get_client()
        with self._report_faults("making the index"):
            self._make(client, self._names[PASSAGES], *_passages(client, settings))
            self._make(client, self._names[DOCUMENTS], *_documents(client))
        body = json.dumps(dict(settings))
        row = Row(id=_SETTINGS, facts=[fact("kind", "settings")], body=body, order=time.time_ns())
        self.put(DOCUMENTS, [row])

    def _make(self, client: Any, name: str, schema: Any, indexes: Any) -> None:
        """Make a collection; of two writers at a time one fails, and waits until the other has made it."""
        from pymilvus import MilvusException

        if "lite" not in client.get_server_version():  # Lite has no index of lists
            indexes.add_index("facts", index_type="INVERTED")
        for tried in range(_TRIES):
            try:
                client.create_collection(
                    name, schema=schema, index_params=indexes, consistency_level="Strong"
                )
            except MilvusException:
                if client.has_collection(name):
                    return
                if tried == _TRIES - 1:
                    raise
                time.sleep(_PAUSE)
            else:
                return

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        if table == PASSAGES and not self._settings:
            self.settings()
        entities = []
        for row in rows:
            facts = [_hash(each) for each in row.facts]
            entity: dict[str, Any] = {"id": row.id, "facts": facts, "body": row.body, "stamp": row.order}
            if table == PASSAGES:
                weights = {} if row.terms is None else term_weights(row.terms, self._settings)
                facts += [_hash(fact("source", row.source)), *map(_word, weights)]
                entity |= {"source": row.source, "day": row.day, SPARSE: weights or {_NO_TERM: 1.0}}
                if row.vector is not None:
                    entity[DENSE] = row.vector
            else:
                entity["unused"] = [1.0, 0.0]
            entities.append(entity)
        with self._report_faults("writing"):
            self._get_client().upsert(self._names[table], entities)

    def fetch(self, table: Table, ids: Sequence[str]) -> dict[str, str]:
        with self._report_faults("reading"):
            entities = self._get_client().get(self._names[table], ids=list(ids), output_fields=["id", "body"])
        return {each["id"]: each["body"] for each in entities}

    def vectors(self, ids: Sequence[str]) -> dict[str, list[float]]:
        if not self._settings.get("dimension"):
            return {}
        with self._report_faults("reading"):
            entities = self._get_client().get(
                self._names[PASSAGES], ids=list(ids), output_fields=["id", DENSE]
            )
        return {each["id"]: [float(number) for number in each[DENSE]] for each in entities}

    def scan(self, table: Table, facts: Sequence[str] = ()) -> Iterator[StoredRow]:
        with self._report_faults("reading"):
            pages = self._get_client().query_iterator(
                self._names[table],
                batch_size=_PAGE,
                filter=_match_facts(facts) if facts else "",
                output_fields=["id", "body", "stamp"],
            )
            try:
                while page := pages.next():
                    for each in page:
                        yield StoredRow(each["id"], each["body"], each["stamp"])
            finally:
                pages.close()

    def erase(self, table: Table, *, ids: Sequence[str] = (), facts: Sequence[str] = ()) -> None:
        with self._report_faults("deleting"):
            if ids:
                self._get_client().delete(self._names[table], ids=list(ids))
            if facts:
                self._get_client().delete(self._names[table], filter=_match_facts(facts))

    def count(self, table: Table) -> int:
        return self._count(table, "")

    def tidy(self) -> None:
        with self._report_faults("clearing"):
            for name in self._names.values():
                self._get_client().compact(name)

    # --- searches -----------------------------------------------------------------------------------
    def best(
        self, scorer: Scorer, query: Query, condition: Condition, most: int, among: Sequence[str] = ()
    ) -> list[ScoredRow]:
        """Return the best passages, at most 16,384; those `among` some ids are compared exactly."""
        if not (among and isinstance(query, list)):
            return self._search_by(scorer, query, _filter(condition, among), limit=min(most, _MOST))
        pages = (among[start : start + _PAGE] for start in range(0, len(among), _PAGE))
        found = [each for page in pages for each in self._compare(query, _filter(condition, page))]
        return sorted(found, key=lambda each: -each.score)[:most]

    def _compare(self, vector: list[float], only: str) -> list[ScoredRow]:
        """Return the exact cosine of every passage of a condition, past the approximate index."""
        import numpy as np

        fields = ["id", "source", "stamp", DENSE]
        with self._report_faults("searching"):
            rows = self._get_client().query(self._names[PASSAGES], filter=only, output_fields=fields)
        kept = np.array([row[DENSE] for row in rows], dtype=np.float32).reshape(len(rows), len(vector))
        lengths = np.linalg.norm(kept, axis=1) * np.linalg.norm(vector)
        scores = (kept @ np.array(vector, dtype=np.float32) / np.maximum(lengths, 1e-12)).tolist()
        return [
            ScoredRow(row["id"], row["source"], row["stamp"], score)
            for row, score in zip(rows, scores, strict=True)
        ]

    def best_of_each(
        self, scorer: Scorer, query: Query, condition: Condition, per_source: int
    ) -> list[ScoredRow]:
        """Return the best of every source: of all that match, or at most 10 each of the server's groups."""
        only = _filter(condition)
        if self._count(PASSAGES, only) <= _MOST:
            widely = {"search_params": {"params": {"ef": _MOST}}} if scorer == DENSE else {}
            return self._search_by(scorer, query, only, limit=_MOST, **widely)
        if per_source > _MOST_OF_A_GROUP:
            raise InputError(
                f"per_source {per_source}: Milvus gives at most {_MOST_OF_A_GROUP} of each source where more "
                f"than {_MOST:,} passages match"
            )
        groups = {"group_by_field": "source", "group_size": _MOST_OF_A_GROUP}
        return self._search_by(scorer, query, only, limit=_MOST_GROUPS, **groups)

    def _search_by(self, scorer: Scorer, query: Query, only: str, **how: Any) -> list[ScoredRow]:
        vector = query if isinstance(query, list) else self._rare(query_weights(query))
        if not vector:
            return []
        with self._report_faults("searching"):
            hits = self._get_client().search(
                self._names[PASSAGES],
                data=[vector],
                anns_field=scorer,
                filter=only,
                output_fields=["source", "stamp"],
                **how,
            )[0]
        return [
            ScoredRow(each["id"], each["entity"]["source"], each["entity"]["stamp"], each["distance"])
            for each in hits
        ]

    def _rare(self, weights: Mapping[int, float]) -> dict[int, float]:
        """Return the known terms of a query with their rarity (Lucene's BM25), counted once a state."""
        total = self.count(PASSAGES)
        with self._lock:
            if total != self._total:
                self._total, self._counts = total, {}
            counts = self._counts
        for term in weights:
            if term not in counts:
                counts[term] = self._count(PASSAGES, f"ARRAY_CONTAINS(facts, '{_word(term)}')")
        return {
            term: times * math.log(1 + (total - counts[term] + 0.5) / (counts[term] + 0.5))
            for term, times in weights.items()
            if counts[term]
        }

    def _count(self, table: Table, only: str) -> int:
        with self._report_faults("counting"):
            counts = self._get_client().query(self._names[table], filter=only, output_fields=["count(*)"])
        return int(counts[0]["count(*)"])

    # --- the connection -----------------------------------------------------------------------------
    def _connect(self) -> tuple[Any, str]:
        client, self._loaded = _client(self._address), False
        return client, client.get_server_version()

    def _report_faults(self, doing: str) -> AbstractContextManager[None]:
        with require_package("pymilvus", "milvus"):
            from pymilvus import MilvusException
        return report_faults(self._address, doing, MilvusException)


class MilvusIndex(VectorIndex):
    """An index in the collections of Milvus."""

    form, engine = _FORM, Milvus


def _client(address: CollectionAddress) -> Any:
    if address.is_file and importlib.util.find_spec("milvus_lite") is None:
        raise MissingDependency("milvus-lite", "milvus")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # it reports forks on standard error
    from pymilvus import MilvusClient

    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it logs each fault that it raises
    if address.is_file:
        return MilvusClient(address.server, grpc_options=_QUIET_WHILE_IDLE)
    token = f"{address.user}:{address.secret}" if address.user else address.secret
    return MilvusClient(
        uri=address.server,
        token=token,
        db_name=address.database,
        timeout=_SECONDS,
        grpc_options=_QUIET_WHILE_IDLE,
    )


def _table(client: Any) -> Any:
    from pymilvus import DataType

    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, max_length=36, is_primary=True)
    schema.add_field(
        "facts", DataType.ARRAY, element_type=DataType.VARCHAR, max_length=32, max_capacity=4_096
    )
    schema.add_field("body", DataType.VARCHAR, max_length=_LONGEST)
    schema.add_field("stamp", DataType.INT64)
    return schema


def _documents(client: Any) -> tuple[Any, Any]:
    """Return the schema and the indexes of the table of documents, whose vector is only there to have one."""
    from pymilvus import DataType

    schema, indexes = _table(client), client.prepare_index_params()
    schema.add_field("unused", DataType.FLOAT_VECTOR, dim=2)
    indexes.add_index("unused", index_type="FLAT", metric_type="IP")
    return schema, indexes


def _passages(client: Any, settings: Mapping[str, Any]) -> tuple[Any, Any]:
    from pymilvus import DataType

    schema, indexes = _table(client), client.prepare_index_params()
    schema.add_field("source", DataType.VARCHAR, max_length=_LONGEST)
    schema.add_field("day", DataType.INT64)
    schema.add_field(SPARSE, DataType.SPARSE_FLOAT_VECTOR)
    indexes.add_index(SPARSE, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
    if settings["dimension"]:
        schema.add_field(DENSE, DataType.FLOAT_VECTOR, dim=settings["dimension"])
        indexes.add_index(DENSE, index_type="AUTOINDEX", metric_type="COSINE")
    return schema, indexes


def _word(term: int) -> str:
    """Return a term as a fact.

    >>> _word(255)
    'w000000ff'
    """
    return f"w{term:08x}"


def _hash(name: str) -> str:
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _match_facts(facts: Sequence[str]) -> str:
    return f"ARRAY_CONTAINS_ANY(facts, {[_hash(each) for each in facts]})"


def _filter(condition: Condition, among: Sequence[str] = ()) -> str:
    """Return a condition as the server's expression.

    >>> _filter(Condition(days=(1, 9)), ["a"])
    "day >= 1 and day <= 9 and id in ['a']"
    """
    parts = [f"ARRAY_CONTAINS(facts, '{_hash(each)}')" for each in condition.facts]
    if condition.sources is not None:
        parts.append(_match_facts([fact("source", name) for name in condition.sources]))
    if condition.days is not None:
        parts += [f"day >= {condition.days[0]}", f"day <= {condition.days[1]}"]
    if condition.exclude:
        parts.append(f"id not in {list(condition.exclude)}")
    if condition.without:
        parts.append(f"not {_match_facts(condition.without)}")
    if among:
        parts.append(f"id in {list(among)}")
    return " and ".join(parts)
