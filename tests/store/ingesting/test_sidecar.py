"""A sidecar beside documents states by patterns what they do not state; a stranger's states little."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from disputatio.errors import InputError
from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting.stating import read_sidecar
from disputatio.types import Passage

SIDECAR = """\
# what we know of these files
"*.md":
  owner: Town hall  # all of them
notices/*:
  source: 'notices: weekly'
  authority: official
lamps-2.md:
  date: 2024-05-01
  replaces: "lamps-1.md"
rumour.md:
  mute: yes
"""


@pytest.fixture(autouse=True)
def own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "town"
    (folder / "notices").mkdir(parents=True)
    (folder / "lamps-1.md").write_text("Lamps are lit at six.\n")
    (folder / "lamps-2.md").write_text("Lamps are lit at seven.\n")
    (folder / "rumour.md").write_text("Lamps are lit at nine, they say.\n")
    (folder / "notices" / "week.md").write_text("Lamps of the quay are lit at eight.\n")
    (folder / "disputatio.yaml").write_text(SIDECAR)
    return folder


def passages(index: FolderIndex) -> dict[str, Passage]:
    hits = index.search("lamps lit", k=20)
    hours = ("six", "seven", "eight", "nine")
    return {next(hour for hour in hours if hour in hit.passage.text): hit.passage for hit in hits}


@pytest.mark.long
def test_a_sidecar_that_is_named_states_all_of_it_from_then_on(folder: Path, tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "index")
    summary = index.ingest(folder, sidecar=folder / "disputatio.yaml")
    assert (summary.added, summary.described, summary.notices, summary.left_out) == (4, 4, (), {})
    for _ in range(2):
        found = passages(index)
        assert set(found) == {"six", "seven", "eight"}
        assert {passage.owner for passage in found.values()} == {"Town hall"}
        assert (found["eight"].source, found["eight"].authority) == ("notices: weekly", "official")
        assert (found["seven"].date, found["seven"].by_people["replaces"]) == ("2024-05-01", "lamps-1.md")
        assert index.ingest(folder).described == 0


def test_a_pattern_that_fits_no_file_is_said_where_the_whole_folder_is_read(
    folder: Path, tmp_path: Path
) -> None:
    sidecar = folder / "disputatio.yaml"
    sidecar.write_text(
        '"*.md":\n  owner: Town hall\nlamp-2.md:\n  date: 2024\nold.zip/lamps.md:\n  date: 2023\n'
    )
    (folder / "old.zip").write_bytes(b"")
    index = FolderIndex.open(tmp_path / "index")
    assert index.ingest(folder / "notices", sidecar=sidecar).notices == ()
    assert index.ingest(folder).notices == (f"{sidecar}: 'lamp-2.md' fits no file of the folder",)


def test_a_sidecar_of_another_folder_says_that_it_states_nothing(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "mine"
    elsewhere.mkdir()
    (elsewhere / "about.yaml").write_text('"*.md":\n  owner: Town hall\n')
    index = FolderIndex.open(tmp_path / "index")
    (folder / "disputatio.yaml").unlink()
    [notice] = index.ingest(folder, sidecar=elsewhere / "about.yaml").notices
    assert notice.startswith(f"{elsewhere / 'about.yaml'}: states nothing of what was read")


def test_a_sidecar_that_is_only_found_states_nothing_beyond_its_folder(folder: Path, tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "index")
    summary = index.ingest(folder)
    assert [f"--sidecar {folder}/disputatio.yaml" in notice for notice in summary.notices] == [True]
    assert "authority and replaces not taken" in summary.notices[0]
    found = passages(index)
    assert set(found) == {"six", "seven", "eight"}
    assert {passage.owner for passage in found.values()} == {"Town hall"}
    assert {passage.authority for passage in found.values()} == {""}
    assert all(not passage.relations for passage in found.values())


def test_a_folder_whose_name_has_the_path_of_another_in_it_is_not_taken_for_it(
    folder: Path, tmp_path: Path
) -> None:
    index = FolderIndex.open(tmp_path / "index")
    index.ingest(folder, sidecar=folder / "disputatio.yaml")
    trap = tmp_path / f"x,{folder.relative_to('/')}"
    trap.mkdir(parents=True)
    (trap / "a.md").write_text("Lamps are lit at six.\n")
    (trap / "disputatio.yaml").write_text("a.md:\n  authority: binding\n")
    assert len(index.ingest(trap).notices) == 1


@pytest.mark.long
def test_what_a_sidecar_no_longer_states_is_taken_back(folder: Path, tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "index")
    index.ingest(folder, sidecar=folder / "disputatio.yaml")
    index.describe("lamps-1.md", authority="primary")
    (folder / "disputatio.yaml").write_text('"lamps-2.md":\n  date: 2025\n')
    assert index.ingest(folder).described == 4
    found = passages(index)
    assert {hour: (found[hour].owner, found[hour].date) for hour in found} == {
        "six": ("", ""), "seven": ("", "2025"), "eight": ("", ""), "nine": ("", ""),
    }  # fmt: skip
    assert found["six"].authority == "primary"
    (folder / "disputatio.yaml").unlink()
    index.ingest(folder)
    assert passages(index)["seven"].date == ""


@pytest.mark.parametrize("where", ["below", "archive", "unverified", "upload"])
def test_a_sidecar_of_a_stranger_is_not_read(where: str, tmp_path: Path) -> None:
    folder = tmp_path / "inbox"
    inner = folder / "from-someone"
    inner.mkdir(parents=True)
    (inner / "a.md").write_text("Lamps are lit at six.\n")
    (inner / "disputatio.yaml").write_text('"*":\n  authority: binding\n  owner: Ministry\n')
    index = FolderIndex.open(tmp_path / "index")
    if where == "archive":
        with zipfile.ZipFile(folder / "a.zip", "w") as archive:
            for file in inner.iterdir():
                archive.write(file, file.name)
        index.ingest(folder / "a.zip")
    elif where == "upload":
        index.ingest(*sorted(inner.iterdir()))
    else:
        index.ingest(inner if where == "unverified" else folder, unverified=where == "unverified")
    [passage] = [hit.passage for hit in index.search("lamps lit")]
    assert (passage.authority, passage.owner in ("", "uploads"), passage.by_people) == ("", True, {})


def test_members_of_an_archive_are_described_one_by_one(tmp_path: Path) -> None:
    folder = tmp_path / "town"
    folder.mkdir()
    with zipfile.ZipFile(folder / "old.zip", "w") as archive:
        archive.writestr("in/a.md", "Lamps are lit at six.\n")
        archive.writestr("in/b.md", "Lamps are lit at seven.\n")
    (folder / "disputatio.yaml").write_text("old.zip:\n  owner: Archive\nold.zip/in/b.md:\n  date: 1990\n")
    index = FolderIndex.open(tmp_path / "index")
    index.ingest(folder)
    found = passages(index)
    assert {hour: (passage.owner, passage.date) for hour, passage in found.items()} == {
        "six": ("Archive", ""), "seven": ("Archive", "1990"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.md:\n  authority: offical\n", ":2: unknown authority 'offical': did you mean 'official'"),
        ("a.md:\n  colour: red\n", ":2: 'colour' is no field"),
        ("a.md:\n  date: soon\n", ":2: date: 'soon' is not a date"),
        ("a.md:\n\towner: x\n", ":2: is indented by a tab"),
        ("  owner: x\n", ":1: stands below no pattern"),
        ("a.md: x\n", ":1: write fields on lines of their own"),
        ("a.md:\n  owner: x\n  owner: y\n", ":3: owner is stated twice"),
        ("a.md:\nb.md:\n  owner: x\n", ":1: 'a.md' states nothing"),
        ("a.md:\n  owner: 'x\n", ":2: the quote is not closed"),
        ("a.md:\n  owner: [x, y]\n", ":2: one value a field"),
        ("a.md:\n  just words\n", ":2: write it as name: value"),
        ("../a.md:\n  owner: x\n", ":1: a pattern names files below"),
    ],
)
def test_a_line_that_is_wrong_is_named(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "disputatio.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        read_sidecar(file)
    assert str(caught.value).startswith(f"{file}{message}")


def test_flags_state_of_all_that_is_ingested_and_stay(folder: Path, tmp_path: Path) -> None:
    (folder / "disputatio.yaml").unlink()
    index = FolderIndex.open(tmp_path / "index")
    index.ingest(folder / "notices", stated={"authority": "binding", "date": "2024"})
    index.ingest(folder)
    found = passages(index)
    assert {hour: passage.authority for hour, passage in found.items()} == {
        "six": "", "seven": "", "nine": "", "eight": "binding",
    }  # fmt: skip
    with pytest.raises(InputError, match="no authority"):
        index.ingest(folder, unverified=True, stated={"authority": "binding"})


def test_a_document_that_is_replaced_and_not_there_is_said(folder: Path, tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "index")
    [notice] = index.ingest(folder / "lamps-2.md", stated={"replaces": "lamps-9.md"}).notices
    assert notice == (
        "warning: what is ingested replaces 'lamps-9.md': no document here has that name; "
        "did you mean 'lamps-2.md'?"
    )
    index.ingest(folder / "lamps-1.md")
    assert index.ingest(folder / "lamps-2.md", stated={"replaces": "lamps-1.md"}).notices == ()


def test_what_a_sidecar_says_is_replaced_and_is_not_there_is_said(folder: Path, tmp_path: Path) -> None:
    sidecar = folder / "disputatio.yaml"
    sidecar.write_text("lamps-2.md:\n  replaces: lamps-9.md\n")
    notices = FolderIndex.open(tmp_path / "index").ingest(folder, sidecar=sidecar).notices
    assert notices[-1].startswith(
        f"warning: {sidecar}:1: 'lamps-2.md' replaces 'lamps-9.md': no document here has that name"
    )
