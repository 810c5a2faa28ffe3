"""An index from a stranger is data: nothing outside its folder is written, read or deleted because of it."""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from disputatio.errors import StoreError
from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting.documents import Document
from disputatio.store.record import manifest as manifests
from disputatio.store.record.check import check
from disputatio.store.record.manifest import Manifest
from disputatio.store.record.replicate import sync
from disputatio.types import Passage
from tests.store.hashing import HashEmbedder

Fields = dict[str, Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "ix"
    index = FolderIndex.open(path, embedder=HashEmbedder())
    index.add(Passage(id=f"p{n}", text=f"zebra number {n} of the zoo", source=f"s{n % 5}") for n in range(40))
    index.delete(sources=["s1"])
    return path


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    """A copy of the index, beside a folder of somebody's own."""
    shutil.copytree(made, tmp_path / "ix")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "letter.txt").write_text("dear reader")
    return tmp_path / "ix"


def hostile(
    fields: Mapping[str, Any], draw: random.Random, values: Sequence[Any]
) -> Iterator[dict[str, Any]]:
    """Manifests with one to three of their names or values replaced by some of `values`, without end."""
    while True:
        changed = json.loads(json.dumps(fields))
        for _ in range(draw.randint(1, 3)):
            here: Any = changed
            while keys := list(here) if isinstance(here, dict) else list(range(len(here))):
                key = draw.choice(keys)
                if isinstance(here[key], dict | list) and here[key] and draw.random() < 0.8:
                    here = here[key]
                    continue
                if isinstance(here, dict) and draw.random() < 0.3:
                    here[str(draw.choice(values))] = here.pop(key)
                else:
                    here[key] = copy.deepcopy(draw.choice(values))
                break
        yield changed


def outside(place: Path) -> dict[str, bytes]:
    """Return what lies beside the index, and what each file holds."""
    return {
        str(file.relative_to(place.parent)): file.read_bytes() if file.is_file() else b""
        for file in sorted(place.parent.rglob("*"))
        if place not in (file, *file.parents)
    }


def put(place: Path, fields: Fields, *, record: bool = True) -> None:
    """Put a manifest in force whose checksum is right, whatever it says."""
    fields = {**fields, "checksum": manifests.checksum_of(fields)}
    raw = json.dumps({manifests._KEY: manifests.FORMAT, **fields}).encode()
    (place / manifests.NAME).write_bytes(raw)
    if record:
        _execute(place, "UPDATE manifest SET body = ?", raw)


def _execute(place: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(place / manifests.RECORD, isolation_level=None)) as database:
        database.execute(statement, values)


def fields_of(place: Path) -> Fields:
    fields: Fields = json.loads((place / manifests.NAME).read_bytes())
    return {name: value for name, value in fields.items() if name not in (manifests._KEY, "checksum")}


def _names_a_folder(fields: Fields, own: str) -> None:
    fields["segments"][0]["name"] = own


def _names_a_file(fields: Fields, own: str) -> None:
    fields["segments"][0]["files"] = {f"{own}/letter.txt": "0" * 32}


def _names_dead_rows(fields: Fields, own: str) -> None:
    fields["segments"][0] |= {"dead": f"{own}/letter.txt", "dead_rows": 1, "dead_hash": "0" * 32}


NAMING: list[Callable[[Fields, str], None]] = [
    _names_a_folder,
    _names_a_file,
    _names_dead_rows,
]


@pytest.mark.parametrize("name", NAMING)
@pytest.mark.parametrize("form", ["absolute", "relative"])
def test_a_manifest_that_names_a_folder_elsewhere_is_refused_and_nothing_is_deleted(
    place: Path, name: Callable[[Fields, str], None], form: str
) -> None:
    fields, before = fields_of(place), outside(place)
    name(fields, str(place.parent / "own") if form == "absolute" else "../../own")
    put(place, fields)
    for use in (check, lambda path: sync(path, place.parent / "copy"), _searched, _written_to):
        with pytest.raises(StoreError, match="damaged"):
            use(place)
        shutil.rmtree(place.parent / "copy", ignore_errors=True)
    assert outside(place) == before


def test_the_manifest_of_a_sound_record_takes_the_place_of_a_hostile_one(place: Path) -> None:
    fields, before = fields_of(place), outside(place)
    _names_a_folder(fields, str(place.parent / "own"))
    put(place, fields, record=False)
    assert check(place).repaired
    assert outside(place) == before
    assert _searched(place) == 32


def _searched(place: Path) -> int:
    return len(FolderIndex.open(place, embedder=HashEmbedder()).search("zebra", k=100))


def _written_to(place: Path) -> None:
    FolderIndex.open(place, embedder=HashEmbedder()).add([Passage(id="new", text="a zebra more")])


VALUES: list[Any] = [
    None, True, -1, 0, 2**70, 1.5, float("nan"), "", ".", "..", "/", "/etc", "../own", "../../own/letter.txt",
    "a\0b", "x" * 5000, "own\nletter", "\ud800", [], {}, [[]], {"a": 1}, "dead-00000001.npy", "0" * 32,
]  # fmt: skip


@pytest.mark.long
def test_no_generated_manifest_touches_anything_outside_or_ends_in_a_traceback(place: Path) -> None:
    fields, before = fields_of(place), outside(place)
    refused = 0
    for changed, _ in zip(hostile(fields, random.Random(19), VALUES), range(150), strict=False):
        put(place, changed)
        for use in (_searched, lambda path: check(path, repair=False)):
            try:
                use(place)
            except StoreError as error:
                refused += 1
                assert "\n" not in str(error)
    assert refused > 200
    assert outside(place) == before


