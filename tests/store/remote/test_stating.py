"""Statements of people about documents of an index on a server: the same as in a folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from disputatio.errors import InputError, StoreError, UnknownName
from disputatio.store.contract import Index
from disputatio.store.description_table import describe_from
from disputatio.store.opening import open_index
from disputatio.store.remote.served_index import ServedIndex
from disputatio.store.remote.vector_index import VectorIndex
from disputatio.types import Passage, Relation
from tests.store.hashing import HashEmbedder
from tests.store.remote.test_contract import ENGINES, SERVED, assert_same, opened

pytestmark = pytest.mark.long  # servers and programs of their own are started
OLD = "---\ndate: 2019-05-01\n---\nThe quay is open to lorries until six.\n"
NEW = "The quay is open to lorries until four.\n"
ROWS = "notice,owner\nThe quay was paved in 1950.,town\nThe quay is open to walkers.,town\n"


@pytest.fixture(autouse=True)
def own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "quay"
    folder.mkdir()
    for name, text in (("old.md", OLD), ("new.md", NEW), ("rows.csv", ROWS)):
        (folder / name).write_text(text)
    return folder


def indexes(kind: str, folder: Path) -> tuple[Index, Index]:
    """Return an index of this kind and one in a folder, of the same files."""
    both = (
        opened(kind, folder.parent, HashEmbedder()),
        opened("folder", folder.parent / "own", HashEmbedder()),
    )
    for index in both:
        index.ingest(folder, columns={"text": "notice"})
    return both


def found(index: Index, **options: object) -> dict[str, Passage]:
    hits = index.search("the quay is open to lorries", k=20, **options)  # type: ignore[arg-type]  # of tests
    return {hit.passage.text.split()[-1].rstrip("."): hit.passage for hit in hits}


def assert_alike(served: Index, own: Index) -> None:
    """Assert that two indexes have the same documents, passages, sources and statements."""
    assert served.documents() == own.documents()
    assert [(each.name, each.owner) for each in served.sources()] == [
        (each.name, each.owner) for each in own.sources()
    ]
    for query in ("the quay is open to lorries", "paved harbour rules"):
        assert_same(served.search(query, k=20), own.search(query, k=20))
    stated = [
        sorted(
            (str(each.target), str(each.fields), each.by, bool(each.undone)) for each in index.descriptions()
        )
        for index in (served, own)
    ]
    assert stated[0] == stated[1]


@pytest.mark.parametrize("kind", SERVED)
def test_what_is_stated_and_taken_back_is_as_in_a_folder(kind: str, folder: Path) -> None:
    served, own = indexes(kind, folder)
    before = found(served)
    for index in (served, own):
        stated = {"date": "2024-02-01", "owner": "Harbour office", "source": "notices"}
        assert (
            index.describe_all([("new.md", {**stated, "authority": "official", "replaces": "old.md"})]) == 1
        )
        assert index.describe("rows.csv", owner="Archive") == 2
        assert index.describe("rows.csv", owner="Archive") == 0
        passage = found(index)["four"]
        assert passage.id == before["four"].id
        assert (passage.date, passage.date_origin, passage.owner) == (
            "2024-02-01",
            "stated",
            "Harbour office",
        )
        assert passage.relations == (Relation(kind="replaces", target="old.md", by_person=True),)
        assert set(found(index, sources=["notices"])) == {"four"}
        assert set(found(index, after="2024")) == {"four"}
        assert set(found(index, where={"owner": "Archive"})) == {"1950", "walkers"}
        assert index.tiers() == {"notices": {"official": 1}}
    assert_alike(served, own)
    for index in (served, own):
        first, *_ = index.descriptions("new.md")
        assert index.take_back(first.key) == 1
        with pytest.raises(InputError, match="no statement"):
            index.take_back(first.key)
        assert index.describe("rows.csv", owner="") == 2
        assert found(index) == before
    assert_alike(served, own)
    if isinstance(served, ServedIndex):
        assert served.check() == []


@pytest.mark.parametrize("kind", SERVED)
def test_flags_and_sidecars_of_an_ingest_count_and_outlive_a_change_of_the_text(
    kind: str, folder: Path
) -> None:
    served, own = indexes(kind, folder)
    sidecar = folder / "disputatio.yaml"
    sidecar.write_text("new.md:\n  authority: binding\n")
    for index in (served, own):
        summary = index.ingest(folder, columns={"text": "notice"}, stated={"owner": "Town"}, sidecar=sidecar)
        assert (summary.unchanged, summary.notices) == (4, ())
        assert {passage.owner for passage in found(index).values()} == {"Town"}
    (folder / "new.md").write_text(NEW.replace("four", "five"))
    sidecar.write_text("old.md:\n  authority: informal\n")
    for index in (served, own):
        assert index.ingest(folder, columns={"text": "notice"}, sidecar=sidecar).replaced == 1
        passages = found(index)
        assert (passages["five"].authority, passages["five"].owner) == ("", "Town")
        assert passages["six"].authority == "informal"
    assert_alike(served, own)
    sidecars = [each for each in served.descriptions() if each.is_of_a_sidecar]
    with pytest.raises(InputError, match="is the sidecar's"):
        served.take_back(sidecars[0].key)


@pytest.mark.parametrize("kind", ENGINES)
def test_a_muted_document_is_not_found_by_anyone_until_it_is_heard_again(kind: str, folder: Path) -> None:
    index, _ = indexes(kind, folder)
    names = {word: passage.document for word, passage in found(index).items()}
    other = open_index(index.path, embedder=HashEmbedder())
    assert index.describe("old.md", mute=True) == 1
    for each in (index, other):
        assert set(found(each)) == {"four", "1950", "walkers"}
        assert "six" not in {
            hit.passage.text.split()[-1] for hit in each.search("lorries until six", per_source=1)
        }
        assert len(each.documents()) == 4
    assert set(found(index, exclude=[names["four"]])) == {"1950", "walkers"}
    index.describe("old.md", mute=False)
    assert set(found(other)) == {"six", "four", "1950", "walkers"}


@pytest.mark.parametrize("kind", ENGINES)
def test_a_described_document_that_was_deleted_comes_back_with_what_was_stated(
    kind: str, folder: Path
) -> None:
    index, _ = indexes(kind, folder)
    own = found(index)["four"]
    index.describe("new.md", owner="Harbour office", title="Rules")
    stated = found(index)["four"]
    taken = index.take_out(stated.document)
    assert taken is not None
    assert set(found(index)) == {"six", "1950", "walkers"}
    index.put_back(json.loads(json.dumps(taken)))
    assert found(index)["four"] == stated
    assert index.take_back(index.descriptions()[0].key) == 1
    assert found(index)["four"] == own


@pytest.mark.parametrize("kind", ENGINES)
def test_what_cannot_be_stated_is_refused_and_changes_nothing(kind: str, folder: Path) -> None:
    index, _ = indexes(kind, folder)
    before, number = index.documents(), index.info().commit
    with pytest.raises(UnknownName, match=r"did you mean 'new\.md'"):
        index.describe("nwe.md", owner="x")
    with pytest.raises(InputError, match="is not a date"):
        index.describe("new.md", date="soon")
    with pytest.raises(InputError, match=r"replaces 'odl\.md': .*did you mean 'old\.md'"):
        index.describe("new.md", replaces="odl.md")
    with pytest.raises(InputError, match="no statement 7"):
        index.take_back(7)
    assert (index.documents(), index.descriptions(), index.info().commit) == (before, [], number)
    index.describe("new.md", owner="x")
    assert index.info().commit != number
    with pytest.raises(StoreError, match="there is no index here"):
        opened(kind, folder / "none").describe("new.md", owner="x")


@pytest.mark.parametrize("kind", ENGINES)
def test_a_table_states_fields_of_documents_by_file_and_doi(kind: str, folder: Path) -> None:
    (folder / "paper.md").write_text("A study of tides. doi:10.5555/tides.1\n\nThe tide is high at noon.\n")
    index, _ = indexes(kind, folder)
    table = folder.parent / "table.csv"
    table.write_text("file,doi,status,owner\nnew.md,,,Town\n,10.5555/TIDES.1,Retraction,\ngone.md,,,x\n")
    summary = describe_from(index, table)
    assert (summary.rows, summary.matched, summary.described) == (3, 2, 2)
    assert found(index)["four"].owner == "Town"
    [paper] = [each for each in index.documents() if each.path.endswith("paper.md")]
    assert paper.by_people == {"status": "retracted"}


@pytest.mark.parametrize("kind", ["qdrant", "milvus"])
def test_an_interrupted_statement_is_put_in_force_or_undone_by_the_next_call(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, _ = indexes(kind, folder)
    assert isinstance(index, VectorIndex)
    before = index.documents()
    engine, calls = index._engine, []
    put = engine.put

    def fail_at_the_entries(table: str, rows: object) -> None:
        calls.append(table)
        if len(calls) == 3:  # own fields, passages, entries
            raise StoreError("the line is cut")
        put(table, rows)  # type: ignore[arg-type]  # given on as it came

    with monkeypatch.context() as patched:
        patched.setattr(engine, "put", fail_at_the_entries)
        with pytest.raises(StoreError, match="cut"):
            index.describe("new.md", owner="Harbour office", source="notices")
    assert (index.documents(), index.descriptions()) == (before, [])
    assert index.describe("new.md", owner="Harbour office", source="notices") == 1
    assert found(index)["four"].source == "notices"
    assert index.check() == []
