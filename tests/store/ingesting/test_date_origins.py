"""Documents and passages record where their date is from: the document itself, its file, or unknown."""

from __future__ import annotations

import io
from email.message import EmailMessage
from pathlib import Path

import pytest
from pypdf import PdfWriter

from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting.documents import Document, document_of
from disputatio.store.ingesting.prepare import prepare
from disputatio.store.record.export import export
from disputatio.types import Passage
from tests.store import files
from tests.store.files import read_all


def _dated_pdf(words: str) -> bytes:
    writer = PdfWriter(clone_from=io.BytesIO(files.pdf_of(files.drawn(words))))
    writer.add_metadata({"/CreationDate": "D:20131223000000Z"})
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def _mail(path: Path, *, dated: bool) -> None:
    message = EmailMessage()
    message["From"], message["Subject"] = "ada@mail.example", "The bridge"
    if dated:
        message["Date"] = "Mon, 04 Mar 2019 10:00:00 +0000"
    message.set_content("It still stands.\n")
    message.add_attachment(_dated_pdf("Attached."), maintype="application", subtype="pdf", filename="a.pdf")
    path.write_bytes(message.as_bytes())


@pytest.mark.long
def test_each_reader_says_where_its_dates_come_from(tmp_path: Path) -> None:
    (tmp_path / "front.md").write_text("---\ndate: 2020-01-01\n---\nWords.")
    (tmp_path / "none.txt").write_text("Words of 2020-01-01.")
    (tmp_path / "page.html").write_text('<meta name="date" content="2019-03-04"><p>Words.</p>')
    (tmp_path / "rows.csv").write_text("text,date\nWords.,2018\nNo date.,\n")
    (tmp_path / "rows.jsonl").write_text(
        '{"text": "a", "date": "2018"}\n{"text": "b", "date": "2018", "date_origin": "file"}\n'
        '{"text": "c", "date": "2018", "date_origin": "rumour"}\n'
    )
    (tmp_path / "text.docx").write_bytes(files.docx_of("<w:p><w:r><w:t>Words.</w:t></w:r></w:p>"))
    (tmp_path / "text.pdf").write_bytes(_dated_pdf("Words."))
    files.epub(tmp_path / "book.epub", "<p>Words.</p>")
    _mail(tmp_path / "dated.eml", dated=True)
    _mail(tmp_path / "undated.eml", dated=False)
    documents, refused = read_all([tmp_path])
    assert not refused
    found = {
        f"{one.path.removeprefix(f'{tmp_path}/')}{one.row or ''}": (one.date, one.date_origin)
        for one in documents
    }
    assert found == {
        "front.md": ("2020-01-01", "stated"),
        "none.txt": ("", ""),
        "page.html": ("2019-03-04", "stated"),
        "rows.csv1": ("2018", "stated"),
        "rows.csv2": ("", ""),
        "rows.jsonl1": ("2018", "stated"),
        "rows.jsonl2": ("2018", "file"),
        "rows.jsonl3": ("2018", ""),
        "text.docx": ("2013-12-23", "file"),
        "text.pdf": ("2013-12-23", "file"),
        "book.epub": ("2019-03-04", "stated"),
        "dated.eml": ("2019-03-04", "stated"),
        "dated.eml/a.pdf": ("2019-03-04", "stated"),
        "undated.eml": ("", ""),
        "undated.eml/a.pdf": ("2013-12-23", "file"),
    }


def test_the_origin_is_no_metadata_and_part_of_what_a_document_says() -> None:
    stated = document_of({"text": "x", "date": "2018"}, "a")
    of_file = document_of({"text": "x", "date": "2018", "date_origin": "file"}, "a")
    assert (stated.metadata, of_file.metadata) == ({}, {})
    assert prepare(stated).document.id != prepare(of_file).document.id
    assert prepare(of_file).passages[0].date_origin == "file"


@pytest.mark.long
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_the_origin_comes_back_from_the_index_and_from_an_export(ending: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\ndate: 2020-01-01\n---\nThe zebra walks.")
    (tmp_path / "b.pdf").write_bytes(_dated_pdf("A zebra stands."))
    index = FolderIndex.open(tmp_path / "ix")
    index.ingest(tmp_path / "a.md", tmp_path / "b.pdf")
    index.add([Passage(text="A zebra in hand.", date="2018"), Document(text="A zebra told.", date="2017")])
    expected = [("2013-12-23", "file"), ("2017", "stated"), ("2018", "stated"), ("2020-01-01", "stated")]

    def origins(of: FolderIndex) -> list[tuple[str, str]]:
        return sorted((hit.passage.date, hit.passage.date_origin) for hit in of.search("zebra"))

    assert origins(index) == expected
    assert sorted((one.date, one.date_origin) for one in index.documents()) == expected
    assert export(index, tmp_path / f"out.{ending}", documents=True) == 4
    again = FolderIndex.open(tmp_path / "again")
    again.ingest(tmp_path / f"out.{ending}")
    assert origins(again) == expected


def test_a_search_by_date_takes_dates_of_every_origin(tmp_path: Path) -> None:
    index = FolderIndex.open(tmp_path / "ix")
    index.add(
        [
            Passage(text="zebra one", date="2020", date_origin="file"),
            Passage(text="zebra two", date="2021"),
            Passage(text="zebra three", date="2001", date_origin="file"),
        ]
    )
    assert len(index.search("zebra", after="2019")) == 2


@pytest.mark.long
def test_a_docx_without_a_title_has_its_first_line_unless_that_is_a_sentence(tmp_path: Path) -> None:
    import docx

    for name, lines in {
        "a": ("Mooring rules", "Version 2. It replaces version 1."),
        "b": ("The quay is closed today.", "It opens tomorrow."),
    }.items():
        file = docx.Document()
        for line in lines:
            file.add_paragraph(line)
        file.save(str(tmp_path / f"{name}.docx"))
    documents, _ = read_all([tmp_path])
    assert [document.title for document in documents] == ["Mooring rules", ""]
    made = prepare(documents[0]).document
    assert (made.version, made.relations[0].target) == ("2", "version 1")
