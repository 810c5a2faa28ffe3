"""Each kind of file that is refused has its code, wherever it is refused, and each code a remedy."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from pypdf import PdfWriter

from disputatio import platforms
from disputatio.errors import IngestError, RefusalCode
from disputatio.rendering.refusals import REMEDIES
from disputatio.store.ingesting.options import ReadOptions
from disputatio.store.ingesting.readers import open_reader
from tests.store import files
from tests.store.files import read_all


def _locked(path: Path) -> None:
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret", algorithm="RC4-128")
    with path.open("wb") as file:
        writer.write(file)


def _archive(path: Path) -> None:
    files.pack(path, {"../escape.txt": "Out.", "inner/bad.csv": b"text\nw\xe4re\n", "good.txt": "Good."})


def _huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 70 << 20)


FILES: dict[str, Callable[[Path], object]] = {
    "archive.zip": _archive,
    "binary.txt": lambda path: path.write_bytes(bytes(range(256))),
    "broken.docx": lambda path: path.write_bytes(b"PK\3\4 no more"),
    "broken.pdf": lambda path: path.write_bytes(b"%PDF-1.4\nnothing of the kind"),
    "empty.txt": lambda path: path.touch(),
    "huge.txt": _huge,
    "latin.txt": lambda path: path.write_bytes("Gebühr".encode("latin-1")),
    "link.txt": lambda path: path.symlink_to(path.with_name("nowhere.txt")),
    "locked.pdf": _locked,
    "pipe.txt": os.mkfifo,
    "rows.jsonl": lambda path: path.write_text('{"text": "Whole."}\n{"text": "Hal\n{"title": "none"}\n'),
    "scan.pdf": lambda path: path.write_bytes(files.pdf_of(b"")),
    "words.html": lambda path: path.write_text("<p style='display:none'>unseen</p>"),
}
CODES = {
    "archive.zip/../escape.txt": "unsafe",
    "archive.zip/inner/bad.csv:1": "bad_row",
    "binary.txt": "unknown_type",
    "broken.docx": "unreadable",
    "broken.pdf": "unreadable",
    "empty.txt": "no_text",
    "huge.txt": "too_large",
    "latin.txt": "encoding",
    "link.txt": "not_found",
    "locked.pdf": "encrypted",
    "pipe.txt": "unknown_type",
    "rows.jsonl:2": "bad_row",
    "rows.jsonl:3": "bad_row",
    "scan.pdf": "scan",
    "words.html": "no_text",
}


@pytest.mark.long
def test_every_refused_file_has_the_code_of_its_reason(tmp_path: Path) -> None:
    for name, write in FILES.items():
        write(tmp_path / name)
    documents, refused = read_all([tmp_path])
    assert sorted(document.text for document in documents) == ["Good.", "Whole."]
    assert {error.path.removeprefix(f"{tmp_path}/"): error.code for error in refused} == CODES


def test_every_code_has_a_remedy() -> None:
    assert REMEDIES.keys() == set(get_args(RefusalCode))


def test_a_column_that_is_not_there_is_told_by_its_code(tmp_path: Path) -> None:
    (tmp_path / "rates.csv").write_text("place,rate\nLeith,4\nHull,5\n")
    with (
        open_reader(ReadOptions(columns={"text": "wording"})) as read,
        pytest.raises(IngestError) as refused,
    ):
        read(tmp_path / "rates.csv", "")
    assert refused.value.code == "missing_column"


def test_a_parser_that_cannot_be_confined_reads_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "page.html").write_text("<p>Words.</p>")
    monkeypatch.setattr(platforms, "can_pass_files", lambda: False)
    _, refused = read_all([tmp_path])
    assert [error.code for error in refused] == ["unconfined"]
