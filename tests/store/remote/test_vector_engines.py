"""Qdrant and Milvus: addresses without secrets, faults in one line, interrupted writers, the commands."""

from __future__ import annotations

import importlib.util
import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import IndexServerFault, IngestError, InputError, StoreError
from disputatio.store.addresses import mask_secrets
from disputatio.store.opening import open_index
from disputatio.store.remote import milvus, qdrant
from disputatio.store.remote.engine import DENSE, DOCUMENTS, PASSAGES, Condition, row_id
from disputatio.store.remote.vector_index import VectorIndex
from disputatio.store.segments.terms import make_search_text
from disputatio.types import Passage, Source
from tests.shell import run
from tests.store.hashing import HashEmbedder
from tests.store.remote import served_milvus, served_qdrant

Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.long  # servers and programs of their own are started
ADDRESSES = {"qdrant": served_qdrant.address, "milvus": served_milvus.address}
KINDS = tuple(ADDRESSES)


def opened(place: str, **options: Any) -> VectorIndex:
    index = open_index(place, **options)
    assert isinstance(index, VectorIndex)
    return index


@pytest.mark.parametrize(
    ("named", "as_told"),
    [
        ("qdrant://:s3cret@db.example/town", "qdrant://db.example:6333/town"),
        (Path("qdrant://s3cret@db.example/town?tls=yes"), "qdrant://db.example:6333/town?tls=yes"),
        ("qdrant://db.example:7000?api_key=s3cret", "qdrant://db.example:7000/disputatio"),
        ("milvus://ada:s3%40cret@db.example/town", "milvus://ada@db.example:19530/town"),
        ("milvus://s3cret@[::1]:7/town", "milvus://[::1]:7/town"),
        (Path("milvus://db.example/town?token=s3cret"), "milvus://db.example:19530/town"),
        (Path("milvus:towns/town.db?collection=news"), "milvus:towns/town.db?collection=news"),
    ],
)
def test_an_address_is_told_without_its_secret(named: str | Path, as_told: str) -> None:
    assert mask_secrets(named) == as_told


