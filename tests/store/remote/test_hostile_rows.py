"""A server that lies: rows of other types and shapes are a fault of one line, and names are only data."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

from disputatio.errors import DisputatioError, InputError, StoreError
from disputatio.store.contract import Index
from disputatio.store.opening import open_index
from disputatio.store.remote.engine import DOCUMENTS, PASSAGES, Row
from disputatio.types import Passage, Source
from tests.store.hashing import HashEmbedder
from tests.store.loopback import listening
from tests.store.remote import served_milvus, served_postgres
from tests.store.remote.test_postgres import execute, schema_of

pytestmark = pytest.mark.long  # servers of their own are started
PASSAGES_OF_TOWN = [
    Passage(
        text="A ferry crossed in 1887.", id="p1", source="museum", title="Ferries", metadata={"page": "7"}
    ),
    Passage(text="The ferry crossed in 1901, they say.", id="p2", source="buzz"),
]


def opened(place: str) -> Index:
    return open_index(place, embedder=HashEmbedder(), create=False)


def made(place: str) -> Index:
    """Make an index with passages, documents, estimates and a calibration."""
    index = open_index(place, embedder=HashEmbedder())
    index.add(PASSAGES_OF_TOWN)
    index.set_estimates({"museum": Source(name="museum", reliability=0.8)})
    index.describe(index.documents(text=False)[0].id, owner="Town")
    return index


CALLS: dict[str, Callable[[Index], object]] = {
    "info": lambda index: index.info(),
    "search": lambda index: index.search("ferry"),
    "best of each": lambda index: index.search("ferry", per_source=1),
    "filtered": lambda index: index.search("ferry", where={"page": "7"}, after="1800"),
    "reliable": lambda index: index.search("ferry", min_reliability=0.5),
    "passage": lambda index: index.passage("p1"),
    "around": lambda index: index.around(Passage(text="x", id="p1", document="d"), 2),
    "documents": lambda index: index.documents(),
    "sources": lambda index: index.sources(),
    "estimates": lambda index: index.estimates(),
    "reliabilities": lambda index: index.reliabilities(),
    "states": lambda index: index.estimated_states(),
    "records": lambda index: index.records(),
    "descriptions": lambda index: index.descriptions(),
    "places": lambda index: list(index.places()),
    "taken back": lambda index: index.take_back(99),
    "drawn": lambda index: _planned(index),  # noqa: PLW0108 - it follows
    "check": lambda index: index.check() if hasattr(index, "check") else None,
}


def _planned(index: Index) -> None:
    passages = index.source_passages()
    if passages is not None:
        passages.counts(), passages.states()
        passages.draw(["museum", "buzz"], 2, 7)
        passages.sketches(["museum", "buzz"])


def untyped(place: str) -> list[str]:
    """Return the faults of the calls that are not ours, or take more than a line."""
    wrong: list[str] = []
    indexes: list[Index] = []

    def tried(name: str, call: Callable[[], object]) -> None:
        try:
            call()
        except DisputatioError as error:
            if "\n" in str(error) or len(str(error)) > 1_000:
                wrong.append(f"{name}: {str(error)[:200]}")
        except Exception as error:  # noqa: BLE001 - what is not ours is what is looked for
            wrong.append(f"{name}: {type(error).__name__}: {str(error)[:100]}")

    tried("open", lambda: indexes.append(opened(place)))
    for index in indexes:
        for name, call in CALLS.items():
            tried(name, partial(call, index))
        index.close()
    return wrong


# --- rows of PostgreSQL -----------------------------------------------------------------------------
VALUES = (
    "NULL::text", "'garbage'::text", "'{\"a\": [1]}'::text", "-1", "9223372036854775807", "'NaN'::float8",
    "ARRAY[1,2]", "repeat('[', 100000)", "'{\"reliability\": \"high\"}'::text", "now()",
)  # fmt: skip
TABLES = (
    "disputatio_index",
    "documents",
    "entries",
    "passages",
    "postings",
    "estimates",
    "calibration",
    "descriptions",
)


def columns_of(table: str, schema: str) -> list[str]:
    with psycopg.connect(served_postgres.server()) as connection:
        rows = connection.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s "
            "ORDER BY ordinal_position",
            (schema, table),
        ).fetchall()
    return [str(name) for (name,) in rows]


@contextmanager
def lying(table: str, columns: Sequence[str], column: str, value: str, schema: str) -> Iterator[None]:
    """Put a view in the place of a table, in which a column holds another value."""
    listed = ", ".join(f"{value} AS {name}" if name == column else name for name in columns)
    execute(
        f"ALTER TABLE {table} RENAME TO hidden; CREATE VIEW {table} AS SELECT {listed} FROM hidden",
        schema=schema,
    )
    try:
        yield
    finally:
        execute(f"DROP VIEW {table}; ALTER TABLE hidden RENAME TO {table}", schema=schema)


@pytest.mark.parametrize("table", TABLES)
def test_rows_that_a_database_makes_up_are_a_fault_of_one_line(table: str) -> None:
    place = served_postgres.address()
    made(place).close()
    schema = schema_of(place)
    if table == "calibration":
        execute("INSERT INTO calibration (entry) VALUES ('{}')", schema=schema)
    wrong, columns = [], columns_of(table, schema)
    for column in columns:
        for value in VALUES:
            with lying(table, columns, column, value, schema):
                wrong += [f"{table}.{column} = {value}: {fault}" for fault in untyped(place)]
    assert wrong == []
    assert opened(place).search("ferry")[0].passage.source in ("museum", "buzz")


# --- rows of a vector engine ------------------------------------------------------------------------
BODIES = (
    "", "garbage", "null", "[]", "[1]", "{}", "7", '"text"', "[" * 50_000, '{"document": {"id": 7}}',
    '{"id": "p1", "text": 5}', '{"id": "p1", "text": "A ferry.", "source": {}}', '{"run": 7, "rows": "x"}',
    '{"version": "two", "embedder": [], "dimension": -1, "language": "english"}', '{"version": 2}',
    '{"text": "A ferry.", "surprise": 1}', '{"file": "f", "document": {}, "passages": "many", "mark": []}',
)  # fmt: skip


def test_bodies_that_a_vector_engine_makes_up_are_a_fault_of_one_line() -> None:
    place = served_milvus.address()
    index: Any = made(place)
    engine = index._engine
    wrong = []
    for table in (PASSAGES, DOCUMENTS):
        for row in list(engine.scan(table)):
            facts = facts_of_row(engine, table, row.id)
            for body in BODIES:
                hostile = Row(id=row.id, facts=facts, body=body, order=row.order, vector=[0.1] * 32)
                replace_body(engine, table, hostile)
                wrong += [f"{table} {row.body[:40]} -> {body[:60]}: {fault}" for fault in untyped(place)]
            replace_body(engine, table, Row(id=row.id, facts=facts, body=row.body, order=row.order))
    assert wrong == []
    assert opened(place).search("ferry")[0].passage.source in ("museum", "buzz")


def facts_of_row(engine: Any, table: str, row: str) -> Any:
    """Return a row as the engine has it."""
    fields = ["*"]
    return engine._get_client().get(engine._names[table], ids=[row], output_fields=fields)[0]


def replace_body(engine: Any, table: str, row: Row) -> None:
    """Write another body into a row that is there."""
    kept: Any = row.facts
    engine._get_client().upsert(engine._names[table], [{**kept, "body": row.body}])


# --- names are data ---------------------------------------------------------------------------------
HOSTILE = (
    "x'; DROP TABLE passages; --", 'x"; DELETE FROM documents; --', "x') OR 1=1 --", "%s", "%(a)s", "{}",
    "\\'; SELECT pg_sleep(9); --", "ARRAY_CONTAINS(facts, 'x') or true", "' or id != '", '" or true or "',
    "x\n\ny", "*", "_%", "ferry\u0000museum", "\u202egnp.exe", "null", "true",
)  # fmt: skip


@pytest.mark.parametrize("kind", ["postgres", "milvus"])
def test_hostile_names_and_filters_are_only_data(kind: str) -> None:
    place = (served_postgres if kind == "postgres" else served_milvus).address()
    index = made(place)
    for number, name in enumerate(HOSTILE):
        index.add([Passage(text=f"A barge number {number}.", id=f"h{number}", source=name, owner=name,
                           title=name, metadata={"team": name})])  # fmt: skip
    for number, name in enumerate(HOSTILE):
        kept = name.replace("\x00", " ") if kind == "postgres" else name
        for options in ({"sources": [kept]}, {"where": {"source": kept}}, {"where": {"team": kept}}):
            found = {hit.passage.text for hit in index.search("barge ferry", k=50, **options)}
            assert found <= {f"A barge number {number}."}, (name, options, found)
        assert {hit.passage.text for hit in index.search("barge", k=50, sources=[kept])} or "\x00" in name
        assert index.search("barge", k=50, exclude=[kept])
        with pytest.raises(InputError):
            index.passage(kept)
        assert index.search(f"barge {name}", k=50)
    info = index.info()
    assert (info.passages, info.documents) == (len(HOSTILE) + 2, len(HOSTILE) + 2)
    for name in HOSTILE:
        named = name.replace("\x00", "")
        assert index.delete(documents=[named], paths=[named]) == 0
    assert index.delete(sources=[HOSTILE[0]]) == 1
    assert index.info().passages == len(HOSTILE) + 1


@pytest.mark.parametrize("name", [*HOSTILE, "a b", "Public", "pg_catalog; x", "a" * 64, "ä", "a.b", 'a"b'])
def test_a_schema_or_a_collection_is_named_by_plain_letters(name: str) -> None:
    if name not in ("null", "true"):
        with pytest.raises(InputError):
            open_index(f"postgresql://h/d?schema={quote(name)}", create=False)
    if not (name.isascii() and name.isalnum()):
        with pytest.raises(InputError):
            open_index(f"milvus://h/{quote(name, safe='')}", create=False)


# --- a server that does not speak as it should ------------------------------------------------------
REPLIES: dict[str, bytes] = {
    "nothing": b"",
    "a page": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>",
    "random bytes": bytes(range(256)) * 64,
    "a message of 2 GB": b"R\x7f\xff\xff\xff\x00\x00\x00\x00" + b"x" * 4096,
    "a negative length": b"R\xff\xff\xff\xff\x00\x00\x00\x00",
    "an error without end": b"E\x00\x10\x00\x00SFATAL\x00M" + b"x" * (1 << 20),
    "authentication unheard of": b"R\x00\x00\x00\x08\x00\x00\x00\x63",
    "ready without a word": b"R\x00\x00\x00\x08\x00\x00\x00\x00Z\x00\x00\x00\x05I",
}


def saying(reply: bytes, line: socket.socket) -> None:
    """Say the same to everyone."""
    first = line.recv(1 << 16)
    if first[4:8] in (b"\x04\xd2\x16\x2f", b"\x04\xd2\x16\x30"):  # may we speak TLS, or GSS?
        line.sendall(b"N")
        line.recv(1 << 16)
    line.sendall(reply)
    line.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("reply", REPLIES)
def test_a_server_that_speaks_otherwise_is_a_fault_of_one_line(reply: str) -> None:
    with listening(partial(saying, REPLIES[reply])) as port, pytest.raises(StoreError) as caught:
        open_index(f"postgresql://ada:s3cret@127.0.0.1:{port}/town", create=False).search("ferry")
    assert "\n" not in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert len(str(caught.value)) < 600