@pytest.mark.long
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON passages BEGIN DELETE FROM documents; END",
        "CREATE VIEW v AS SELECT load_extension('own/letter.txt')",
        "CREATE TABLE more (a)",
        "DROP INDEX passages_by_document",
    ],
)
def test_a_record_with_another_schema_is_refused(place: Path, statement: str) -> None:
    before = outside(place)
    _execute(place, statement)
    for use in (_written_to, _listed):
        with pytest.raises(StoreError, match="has other tables than an index"):
            use(place)
    report = check(place)
    assert [damage.file for damage in report.damaged] == [manifests.RECORD] and not report.lost
    assert len(_listed(place)) == _searched(place) == 32
    assert outside(place) == before


def _listed(place: Path) -> list[Document]:
    return FolderIndex.open(place).documents()


# --- links and special files ------------------------------------------------------------------------
def _link_a_segment(place: Path) -> None:
    folder = next((place / "segments").iterdir())
    shutil.move(folder, place.parent / "own" / "segment")
    folder.symlink_to(place.parent / "own" / "segment")


def _link_a_note(place: Path) -> None:
    (place / "reliability.json").symlink_to(place.parent / "own" / "letter.txt")


def _link_the_record(place: Path) -> None:
    (place / manifests.RECORD).rename(place.parent / "own" / "record")
    (place / manifests.RECORD).symlink_to(place.parent / "own" / "record")


def _link_the_lock(place: Path) -> None:
    (place / manifests.LOCK).unlink()
    (place / manifests.LOCK).symlink_to(place.parent / "own" / "made.txt")


def _pipe(place: Path) -> None:
    (place / manifests.NAME).unlink()
    os.mkfifo(place / manifests.NAME)


@pytest.mark.parametrize("spoil", [_link_a_segment, _link_a_note, _link_the_record, _link_the_lock, _pipe])
def test_links_and_pipes_in_an_index_are_refused(place: Path, spoil: Callable[[Path], None]) -> None:
    spoil(place)
    before = outside(place)
    for use in (check, lambda path: sync(path, place.parent / "copy"), _written_to):
        with pytest.raises(StoreError, match=r"link|plain file"):
            use(place)
        shutil.rmtree(place.parent / "copy", ignore_errors=True)
    assert outside(place) == before


def test_a_sync_copies_nothing_through_a_link_of_a_bucket(place: Path, tmp_path: Path) -> None:
    _link_a_note(place)
    with pytest.raises(StoreError, match="link"):
        sync(f"file://{place}", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


# --- what is read is what was written ---------------------------------------------------------------
def damaged_arrays(place: Path) -> Iterator[Path]:
    yield from sorted(place.glob("segments/*/*"))


@pytest.mark.long
def test_a_flipped_bit_in_any_file_of_a_segment_stops_a_search(place: Path) -> None:
    sound = _searched(place)
    for file in damaged_arrays(place):
        whole = file.read_bytes()
        for at in {0, len(whole) // 2, len(whole) - 1}:
            raw = bytearray(whole)
            raw[at] ^= 4
            file.write_bytes(raw)
            with pytest.raises(StoreError):
                _searched(place)
        file.write_bytes(whole)
    assert _searched(place) == sound


def test_deletions_that_were_cleared_do_not_bring_a_source_back(place: Path) -> None:
    [file] = place.glob("segments/*/dead-*.npy")
    np.save(file, np.zeros_like(np.load(file)))
    with pytest.raises(StoreError, match="changed since they were written"):
        _searched(place)


def test_a_large_array_is_compared_with_its_hash_before_a_search_is_answered(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("disputatio.store.segments.array_files.SMALL", 64)
    [file] = place.glob("segments/*/vector_numbers.npy")
    raw = bytearray(file.read_bytes())
    raw[-3] ^= 1
    file.write_bytes(raw)
    index = FolderIndex.open(place, embedder=HashEmbedder())
    for _ in range(2):
        with pytest.raises(StoreError, match=r"vector_numbers\.npy: its bytes have changed"):
            index.search("zebra")


def test_an_array_that_claims_more_than_its_file_holds_takes_no_memory(place: Path) -> None:
    manifest = manifests.read(place)
    assert manifest is not None
    [entry] = manifest.segments
    file = place / "segments" / entry.name / "term_rows.npy"
    header = file.read_bytes()[:128].replace(b"'shape': (", b"'shape': (9999999999", 1)
    file.write_bytes(header)
    _rehash(place, manifest, file)
    with pytest.raises(StoreError, match=r"cut short|damaged"):
        _searched(place)


def test_arrays_that_fit_their_hashes_and_not_one_another_are_one_line(place: Path) -> None:
    manifest = manifests.read(place)
    assert manifest is not None
    [entry] = manifest.segments
    folder = place / "segments" / entry.name
    np.save(folder / "stored_starts.npy", np.load(folder / "stored_starts.npy") * 2**40)
    _rehash(place, manifest, folder / "stored_starts.npy")
    with pytest.raises(StoreError, match="index check"):
        _searched(place)


def _rehash(place: Path, manifest: Manifest, file: Path) -> None:
    """Put a manifest in force that has the hash of a file as it is now."""
    [entry] = manifest.segments
    digest = blake2b(file.read_bytes(), digest_size=16).hexdigest()
    entry = replace(entry, files={**entry.files, file.name: digest})
    (place / manifests.NAME).write_bytes(manifests.written(replace(manifest, segments=(entry,))))
