"""A real PostgreSQL that refuses or breaks off gives one line, and leaves nothing half done."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray

from disputatio.errors import IndexServerFault, InputError, StoreError
from disputatio.store.addresses import mask_secrets
from disputatio.store.contract import Index
from disputatio.store.opening import open_index
from disputatio.store.remote.postgres import PostgresIndex
from disputatio.types import Passage
from tests.shell import run
from tests.store.hashing import HashEmbedder
from tests.store.remote.served_postgres import address, server
from tests.store.remote.test_postgres import execute, schema_of

pytestmark = pytest.mark.long  # a server of their own is started
Capture = pytest.CaptureFixture[str]
PASSWORD = "s3/cr@t"
WRITTEN = "s3%2Fcr%40t"
_NAMES = (f"user{number}" for number in itertools.count())


def as_user(place: str, user: str, password: str = "") -> str:
    """Return the address of an index for another user of the server."""
    secret = f":{password}" if password else ""
    return place.replace("postgresql://postgres:@", f"postgresql://{user}{secret}@")


@pytest.fixture
def user() -> Iterator[str]:
    """A user of the server who may read and write no more than is granted."""
    name = next(_NAMES)
    execute(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
    yield name
    execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


@pytest.fixture
def asked_for_passwords(user: str) -> Iterator[str]:
    """A user whom the server asks for a password."""
    with psycopg.connect(server(), autocommit=True) as connection:
        row = connection.execute("SELECT current_setting('hba_file')").fetchone()
        assert row is not None
        file = Path(row[0])
        before = file.read_text("utf-8")
        try:
            file.write_text(f"local all {user} scram-sha-256\n{before}", encoding="utf-8")
            connection.execute("SELECT pg_reload_conf()")
            yield user
        finally:
            file.write_text(before, encoding="utf-8")
            connection.execute("SELECT pg_reload_conf()")


def until_refused(place: str, capsys: Capture) -> tuple[int, str]:
    """Return what a search says once the server has read its file anew."""
    done = run(capsys, "search", "x", "--index", place)
    for _ in range(100):
        if "no index here" not in done.err:
            break
        done = run(capsys, "search", "x", "--index", place)
    return done.code, done.err


def test_a_wrong_password_is_one_line_that_does_not_hold_it(
    asked_for_passwords: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = address()
    code, told = until_refused(as_user(place, asked_for_passwords, "wr%2Fng"), capsys)
    assert (code, len(told.splitlines())) == (3, 1)
    assert "password authentication failed" in told
    assert "wr/ng" not in told
    assert "wr%2Fng" not in told
    right = as_user(place, asked_for_passwords, WRITTEN)
    assert open_index(right).info().passages == 0


@pytest.mark.parametrize(
    "named", ["ada:s3/cret@h/d", "ada:s3?cret@h/d", "ada:s3#cret@h/d", "ada:s3cret@[h/d"]
)
def test_a_password_that_breaks_the_address_is_not_told(named: str, capsys: Capture) -> None:
    with pytest.raises(InputError) as caught:
        mask_secrets(f"postgresql://{named}")
    assert "s3" not in str(caught.value)
    done = run(capsys, "search", "x", "--index", f"postgresql://{named}")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "s3" not in done.err + done.out


def test_a_password_that_the_driver_cannot_read_is_masked() -> None:
    with pytest.raises(StoreError) as caught:
        open_index("postgresql://ada:s3%ZZcret@127.0.0.1:9/town")
    assert "s3" not in str(caught.value)


def test_a_user_who_may_only_read_searches_and_writes_nothing(
    user: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = address()
    open_index(place).add([Passage(text="A bridge.", source="a")])
    execute(f"GRANT USAGE ON SCHEMA {schema_of(place)} TO {user}")
    execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema_of(place)} TO {user}")
    mine = as_user(place, user)
    assert open_index(mine).search("bridge")[0].passage.source == "a"
    Path("b.txt").write_text("A river.")
    for words in (("ingest", "b.txt", "--embedder", "none"), ("index", "delete", "--source", "a")):
        done = run(capsys, *words, "--index", mine)
        assert (done.code, len(done.err.splitlines())) == (3, 1), done.err
        assert "permission denied" in done.err
    with pytest.raises(StoreError, match="opening the calibration failed: permission denied"):
        open_index(mine).open_log().__enter__()
    new = run(capsys, "ingest", "b.txt", "--embedder", "none", "--index", as_user(address(), user))
    assert (new.code, len(new.err.splitlines())) == (3, 1), new.err
    assert [hit.passage.source for hit in open_index(place).search("bridge river")] == ["a"]


def test_a_schema_that_an_administrator_made_is_used(user: str) -> None:
    place = address()
    execute(f"CREATE SCHEMA {schema_of(place)} AUTHORIZATION {user}")
    open_index(as_user(place, user)).add([Passage(text="A bridge.", source="a")])
    assert open_index(place).info().passages == 1


def test_a_database_without_pgvector_says_what_to_do(user: str) -> None:
    execute(f"CREATE DATABASE bare_{user}")
    try:
        place = address().replace("/postgres?", f"/bare_{user}?")
        with psycopg.connect(server().replace("/postgres?", f"/bare_{user}?"), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema_of(place)} AUTHORIZATION {user}")
        index = PostgresIndex.open(as_user(place, user), embedder=HashEmbedder())
        with pytest.raises(IndexServerFault, match="CREATE EXTENSION vector, or ingest with --embedder none"):
            index.add([Passage(text="A bridge.", source="a")])
        assert index.info().passages == 0
        index.close()
        words = PostgresIndex.open(as_user(place, user))
        words.add([Passage(text="A bridge.", source="a")])
        assert words.search("bridge")[0].passage.source == "a"
        words.close()
    finally:
        execute(f"DROP DATABASE bare_{user} WITH (FORCE)")


class Breaking(HashEmbedder):
    """An embedder that breaks the connection of its index before the call of a number."""

    index: PostgresIndex

    def __init__(self, breaking_call: int) -> None:
        super().__init__()
        self.breaking_call = breaking_call

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        if self.calls + 1 == self.breaking_call:
            execute(f"SELECT pg_terminate_backend({self.index._connection().info.backend_pid})")
        return super().embed(texts, query=query)


def broken(place: str, call: int) -> PostgresIndex:
    embedder = Breaking(call)
    embedder.index = PostgresIndex.open(place, embedder=embedder)
    return embedder.index


def test_a_connection_lost_while_writing_keeps_whole_batches() -> None:
    place = address()
    passages = [Passage(text=f"Bridge number {n}.", source="a") for n in range(1200)]
    index = broken(place, 2)
    with pytest.raises(IndexServerFault, match="failed"):
        index.add(passages)
    assert index.info().passages == 512
    assert index.check() == []
    assert index.add(passages).passages == 1200 - 512
    assert (index.info().passages, index.check()) == (1200, [])


def test_a_connection_lost_in_a_search_is_told_once() -> None:
    place = address()
    open_index(place, embedder=HashEmbedder()).add([Passage(text="A bridge.", source="a")])
    index = broken(place, 1)
    with pytest.raises(IndexServerFault) as caught:
        index.search("bridge")
    assert "\n" not in str(caught.value)
    assert index.search("bridge")[0].passage.source == "a"


@pytest.mark.parametrize("table", ["documents", "passages", "postings", "entries"])
def test_a_full_disk_leaves_what_was_there(
    table: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = address()
    index = PostgresIndex.open(place)
    index.add([Passage(text="A bridge.", source="a")])
    full = "RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'"  # as the server says it
    execute(
        f"CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {full}; END $$; "
        f"CREATE TRIGGER full_disk BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION full_disk()",
        schema=schema_of(place),
    )
    Path("b.txt").write_text("A river.")
    done = run(capsys, "ingest", "b.txt", "--embedder", "none", "--index", place)
    assert (done.code, len(done.err.splitlines())) == (3, 1), done.err
    assert "No space left on device" in done.err
    assert (index.info().documents, index.info().passages, index.check()) == (1, 1, [])
    assert totals(place) == (1, 3)
    execute("DROP FUNCTION full_disk CASCADE", schema=schema_of(place))
    assert run(capsys, "ingest", "b.txt", "--embedder", "none", "--index", place).code == 0
    assert index.info().passages == 2


def totals(place: str) -> tuple[int, int]:
    """Return the passages and terms that the index counts its words' rarity by."""
    with psycopg.connect(server(), options=f"-c search_path={schema_of(place)}") as connection:
        found = connection.execute("SELECT passages, terms FROM disputatio_index").fetchone()
    assert found is not None
    return found[0], found[1]


@pytest.mark.parametrize(
    "change",
    [
        lambda index: index.delete(sources=["a"]),
        lambda index: index.add([Passage(text="A new river here.", id="p1", source="a", document="one")]),
        lambda index: index.add([Passage(text="A bridge.", source="a")]),
    ],
    ids=["deleted", "added", "again"],
)
def test_the_counts_of_an_index_follow_its_passages(change: Callable[[Index], object]) -> None:
    place = address()
    index = open_index(place)
    index.add([Passage(text="A bridge.", source="a"), Passage(text="A long river flows.", source="b")])
    change(index)
    with psycopg.connect(server(), options=f"-c search_path={schema_of(place)}") as connection:
        counted = connection.execute("SELECT count(*), coalesce(sum(length), 0) FROM passages").fetchone()
    assert totals(place) == counted
