"""The check of an index: every kind of file, each with a flipped bit, or gone."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

import pytest

from disputatio.errors import IndexBusy, IndexVersion, StoreError
from disputatio.store.calibration_file import open_log
from disputatio.store.folder_index import FolderIndex
from disputatio.store.record import check as checking
from disputatio.store.record import manifest as manifests
from disputatio.store.record import writer
from disputatio.store.record.check import CheckReport, check, find_manifest
from disputatio.store.record.export import export
from disputatio.store.record.manifest import RECORD, lock_index
from disputatio.store.record.replicate import sync
from disputatio.store.reliabilities import read_reliabilities
from disputatio.types import Passage, Source
from tests.store.hashing import HashEmbedder

Answer = list[tuple[str, float]]
EXPECTED: Answer = []  # what the sound index finds


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents, and an index of them with segments, dead rows, deletions and reliabilities."""
    place = tmp_path_factory.mktemp("made")
    docs = place / "docs"
    docs.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "_BATCH", 16)
        patch.setattr(writer, "_LARGEST", 16)
        for n in range(12):
            (docs / f"{n:02}.txt").write_text(f"document {n} speaks of cat number{n}. " * 40)
        index = FolderIndex.open(place / "ix", embedder=HashEmbedder())
        index.ingest(docs)
        (docs / "03.txt").write_text("document 3 speaks of a dog. " * 40)
        index.ingest(docs)
        index.delete(paths=[docs / "11.txt"])
        (docs / "11.txt").unlink()
        index.set_estimates({"docs": Source(name="docs", reliability=0.7)})
        with open_log(place / "ix") as journal:
            for spot in ("one", "two", "three"):
                journal.note("tried", spot=spot)
    EXPECTED[:] = answers(place / "ix")
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    """A copy of the index."""
    shutil.copytree(made / "ix", tmp_path / "ix")
    return tmp_path / "ix"


def flip(file: Path, at: int | None = None, width: int = 1) -> bytes:
    """Change one bit of some bytes (by default of the one in the middle); the damaged content."""
    raw = bytearray(file.read_bytes())
    start = len(raw) // 2 if at is None else at
    for spot in range(start, start + width):
        raw[spot] ^= 4
    file.write_bytes(raw)
    return bytes(raw)


def contents(folder: Path) -> dict[str, str]:
    return {
        str(one.relative_to(folder)): blake2b(one.read_bytes()).hexdigest()
        for one in folder.rglob("*")
        if one.is_file()
    }


def answers(path: Path) -> Answer:
    """Return what an index finds; merged, since words of dead rows count until a merge."""
    merged = path.with_name(path.name + "-merged")
    shutil.copytree(path, merged)
    index = FolderIndex.open(merged, embedder=HashEmbedder())
    index.compact()
    found = [index.search(query, k=500) for query in ("a cat", "document 7", "dog")]
    shutil.rmtree(merged)
    return sorted((hit.passage.text, round(hit.score, 3)) for hits in found for hit in hits)


def pick(path: Path, pattern: str) -> Path:
    """Return the largest file of a pattern."""
    return max(path.glob(pattern), key=lambda one: (one.stat().st_size, one.name))


def in_quarantine(path: Path, content: bytes) -> bool:
    return any(one.read_bytes() == content for one in (path / "quarantine").rglob("*") if one.is_file())


def assert_mended(path: Path, report: CheckReport, made: Path) -> None:
    """Assert that nothing is damaged now, and that the index searches and is written to as before."""
    assert report.repaired
    again = check(path)
    assert (again.damaged, again.lost) == ((), ())
    if report.lost:
        assert "ingest the files of lost documents again" in report.text()
        FolderIndex.open(path, embedder=HashEmbedder()).ingest(made / "docs")
    assert answers(path) == EXPECTED
    summary = FolderIndex.open(path, embedder=HashEmbedder()).ingest(made / "docs")
    assert (summary.added, summary.replaced, summary.unchanged) == (0, 0, 11)
    assert check(path).damaged == ()


@pytest.mark.long
@pytest.mark.parametrize("repair", [True, False])
def test_a_sound_index_has_nothing_damaged_and_is_left_alone(place: Path, repair: bool) -> None:
    before = contents(place)
    report = check(place, repair=repair)
    assert (report.damaged, report.lost, report.repaired) == ((), (), False)
    assert (report.documents, report.passages) == (11, FolderIndex.open(place).info().passages)
    assert report.files > 40
    assert report.text().endswith("nothing damaged")
    assert contents(place) == before


