"""Unchanged files are told from changed ones, whatever they are called; what is refused is not hashed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from disputatio.errors import RefusalData
from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting import ingest
from disputatio.store.ingesting.ingest import Refusal, look
from disputatio.store.ingesting.options import DEFAULT, ReadOptions, settings_of

SETTINGS = settings_of(DEFAULT, "")


@pytest.mark.long
def test_a_file_whose_name_is_not_utf8_is_in_found_and_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    name = Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.txt"))
    name.write_text("A zebra.")
    index = FolderIndex.open(tmp_path / "index")
    assert index.ingest(folder).added == 1
    again = index.ingest(folder)
    assert (again.unchanged, again.added, again.refused) == (1, 0, ())
    assert [one.path for one in index.documents()] == [f"{folder}/caf\\xe9.txt"]
    name.write_text("An okapi.")
    assert index.ingest(folder).replaced == 1
    assert index.delete(paths=[f"{folder}/caf\\xe9.txt"]) == 1


def test_a_file_too_large_to_be_read_is_not_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    huge = tmp_path / "huge.txt"
    with huge.open("wb") as file:
        file.truncate(2 << 30)
    monkeypatch.setattr(ingest, "_BLOCK", 0)  # a read of nothing would end the loop at once
    assert look(huge, SETTINGS) == (None, False)
    summary = FolderIndex.open(tmp_path / "index").ingest(huge)
    data: RefusalData = {"limit": 64 << 20, "size": 2 << 30, "unit": "bytes"}
    assert summary.refused == (Refusal(str(huge), "is larger than 64 MB, the limit", "too_large", data),)


def test_time_and_size_prove_a_file_unchanged_only_when_it_was_at_rest(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("A zebra.")
    fresh = look(file, SETTINGS).now
    assert fresh is not None
    assert not fresh.proves(fresh.size, fresh.mtime_ns, SETTINGS)  # it may change within this tick
    long_ago = time.time_ns() - 10**10
    os.utime(file, ns=(long_ago, long_ago))
    old = look(file, SETTINGS, fresh)
    assert old.unchanged
    assert old.now is not None
    assert old.now.proves(old.now.size, long_ago, SETTINGS)
    assert not look(file, settings_of(ReadOptions(source_by="file"), ""), old.now).unchanged
    file.write_text("A giraffe.")
    assert not look(file, SETTINGS, old.now).unchanged