def test_a_key_of_the_environment_is_taken_where_there_is_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("QDRANT_API_KEY", "s3cret")
    qdrant_form, milvus_form = qdrant.QdrantIndex.form, milvus.MilvusIndex.form
    assert qdrant_form.parse("qdrant://db.example/town").secret == "s3cret"
    assert qdrant_form.parse("qdrant://:other@db.example/town").secret == "other"
    assert milvus_form.parse("milvus://db.example/town").secret == ""


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ("qdrant:///", "names no host or port"),
        ("qdrant://:s3cret@db.example:port/town", "names no host or port"),
        ("qdrant://:s3cret@db.example/to-wn", "a collection is named by"),
        ("milvus://:s3cret@db.example/a/b", "a collection is named by"),
        ("milvus:town.db?collection=a.b", "a collection is named by"),
        ("milvus://db.example/town?secrets=s3cret", "secrets is no part of its address"),
    ],
)
def test_an_address_that_is_none_is_refused_without_its_secret(named: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        open_index(named)
    assert "s3cret" not in str(caught.value)


@pytest.fixture
def closed() -> Iterator[int]:
    """A port that nothing listens at."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "words",
    [("search", "x"), ("index", "info"), ("index", "check"), ("ingest", "docs", "--embedder", "none")],
)
def test_a_server_that_is_not_there_is_one_line_and_exit_3(
    kind: str,
    words: tuple[str, ...],
    closed: int,
    capsys: Capture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    Path("docs/a.txt").write_text("The lighthouse was designed by Ada.")
    done = run(capsys, *words, "--index", f"{kind}://ada:s3cret@127.0.0.1:{closed}/town")
    assert done.code == 3
    assert len(done.err.splitlines()) == 1
    assert "opening the index failed" in done.err
    assert "s3cret" not in done.err + done.out


def test_a_key_that_is_wrong_or_missing_is_one_line_without_it(capsys: Capture) -> None:
    stand_in, where = served_qdrant.start()
    stand_in.key = served_qdrant.KEY
    open_index(f"qdrant://:{served_qdrant.KEY}@{where}/town").add([Passage(text="A bridge.", source="a")])
    for given in (":wr0ng@", ""):
        done = run(capsys, "search", "bridge", "--index", f"qdrant://{given}{where}/town")
        assert (done.code, len(done.err.splitlines())) == (3, 1)
        assert "401" in done.err
        assert "wr0ng" not in done.err


def test_a_wrong_password_of_milvus_is_told_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import pymilvus

    def refused(*_: Any, **given: Any) -> None:
        assert given["token"] == "ada:s3cret"
        raise pymilvus.MilvusException(1800, "auth check failure\nfor ada:s3cret")

    monkeypatch.setattr(pymilvus, "MilvusClient", refused)
    with pytest.raises(IndexServerFault, match=r"failed: auth check failure for ada:\*\*\*$"):
        open_index("milvus://ada:s3cret@db.example/town")


def test_a_server_that_is_too_old_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in, where = served_qdrant.start()
    stand_in.version = "1.12.4"
    with pytest.raises(IndexServerFault, match=r"the server is Qdrant 1\.12\.4, it is to be 1\.16 or newer"):
        open_index(f"qdrant://{where}/town")
    import pymilvus

    monkeypatch.setattr(pymilvus.MilvusClient, "get_server_version", lambda _: "v2.3.1")
    with pytest.raises(IndexServerFault, match=r"the server is Milvus v2\.3\.1, it is to be 2\.5 or newer"):
        open_index(served_milvus.address())


@pytest.mark.parametrize("kind", KINDS)
def test_a_package_that_is_missing_is_named_with_how_to_have_it(
    kind: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in list(sys.modules):
        if module.partition(".")[0] in ("qdrant_client", "pymilvus"):
            monkeypatch.delitem(sys.modules, module)
    for module in ("qdrant_client", "qdrant_client.http.exceptions", "pymilvus"):
        monkeypatch.setitem(sys.modules, module, None)
    done = run(capsys, "search", "bridge", "--index", f"{kind}://127.0.0.1/town")
    extra = {"qdrant": "scale", "milvus": "milvus"}[kind]
    assert (done.code, f"disputatio[{extra}]" in done.err) == (2, True)


def test_milvus_lite_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(Exception, match="milvus-lite is not installed"):
        open_index(f"milvus:{tmp_path}/x.db").add([Passage(text="A bridge.", source="a")])
    assert not (tmp_path / "x.db").exists()


def test_a_collection_of_another_program_or_version_is_refused() -> None:
    local = served_qdrant.server()[0].client
    local.create_collection("theirs", vectors_config={})
    with pytest.raises(StoreError, match="theirs is a collection of another program"):
        open_index(f"qdrant://{served_qdrant.server()[1]}/theirs").add([Passage(text="A.", source="a")])
    place = served_qdrant.address()
    open_index(place).add([Passage(text="A bridge.", source="a")])
    name = qdrant.QdrantIndex.form.parse(place).collection
    for version, reason in ((99, "is of version 99"), (1, "is of an earlier version")):
        local.update_collection(name, metadata={"disputatio collection": version, "embedder": ""})
        with pytest.raises(StoreError, match=reason):
            open_index(place)


def test_a_milvus_collection_of_another_program_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(milvus, "_TRIES", 2)
    client = milvus.Milvus(milvus.MilvusIndex.form.parse(served_milvus.address()))._get_client()
    client.create_collection("theirs", dimension=4)
    client.create_collection("theirs_documents", dimension=4)
    with pytest.raises(StoreError, match="theirs is a collection of another program"):
        open_index(f"milvus://{served_milvus.server()}/theirs").add([Passage(text="A.", source="a")])
    assert client.query("theirs", filter="", output_fields=["count(*)"])[0]["count(*)"] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_writer_that_was_interrupted_loses_nothing_and_is_finished_by_the_same_call(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("The bridge did collapse in 1990.")
    place = ADDRESSES[kind]()
    opened(place).ingest(file)
    file.write_text("A zebra walked in.")
    index, broken = opened(place), 0
    engine = {"qdrant": qdrant.Qdrant, "milvus": milvus.Milvus}[kind]
    for name in ("put", "erase"):
        for after in range(4):
            calls = 0
            real = getattr(engine, name)

            def failing(self: Any, *given: Any, **named: Any) -> None:
                nonlocal calls
                calls += 1
                if calls > after:  # noqa: B023 - called before the next round
                    raise IndexServerFault("the way is broken")
                real(self, *given, **named)  # noqa: B023

            with monkeypatch.context() as patch:
                patch.setattr(engine, name, failing)
                try:
                    index.ingest(file)
                except IndexServerFault:
                    broken += 1
            assert index.search("bridge zebra", alpha=1.0)
    assert broken >= 3
    index.ingest(file)
    assert [hit.passage.text for hit in index.search("bridge zebra")] == ["A zebra walked in."]
    assert index.check() == []


@pytest.mark.parametrize("kind", KINDS)
def test_check_finds_what_does_not_fit_and_compact_takes_out_what_stands_for_nothing(kind: str) -> None:
    index = opened(ADDRESSES[kind]())
    index.add(Passage(id=f"p{n}", text=f"Bridge {n}.", source=f"s{n}") for n in range(4))
    entries = {entry.document.source: entry for entry in index._entries()}
    index._engine.erase(DOCUMENTS, ids=[entries["s0"].id])
    index._engine.erase(PASSAGES, facts=[f'["document", "{entries["s1"].document.id}"]'])
    index._engine.erase(DOCUMENTS, facts=[f'["text", "{entries["s2"].document.id}"]'])
    assert index.check() == [
        "1 passages without their document",
        "1 documents without some of their passages",
        "1 documents without their text",
    ]
    index.compact()
    assert "1 passages without their document" in index.check()  # too young
    index.compact(keep=0.0)
    assert "1 passages without their document" not in index.check()


@pytest.mark.parametrize("kind", KINDS)
def test_odd_text_is_kept_or_refused_by_name(kind: str) -> None:
    index = opened(ADDRESSES[kind]())
    odd = "It's \"quoted\" \\ {braced} \x00 %s ' or 1==1 — été 🦓"
    index.add([Passage(id="odd'\"", text=odd + " zebra", source=odd, metadata={"a'\"": odd})])
    assert [hit.passage.source for hit in index.search("zebra", where={"a'\"": odd}, sources=[odd])] == [odd]
    assert index.search("zebra", exclude=["odd'\""]) == []
    with pytest.raises(IngestError, match="holds half a character"):
        index.add([Passage(text="half", source="\ud800")])
    if kind == "milvus":
        with pytest.raises(IngestError, match="the server keeps 65,535"):
            index.add([Passage(text="long", source="s", metadata={"x": "y" * 70_000})])
    index.add([Passage(text="?!", source="marks")])  # no term in it
    assert index.info().passages == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_text_is_kept_whole(kind: str, tmp_path: Path) -> None:
    text = "\n\n".join(f"Paragraph {n}: " + "é" * 90 + f" zebra{n}." for n in range(400))
    (tmp_path / "long.txt").write_text(text)
    index = opened(ADDRESSES[kind]())
    index.ingest(tmp_path)
    assert [document.text for document in index.documents()] == [text]
    hit = index.search("zebra317")[0].passage
    assert text[hit.start : hit.end] == hit.text
    assert index.check() == []


@pytest.mark.parametrize("kind", KINDS)
def test_an_id_that_stands_for_another_passage_is_refused(kind: str) -> None:
    index = opened(ADDRESSES[kind]())
    index.add([Passage(text="A bridge.", source="a")])
    (taken,) = index.search("bridge")
    with pytest.raises(InputError, match=f"passage {taken.passage.id}: the id stands for another passage"):
        index.add([Passage(id=taken.passage.id, text="A river.", source="b")])
    assert index.info().passages == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_of_large_sources_come_from_the_servers_groups(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(milvus, "_MOST", 20)
    index = opened(ADDRESSES[kind](), embedder=HashEmbedder())
    words = ("zebra", "river", "bridge", "mayor")
    texts = [" ".join(words[(n + k) % 4] for k in range(1 + n % 7)) for n in range(60)]
    index.add(Passage(id=f"p{n}", text=text, source=f"s{n % 2}") for n, text in enumerate(texts))
    hits = index.search("zebra bridge", per_source=2, alpha=1.0)
    for source in ("s0", "s1"):
        found = [hit.scores["bm25"] for hit in hits if hit.passage.source == source]
        every = index.search("zebra bridge", k=20, alpha=1.0, sources=[source])
        assert found == pytest.approx([hit.scores["bm25"] for hit in every[:2]])
    if kind == "milvus":
        with pytest.raises(InputError, match="at most 10 of each source"):
            index.search("zebra", per_source=11)


def test_milvus_compares_named_passages_by_their_vectors_not_by_its_approximate_index(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embedder = HashEmbedder()
    index = open_index(served_milvus.address(), embedder=embedder)
    passages = [Passage(id=f"p{n}", text=f"A bridge of town {n % 7}.", source="a") for n in range(30)]
    index.add(passages)
    assert isinstance(index, VectorIndex)
    engine = index._engine

    asked: list[dict[str, object]] = []

    def missed(*_: object, **how: object) -> list[object]:
        asked.append(how)
        return []

    monkeypatch.setattr(engine, "_search_by", missed)
    [vector] = embedder.embed(["town 3"], query=True)
    found = engine.best(DENSE, vector.tolist(), Condition(), 30, [row_id(one.id) for one in passages])
    wanted = embedder.embed([*map(make_search_text, passages)]) @ vector
    assert len(found) == 30
    assert [each.score for each in found] == pytest.approx(sorted(wanted.tolist(), reverse=True), abs=1e-5)
    assert len(engine.best(DENSE, vector.tolist(), Condition(), 4, [row_id(one.id) for one in passages])) == 4
    assert asked == []
    engine.best_of_each(DENSE, vector.tolist(), Condition(), 2)  # all that match: it is to look that widely
    assert [how["search_params"] for how in asked] == [{"params": {"ef": how["limit"]}} for how in asked]
    assert len(asked) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_estimates_are_replaced_whole(kind: str) -> None:
    index = opened(ADDRESSES[kind]())
    index.add([Passage(text="A bridge.", source="a")])
    for many in (250, 3):
        index.set_estimates({f"s{n}": Source(name=f"s{n}", reliability=0.5) for n in range(many)})
        assert len(index.reliabilities()) == many
    assert index.info().documents == 1


@pytest.mark.parametrize("kind", [*KINDS, "file"])
def test_the_commands_work_on_an_index_in_a_vector_engine(
    kind: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = "milvus:town.db" if kind == "file" else ADDRESSES[kind]()
    Path("docs").mkdir()
    Path("docs/a.txt").write_text("The lighthouse was designed by Ada.")
    Path("docs/b.txt").write_text("The mayor denied the flood.")
    assert run(capsys, "search", "x", "--index", place).code == 2
    assert run(capsys, "ingest", "docs", "--index", place, "--embedder", "none").code == 0
    if kind == "file":  # as the next process finds it
        served_milvus.let_go(Path("town.db"))
    found = run(capsys, "search", "lighthouse", "--index", place, "--json")
    assert json.loads(found.out)[0]["passage"]["text"] == "The lighthouse was designed by Ada."
    assert run(capsys, "ask", "Who designed it?", "--index", place, "--model", "none").code in (0, 1)
    assert "documents  2\n" in run(capsys, "index", "info", "--index", place).out
    assert run(capsys, "index", "check", "--index", place).out == "nothing is damaged\n"
    assert run(capsys, "index", "delete", "--path", "docs/b.txt", "--index", place).code == 0
    assert "documents  1\n" in run(capsys, "index", "info", "--index", place).out
    told = run(capsys, "index", "export", "out.jsonl", "--index", place)
    assert (told.code, Path("out.jsonl").exists()) == (2, False)
    assert run(capsys, "ingest", "docs", "--index", place, "--ray", "local").code == 2
