"""Faults of an index: kills, full disks, two writers, strange folders."""

from __future__ import annotations

import errno
import importlib
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import IndexBusy, IndexVersion, StoreError
from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting.split import split
from disputatio.store.record import database, manifest, writer
from disputatio.store.record.check import check
from disputatio.store.record.export import export
from disputatio.store.record.manifest import NAME, RECORD, lock_index, report_faults
from disputatio.store.record.transaction import Transaction
from disputatio.types import Passage
from tests.store.hashing import HashEmbedder


class Killed(BaseException):
    """Stands for a kill: nothing catches it."""


def _kill(*_: object, **__: object) -> None:
    raise Killed


def _rows(folder: Path, count: int, word: str = "cat") -> Path:
    folder.mkdir(exist_ok=True)
    for n in range(count):
        (folder / f"{n:03}.txt").write_text(f"document {n} speaks of a {word}. " * 30)
    return folder


def _assert_whole(index: FolderIndex) -> None:
    """Assert that every document has all of its passages, and every passage its document."""
    documents = index.documents()
    passages = sum(len(split(one.text)) for one in {one.id: one for one in documents}.values())
    assert index.info().passages == passages
    for hit in index.search("document", k=10_000):
        assert hit.passage.document in {one.id for one in documents}


MOMENTS = {
    "before anything": ("disputatio.store.record.database.RecordFile.add", False),
    "after the rows": ("disputatio.store.record.database.RecordFile.add", True),
    "after the segment": ("disputatio.store.segments.segment.Segment.save", True),
    "after the deletions": ("disputatio.store.record.database.RecordFile.drop", True),
    "before the commit": ("disputatio.store.record.database.RecordFile.commit", False),
    "after the commit": ("disputatio.store.record.database.RecordFile.commit", True),
    "after the manifest": ("disputatio.store.record.manifest.publish", True),
}


def _killed_at(monkeypatch: pytest.MonkeyPatch, moment: str, call: int) -> None:
    """Kill at a call of the function that the moment stands for."""
    name, after = MOMENTS[moment]
    holder, _, attribute = name.rpartition(".")
    target = importlib.import_module(holder) if holder.rpartition(".")[2].islower() else None
    if target is None:
        module, _, kind = holder.rpartition(".")
        target = getattr(importlib.import_module(module), kind)
    plain = getattr(target, attribute)
    calls: list[int] = []

    def killed(*given: object, **options: object) -> object:
        calls.append(1)
        if len(calls) == call and not after:
            raise Killed
        done = plain(*given, **options)
        if len(calls) == call:
            raise Killed
        return done

    monkeypatch.setattr(target, attribute, killed)


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_kill_leaves_the_old_or_the_new_state_and_running_again_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    monkeypatch.setattr(writer, "_LARGEST", 4)
    docs = _rows(tmp_path / "docs", 10)
    index = FolderIndex.open(tmp_path / "ix")
    index.ingest(docs)
    _rows(docs, 10, "dog")
    with monkeypatch.context() as patch, pytest.raises(Killed):
        _killed_at(patch, moment, 2)
        index.ingest(docs)
    after = FolderIndex.open(tmp_path / "ix")
    # A reader has what was committed: two documents a batch, and the kill falls into the second.
    shown = 4 if moment in ("after the commit", "after the manifest") else 2
    assert len(after.search("dog", k=100)) == 2 * shown
    assert len(after.search("cat", k=100)) == 2 * (10 - shown)
    assert after.delete(sources=["nobody"]) == 0  # a writer shows what was committed as well
    _assert_whole(after)
    assert len(after.documents()) == 10
    dogs, cats = (sum(word in one.text for one in after.documents()) for word in ("dog", "cat"))
    committed = 4 if moment in ("after the commit", "after the manifest") else 2
    assert (dogs, cats) == (committed, 10 - committed)
    assert len(after.search("dog", k=100)) == 2 * dogs
    assert len(after.search("cat", k=100)) == 2 * cats
    summary = after.ingest(docs)
    assert (summary.unchanged, summary.replaced) == (dogs, cats)
    _assert_whole(after)
    assert (len(after.search("dog", k=100)), after.search("cat")) == (20, [])


