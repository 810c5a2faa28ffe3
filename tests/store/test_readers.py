"""Files become documents; what cannot be read is named and never stops the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from disputatio.errors import IngestError, InputError
from disputatio.store.readers import Document, clean, find_files, open_reader, read_all, with_source

_PAGE = """<html><head><title>Broken Bow</title><meta name="date" content="2019-03-04">
<meta property="og:url" content="https://www.census.example/bow"></head><body><nav>Home | About</nav>
<article><h1>Broken Bow</h1><p>{}</p></article></body></html>"""


def _pdf(path: Path, words: str) -> None:
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
    writer.add_metadata({"/Title": "A report"})
    with path.open("wb") as file:
        writer.write(file)


def _read(path: Path) -> list[Document]:
    with open_reader() as read:
        return list(read(path, "").documents)


def test_front_matter_is_taken_off_the_text(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text(
        "---\ntitle: 'A: b'\nsource: census\ndate: 2020-01-01\nplace: north\n---\n\n# Head\n\nBody.\n"
    )
    (document,) = _read(file)
    assert document.text == "# Head\n\nBody."
    assert (document.title, document.source, document.date) == ("A: b", "census", "2020-01-01")
    assert document.metadata == {"place": "north"}


def test_a_rule_that_is_not_front_matter_stays_in_the_text(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("---\nA sentence, no fields.\n---\nMore.")
    assert _read(file)[0].text.startswith("---\nA sentence")


def test_a_markdown_title_is_its_first_heading(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("# The title\n\nBody.")
    assert _read(file)[0].title == "The title"


def test_html_gives_main_text_title_date_and_address(tmp_path: Path) -> None:
    file = tmp_path / "p.html"
    file.write_text(_PAGE.format("The bridge did not collapse in 1990. It still stands. " * 6))
    (document,) = _read(file)
    assert "did not collapse" in document.text
    assert "Home | About" not in document.text
    assert (document.title, document.date) == ("Broken Bow", "2019-03-04")
    assert with_source(document).source == "census.example"


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


def test_a_pdf_gives_its_text_and_title(tmp_path: Path) -> None:
    _pdf(tmp_path / "r.pdf", "There were 3,559 people.")
    (document,) = _read(tmp_path / "r.pdf")
    assert document.text == "There were 3,559 people."
    assert document.title == "A report"


def test_csv_rows_are_documents(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text('Text,source,year\n"one,\ntwo",s1,2010\nthree,s2,\n')
    one, two = _read(file)
    assert (one.text, one.source, one.metadata, one.row) == ("one,\ntwo", "s1", {"year": "2010"}, 1)
    assert (two.text, two.row) == ("three", 2)


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
    assert reasons["rows.jsonl:3"] == "has no text"
    assert reasons["rows.jsonl:4"] == "'text' is not text"
    assert "is not a JSON object" in reasons["rows.jsonl:5"]
    assert reasons["rows.jsonl:6"] == "is not a JSON object"
    assert reasons["ragged.csv:2"] == "has 1 fields where the header has 2"
    assert reasons["columns.csv"].startswith("has no column 'text'")
    assert reasons["half.pdf"].startswith("is not a readable PDF file")
    assert "dangling.txt" in reasons
    assert len(reasons) == 11


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
