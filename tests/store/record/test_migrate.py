"""An index of an older format is searched as it is, and brought to this one without losing anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.errors import IndexVersion, StoreError
from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting.documents import Document
from disputatio.store.record import manifest, tables
from disputatio.store.record import migrate as migrations
from disputatio.store.record.check import check
from disputatio.store.record.export import export
from disputatio.store.record.manifest import FORMAT, SEGMENTS
from disputatio.store.record.migrate import migrate
from disputatio.store.record.replicate import sync
from disputatio.store.record.transaction import Transaction
from disputatio.store.segments import stored
from disputatio.types import Passage, Source
from tests.store.hashing import HashEmbedder

_PATHS = {
    "a.md": "stated",  # front matter
    "b.eml": "stated",  # its header
    "c.epub": "stated",
    "d.pdf": "file",
    "e.docx": "file",
    "f.html": "",  # older readers guessed
    "m.eml/g.pdf": "",  # its own date or the mail's
    "https://x.example/h": "",  # the page's date or the server's
    "https://x.example/i.pdf": "file",
}


def _without_origin(passage: Passage) -> bytes:
    line = _line(passage).split(b"\x1f")
    return b"\x1f".join(line[:7] + line[8:])


_line = stored._line


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index as the program wrote it before dates had an origin, with vectors and estimates."""
    path = tmp_path / "ix"
    with monkeypatch.context() as before:
        for name in ("_ABOUT", "DOCUMENT_COLUMNS", "PASSAGE_COLUMNS"):
            before.setattr(tables, name, tuple(c for c in getattr(tables, name) if c != "date_origin"))
        before.setattr(stored, "_line", _without_origin)
        before.setattr(manifest, "FORMAT", 2)
        before.setattr(migrations, "MIGRATIONS", {})
        index = FolderIndex.open(path, embedder=HashEmbedder())
        index.add(
            [
                *(
                    Document(text=f"The zebra {name} walks.", path=name, date="2021-05-31", source=name)
                    for name in _PATHS
                ),
                Document(text="A row of zebras.", path="r.parquet", row=3, date="2019", source="r"),
                Document(text="An undated zebra.", path="u.md", source="u"),
            ]
        )
        index.add([Passage(id="given", text="A zebra in hand.", date="2018", source="s")])
        index.set_estimates({"s": Source(name="s", reliability=0.9), "u": Source(name="u", reliability=0.8)})
        index.add([Passage(id="more", text="Another zebra.", source="s")])  # so that the estimate is stale
        index.delete(sources=["b.eml"])
    return path


def _hits(path: Path) -> list[str]:
    """Return the ids in the order of a search; words of deleted rows count in its scores until they are
    merged.
    """
    hits = FolderIndex.open(path, embedder=HashEmbedder()).search("zebra walks", k=20)
    return [hit.passage.id for hit in hits]


def test_an_index_of_format_2_is_searched_as_it_is_and_its_dates_decide_nothing(
    old: Path, tmp_path: Path
) -> None:
    index = FolderIndex.open(old, embedder=HashEmbedder())
    hits = index.search("zebra", k=20)
    assert len(hits) == 12
    assert {hit.passage.date_origin for hit in hits} == {""}
    assert len(index.search("zebra", k=20, after="2021")) == 8
    assert {one.date_origin for one in index.documents()} == {""}
    assert index.info().format == 2
    assert export(index, tmp_path / "out.jsonl") == 12


@pytest.mark.long
def test_migration_keeps_all_and_says_where_a_date_comes_from_as_far_as_the_reader_proves_it(
    old: Path,
) -> None:
    before, stale = _hits(old), {n: one.stale for n, one in FolderIndex.open(old).estimates().items()}
    assert stale["s"]
    assert not stale["u"]
    (said,) = migrate(old)
    assert said.startswith("format 2 to 3: 12 passages")
    assert migrate(old) == []
    assert _hits(old) == before
    index = FolderIndex.open(old)
    origins = {one.path: one.date_origin for one in index.documents()}
    expected = {path: origin for path, origin in _PATHS.items() if path != "b.eml"}
    assert origins == {
        **expected,
        "r.parquet": "stated",
        "passage:given": "stated",
        "passage:more": "",
        "u.md": "",
    }
    found = {hit.passage.id: hit.passage for hit in index.search("zebra", k=20)}
    by_document = {one.id: one.date_origin for one in index.documents()}
    assert all(by_document[one.document] == one.date_origin for one in found.values())
    assert found["given"].date_origin == "stated"
    assert {n: one.stale for n, one in index.estimates().items()} == stale
    report = check(old)
    assert (report.damaged, report.passages) == ((), 12)
    assert index.info().format == FORMAT


@pytest.mark.long
def test_the_first_write_migrates(old: Path) -> None:
    FolderIndex.open(old, embedder=HashEmbedder()).add([Passage(id="new", text="A new zebra.", date="2024")])
    assert FolderIndex.open(old).info().format == FORMAT
    assert FolderIndex.open(old).passage("new").date_origin == "stated"
    assert FolderIndex.open(old).passage("given").date_origin == "stated"


@pytest.mark.long
def test_a_kill_while_migrating_leaves_the_old_index(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _hits(old)

    class Killed(BaseException):
        pass

    def kill(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as dying:
        dying.setattr(Transaction, "adopt", kill)
        with pytest.raises(Killed):
            migrate(old)
    assert _hits(old) == before
    assert FolderIndex.open(old).info().format == 2
    assert migrate(old)
    assert _hits(old) == before
    named = {one.name for one in (manifest.read(old) or pytest.fail()).segments}
    assert {folder.name for folder in (old / SEGMENTS).iterdir()} == named


def test_a_damaged_row_is_not_given_a_new_checksum(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = tables.Pinned.batches

    def damaged(self: tables.Pinned, table: str, *rest: object, **more: object) -> object:
        for batch in read(self, table, *rest, **more):  # type: ignore[arg-type]
            if table == "passages":
                import pyarrow as pa

                at = batch.schema.get_field_index("text")
                changed = pa.array([f"{text}!" for text in batch.column("text").to_pylist()])
                yield batch.set_column(at, "text", changed)
            else:
                yield batch

    monkeypatch.setattr(tables.Pinned, "batches", damaged)
    with pytest.raises(StoreError, match="a row of its tables is damaged"):
        migrate(old)
    assert FolderIndex.open(old).info().format == 2


def test_what_needs_the_new_format_says_how_to_get_it(old: Path, tmp_path: Path) -> None:
    with pytest.raises(IndexVersion, match="disputatio index migrate --index"):
        check(old)
    with pytest.raises(IndexVersion, match="version 2; bring it to version 3"):
        sync(old, tmp_path / "copy")


@pytest.mark.long
def test_a_copy_is_synced_and_not_migrated(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy"
    with monkeypatch.context() as before:
        before.setattr(manifest, "FORMAT", 2)
        sync(old, copy)
    with pytest.raises(StoreError, match="is a copy; migrate the index that it is of"):
        migrate(copy)
    migrate(old)
    sync(old, copy)
    assert FolderIndex.open(copy).passage("given").date_origin == "stated"
    assert _hits(copy) == _hits(old)
