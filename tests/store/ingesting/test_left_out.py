"""Files that are no documents are left out of a folder and counted, unless they are named."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from disputatio.errors import InputError
from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting.files import find_files
from tests.store import files

_FILES = (
    "a.md", "b.txt", "config.json", "script.py", "Makefile", "poetry.lock", "sub/c.md", "sub/style.css",
    "old/d.md", "old/deep/e.md", "node_modules/x/readme.md", "logs/app.log",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    for name in _FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"Words of {name}.")
    return root


def _names(root: Path, folder: Path, *exclude: str) -> tuple[list[str], Counter[str]]:
    left_out: Counter[str] = Counter()
    found = find_files(root, [], exclude=exclude, left_out=left_out)
    return [path.relative_to(folder).as_posix() for path, _ in found], left_out


def test_code_and_configuration_in_a_folder_are_left_out_and_counted(folder: Path) -> None:
    found, left_out = _names(folder, folder)
    assert found == ["a.md", "b.txt", "logs/app.log", "old/d.md", "old/deep/e.md", "sub/c.md"]
    assert left_out == {"code": 4, "configuration": 2}


def test_the_record_of_changes_beside_an_index_is_no_document(folder: Path) -> None:
    (folder / "old.changes.sqlite").write_bytes(b"x")
    (folder / "old.changes.sqlite-wal").write_bytes(b"x")
    (folder / "other.changes.sqlite").write_bytes(b"x")
    found, _ = _names(folder, folder)
    assert [name for name in found if "sqlite" in name] == ["other.changes.sqlite"]


def test_an_empty_path_is_not_the_folder_one_is_in(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(InputError, match="a path is empty"):
        FolderIndex.open(tmp_path / "i").ingest("")


def test_a_file_that_is_named_or_that_a_pattern_fits_is_read_whatever_it_is(folder: Path) -> None:
    assert _names(folder / "script.py", folder) == (["script.py"], Counter())
    assert _names(folder / "*.json", folder) == (["config.json"], Counter())
    assert _names(folder / "s*", folder) == (["script.py", "sub/c.md"], Counter({"code": 1}))


@pytest.mark.parametrize(
    ("patterns", "gone", "count"),
    [
        (["old"], {"old/d.md", "old/deep/e.md"}, 1),
        (["old/"], {"old/d.md", "old/deep/e.md"}, 1),
        (["old/deep"], {"old/deep/e.md"}, 1),
        (["*.log", "b.*"], {"logs/app.log", "b.txt"}, 2),
        (["old/*.md"], {"old/d.md", "old/deep/e.md"}, 2),
        (["[ab].*"], {"a.md", "b.txt"}, 2),
        (["nothing"], set(), 0),
    ],
)
def test_patterns_leave_out_files_and_whole_folders(
    patterns: list[str], gone: set[str], count: int, folder: Path
) -> None:
    everything, _ = _names(folder, folder)
    found, left_out = _names(folder, folder, *patterns)
    assert set(everything) - set(found) == gone
    assert left_out["excluded"] == count


def test_a_pattern_also_leaves_out_what_is_named(folder: Path) -> None:
    assert _names(folder / "a.md", folder, "a.md") == ([], Counter({"excluded": 1}))
    assert _names(folder / "*.md", folder, "a*") == ([], Counter({"excluded": 1}))


def test_the_summary_counts_what_was_left_out_apart_from_what_was_refused(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "empty.txt").write_text("")
    index = FolderIndex.open(tmp_path / "ix")
    summary = index.ingest(folder, exclude=["old", "*.log"])
    assert (summary.added, [Path(path).name for path, *_ in summary.refused]) == (3, ["empty.txt"])
    assert summary.left_out == {"code": 4, "configuration": 2, "excluded": 2}


def test_members_of_an_archive_are_left_out_as_files_of_a_folder_are(tmp_path: Path) -> None:
    members = {name: f"Words of {name}." for name in _FILES}
    path = files.pack(tmp_path / "a.zip", members)
    index = FolderIndex.open(tmp_path / "ix")
    summary = index.ingest(path, exclude=["old"])
    assert summary.added == 4
    assert summary.refused == ()
    assert summary.left_out == {"code": 4, "configuration": 2, "excluded": 2}


def test_an_archive_of_code_alone_is_no_fault(tmp_path: Path) -> None:
    summary = FolderIndex.open(tmp_path / "ix").ingest(files.pack(tmp_path / "a.zip", {"a.py": "x = 1"}))
    assert (summary.added, summary.refused, summary.left_out) == (0, (), {"code": 1})


def test_an_empty_pattern_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a pattern to exclude is empty"):
        FolderIndex.open(tmp_path / "ix").ingest(tmp_path, exclude=[""])