KINDS = [
    "manifest.json",
    "reliability.json",
    "calibration.jsonl",
    "segments/*/dead-*.npy",
    "segments/*/segment.json",
    "segments/*/vector_numbers.npy",
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_is_found_kept_and_mended(made: Path, place: Path, kind: str) -> None:
    file = pick(place, kind)
    name = str(file.relative_to(place))
    damaged = flip(file)
    before = contents(place)
    looked = check(place, repair=False)
    assert [one.file for one in looked.damaged] == [name]
    assert f"repair it with: disputatio index check --index {place}" in looked.text()
    assert contents(place) == before
    report = check(place)
    assert [(one.file, one.problem) for one in report.damaged] == [
        (one.file, one.problem) for one in looked.damaged
    ]
    assert report.damaged[0].action
    assert report.lost == ()
    assert in_quarantine(place, damaged)
    listed = [json.loads(line) for line in (place / "quarantine" / "list.jsonl").read_text().splitlines()]
    assert [one["file"] for one in listed] == [name]
    assert_mended(place, report, made)
    assert in_quarantine(place, damaged)


@pytest.mark.long
def test_a_flipped_bit_in_any_file_of_a_segment_is_found(place: Path) -> None:
    for file in sorted(pick(place, "segments/*/dead-*.npy").parent.iterdir()):
        sound = file.read_bytes()
        flip(file, random.Random(file.name).randrange(len(sound)))
        assert [one.file for one in check(place, repair=False).damaged] == [str(file.relative_to(place))]
        file.write_bytes(sound)
    assert check(place, repair=False).damaged == ()


@pytest.mark.slow
def test_a_flipped_bit_anywhere_in_a_small_file_is_found(place: Path) -> None:
    draw = random.Random(1)
    for name in ("manifest.json", "reliability.json"):
        file = place / name
        sound = file.read_bytes()
        for at in range(0, len(sound), 1 if len(sound) < 2000 else 13):
            raw = bytearray(sound)
            raw[at] ^= 1 << draw.randrange(8)
            file.write_bytes(raw)
            if name == "reliability.json":
                with pytest.raises(StoreError, match="damaged"):
                    read_reliabilities(place)
            else:
                assert [one.file for one in find_manifest(place).damaged] == [name]
        file.write_bytes(sound)


def recorded(path: Path, scratch: Path) -> tuple[object, ...]:
    """Return all that is on record, as it is read."""
    index = FolderIndex.open(path, embedder=HashEmbedder())
    export(index, scratch)
    with index.open_record() as record:
        vectors = [None if numbers is None else numbers.tolist() for _, numbers in record.passages()]
    with index.open_writer() as writer:
        files = writer.fingerprints
    return index.documents(), index.sources(), scratch.read_text(), vectors, files


@pytest.mark.slow
def test_a_flipped_bit_in_the_record_is_found_or_changes_nothing(place: Path, tmp_path: Path) -> None:
    draw = random.Random(2)
    file = place / RECORD
    sound, known = file.read_bytes(), recorded(place, tmp_path / "export.jsonl")
    found = 0
    for _ in range(150):
        flip(file, draw.randrange(len(sound)))
        try:
            damaged = check(place, repair=False).damaged
            assert {one.file for one in damaged} <= {RECORD}
        except IndexVersion:  # in the number of its version
            damaged = ()
        else:
            assert damaged or recorded(place, tmp_path / "export.jsonl") == known
        found += bool(damaged)
        file.write_bytes(sound)
    assert found > 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "column"),
    [("documents", "owner"), ("entries", "path"), ("passages", "vector"), ("files", "hash")],
)
def test_a_row_that_is_not_what_was_written_is_found_and_mended(
    made: Path, place: Path, table: str, column: str
) -> None:
    with closing(sqlite3.connect(place / RECORD, isolation_level=None)) as database:
        database.execute(f"UPDATE {table} SET {column} = 'x' WHERE key = (SELECT max(key) FROM {table})")
    assert [one.file for one in check(place, repair=False).damaged] == [RECORD]
    report = check(place)
    assert bool(report.lost) == (table in ("documents", "entries"))
    assert_mended(place, report, made)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 5_000, 40_000])
