"""An index whose record is in LanceDB is refused in one sentence, and converted by a command."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from disputatio.errors import IndexVersion, MissingDependency, StoreError
from disputatio.store.folder_index import FolderIndex
from disputatio.store.record.check import check
from disputatio.store.record.convert import convert
from disputatio.store.record.export import export
from disputatio.store.record.replicate import sync
from disputatio.types import Passage
from tests.store.hashing import HashEmbedder

FIXTURES = Path(__file__).parent / "fixtures"
needs_lancedb = pytest.mark.skipif(importlib.util.find_spec("lancedb") is None, reason="takes lancedb")


@pytest.fixture(params=["keywords", "vectors"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """An index of examples/disagreement and two passages, one of them deleted, as version 3 wrote it."""
    with tarfile.open(FIXTURES / f"format3_{request.param}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / str(request.param)


def opened(path: Path) -> FolderIndex:
    """Open an index with the embedder that it was made with."""
    return FolderIndex.open(path, embedder=HashEmbedder() if "vectors" in path.name else None)


def test_an_old_index_is_refused_with_the_command_that_converts_it(old: Path) -> None:
    before = sorted(old.rglob("*"))
    for use in (FolderIndex.open, check, lambda path: sync(path, path.parent / "copy")):
        with pytest.raises(IndexVersion, match=f"convert it with: disputatio index convert {old}$") as caught:
            use(old)
        assert "\n" not in str(caught.value)
    assert sorted(old.rglob("*")) == before


@needs_lancedb
@pytest.mark.long
@pytest.mark.parametrize("in_place", [True, False])
def test_a_converted_index_holds_what_the_old_one_did(old: Path, tmp_path: Path, in_place: bool) -> None:
    new = old if in_place else tmp_path / "new" / old.name
    before = sorted(old.rglob("*"))
    manifest = convert(old, None if in_place else new)
    assert (manifest.documents, manifest.passages) == (14, 15)
    assert check(new).damaged == ()
    index = opened(new)
    assert index.reliabilities() == {"zoo": 0.9}
    assert [hit.passage.id for hit in index.search("a zebra in hand", k=1)] == ["given"]
    assert "gone" not in {source.name for source in index.sources()}
    assert {document.source for document in index.documents()} >= {"zoo", "census.example"}
    rows = export(index, tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert rows == len(lines) == 15
    if index.embedder is not None:
        with index.open_record() as record:
            [(passages, vectors)] = record.passages()
        assert vectors is not None
        for passage, vector in zip(passages, vectors, strict=True):
            [expected] = index.embedder.embed([f"{passage.title} {passage.text}".strip()])
            assert float(vector @ expected) > 0.95
    assert index.add([Passage(id="given", text="A zebra in hand.", date="2018", source="zoo")]).unchanged == 1
    assert index.add([Passage(id="more", text="Another zebra.", source="zoo")]).added == 1
    if not in_place:
        assert sorted(old.rglob("*")) == before
    assert not list(new.glob("*.lance"))


@needs_lancedb
@pytest.mark.long
def test_a_conversion_that_is_killed_leaves_the_old_index(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def kill(*_: object) -> None:
        raise Killed

    for place in ("convert.replace_record", "manifest.publish"):
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(f"disputatio.store.record.{place}", kill)
            convert(old)
        with pytest.raises(IndexVersion):
            opened(old)
    convert(old)
    assert check(old).damaged == ()
    assert len(opened(old).search("zebra", k=1)) == 1


@pytest.mark.long
@needs_lancedb
def test_a_damaged_row_is_not_converted(old: Path) -> None:
    file = max(old.glob("documents.lance/data/*"), key=lambda path: path.stat().st_size)
    raw = file.read_bytes()
    at = raw.find(b"zebra")
    file.write_bytes(raw[:at] + b"Z" + raw[at + 1 :])
    with pytest.raises(StoreError, match=r"repair it with the program that wrote it"):
        convert(old)
    with pytest.raises(IndexVersion):
        opened(old)


def test_what_cannot_be_converted_is_told_why(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = json.loads((old / "manifest.json").read_text())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine")
    with pytest.raises(StoreError, match="is not empty"):
        convert(old, tmp_path / "full")
    with pytest.raises(StoreError, match="there is no index here"):
        convert(tmp_path / "full")
    FolderIndex.open(tmp_path / "new").add([Passage(text="A zebra.")])
    with pytest.raises(StoreError, match="has the present format already"):
        convert(tmp_path / "new")
    monkeypatch.setitem(sys.modules, "lancedb", None)
    with pytest.raises(MissingDependency, match=r"pip install 'disputatio\[convert\]'"):
        convert(old)
    (old / "replica.json").write_text("{}")
    with pytest.raises(StoreError, match="is a copy"):
        convert(old)
    (old / "replica.json").unlink()
    (old / "manifest.json").write_text(json.dumps({**fields, "disputatio index": 2}))
    with pytest.raises(StoreError, match="only version 3 is converted"):
        convert(old)
    (old / "manifest.json").write_text(json.dumps({**fields, "number": 99}))
    with pytest.raises(StoreError, match="is damaged"):
        convert(old)
    shutil.rmtree(old)
