"""An index in PostgreSQL: faults in one line, no password told, writers in turns, other versions."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from disputatio.errors import InputError, StoreError
from disputatio.store.addresses import mask_secrets
from disputatio.store.opening import open_index
from disputatio.store.remote import postgres_tables as tables
from disputatio.store.remote.postgres import PostgresIndex
from disputatio.types import Passage
from tests.shell import run
from tests.store.hashing import HashEmbedder
from tests.store.remote.served_postgres import address, server

pytestmark = pytest.mark.long  # a server of their own is started
Capture = pytest.CaptureFixture[str]


def execute(sql: str, *, schema: str = "public") -> None:
    with psycopg.connect(server(), autocommit=True, options=f"-c search_path={schema},public") as connection:
        connection.execute(sql)


def schema_of(place: str) -> str:
    return place.rpartition("schema=")[2]


@pytest.mark.parametrize(
    ("named", "as_told"),
    [
        ("postgresql://ada:s3cret@db.example:5432/town", "postgresql://ada@db.example:5432/town"),
        (Path("postgresql://ada:s3cret@db.example/town"), "postgresql://ada@db.example/town"),
        ("postgres://db.example/town?schema=a&password=s3cret", "postgresql://db.example/town?schema=a"),
        ("postgresql://ada:s3%40cret@db.example/town", "postgresql://ada@db.example/town"),
        ("my.index", "my.index"),
    ],
)
def test_an_address_is_told_without_its_password(named: str | Path, as_told: str) -> None:
    assert mask_secrets(named) == as_told


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ("postgresql:///town", "names no host"),
        ("postgresql://db.example/town?schema=a;drop", "a schema is named by"),
        ('postgresql://db.example/town?schema=A"b', "a schema is named by"),
    ],
)
def test_an_address_that_is_none_is_refused(named: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        open_index(named)


@pytest.mark.parametrize(
    "words",
    [("search", "x"), ("sources",), ("index", "info"), ("index", "check"), ("ask", "x", "--model", "none")],
)
def test_a_server_that_is_not_there_is_one_line_and_exit_3(
    words: tuple[str, ...], capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(capsys, *words, "--index", "postgresql://ada:s3cret@127.0.0.1:9/town")
    assert done.code == 3
    assert len(done.err.splitlines()) == 1
    assert "s3cret" not in done.err + done.out
    assert "connecting failed" in done.err


def test_a_wrong_password_is_told_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise psycopg.OperationalError('password authentication failed for user "ada"\nwith s3cret')

    monkeypatch.setattr(psycopg, "connect", refused)
    with pytest.raises(StoreError, match="password authentication failed") as caught:
        open_index("postgresql://ada:s3cret@db.example/town")
    assert "s3cret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_was_made_by_another_program_version_or_embedder_is_refused() -> None:
    place = address()
    open_index(place).add([Passage(text="A bridge.", source="a")])
    with pytest.raises(StoreError, match="made with no embedder"):
        open_index(place, embedder=HashEmbedder())
    execute("UPDATE disputatio_index SET version = 99", schema=schema_of(place))
    with pytest.raises(StoreError, match="version 99"):
        open_index(place)
    other = address()
    execute(f"CREATE SCHEMA {schema_of(other)}")
    execute("CREATE TABLE theirs (a int)", schema=schema_of(other))
    with pytest.raises(StoreError, match="another program"):
        open_index(other).add([Passage(text="A bridge.", source="a")])
    with pytest.raises(StoreError, match="there is no index here"):
        open_index(address(), create=False)


def test_a_server_without_pgvector_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    place = address()
    monkeypatch.setattr(tables, "OLDEST_VECTOR", (99, 0))
    with pytest.raises(StoreError, match=r"pgvector is .*, it is to be"):
        open_index(place, embedder=HashEmbedder()).add([Passage(text="A bridge.", source="a")])
    monkeypatch.undo()
    assert open_index(place).info().passages == 0
    with psycopg.connect(server()) as connection:
        found = connection.execute("SELECT to_regnamespace(%s)", (schema_of(place),)).fetchone()
    assert found == (None,)


def test_an_older_server_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "OLDEST_SERVER", 990000)
    with pytest.raises(StoreError, match=r"the server is PostgreSQL \d+"):
        open_index(address())


def test_an_index_of_an_earlier_version_is_refused_in_one_line() -> None:
    place = address()
    open_index(place).add([Passage(text="A bridge.", source="a")])
    execute("UPDATE disputatio_index SET version = 1", schema=schema_of(place))
    with pytest.raises(StoreError, match="is of an earlier version; ingest into a new one"):
        open_index(place)


def test_an_index_that_another_makes_between_two_looks_is_ours() -> None:
    place = address()
    parsed = tables.address_of(place)
    assert parsed is not None

    class Meanwhile:
        """A connection, before whose first statement ends the other writer makes the index."""

        def __init__(self, connection: psycopg.Connection[Any]) -> None:
            self.connection = connection

        def execute(self, *statement: Any) -> Any:
            try:
                return self.connection.execute(*statement)
            except (psycopg.errors.InvalidSchemaName, psycopg.errors.UndefinedTable):
                open_index(place).add([Passage(text="A bridge.", source="a")])
                raise

    with tables.connect(parsed) as connection:
        settings = tables.settings_of(parsed, Meanwhile(connection))
    assert settings is not None
    assert settings["version"] == tables.FORMAT


def test_what_an_interrupted_first_ingest_left_is_searched_and_finished_by_compact() -> None:
    place = address()
    index = open_index(place)
    many = [Passage(text=f"The bridge of town {n} stands.", id=f"p{n}", source="a") for n in range(1200)]

    def cut_short() -> Iterator[Passage]:
        yield from many[:1100]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.add(cut_short())
    kept = index.info().passages
    assert 0 < kept < 1100
    assert not has_word_index(place)
    assert len(index.search("bridge", k=2000)) == kept
    index.compact()
    assert has_word_index(place)
    index.add(many)
    assert len(index.search("bridge", k=2000)) == 1200
    assert isinstance(index, PostgresIndex)
    assert index.check() == []


def has_word_index(place: str) -> bool:
    with psycopg.connect(server()) as connection:
        found = connection.execute("SELECT to_regclass(%s)", (f"{schema_of(place)}.postings_of_term",))
        return found.fetchone() != (None,)


def test_two_who_finish_their_first_ingest_at_once_make_one_index_of_words() -> None:
    place = address()
    open_index(place).add([Passage(text="A bridge.", source="a")])
    execute("DROP INDEX postings_of_term", schema=schema_of(place))
    faults: list[Exception] = []

    def grow() -> None:
        try:
            open_index(place).add([Passage(text="A bridge.", source="a")])
        except StoreError as error:
            faults.append(error)

    threads = [threading.Thread(target=grow) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert has_word_index(place)


def test_the_commands_work_on_an_index_in_a_database(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = address()
    Path("docs").mkdir()
    Path("docs/a.txt").write_text("The lighthouse was designed by Ada.")
    Path("docs/b.txt").write_text("The mayor denied the flood.")
    assert run(capsys, "ingest", "docs", "--index", place, "--embedder", "none").code == 0
    found = run(capsys, "search", "lighthouse", "--index", place, "--json")
    assert json.loads(found.out)[0]["passage"]["text"] == "The lighthouse was designed by Ada."
    assert "documents  2\n" in run(capsys, "index", "info", "--index", place).out
    assert run(capsys, "index", "check", "--index", place).out == "nothing is damaged\n"
    execute("DELETE FROM postings", schema=schema_of(place))
    assert run(capsys, "index", "check", "--index", place).code == 1
    told = run(capsys, "index", "export", "out.jsonl", "--index", place)
    assert (told.code, Path("out.jsonl").exists()) == (2, False)
    told = run(capsys, "calibrate", "--index", place, "--model", "none")
    assert (told.code, "needs a language model" in told.err) == (2, True)
    assert run(capsys, "config", "--index", "postgresql://a:s3cret@h/d", "--json").out.count("s3cret") == 0
