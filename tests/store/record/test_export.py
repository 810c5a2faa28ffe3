"""An index as a file: whole or not at all, and readable by what reads passages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import InputError, StoreError
from disputatio.store.folder_index import FolderIndex
from disputatio.store.in_memory import InMemory
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.statements import with_relations
from disputatio.store.passage_files import load_passages
from disputatio.store.record import export as module
from disputatio.store.record.export import export
from disputatio.types import Passage
from tests.store.hashing import HashEmbedder


@pytest.fixture
def index(tmp_path: Path) -> FolderIndex:
    """Three documents, one of several passages, one of another script."""
    index = FolderIndex.open(tmp_path / "ix", embedder=HashEmbedder())
    index.add(
        [
            Passage(
                text="A zebra 🦓 walks.", id="z", source="zoo", owner="o", date="2020", metadata={"a": "b"}
            ),
            Document(text="One sentence more. " * 200, source="long", title="Long"),
            Passage(text="人口 is\u2028not\ttold.", source="s", url="http://x.example/1"),
        ]
    )
    return index


def test_exported_passages_are_read_as_passages_in_hand(index: FolderIndex, tmp_path: Path) -> None:
    count = export(index, tmp_path / "p.jsonl")
    assert count == index.info().passages > 5
    told = {one.id: one for one in load_passages(tmp_path / "p.jsonl")}
    assert len(told) == count
    for one in told.values():
        held = index.passage(one.id)
        same = ("source", "owner", "title", "url", "date")
        assert [getattr(one, name) for name in same] == [getattr(held, name) for name in same]
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().split("\n")[:-1]]
    for row in rows:
        assert Passage(**with_relations(row)) == index.passage(row["id"])


def test_exported_documents_are_ingested_as_the_same_documents(index: FolderIndex, tmp_path: Path) -> None:
    assert export(index, tmp_path / "d.jsonl", documents=True) == 3
    again = FolderIndex.open(tmp_path / "again")
    again.ingest(tmp_path / "d.jsonl")
    assert {one.text.split() and " ".join(one.text.split()) for one in again.documents()} == {
        " ".join(one.text.split()) for one in index.documents()
    }


@pytest.mark.long
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_what_an_ingest_read_of_documents_survives_an_export(ending: str, tmp_path: Path) -> None:
    folder = tmp_path / "rules"
    (folder / "docs-1.2").mkdir(parents=True)
    (folder / "docs-1.2" / "guide.md").write_text("# Guide\n\nOne moors with two ropes.")
    (folder / "fees-v1.md").write_text(
        "# Fees, version 1\n\nIn force from 1 April 2018.\n\nA night costs 12."
    )
    (folder / "fees-v2.md").write_text(
        "# Fees, version 2\n\nIn force from 1 May 2024. This version replaces version 1.\n\n"
        "## Nights\n\nA night costs 15 crowns.\n\n## Rest\n\n"
        + " ".join(f"It rests on day {n}." for n in range(200))
    )
    (folder / "minutes-2025-01-28.txt").write_text("The board met and drank coffee.")
    index = FolderIndex.open(tmp_path / "first")
    index.ingest(folder, source_by="file")
    for documents in (True, False):
        export(index, file := tmp_path / f"{documents}.{ending}", documents=documents)
        again = FolderIndex.open(tmp_path / f"again-{documents}")
        again.ingest(file)
        assert sorted(map(_read_of, again.documents())) == sorted(
            map(_read_of, index.documents() if documents else _passages(index))
        )
        if documents:
            assert {one.id for one in again.documents()} == {one.id for one in index.documents()}
        elif ending == "jsonl":
            held = InMemory(load_passages(file)).passages
            assert {one.id: one for one in held} == {one.id: one for one in _passages(index)}


def _passages(index: FolderIndex) -> list[Passage]:
    with index.open_record() as record:
        return [passage for passages, _ in record.passages() for passage in passages]


def _read_of(noun: Document | Passage) -> tuple[str, ...]:
    return (
        noun.text, noun.source, noun.date, noun.date_origin, noun.date_quote, noun.version, noun.family,
        repr(noun.relations),
    )  # fmt: skip


def test_a_file_does_not_state_what_people_did(tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "ix")
    index.add(
        [Document(text="A night costs 15.", path="new.md"), Document(text="It costs 12.", path="old.md")]
    )
    index.describe("new.md", replaces="old.md", authority="binding")
    export(index, tmp_path / "d.jsonl", documents=True)
    again = FolderIndex.open(tmp_path / "again")
    again.ingest(tmp_path / "d.jsonl")
    assert not any(one.relations or one.authority or one.by_people for one in again.documents())


def test_parquet_holds_the_same_rows(index: FolderIndex, tmp_path: Path) -> None:
    from pyarrow import parquet

    export(index, tmp_path / "p.parquet")
    export(index, tmp_path / "d.parquet", documents=True)
    rows: list[dict[str, Any]] = parquet.read_table(tmp_path / "p.parquet").to_pylist()
    assert len(rows) == index.info().passages
    for row in rows:
        row |= {name: json.loads(row[name]) for name in ("metadata", "relations")}
        assert Passage(**with_relations(row)) == index.passage(row["id"])
    texts = {row["id"]: row["text"] for row in parquet.read_table(tmp_path / "d.parquet").to_pylist()}
    assert texts == {one.id: one.text for one in index.documents()}


def test_an_empty_index_gives_an_empty_file(tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "ix")
    index.add([Passage(text="x", source="s")])
    index.delete(sources=["s"])
    assert export(index, tmp_path / "p.jsonl") == 0
    assert export(index, tmp_path / "p.parquet") == 0
    assert (tmp_path / "p.jsonl").read_bytes() == b""
    assert (tmp_path / "p.parquet").exists()


@pytest.mark.long
def test_what_cannot_be_exported_is_said_and_nothing_is_left(
    index: FolderIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"ends in \.parquet or \.jsonl"):
        export(index, tmp_path / "p.csv")
    with pytest.raises(StoreError, match="there is no index here"):
        export(FolderIndex.open(tmp_path / "none"), tmp_path / "p.jsonl")
    with pytest.raises(StoreError, match="writing the export failed"):
        export(index, tmp_path / "no folder" / "p.jsonl")
    (tmp_path / "p.jsonl").write_text("before")

    def full(part: Path, *_: object) -> int:
        part.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_json_lines", full)
    with pytest.raises(StoreError, match="the disk is full"):
        export(index, tmp_path / "p.jsonl")
    assert (tmp_path / "p.jsonl").read_text() == "before"
    assert not list(tmp_path.glob("*.part"))
