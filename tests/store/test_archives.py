"""Archives: what is in them is read, what should not be is refused by name, and bombs cost themselves."""

from __future__ import annotations

import io
import stat
import zipfile
from pathlib import Path

import pytest

from disputatio.errors import IngestError
from disputatio.store.ingesting.parsers import RefusedDocument
from disputatio.store.ingesting.parsers import archive as archives
from disputatio.store.ingesting.readers import open_reader
from tests.store import files
from tests.store.files import read_all


def _reasons(path: Path) -> tuple[list[str], dict[str, str]]:
    documents, refused = read_all([path])
    names = {error.path.split(".zip/", 1)[-1]: error.reason for error in refused}
    return [one.text for one in documents], names


@pytest.mark.long
def test_members_of_every_kind_are_read_and_named_below_the_archive(tmp_path: Path) -> None:
    inner = files.pack(tmp_path / "inner.zip", {"deep/x.txt": "Nested words."}).read_bytes()
    (tmp_path / "inner.zip").unlink()
    path = files.pack(
        tmp_path / "all.zip",
        {
            "wiki/a.txt": "Plain words.",
            "p.html": "<p>Page words.</p>",
            "r.jsonl": '{"text": "Row one."}\n{broken\n',
            "r.pdf": files.pdf_of(files.drawn("Drawn words.")),
            "inner.zip": inner,
            ".DS_Store": "x",
            "__MACOSX/a.txt": "x",
        },
    )
    documents, refused = read_all([path])
    told = {one.path.removeprefix(f"{path}/"): one for one in documents}
    assert {name: one.text for name, one in told.items()} == {
        "wiki/a.txt": "Plain words.",
        "p.html": "Page words.",
        "r.jsonl": "Row one.",
        "r.pdf": "Drawn words.",
        "inner.zip/deep/x.txt": "Nested words.",
    }
    assert (told["wiki/a.txt"].folder, told["p.html"].folder, told["r.jsonl"].row) == ("wiki", "", 1)
    assert [error.path for error in refused] == [f"{path}/r.jsonl:2"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../../etc/passwd.txt", "leads out"),
        ("a/../../b.txt", "leads out"),
        ("..\\b.txt", "leads out"),
        ("/etc/passwd.txt", "absolute"),
        ("\\\\host\\share.txt", "absolute"),
        ("C:\\b.txt", "absolute"),
    ],
)
def test_a_path_out_of_the_archive_is_refused_and_the_others_go_on(
    name: str, reason: str, tmp_path: Path
) -> None:
    path = files.pack(tmp_path / "a.zip", {name: "Trap.", "good.txt": "Good."})
    texts, reasons = _reasons(path)
    assert texts == ["Good."]
    (only,) = reasons.values()
    assert reason in only


@pytest.mark.parametrize("name", ["a\0b.txt", "\0.txt", "\0", "b.txt\0.exe"])
def test_a_member_named_with_a_nul_is_refused_and_the_others_go_on(name: str, tmp_path: Path) -> None:
    stand_in = name.replace("\0", "\x7f")  # the library writes no such name
    raw = files.pack(tmp_path / "a.zip", {stand_in: "Trap.", "good.txt": "Good."}).read_bytes()
    (tmp_path / "a.zip").write_bytes(raw.replace(stand_in.encode(), name.encode()))
    texts, reasons = _reasons(tmp_path / "a.zip")
    assert texts == ["Good."]
    assert reasons == {name.replace("\0", "?"): "has a name that no file has"}


def test_links_locked_members_and_second_ones_of_a_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    link = zipfile.ZipInfo("link.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("twice.txt", "First.")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("twice.txt", "Second.")
        archive.writestr("locked.txt", "Locked.")
    raw = bytearray(path.read_bytes())
    at = raw.rfind(b"locked.txt") - 46
    raw[at + 8] |= 1
    path.write_bytes(raw)
    texts, reasons = _reasons(path)
    assert texts == ["First."]
    assert reasons["link.txt"] == "is a link"
    assert reasons["twice.txt"].startswith("stands twice")
    assert reasons["locked.txt"] == "is locked by a password"


def test_a_bomb_is_refused_by_its_ratio_or_size_before_it_is_unpacked(tmp_path: Path) -> None:
    zeros = bytes(4_000_000)
    inner = files.pack(tmp_path / "i.zip", {"zeros.txt": zeros}).read_bytes()
    third = files.pack(tmp_path / "t.zip", {"i.zip": inner}).read_bytes()
    path = files.pack(
        tmp_path / "a.zip", {"zeros.txt": zeros, "i.zip": inner, "t.zip": third, "good.txt": "Good."}
    )
    texts, reasons = _reasons(path)
    assert texts == ["Good."]
    assert "200 times" in reasons["zeros.txt"]
    assert "200 times" in reasons["i.zip/zeros.txt"]
    assert "within an archive" in reasons["t.zip/i.zip"]


def test_members_that_share_their_bytes_are_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", "A" * 100)
        archive.writestr("b.txt", "B" * 100)
    raw = bytearray(out.getvalue())
    at = raw.rfind(b"b.txt") - 46
    raw[at + 42 : at + 46] = bytes(4)  # b's header is said to lie where a's does
    parts = list(archives.parse(io.BytesIO(bytes(raw))))
    assert [part["name"] for part in parts if "refused" in part] == ["b.txt"]


def test_counts_and_totals_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(5):
            archive.writestr(f"{number}.txt", "words")
    monkeypatch.setattr(archives, "LARGEST_TOTAL", 12)
    parts = list(archives.parse(out))
    assert [part["name"] for part in parts if "member" in part] == ["0.txt", "1.txt"]
    monkeypatch.setattr(archives, "MOST_MEMBERS", 3)
    with pytest.raises(RefusedDocument, match="more than 3 files"):
        list(archives.parse(out))


def test_a_broken_archive_is_refused_and_a_broken_member_names_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:  # stored, so that a byte can be changed
        archive.writestr("bad.txt", "Damaged words.")
        archive.writestr("good.txt", "Good.")
    path.write_bytes(path.read_bytes().replace(b"Damaged words.", b"Damaged wordz."))
    texts, reasons = _reasons(path)
    assert texts == ["Good."]
    assert "CRC" in reasons["bad.txt"]
    path.write_bytes(path.read_bytes()[:60])
    with open_reader() as read, pytest.raises(IngestError, match="not a readable ZIP"):
        read(path, "")
