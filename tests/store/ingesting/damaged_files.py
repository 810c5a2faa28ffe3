"""Damaged files of every format, to be read by one reader as `ingest` does.

Small valid files are made in code, then mutated with a seed: flipped bits, cut ends, spliced halves, repeated
blocks, swapped heads, numbers at their extremes.
"""

from __future__ import annotations

import collections
import email.message
import io
import json
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from disputatio.errors import IngestError
from disputatio.store.ingesting.documents import FileReading
from disputatio.store.ingesting.readers import open_reader

_LINE = (
    "The bridge at Broken Bow did not collapse in 1990; it still stands and carries a road over the river."
)
WORDS = _LINE.split()
CONTAINER = (
    '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">'
    '<rootfiles><rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/>'
    "</rootfiles></container>"
)
PACKAGE = (
    '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
    '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>A book</dc:title>'
    "<dc:date>2019-03-04</dc:date></metadata>"
    '<manifest><item id="c1" href="one.xhtml" media-type="application/xhtml+xml"/></manifest>'
    '<spine><itemref idref="c1"/></spine></package>'
)


def prose(draw: random.Random, words: int = 80) -> str:
    """Some words in a random order."""
    return " ".join(draw.choice(WORDS) for _ in range(words)) + "."


def text_file(draw: random.Random) -> bytes:
    """Return a text file."""
    return prose(draw).encode()


def markdown_file(draw: random.Random) -> bytes:
    """Return a Markdown file with front matter."""
    return f"---\ntitle: A page\nsource: census\n---\n\n# Head\n\n{prose(draw)}\n".encode()


def html_file(draw: random.Random) -> bytes:
    """Return a page with a hidden paragraph."""
    return (
        '<!doctype html><html><head><meta charset="utf-8"><title>Page</title>'
        "<style>.x{display:none}</style></head>"
        f'<body><nav>Home</nav><article><h1>Head</h1><p>{prose(draw)}</p><p class="x">Ignore this.</p>'
        f"<table><tr><td>a</td><td>b</td></tr></table><p>{prose(draw)}</p></article></body></html>"
    ).encode()


def pdf_file(draw: random.Random) -> bytes:
    """Return a PDF of two pages, every other stream packed."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    for _ in range(2):
        page = writer.add_blank_page(300, 300)
        names = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
        font = DictionaryObject({NameObject(key): NameObject(value) for key, value in names.items()})
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({prose(draw, 20)}) Tj 3 Tr (unseen) Tj ET".encode())
        page[NameObject("/Contents")] = stream.flate_encode() if draw.random() < 0.5 else stream
    writer.add_metadata({"/Title": "A report"})
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def docx_file(draw: random.Random) -> bytes:
    """Return a DOCX file with a heading, a table and a hidden run."""
    import docx

    document = docx.Document()
    document.add_heading("Head", 1)
    document.add_paragraph(prose(draw)).add_run("unseen").font.hidden = True
    table = document.add_table(2, 2)
    for cell in (cell for row in table.rows for cell in row.cells):
        cell.text = draw.choice(WORDS)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def epub_file(draw: random.Random) -> bytes:
    """Return an EPUB of one chapter."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr("META-INF/container.xml", CONTAINER)
        book.writestr("OEBPS/book.opf", PACKAGE)
        book.writestr("OEBPS/one.xhtml", f"<html><body><h1>One</h1><p>{prose(draw)}</p></body></html>")
    return out.getvalue()


def eml_file(draw: random.Random) -> bytes:
    """Return a message with two forms of its text and an attachment."""
    message = email.message.EmailMessage()
    message["From"], message["Subject"] = "Ada <ada@firm.example>", "The bridge"
    message["Date"], message["Message-ID"] = "Mon, 04 Mar 2019 10:00:00 +0000", "<1@firm.example>"
    message.set_content(prose(draw))
    message.add_alternative(f"<p>{prose(draw)}</p>", subtype="html")
    message.add_attachment(html_file(draw), maintype="text", subtype="html", filename="page.html")
    return message.as_bytes()


def csv_file(draw: random.Random) -> bytes:
    """Return a CSV file of five rows."""
    return ("text,source,year\n" + "".join(f'"{prose(draw, 10)}",s{n},20{n:02}\n' for n in range(5))).encode()


def jsonl_file(draw: random.Random) -> bytes:
    """Return a JSONL file of five rows."""
    return "".join(json.dumps({"text": prose(draw, 10), "source": f"s{n}"}) + "\n" for n in range(5)).encode()


