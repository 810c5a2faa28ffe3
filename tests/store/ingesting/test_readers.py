"""Files become documents; what cannot be read is named and never stops the rest."""

from __future__ import annotations

import io
import json
import os
import socket
import tracemalloc
from datetime import date, datetime
from email.message import EmailMessage
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from disputatio.errors import IngestError, InputError
from disputatio.store.ingesting.documents import Document, page_of, passage_metadata
from disputatio.store.ingesting.files import find_files
from disputatio.store.ingesting.hidden import clean
from disputatio.store.ingesting.parsers import pdf
from disputatio.store.ingesting.readers import open_reader
from disputatio.store.ingesting.source import domain, with_source
from tests.store import files
from tests.store.files import read_all

_PAGE = """<html><head><title>Broken Bow</title><meta name="date" content="2019-03-04">
<meta property="og:url" content="https://www.census.example/bow"></head><body><nav>Home | About</nav>
<article><h1>Broken Bow</h1><p>{}</p></article></body></html>"""


def _pdf(path: Path, words: str, title: str = "A report") -> None:
    writer = PdfWriter()
    page = writer.add_blank_page(300, 300)
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    page[NameObject("/Resources")] = DictionaryObject(
        {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
    )
    stream = DecodedStreamObject()
    stream.set_data(f"BT /F1 12 Tf 20 200 Td ({words}) Tj ET".encode())
    page[NameObject("/Contents")] = stream
    writer.add_metadata({"/Title": title})
    with path.open("wb") as file:
        writer.write(file)


def _read(path: Path) -> list[Document]:
    with open_reader() as read:
        return list(read(path, "").documents)


@pytest.mark.long
def test_front_matter_is_taken_off_the_text(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text(
        "---\ntitle: 'A: b'\nsource: census\ndate: 2020-01-01\nplace: north\n---\n\n# Head\n\nBody.\n"
    )
    (document,) = _read(file)
    assert document.text == "Head\n\nBody."
    assert (document.title, document.source, document.date) == ("A: b", "census", "2020-01-01")
    assert document.metadata == {"place": "north", "outline": "0,4,1"}


def test_a_rule_that_is_not_front_matter_stays_in_the_text(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("---\nA sentence, no fields.\n---\nMore.")
    assert _read(file)[0].text.startswith("---\nA sentence")


def test_a_markdown_title_is_its_first_heading(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("# The title\n\nBody.")
    assert _read(file)[0].title == "The title"


@pytest.mark.long
def test_html_gives_main_text_title_date_and_address(tmp_path: Path) -> None:
    file = tmp_path / "p.html"
    file.write_text(_PAGE.format("The bridge did not collapse in 1990. It still stands. " * 6))
    (document,) = _read(file)
    assert "did not collapse" in document.text
    assert "Home | About" not in document.text
    assert (document.title, document.date) == ("Broken Bow", "2019-03-04")
    assert with_source(document).source == "census.example"


@pytest.mark.long
def test_a_year_in_the_text_of_a_page_is_not_taken_for_its_date(tmp_path: Path) -> None:
    file = tmp_path / "p.html"
    file.write_text("<html><body><h1>Broken Bow</h1><p>In 2010 it had 3,559 people.</p></body></html>")
    (document,) = _read(file)
    assert "3,559 people" in document.text
    assert document.date == ""


def test_a_fragment_of_html_and_a_page_in_its_own_encoding_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>Good <b>words</b>.</p><script>x()</script>")
    page = '<html><head><meta charset="latin-1"></head><body><p>Un café très fréquenté.</p></body></html>'
    (tmp_path / "b.html").write_bytes(page.encode("latin-1"))
    documents, refused = read_all([tmp_path])
    assert not refused
    assert documents[0].text == "Good words."
    assert documents[1].text == "Un café très fréquenté."


@pytest.mark.long
def test_a_pdf_gives_its_text_and_title(tmp_path: Path) -> None:
    _pdf(tmp_path / "r.pdf", "There were 3,559 people.")
    (document,) = _read(tmp_path / "r.pdf")
    assert document.text == "There were 3,559 people."
    assert document.title == "A report"


@pytest.mark.parametrize("title", ["review.html", "Microsoft Word - fees_2024.docx"])
def test_the_name_of_the_file_that_was_printed_is_no_title_of_a_pdf(tmp_path: Path, title: str) -> None:
    _pdf(tmp_path / "r.pdf", "There were 3,559 people.", title)
    with (tmp_path / "r.pdf").open("rb") as file:
        (part,) = pdf.parse(file)
    assert part["document"]["title"] == ""


def test_csv_rows_are_documents(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text('Text,source,year\n"one,\ntwo",s1,2010\nthree,s2,\n')
    one, two = _read(file)
    assert (one.text, one.source, one.metadata, one.row) == ("one,\ntwo", "s1", {"year": "2010"}, 1)
    assert (two.text, two.row) == ("three", 2)


@pytest.mark.long
def test_a_folder_of_good_and_bad_files_gives_the_good_and_names_the_bad(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("Good.")
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "binary.txt").write_bytes(b"\x00\x01\x02")
    (tmp_path / "latin.txt").write_bytes("café".encode("latin-1"))
    (tmp_path / "rows.jsonl").write_text(
        '{"text": "row one", "id": 7}\n\n{"title": "no text"}\n{"text": 5}\n'
        '{broken\n[1]\n{"text": "row seven"}\n'
    )
    (tmp_path / "ragged.csv").write_text("text,source\ngood row,s\nonly one\n")
    (tmp_path / "columns.csv").write_text("a,b\n1,2\n")
    _pdf(tmp_path / "half.pdf", "words " * 50)
    whole = (tmp_path / "half.pdf").read_bytes()
    (tmp_path / "half.pdf").write_bytes(whole[: len(whole) // 3])
    _pdf(tmp_path / "whole.pdf", "After a broken one.")
    (tmp_path / "dangling.txt").symlink_to(tmp_path / "nowhere")
    documents, refused = read_all([tmp_path])
    assert [one.text for one in documents] == [
        "A: 1; B: 2.",
        "Good.",
        "good row",
        "row one",
        "row seven",
        "After a broken one.",
    ]
    reasons = {Path(error.path).name: error.reason for error in refused}
    assert reasons["empty.txt"] == "is empty"
    assert reasons["binary.txt"] == "is a binary file"
    assert reasons["latin.txt"] == "is not UTF-8 text (byte 3)"
    assert reasons["rows.jsonl:3"].startswith("has no field 'text' (its fields: title); name the one")
    assert reasons["rows.jsonl:4"] == "'text' is not text"
    assert "is not a JSON object" in reasons["rows.jsonl:5"]
    assert reasons["rows.jsonl:6"] == "is not a JSON object"
    assert reasons["ragged.csv:2"] == "has 1 fields where the header has 2"
    assert reasons["half.pdf"].startswith("is not a readable PDF file")
    assert "dangling.txt" in reasons
    assert len(reasons) == 10


def test_a_file_whose_every_row_is_bad_is_named_with_all_its_rows(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text('{"x": 1}\n{"y": 2}\n')
    documents, refused = read_all([tmp_path])
    assert not documents
    assert [Path(error.path).name for error in refused] == ["r.jsonl:1", "r.jsonl:2"]


def test_hidden_files_are_skipped_and_the_order_is_stable(tmp_path: Path) -> None:
    for name in ("b/z.txt", "b/.hidden.txt", ".git/c.txt", "a.txt", "b/a/y.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = [(str(path.relative_to(tmp_path)), folder) for path, folder in find_files(tmp_path)]
    assert found == [("a.txt", ""), ("b/a/y.txt", "b"), ("b/z.txt", "b")]


def test_a_path_with_nothing_at_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="no such file"):
        find_files(tmp_path / "none")


def test_invisible_characters_are_removed_and_needed_joiners_kept() -> None:
    assert clean("ig\u200bnore\u202e this\ufeff\x07") == "ignore this"
    assert clean("a\u200db") == "ab"
    assert clean("می\u200cخواهم") == "می\u200cخواهم"
    assert clean("👩\u200d🔬") == "👩\u200d🔬"
    assert clean("\ud800x") == "\ufffdx"


@pytest.mark.parametrize(
    ("source_by", "expected"),
    [(None, "stated"), ("domain", "x.example"), ("folder", "wiki"), ("file", "page"), ("field:team", "red")],
)
def test_sources_are_told_as_asked(source_by: str | None, expected: str) -> None:
    document = Document(
        text="t",
        path="docs/wiki/page.md",
        folder="wiki",
        url="http://www.x.example/1",
        source="stated",
        metadata={"team": "red"},
    )
    assert with_source(document, source_by).source == expected


def test_the_source_falls_back_from_url_to_folder_to_file_name() -> None:
    assert (
        with_source(Document(text="t", path="d/w/p.md", folder="w", url="http://x.example")).source
        == "x.example"
    )
    assert with_source(Document(text="t", path="d/w/p.md", folder="w")).source == "w"
    assert with_source(Document(text="t", path="d/p.md")).source == "p"


def test_a_wrong_way_to_tell_sources_is_an_input_error() -> None:
    with pytest.raises(InputError, match="field:NAME"):
        with_source(Document(text="t"), "author")
    with pytest.raises(IngestError, match="has no field 'team'"):
        with_source(Document(text="t", path="p.md"), "field:team")


def test_a_pdf_keeps_its_pages(tmp_path: Path) -> None:
    pages = [files.drawn("One."), b"", files.drawn("Three."), files.drawn("Four.")]
    (tmp_path / "a.pdf").write_bytes(files.pdf_of(*pages))
    (document,) = _read(tmp_path / "a.pdf")
    assert document.text == "One.\n\nThree.\n\nFour."
    assert [page_of(document, document.text.index(word)) for word in ("One", "Three", "Four")] == [
        "1",
        "3",
        "4",
    ]
    assert passage_metadata(document, 0, len(document.text)) == {"page": "1-4"}
    assert passage_metadata(document, 6, 12) == {"page": "3"}


def test_a_pdf_without_a_title_has_that_of_its_first_line(tmp_path: Path) -> None:
    def titled(first: str, second: str) -> str:
        page = f"BT /F1 12 Tf 20 200 Td ({first}) Tj 0 -30 Td ({second}) Tj ET".encode()
        (tmp_path / "a.pdf").write_bytes(files.pdf_of(page))
        return _read(tmp_path / "a.pdf")[0].title

    assert titled("Mooring rules", "Version 2, March 2024") == "Mooring rules"
    assert titled("The harbour office lets berths and", "keeps the list.") == ""
    assert titled("The harbour is open.", "Boats may enter.") == ""


def test_a_field_of_the_name_pages_is_no_place_in_the_text() -> None:
    document = Document(text="t", metadata={"pages": "350"})
    assert page_of(document, 0) == ""
    assert passage_metadata(document, 0, 1) == {"pages": "350"}


def test_a_pdf_without_text_or_with_a_password_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(files.pdf_of(b""))
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret", algorithm="RC4-128")
    with (tmp_path / "locked.pdf").open("wb") as file:
        writer.write(file)
    _, refused = read_all([tmp_path])
    assert [error.code for error in refused] == ["encrypted", "scan"]


@pytest.mark.long
def test_docx_paragraphs_and_tables_come_in_their_order(tmp_path: Path) -> None:
    import docx

    made = docx.Document()
    made.add_heading("Head", 2)
    made.add_paragraph("Before.")
    table = made.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "left", "right"
    made.add_paragraph("After.")
    made.core_properties.title = "A title"
    made.core_properties.modified = datetime(2019, 3, 4, 5)  # noqa: DTZ001  (Word keeps no zone)
    made.save(str(tmp_path / "a.docx"))
    (document,) = _read(tmp_path / "a.docx")
    assert document.text == "Head\n\nBefore.\n\nleft | right\n\nAfter."
    assert (document.title, document.date) == ("A title", "2019-03-04")


def test_an_epub_is_read_in_the_order_of_its_spine(tmp_path: Path) -> None:
    files.epub(tmp_path / "b.epub", "<h1>One</h1><p>First.</p>", "<p>Second.</p>")
    (document,) = _read(tmp_path / "b.epub")
    assert document.text == "One\n\nFirst.\n\nSecond."
    assert (document.title, document.date) == ("A book", "2019-03-04")
    assert document.metadata["author"] == "Ada"


def test_mail_gives_text_subject_date_sender_and_attachments(tmp_path: Path) -> None:
    message = EmailMessage()
    message["From"], message["Subject"] = "Ada <Ada@Mail.Firm.co.uk>", "The bridge"
    message["Date"] = "Mon, 04 Mar 2019 10:00:00 +0000"
    message.set_content("It still stands.\n")
    message.add_alternative("<p>Another form.</p>", subtype="html")
    page = "<p>Attached words.</p>"
    message.add_attachment(page, subtype="html", filename="../page.html")
    message.add_attachment(b"\x00", maintype="image", subtype="png", filename="x.png")
    message.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="bad.pdf")
    path = tmp_path / "m.eml"
    path.write_bytes(message.as_bytes())
    documents, refused = read_all([path])
    body, attached = documents
    assert (body.text.strip(), body.title, body.date) == ("It still stands.", "The bridge", "2019-03-04")
    assert with_source(body).source == "ada@mail.firm.co.uk"
    assert with_source(body, "domain").source == "firm.co.uk"
    assert body.metadata["attachments"] == "3"
    assert (attached.path, attached.text) == (f"{path}/page.html", "Attached words.")
    assert with_source(attached).source == "ada@mail.firm.co.uk"
    assert [error.path for error in refused] == [f"{path}/bad.pdf"]


def test_mail_in_html_alone_is_read_and_what_is_no_mail_is_not(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_text("From: a@b.example\nContent-Type: text/html\n\n<p>Good <b>words</b>.</p>")
    (tmp_path / "b.eml").write_text("only some words\n")
    documents, refused = read_all([tmp_path])
    assert [one.text for one in documents] == ["Good words."]
    assert "is not an e-mail" in refused[0].reason


@pytest.mark.long
def test_parquet_rows_are_documents(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"Text": "one", "year": 2010, "when": date(2019, 3, 4), "tags": ["x"]},
        {"Text": None, "year": 2011, "when": None, "tags": []},
        {"Text": "three", "year": None, "when": None, "tags": []},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "r.parquet")
    pq.write_table(pa.Table.from_pylist([{"a": 1}]), tmp_path / "s.parquet")
    documents, refused = read_all([tmp_path])
    assert [(one.text, one.row) for one in documents] == [("one", 1), ("three", 3)]
    assert documents[0].metadata == {"year": "2010", "when": "2019-03-04"}
    assert refused[0].reason == "has no text"
    assert refused[1].reason.startswith("has no column 'text' (its columns: a); name the one that holds")


def test_csv_that_is_ragged_or_broken_keeps_its_good_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(
        b'\xef\xbb\xbftext;year\r\none;1\r\ntwo\r\ncaf\xe9;3\r\nfour;4\r\n"open;5\r\n'
    )
    (tmp_path / "b.tsv").write_text("text\tyear\nfive, and six\t5\n")
    (tmp_path / "c.csv").write_bytes(b"text,year\rseven,7\reight,8\r")
    documents, refused = read_all([tmp_path])
    assert [one.text for one in documents] == ["one", "four", "five, and six", "seven", "eight"]
    reasons = {Path(error.path).name: error.reason for error in refused}
    assert reasons.pop("a.csv:5").endswith("the rows after it are not read")
    assert reasons == {"a.csv:2": "has 1 fields where the header has 2", "a.csv:3": "is not UTF-8 text"}


def test_a_csv_in_utf_16_is_told_to_be_saved_as_utf_8(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("text;year\none;1\n".encode("utf-16"))
    _, [refused] = read_all([tmp_path])
    assert (refused.reason, refused.code) == ("is not UTF-8 text but UTF-16", "encoding")


@pytest.mark.slow
def test_a_large_file_of_rows_is_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    line = json.dumps({"text": "words " * 100}) + "\n"
    with path.open("w") as file:
        for _ in range(30):
            file.write(line * 1_000)
    with open_reader() as read:
        tracemalloc.start()
        try:
            reading = read(path, "")
            count = sum(1 for _ in reading.documents)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert path.stat().st_size > 18_000_000
    assert (count, peak < 8_000_000) == (30_000, True)


def test_bad_rows_without_end_are_counted_and_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("{}\n" * 5_000)
    with open_reader() as read:
        refused = read(path, "").refused
    assert len(refused) == 1_001
    assert refused[-1].reason == "4000 more rows were refused"


@pytest.mark.long
def test_a_row_or_a_file_past_its_limit_is_refused_and_the_limit_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "' + "a" * 9_000_000 + '"}\n{"text": "good"}\n')
    with (tmp_path / "b.txt").open("wb") as file:
        file.truncate(2 << 30)
    documents, refused = read_all([tmp_path])
    assert [one.text for one in documents] == ["good"]
    assert refused[0].reason == "is longer than 8 MB, the limit of a row"
    assert refused[1].reason == "is larger than 64 MB, the limit"


def test_metadata_too_long_for_every_passage_is_left_out_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "x", "raw": "a" * 20_000, "year": 2010}) + "\n")
    assert _read(path)[0].metadata == {"year": "2010", "left_out": "raw"}


@pytest.mark.long
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "row"}\n' * 3_000)
    with open_reader() as read:
        rows = iter(read(path, "").documents)
        next(rows)
        with path.open("a") as file:
            file.write('{"text": "more"}\n')
        with pytest.raises(IngestError, match="changed while it was read") as changed:
            list(rows)
        assert changed.value.code == "changed"
        assert sum(1 for _ in read(path, "").documents) == 3_001


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as held:
        held.bind(str(tmp_path / "s.txt"))
        _, refused = read_all([tmp_path, Path("/dev/zero")])
    assert [error.reason for error in refused] == [
        "is a named pipe, not a regular file",
        "is a socket, not a regular file",
        "is a device, not a regular file",
    ]


def test_links_are_followed_inside_the_folder_only_and_never_in_circles(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("Secret.")
    root = tmp_path / "docs"
    (root / "a").mkdir(parents=True)
    (root / ".kept").mkdir()
    (root / ".kept" / "k.txt").write_text("Kept.")
    (root / "a" / "x.txt").write_text("Plain.")
    (root / "a" / "loop").symlink_to(root)
    (root / "self").symlink_to(root / "self")
    (root / "b").symlink_to(root / ".kept")
    (root / "out.txt").symlink_to(tmp_path / "secret.txt")
    (root / "up").symlink_to(tmp_path)
    (root / "y.txt").symlink_to(root / "a" / "x.txt")
    refused: list[IngestError] = []
    found = [(str(path.relative_to(root)), folder) for path, folder in find_files(root, refused)]
    assert found == [("a/x.txt", "a"), ("b/k.txt", "b"), ("y.txt", "")]
    assert sorted(Path(error.path).name for error in refused) == ["out.txt", "self", "up"]
    with pytest.raises(IngestError, match="link"):
        find_files(root)
    (document,) = read_all([root / "out.txt"])[0]  # given by itself, it is meant
    assert document.text == "Secret."


def test_patterns_that_the_shell_left_alone_are_expanded(tmp_path: Path) -> None:
    for name in ("wiki/a.md", "wiki/deep/b.md", "news/c.md", "news/d.txt", "e.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = find_files(tmp_path / "**" / "*.md")
    assert [(str(path.relative_to(tmp_path)), folder) for path, folder in found] == [
        ("e.md", ""),
        ("news/c.md", "news"),
        ("wiki/a.md", "wiki"),
        ("wiki/deep/b.md", "wiki"),
    ]
    assert [path.name for path, _ in find_files(tmp_path / "ne*")] == ["c.md", "d.txt"]
    with pytest.raises(IngestError, match="no file matches"):
        find_files(tmp_path / "*.pdf")


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        (b"\nSome words.\n", ["\nSome words."[1:]]),
        (b'\n{"text": "one"}\n{broken\n{"text": "two"}\n', ["one", "two"]),
        (b'{\n"text": "not rows"\n}\n', ['{\n"text": "not rows"\n}']),
    ],
)
def test_standard_input_is_one_text_or_rows(given: bytes, texts: list[str]) -> None:
    ((path, folder),) = find_files(Path("-"))
    with open_reader(stdin=io.BytesIO(given)) as read:
        documents = list(read(path, folder).documents)
    assert [one.text for one in documents] == texts
    assert with_source(documents[0]).source == "stdin"


def test_standard_input_that_is_empty_or_binary_is_refused() -> None:
    for given, reason in ((b"", "is empty"), (b" \n", "is empty"), (b"\x00\x01", "is a binary file")):
        with open_reader(stdin=io.BytesIO(given)) as read, pytest.raises(IngestError, match=reason):
            read(Path("-"), "")


def test_a_name_that_is_not_utf_8_is_read_and_shown_safely(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    (tmp_path / name).mkdir()
    (tmp_path / name / f"{name}\n.txt").write_text("Words.")
    (tmp_path / name / f"{name}.csv").write_text("a,b\n")
    documents, refused = read_all([tmp_path])
    (document,) = documents
    assert document.path.endswith("caf\\xe9/caf\\xe9\\x0a.txt")
    assert with_source(document).source == "caf\\xe9"
    str(refused[0]).encode("utf-8")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://www.census.example/a?b", "census.example"),
        ("https://news.bbc.co.uk:8080/x", "bbc.co.uk"),
        ("https://ada.github.io/", "ada.github.io"),
        ("http://192.168.0.1/x", "192.168.0.1"),
        ("http://[2001:db8::1]:80/", "2001:db8::1"),
        ("http://localhost/", "localhost"),
        ("HTTP://WWW.BBC.CO.UK./", "bbc.co.uk"),
        ("mailto:a@b.example", ""),
        ("not a url", ""),
    ],
)
def test_the_domain_of_a_url_is_the_one_that_is_registered(url: str, expected: str) -> None:
    assert domain(url) == expected


def test_text_in_utf_16_with_its_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Words, ça va.".encode("utf-16"))
    assert _read(tmp_path / "a.txt")[0].text == "Words, ça va."