@pytest.mark.slow
def test_a_replaced_file_changes_at_once_however_many_batches_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_LARGEST", 3)
    file = tmp_path / "r.jsonl"
    file.write_text("".join(json.dumps({"text": f"cat {n}", "source": "s"}) + "\n" for n in range(10)))
    index = FolderIndex.open(tmp_path / "ix")
    counts: list[int] = []
    index.ingest(file, progress=lambda done, total, passages: counts.append(passages))
    assert counts[:3] == [3, 6, 9]  # a new file is acknowledged batch by batch
    reader = FolderIndex.open(tmp_path / "ix")
    seen: list[tuple[int, int]] = []
    plain = Transaction.add

    def watched(self: Transaction, *given: Any) -> None:
        plain(self, *given)
        seen.append((len(reader.search("cat", k=50)), len(reader.search("dog", k=50))))

    monkeypatch.setattr(Transaction, "add", watched)
    file.write_text("".join(json.dumps({"text": f"dog {n}", "source": "s"}) + "\n" for n in range(10)))
    assert index.ingest(file).replaced == 10
    assert seen == [(10, 0)] * 4
    assert (len(reader.search("cat", k=50)), len(reader.search("dog", k=50))) == (0, 10)


_INGEST = """
import sys
from disputatio.store.record import database, manifest, writer
from disputatio.store.folder_index import FolderIndex
writer._LARGEST = 6
def tell(done, total, passages):
    print(done, flush=True)
FolderIndex.open(sys.argv[1]).ingest(sys.argv[2], progress=tell)
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 7, 23, 41])
def test_kill_9_during_an_ingest_loses_nothing_acknowledged(tmp_path: Path, after: int) -> None:
    docs = _rows(tmp_path / "docs", 60)
    with subprocess.Popen(
        [sys.executable, "-c", _INGEST, str(tmp_path / "ix"), str(docs)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if int(line) >= after:
                break
        child.send_signal(signal.SIGKILL)
    index = FolderIndex.open(tmp_path / "ix")
    held = len(index.documents())
    assert held >= after // 3 * 3  # two passages a document: a batch is three documents
    if held:
        _assert_whole(index)
    summary = index.ingest(docs)
    assert (summary.unchanged, summary.added) == (held, 60 - held)
    _assert_whole(index)
    assert len(index.search("document", k=1000)) == index.info().passages


_FILL = """
import os, resource, sys
from disputatio.errors import IndexBusy, IndexVersion, StoreError
from disputatio.store.folder_index import FolderIndex
from disputatio.types import Passage
index = FolderIndex.open(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    index.add([Passage(text=os.urandom(90_000).hex(" ", 4)) for n in range(10)])
except StoreError as error:
    print("StoreError", error)
"""


@pytest.mark.slow
def test_a_disk_that_takes_no_more_is_a_store_error_and_loses_nothing(tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "ix")
    index.add([Passage(text="An acknowledged zebra.", source="s")])
    done = subprocess.run(
        [sys.executable, "-c", _FILL, str(tmp_path / "ix")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.startswith("StoreError"), done.stderr
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""
    again = FolderIndex.open(tmp_path / "ix")
    assert [hit.passage.text for hit in again.search("zebra")] == ["An acknowledged zebra."]
    assert again.add([Passage(text="Another zebra.", source="s")]).added == 1
    assert len(again.search("zebra")) == 2
    _assert_whole(again)


def test_a_full_disk_is_named_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = FolderIndex.open(tmp_path / "ix")
    index.add([Passage(text="One.")])

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("disputatio.store.segments.array_files.ArrayFile.write", full)
    with pytest.raises(StoreError, match="the disk is full"):
        index.add([Passage(text="Two.")])


@pytest.mark.long
def test_a_second_writer_is_refused_and_a_reader_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "PATIENCE", 0.05)
    index = FolderIndex.open(tmp_path / "ix")
    index.add([Passage(text="A zebra.")])
    with lock_index(tmp_path / "ix"):
        with pytest.raises(IndexBusy, match="another process is writing"):
            index.add([Passage(text="More.")])
        assert len(FolderIndex.open(tmp_path / "ix").search("zebra")) == 1
    assert index.add([Passage(text="More.")]).added == 1


@pytest.mark.long
def test_a_short_write_of_another_is_waited_for(tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "ix")
    index.add([Passage(text="A zebra.")])
    with ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(lambda number: index.add([Passage(text=f"Zebra {number}.")]), range(8)))
    assert sum(report.added for report in reports) == 8


def test_an_index_knows_its_embedder(tmp_path: Path) -> None:
    FolderIndex.open(tmp_path / "ix", embedder=HashEmbedder()).add([Passage(text="A zebra.")])
    with pytest.raises(StoreError, match="made with the embedder hash-32, not with other"):
        FolderIndex.open(tmp_path / "ix", embedder=HashEmbedder("other"))
    reader = FolderIndex.open(tmp_path / "ix")
    assert set(reader.search("zebra")[0].scores) == {"sparse", "bm25"}
    with pytest.raises(StoreError, match="open it with its embedder hash-32"):
        reader.add([Passage(text="More.")])
    FolderIndex.open(tmp_path / "plain").add([Passage(text="A zebra.")])
    with pytest.raises(StoreError, match="made with no embedder"):
        FolderIndex.open(tmp_path / "plain", embedder=HashEmbedder())


def _other_version(path: Path) -> None:
    FolderIndex.open(path).add([Passage(text="x")])
    note = json.loads((path / NAME).read_text())
    (path / NAME).write_text(json.dumps({**note, "disputatio index": 99, "checksum": "its own"}))


def _damaged_note(path: Path) -> None:
    FolderIndex.open(path).add([Passage(text="x")])
    (path / NAME).write_text('{"disputatio')


def _lost_record(path: Path) -> None:
    FolderIndex.open(path).add([Passage(text="x")])
    (path / RECORD).rename(path / "elsewhere")


def _folder_of_others(path: Path) -> None:
    path.mkdir()
    (path / "letter.txt").write_text("mine")


def _record_of_others(path: Path) -> None:
    path.mkdir()
    (path / RECORD).write_text("mine")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_other_version, "version 99"),
        (_damaged_note, "damaged"),
        (_lost_record, "opening the index failed"),
        (_folder_of_others, "is not an index"),
        (_record_of_others, "has lost its manifest"),
        (lambda path: path.write_text("a file"), "is a file"),
    ],
)
def test_what_is_not_an_index_of_ours_is_refused_and_left_alone(
    tmp_path: Path, make: Callable[[Path], None], message: str
) -> None:
    path = tmp_path / "ix"
    make(path)
    before = sorted(path.rglob("*"))
    with pytest.raises(StoreError, match=message) as caught:
        FolderIndex.open(path)
    assert "\n" not in str(caught.value)
    assert sorted(path.rglob("*")) == before


def test_a_copy_without_its_manifest_is_not_taken_for_a_new_index(tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "ix")
    index.add([Passage(text="A zebra.")])
    (tmp_path / "ix" / NAME).unlink()
    before = sorted(tmp_path.rglob("*"))
    for call in (lambda: FolderIndex.open(tmp_path / "ix"), lambda: index.add([Passage(text="A lion.")])):
        with pytest.raises(StoreError, match=r"has lost its manifest\.json; copy the whole index again, or"):
            call()
    assert sorted(tmp_path.rglob("*")) == before
    assert check(tmp_path / "ix").lost == ()
    assert len(index.search("zebra")) == 1


@pytest.mark.parametrize("content", [b"", b"no database" * 1000])
def test_a_record_that_was_copied_in_part_is_told_with_what_to_do(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ix"
    index = FolderIndex.open(path)
    index.add([Passage(text="A zebra.")])
    (path / RECORD).write_bytes(content)
    with pytest.raises(StoreError, match="copy the whole index again, or repair it") as caught:
        export(index, tmp_path / "out.jsonl")
    assert str(caught.value).endswith(f"disputatio index check --index {path}")
    assert "\n" not in str(caught.value)


def test_segments_that_were_not_copied_are_counted(tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "ix")
    index.add([Passage(text="A zebra.")])
    index.add([Passage(text="A lion.")])
    shutil.rmtree(tmp_path / "ix" / "segments")
    with pytest.raises(StoreError, match="and 1 more are missing; copy the whole index again"):
        FolderIndex.open(tmp_path / "ix", create=False)


def test_a_folder_that_cannot_be_written_to_is_searched_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = FolderIndex.open(tmp_path / "ix")
    index.add([Passage(text="A zebra.")])
    plain = Path.open

    def read_only(self: Path, mode: str = "r", *given: Any, **options: Any) -> Any:
        if mode != "r" and mode != "rb":
            raise OSError(errno.EROFS, "Read-only file system")
        return plain(self, mode, *given, **options)

    monkeypatch.setattr(Path, "open", read_only)
    assert len(FolderIndex.open(tmp_path / "ix").search("zebra")) == 1
    with pytest.raises(StoreError, match="cannot be written to; make it writable, or work on a copy"):
        index.add([Passage(text="A lion.")])
    assert check(tmp_path / "ix", repair=False).damaged == ()


def test_an_index_that_is_not_there_is_refused_where_none_is_to_be_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="disputatio ingest"):
        FolderIndex.open(tmp_path / "none", create=False)


def test_a_place_that_cannot_be_written_to_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="ot a directory"):
        FolderIndex.open(tmp_path / "file" / "ix").add([Passage(text="x")])


def test_a_kill_while_the_index_is_made_is_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("disputatio.store.record.manifest.publish", _kill)
        with pytest.raises(Killed):
            FolderIndex.open(tmp_path / "ix").add([Passage(text="A zebra.")])
    index = FolderIndex.open(tmp_path / "ix", embedder=HashEmbedder())
    index.add([Passage(text="A zebra.")])
    assert len(index.search("zebra")) == 1


def test_an_index_of_another_version_is_an_error_of_its_own(tmp_path: Path) -> None:
    _other_version(tmp_path / "ix")
    for call in (FolderIndex.open, check):
        with pytest.raises(IndexVersion, match="use the program that wrote it, or ingest the documents"):
            call(tmp_path / "ix")


@pytest.mark.long
def test_importing_the_room_loads_no_engine() -> None:
    program = textwrap.dedent("""
        import sys, disputatio.store, disputatio.store.folder_index
        import disputatio.store.in_memory, disputatio.store.embed
        heavy = {"lancedb", "pyarrow", "openvino", "tokenizers", "trafilatura", "pypdf"}
        print(sorted(heavy & set(sys.modules)))
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_limit_of_the_size_of_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="may be written"), report_faults(tmp_path, "writing"):
        raise OSError(errno.EFBIG, "File too large")


def test_an_index_on_a_full_disk_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = FolderIndex.open(tmp_path / "ix")
    index.ingest(_rows(tmp_path / "rows", 3))
    connect = database._connect

    def full(file: Path, mode: str = "rw", *, whole: bool = True) -> sqlite3.Connection:
        if mode == "rw":  # the shared memory of a connection that may write takes room
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = 4874  # SQLITE_IOERR_SHMSIZE
            raise error
        return connect(file, mode, whole=whole)

    monkeypatch.setattr(database, "_connect", full)
    assert len(index.list_documents().documents) == 3
    assert [source.documents for source in index.sources()] == [1, 1, 1]