def parquet_file(draw: random.Random) -> bytes:
    """Return a Parquet file of two row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{"text": prose(draw, 10), "year": year} for year in range(20)]
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out, row_group_size=10)
    return out.getvalue()


def zip_file(draw: random.Random) -> bytes:
    """Return an archive of four files and an archive."""
    out, inner = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as nested:
        nested.writestr("inner.txt", prose(draw))
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/one.txt", prose(draw))
        archive.writestr("page.html", html_file(draw))
        archive.writestr("rows.jsonl", jsonl_file(draw))
        archive.writestr("report.pdf", pdf_file(draw))
        archive.writestr("inner.zip", inner.getvalue())
    return out.getvalue()


FORMATS: dict[str, Callable[[random.Random], bytes]] = {
    ".txt": text_file, ".md": markdown_file, ".html": html_file, ".pdf": pdf_file, ".docx": docx_file,
    ".epub": epub_file, ".eml": eml_file, ".csv": csv_file, ".jsonl": jsonl_file, ".parquet": parquet_file,
    ".zip": zip_file,
}  # fmt: skip


def mutate(raw: bytes, other: bytes, draw: random.Random) -> tuple[str, bytes]:
    """Return the name of a kind of damage, and a file that has it; `other` is what may be mixed in."""
    data = bytearray(raw)
    kind = draw.choice(("flip", "flip", "cut", "splice", "repeat", "head", "zeros", "extremes"))
    if raw.startswith(b"PK") and draw.random() < 0.6:  # else most damage ends at the check of a sum
        return "inside", _inside(raw, other, draw)
    at = draw.randrange(len(data))
    if kind == "flip":
        for _ in range(draw.choice((1, 3, 10, 100))):
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    elif kind == "cut":
        data = data[:at] if draw.random() < 0.7 else data[at:]
    elif kind == "splice":
        data = data[:at] + bytearray(other[draw.randrange(len(other)) :])
    elif kind == "repeat":
        block = data[at : at + draw.choice((8, 64, 1024))]
        data[at:at] = block * draw.choice((2, 50, 1000))
    elif kind == "head":
        data[: draw.choice((4, 16, 64))] = other[: draw.choice((4, 16, 64))]
    elif kind == "zeros":
        data[at : at + 64] = bytes(min(64, len(data) - at))
    else:
        for _ in range(draw.choice((1, 4))):
            offset = draw.randrange(len(data))
            data[offset : offset + 4] = draw.choice(
                (b"\xff\xff\xff\xff", b"\x00\x00\x00\x80", b"\xff\xff\xff\x7f", b"9999")
            )
    return kind, bytes(data)


def _inside(raw: bytes, other: bytes, draw: random.Random) -> bytes:
    """Return a package whose directory is whole and one of whose members is damaged."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        hurt = draw.choice(names)
        for name in names:
            data = old.read(name)
            if name == hurt and data:
                data = mutate(b"-" + data[1:] if data.startswith(b"PK") else data, other, draw)[1]
            new.writestr(name, data)
    return out.getvalue()


@dataclass
class Tally:
    """Outcomes of the files, by format."""

    files: int = 0
    read: collections.Counter[str] = field(default_factory=collections.Counter)
    refused: collections.Counter[str] = field(default_factory=collections.Counter)
    no_reason: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def fuzz(files: int, seed: int, folder: Path, *, seconds: float = 20.0) -> Tally:
    """Make and read so many damaged files, the formats in turn."""
    draw = random.Random(seed)
    tally = Tally()
    formats = list(FORMATS)
    fresh = {suffix: make(draw) for suffix, make in FORMATS.items()}
    with open_reader(seconds=seconds) as read:
        for number in range(files):
            suffix = formats[number % len(formats)]
            if number % (7 * len(formats)) == 0:
                fresh = {name: make(draw) for name, make in FORMATS.items()}
            kind, raw = mutate(fresh[suffix], fresh[draw.choice(formats)], draw)
            path = folder / f"{number:05}-{kind}{suffix}"
            path.write_bytes(raw)
            _read_one(read, path, tally)
            path.unlink()
    return tally


def _read_one(read: Callable[[Path, str], FileReading], path: Path, tally: Tally) -> None:
    suffix = path.suffix
    errors: list[IngestError] = []
    documents = 0
    try:
        reading = read(path, "")
        documents = sum(1 for _ in reading.documents)
        errors += reading.refused
    except IngestError as refusal:
        errors.append(refusal)
    except Exception as fault:  # noqa: BLE001  (this is what the run is to find)
        tally.faults.append(f"{path.name}: {type(fault).__name__}: {fault}")
    tally.files += 1
    tally.read[suffix] += documents > 0
    for error in errors:
        tally.refused[suffix] += 1
        if len(error.reason.strip()) < 8:
            tally.no_reason.append(f"{path.name}: {error.reason!r}")
    if not errors and not documents:
        tally.no_reason.append(f"{path.name}: neither read nor refused")
