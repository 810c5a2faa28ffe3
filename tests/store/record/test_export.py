"""An index as a file: whole or not at all, and readable by what reads passages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import InputError, StoreError
from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting.documents import Document
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
        assert Passage(**row) == index.passage(row["id"])


def test_exported_documents_are_ingested_as_the_same_documents(index: FolderIndex, tmp_path: Path) -> None:
    assert export(index, tmp_path / "d.jsonl", documents=True) == 3
    again = FolderIndex.open(tmp_path / "again")
    again.ingest(tmp_path / "d.jsonl")
    assert {one.text.split() and " ".join(one.text.split()) for one in again.documents()} == {
        " ".join(one.text.split()) for one in index.documents()
    }


def test_parquet_holds_the_same_rows(index: FolderIndex, tmp_path: Path) -> None:
    from pyarrow import parquet

    export(index, tmp_path / "p.parquet")
    export(index, tmp_path / "d.parquet", documents=True)
    rows: list[dict[str, Any]] = parquet.read_table(tmp_path / "p.parquet").to_pylist()
    assert len(rows) == index.info().passages
    for row in rows:
        row["metadata"] = json.loads(row["metadata"])
        assert Passage(**row) == index.passage(row["id"])
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
