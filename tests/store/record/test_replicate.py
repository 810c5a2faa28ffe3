"""A copy of an index is the state before a sync or the one after it, and never something between."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from disputatio.errors import InputError, StoreError
from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.prepare import prepare
from disputatio.store.record import manifest as manifests
from disputatio.store.record import replicate
from disputatio.store.record.check import check
from disputatio.store.record.manifest import RECORD
from disputatio.store.record.replicate import sync
from disputatio.types import Passage
from tests.store.hashing import HashEmbedder


def index_at(path: Path) -> FolderIndex:
    return FolderIndex.open(path, embedder=HashEmbedder())


def fill(index: FolderIndex, first: int, last: int) -> None:
    index.add(
        Passage(id=f"p{n}", text=f"zebra number {n} of the zoo", source=f"s{n % 3}")
        for n in range(first, last)
    )


def found(path: Path) -> set[str]:
    return {hit.passage.id for hit in index_at(path).search("zebra", k=1000)}


def names(first: int, last: int) -> set[str]:
    return {f"p{n}" for n in range(first, last)}


@pytest.fixture
def source(tmp_path: Path) -> FolderIndex:
    index = index_at(tmp_path / "source")
    fill(index, 0, 30)
    return index


def test_a_copy_finds_what_the_index_finds(source: FolderIndex, tmp_path: Path) -> None:
    told = sync(source.path, tmp_path / "copy")
    assert found(tmp_path / "copy") == names(0, 30)
    copy = index_at(tmp_path / "copy")
    assert copy.documents() == source.documents()
    assert copy.info().commit == source.info().commit == told.commit
    assert told.files > 0
    assert told.bytes > 0


@pytest.mark.long
def test_only_what_is_new_is_copied_and_deletions_arrive(source: FolderIndex, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    sync(source.path, copy)
    reader = index_at(copy)
    assert len(reader.search("zebra", k=100)) == 30
    assert sync(source.path, copy).files == 0
    source.delete(sources=["s1"])
    fill(source, 30, 33)
    sync(source.path, copy)
    expected = found(source.path)
    assert expected == {f"p{n}" for n in range(33) if n % 3 != 1 or n >= 30}
    assert {hit.passage.id for hit in reader.search("zebra", k=100)} == expected


def test_a_copy_without_its_record_is_searched_all_the_same(source: FolderIndex, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    for tables in (False, True, False):
        sync(source.path, copy, tables=tables)
        assert (copy / RECORD).exists() == tables
        assert found(copy) == names(0, 30)
        assert check(copy).damaged == ()
    for use in (index_at(copy).documents, lambda: fill(index_at(copy), 30, 31)):
        with pytest.raises(StoreError, match="record"):
            use()


def test_a_record_is_copied_as_it_is_at_one_commit(source: FolderIndex, tmp_path: Path) -> None:
    with source.open_writer() as writer:
        writer.put("", [prepare(Document(text="A zebra that is not committed.", source="s"))])
        writer._write_queued()
        sync(source.path, tmp_path / "copy")
        writer.finish()
    assert len(index_at(tmp_path / "copy").documents()) == 30
    assert check(tmp_path / "copy").damaged == ()
    assert len(source.documents()) == 31


def test_a_damaged_record_is_not_passed_on(source: FolderIndex, tmp_path: Path) -> None:
    file = source.path / RECORD
    file.write_bytes(file.read_bytes().replace(b"zebra number 7", b"zebra number 8"))
    for target in (tmp_path / "copy", f"file://{tmp_path / 'bucket'}"):
        with pytest.raises(StoreError, match=r"record\.sqlite is damaged at the source"):
            sync(source.path, target)
        sync(source.path, target, tables=False)


@pytest.mark.long
def test_an_index_travels_through_a_bucket(source: FolderIndex, tmp_path: Path) -> None:
    bucket = f"file://{tmp_path / 'bucket'}"
    sync(source.path, bucket)
    sync(bucket, tmp_path / "copy")
    assert found(tmp_path / "copy") == names(0, 30)
    fill(source, 30, 40)
    source.compact()
    sync(source.path, bucket)
    sync(bucket, tmp_path / "copy")
    assert found(tmp_path / "copy") == names(0, 40)
    assert index_at(tmp_path / "copy").documents() == source.documents()


class Cut(Exception):
    """The machine stopped."""


@pytest.mark.slow
@pytest.mark.parametrize("whole", ["folder", "bucket"])
def test_a_sync_cut_short_anywhere_leaves_a_whole_state_and_is_taken_up_again(
    source: FolderIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: str
) -> None:
    target: str | Path = tmp_path / "copy" if whole == "folder" else f"file://{tmp_path / 'copy'}"
    sync(source.path, target, tables=False)
    fill(source, 30, 40)
    source.compact()
    kind = replicate.Folder if whole == "folder" else replicate.Bucket
    # To replace a file is a put and a move: cut before any of the puts.
    put: Callable[..., int] = kind.put
    for last in range(60):
        done = 0

        def cut(*args: object, last: int = last) -> int:
            nonlocal done
            if done == last:
                raise Cut
            done += 1
            return put(*args)

        monkeypatch.setattr(kind, "put", cut)
        try:
            sync(source.path, target, tables=False)
        except Cut:
            # The manifest goes last of all.
            assert found(tmp_path / "copy") == names(0, 30)
        else:
            break
    assert last > 3
    assert found(tmp_path / "copy") == names(0, 40)


def test_half_a_file_left_by_a_cut_is_not_believed(source: FolderIndex, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    manifest = manifests.read(source.path)
    assert manifest is not None
    entry = manifest.segments[0]
    left = copy / "segments" / entry.name / next(iter(entry.files))
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    sync(source.path, copy)
    assert found(copy) == names(0, 30)


@pytest.mark.long
def test_a_sync_without_room_harms_nothing_that_one_cut_short_put_in_force(
    source: FolderIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy"
    sync(source.path, copy)
    fill(source, 30, 40)

    replace = replicate.Folder.replace

    def stop(place: replicate.Folder, name: str, raw: IO[bytes]) -> int:
        if name == manifests.NAME:  # the record is in its place, the manifest not yet
            raise Cut
        return replace(place, name, raw)

    def half(source: IO[bytes], out: IO[bytes], _: int = 0) -> None:
        out.write(source.read()[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(Cut):
        patched.setattr(replicate.Folder, "replace", stop)
        sync(source.path, copy)
    assert found(copy) == names(0, 40)
    with monkeypatch.context() as patched, pytest.raises(StoreError, match="the disk is full"):
        patched.setattr("shutil.copyfileobj", half)
        sync(source.path, copy)
    assert found(copy) == names(0, 40)
    sync(source.path, copy)
    assert found(copy) == names(0, 40)
    assert not list(copy.rglob("*.part"))


@pytest.mark.long
def test_a_damaged_file_is_not_passed_on(source: FolderIndex, tmp_path: Path) -> None:
    fill(source, 30, 31)
    copy = tmp_path / "copy"
    sync(source.path, copy)
    fill(source, 31, 35)
    newest = max((source.path / "segments").iterdir(), key=lambda one: one.stat().st_mtime_ns)
    file = newest / "stored_bytes.npy"
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 1
    file.write_bytes(raw)
    with pytest.raises(StoreError, match=r"stored_bytes\.npy: is damaged at the source"):
        sync(source.path, copy)
    assert found(copy) == names(0, 31)


@pytest.mark.long
def test_segments_merged_away_meanwhile_are_no_fault(
    source: FolderIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(source, 30, 31)
    read = replicate.Folder.read
    merged: list[str] = []

    def late(self: replicate.Folder, name: str) -> object:
        if name.startswith("segments/") and not merged:
            merged.append(name)
            source.compact()
        return read(self, name)

    monkeypatch.setattr(replicate.Folder, "read", late)
    sync(source.path, tmp_path / "copy", tables=False)
    assert merged
    assert found(tmp_path / "copy") == names(0, 31)


@pytest.mark.slow
def test_segments_that_two_states_ago_was_named_are_removed(source: FolderIndex, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    for step in range(3):
        fill(source, 30 + step, 31 + step)
        source.compact()
        sync(source.path, copy, tables=False)
    assert len(list((copy / "segments").iterdir())) == 2


def test_a_copy_of_a_copy_without_tables_is_whole(source: FolderIndex, tmp_path: Path) -> None:
    bucket = f"file://{tmp_path / 'bucket'}"
    sync(source.path, bucket, tables=False)
    sync(bucket, tmp_path / "copy")
    assert found(tmp_path / "copy") == names(0, 30)


def test_no_other_index_is_copied_over(source: FolderIndex, tmp_path: Path) -> None:
    other = index_at(tmp_path / "other")
    fill(other, 90, 91)
    fill(source, 30, 31)
    fill(source, 31, 32)
    for target in (other.path, f"file://{other.path}"):
        with pytest.raises(StoreError, match="an index of its own, not a copy"):
            sync(source.path, target)
    assert found(other.path) == {"p90"}


@pytest.mark.slow
def test_what_is_no_copy_is_left_alone(source: FolderIndex, tmp_path: Path) -> None:
    strange = tmp_path / "letters"
    strange.mkdir()
    (strange / "to-mother.txt").write_text("dear")
    with pytest.raises(StoreError, match="no part of an index"):
        sync(source.path, strange)
    ahead = index_at(tmp_path / "ahead")
    for step in range(5):
        fill(ahead, step, step + 1)
    sync(ahead.path, tmp_path / "copy of another")
    with pytest.raises(StoreError, match="ahead of"):
        sync(source.path, tmp_path / "copy of another")
    with pytest.raises(StoreError, match="there is no index here"):
        sync(tmp_path / "nothing", tmp_path / "copy")
    with pytest.raises(StoreError, match="cannot be opened"):
        sync(source.path, "gopher://x/y")


def test_nothing_is_made_where_there_is_no_source(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no index here"):
        sync(tmp_path / "none", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.long
def test_two_syncs_of_one_copy_do_not_meet(source: FolderIndex, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    sync(source.path, copy)
    with replicate._lock_target(copy), pytest.raises(StoreError, match="another process is writing"):
        sync(source.path, copy)


@pytest.mark.parametrize("target", [False, True])
def test_an_index_on_a_server_is_not_synced(
    target: bool, source: FolderIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    address = "postgresql://ada:secret@db.example/town"
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match=r"^postgresql://ada@db\.example/town: is kept by a server"):
        sync(*((source.path, address) if target else (address, tmp_path / "copy")))
    assert sorted(tmp_path.iterdir()) == before