def test_what_a_damaged_record_has_left_is_kept_and_the_rest_is_named(
    made: Path, place: Path, width: int
) -> None:
    file = place / RECORD
    damaged = flip(file, 20_000, width=min(width, file.stat().st_size - 20_000))
    report = check(place)
    assert [one.file for one in report.damaged] == [RECORD]
    left = FolderIndex.open(place, embedder=HashEmbedder()).documents()
    assert len(left) + len({one.document for one in report.lost if one.document}) == 11
    assert in_quarantine(place, damaged)
    assert_mended(place, report, made)


@pytest.mark.long
def test_of_a_record_that_was_cut_what_is_left_is_kept(made: Path, place: Path) -> None:
    file = place / RECORD
    whole = file.stat().st_size
    left = whole - 4_096 * 4
    os.truncate(file, left)
    report = check(place)
    assert f"{RECORD}: is cut short ({left:,} bytes are left of {whole:,})" in report.text()
    assert "good rows written anew" in report.text()
    assert report.documents == 11 - len({each.document for each in report.lost if each.document}) > 0
    assert_mended(place, report, made)


@pytest.mark.long
def test_a_record_of_which_nothing_is_left_is_told_in_a_line(made: Path, place: Path) -> None:
    os.truncate(place / RECORD, 0)
    report = check(place)
    _, damaged, lost, advice = report.text().splitlines()
    assert (
        damaged
        == f"damaged {RECORD}: is cut short (0 bytes are left); kept in quarantine, none of it can be read"
    )
    assert lost == "lost all 11 documents: quarantine/list.jsonl of the index has them"
    assert advice == "ingest the files of lost documents again to bring them back"
    assert_mended(place, report, made)


@pytest.mark.slow
def test_a_passage_lost_twice_takes_its_document_along(made: Path, place: Path) -> None:
    shutil.rmtree(place / "segments")
    (place / "segments").mkdir()
    with closing(sqlite3.connect(place / RECORD, isolation_level=None)) as database:
        database.execute('UPDATE passages SET "end" = "end" - 1 WHERE key = 1')
    report = check(place)
    assert {one.reason for one in report.lost if one.document} == {"some of its passages cannot be verified"}
    index = FolderIndex.open(place)
    assert index.info().documents == 10
    assert index.info().passages == len(index.search("document", k=500))
    assert_mended(place, report, made)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        "manifest.json",
        "record.sqlite",
        "segments",
        "segments/*",
        "segments/*/lengths.npy",
        "segments/*/dead-*.npy",
    ],
)
def test_what_a_copy_left_out_is_found_and_made_again(made: Path, place: Path, kind: str) -> None:
    gone = pick(place, kind)
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    before = contents(place)
    assert check(place, repair=False).damaged
    assert contents(place) == before
    report = check(place)
    assert report.damaged
    assert bool(report.lost) == (kind == RECORD)
    assert_mended(place, report, made)


