"""A commit is in the record a moment before `manifest.json` names it: what readers see in between."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from disputatio.store.folder_index import FolderIndex
from disputatio.store.record import manifest as manifests
from disputatio.store.record.export import export
from disputatio.types import Passage


class Killed(BaseException):
    pass


@pytest.fixture
def index(tmp_path: Path) -> FolderIndex:
    index = FolderIndex.open(tmp_path / "ix")
    index.add([Passage(id="old", text="a zebra in the old days", source="old")])
    return index


def seen(index: FolderIndex) -> tuple[set[str], set[str]]:
    """Return the sources that are listed, and those that a search shows after it."""
    listed = {document.source for document in index.documents()}
    return listed, {hit.passage.source for hit in index.search("zebra")}


def stop(monkeypatch: pytest.MonkeyPatch, index: FolderIndex, look: Callable[[], None]) -> None:
    """Look between the commit of another passage and its publication, then end the writer."""

    def killed(*_: object) -> None:
        look()
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(manifests, "publish", killed)
        writer = FolderIndex.open(index.path)
        writer.add([Passage(id="new", text="a zebra in the new days", source="new")])
        writer.delete(sources=["old"])


def test_a_reader_lists_and_finds_the_same_commit_while_a_writer_publishes(
    index: FolderIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert seen(index) == ({"old"}, {"old"})
    both = {"old", "new"}

    def look() -> None:
        assert {hit.passage.source for hit in index.search("zebra")} == {"old"}  # no row was read since
        assert seen(index) == (both, both)
        assert seen(FolderIndex.open(index.path)) == (both, both)

    stop(monkeypatch, index, look)
    assert seen(index) == (both, both)


def test_a_search_of_a_new_process_shows_what_a_killed_writer_committed(
    index: FolderIndex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stop(monkeypatch, index, lambda: None)
    again = FolderIndex.open(index.path)
    assert {hit.passage.source for hit in again.search("zebra")} == {"old", "new"}
    assert export(index, tmp_path / "out.jsonl") == 2
    assert {hit.passage.source for hit in index.search("zebra")} == {"old", "new"}
    again.add([Passage(id="third", text="a third zebra", source="third")])
    for reader in (index, again):
        assert seen(reader) == ({"old", "new", "third"},) * 2


def test_several_folders_list_and_find_the_same_commits(
    index: FolderIndex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    FolderIndex.open(tmp_path / "other").add([Passage(text="a zebra elsewhere", source="other")])
    several = FolderIndex.open(f"{index.path},{tmp_path / 'other'}")
    assert seen(several) == ({"old", "other"},) * 2
    stop(monkeypatch, index, lambda: None)
    assert seen(several) == ({"old", "new", "other"},) * 2


def test_a_damaged_record_does_not_stop_a_search(index: FolderIndex) -> None:
    (index.path / manifests.RECORD).write_bytes(b"nothing of the kind")
    again = FolderIndex.open(index.path)
    assert {hit.passage.source for hit in again.search("zebra")} == {"old"}