@pytest.mark.slow
def test_a_check_that_is_killed_loses_nothing_and_is_run_again(
    made: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def kill(*_: object, **__: object) -> None:
        raise Killed

    damaged = flip(place / RECORD, 20_000, width=500)
    flip(pick(place, "segments/*/terms.npy"))
    for target, name in ((checking, "_complete"), (checking, "replace_record"), (manifests, "publish")):
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(target, name, kill)
            check(place)
    check(place)
    assert in_quarantine(place, damaged)
    FolderIndex.open(place, embedder=HashEmbedder()).ingest(made / "docs")
    assert answers(place) == EXPECTED
    assert check(place).damaged == ()


@pytest.mark.long
def test_a_check_keeps_out_other_writers_and_of_readers_none(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifests, "PATIENCE", 0.05)
    with lock_index(place):
        with pytest.raises(IndexBusy, match="another process is writing"):
            check(place)
        assert check(place, repair=False).damaged == ()


@pytest.mark.long
def test_what_a_killed_writer_left_is_no_damage(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("disputatio.store.record.database.RecordFile.commit", killed)
        FolderIndex.open(place, embedder=HashEmbedder()).add([Passage(text="Never acknowledged.")])
    assert check(place, repair=False).damaged == ()
    assert check(place).damaged == ()
    FolderIndex.open(place, embedder=HashEmbedder()).add([Passage(text="Acknowledged.")])
    assert check(place).damaged == ()


@pytest.mark.long
def test_a_commit_that_was_not_published_is_shown_to_new_readers_and_kept_by_the_next_writer(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    passages = [Passage(id="new", text="Committed, and not acknowledged.")]
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(manifests, "publish", killed)
        FolderIndex.open(place, embedder=HashEmbedder()).add(passages)
    reader = FolderIndex.open(place, embedder=HashEmbedder())
    assert answers(place) != []
    assert "new" in {hit.passage.id for hit in reader.search("committed", k=500)}
    assert check(place, repair=False).damaged == ()
    assert FolderIndex.open(place, embedder=HashEmbedder()).add(passages).unchanged == 1
    assert reader.search("committed")[0].passage.id == "new"
    assert check(place).damaged == ()


@pytest.mark.long
def test_a_record_older_than_its_manifest_is_not_written_to(place: Path) -> None:
    old = (place / RECORD).read_bytes()
    index = FolderIndex.open(place, embedder=HashEmbedder())
    index.add([Passage(id="new", text="A newer zebra.")])
    (place / RECORD).write_bytes(old)
    with pytest.raises(StoreError, match=r"record\.sqlite is older than manifest\.json"):
        index.add([Passage(id="newer", text="The newest zebra.")])
    report = check(place)
    assert [one.file for one in report.damaged] == [RECORD]
    assert [one.document for one in report.lost if one.document]  # the zebra's: its document is gone
    assert check(place).damaged == ()


def test_a_manifest_that_is_damaged_with_the_record_is_told(place: Path) -> None:
    flip(place / "manifest.json")
    (place / RECORD).write_bytes(b"nothing of the kind")
    before = contents(place)
    with pytest.raises(StoreError, match="ingest the documents into a new folder"):
        check(place)
    assert contents(place) == before


@pytest.mark.long
@pytest.mark.parametrize("bit", [0, 1, 2, 9, 31])
def test_a_flipped_bit_in_the_version_of_the_record_is_damage_and_is_repaired(place: Path, bit: int) -> None:
    file = place / RECORD
    raw = bytearray(file.read_bytes())
    raw[63 - bit // 8] ^= 1 << bit % 8  # `user_version` in the header of the file
    file.write_bytes(raw)
    assert [damage.file for damage in check(place, repair=False).damaged] == [RECORD]
    with pytest.raises(StoreError, match="repair it with: disputatio index check"):
        FolderIndex.open(place, embedder=HashEmbedder()).documents()
    report = check(place)
    assert (report.repaired, report.lost, check(place).damaged) == (True, (), ())
    assert len(FolderIndex.open(place, embedder=HashEmbedder()).documents()) == 11


def test_a_record_of_a_later_version_is_left_alone(place: Path) -> None:
    with closing(sqlite3.connect(place / RECORD)) as database:
        database.execute("CREATE TABLE later (a)")
        database.execute("PRAGMA user_version = 9")
        database.commit()
    before = contents(place)
    with pytest.raises(IndexVersion, match="version 9"):
        check(place)
    assert contents(place) == before


def test_what_is_no_index_or_of_another_version_is_left_alone(place: Path, tmp_path: Path) -> None:
    told = json.loads((place / "manifest.json").read_text())
    (place / "manifest.json").write_text(json.dumps({**told, "disputatio index": 99, "checksum": "another"}))
    with pytest.raises(IndexVersion, match="version 99"):
        check(place)
    (tmp_path / "letters").mkdir()
    for folder, reason in ((tmp_path / "none", "no index here"), (tmp_path / "letters", "no index here")):
        with pytest.raises(StoreError, match=reason):
            check(folder)
    assert not (tmp_path / "none").exists()
    assert list((tmp_path / "letters").iterdir()) == []
    (tmp_path / "letters" / "one.txt").write_text("mine")
    with pytest.raises(StoreError, match="is not an index"):
        check(tmp_path / "letters")


@pytest.mark.slow
@pytest.mark.parametrize("tables", [True, False])
def test_a_copy_that_sync_made_is_checked_and_left_alone(place: Path, tmp_path: Path, tables: bool) -> None:
    copy = tmp_path / "copy"
    sync(place, copy, tables=tables)
    sound = check(copy)
    assert (sound.damaged, sound.documents) == ((), 11 if tables else 0)
    damaged = pick(copy, "segments/*/terms.npy")
    flip(damaged)
    before = contents(copy)
    report = check(copy)
    assert [one.file for one in report.damaged] == [str(damaged.relative_to(copy))]
    assert report.text().endswith("make another with disputatio index sync, into an empty folder")
    assert contents(copy) == before
