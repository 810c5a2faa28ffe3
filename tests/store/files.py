"""Small files of the formats that readers know, made in code."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from disputatio.errors import IngestError
from disputatio.store.ingesting.documents import Document
from disputatio.store.ingesting.files import find_files
from disputatio.store.ingesting.readers import open_reader

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
)
PACKAGE = (
    '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
    "<dc:title>A book</dc:title><dc:creator>Ada</dc:creator><dc:date>2019-03-04</dc:date></metadata>"
    '<manifest><item id="b" href="two.xhtml"/><item id="a" href="one%20a.xhtml"/></manifest>'
    '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>'
)
# Each entity is ten of the next: a thousand million letters from a few lines.
LAUGHS = (
    '<!DOCTYPE x [<!ENTITY j "haha">'
    + "".join(f'<!ENTITY {a} "{f"&{b};" * 10}">' for a, b in zip("abcdefghi", "bcdefghij", strict=True))
    + "]>"
)


def read_all(paths: Sequence[Path]) -> tuple[list[Document], list[IngestError]]:
    """Return every document under the paths, and every file or row that was refused."""
    documents: list[Document] = []
    refused: list[IngestError] = []
    with open_reader() as read:
        for root in paths:
            for path, folder in find_files(root, refused):
                try:
                    reading = read(path, folder)
                    documents += reading.documents
                    refused += reading.refused
                except IngestError as error:
                    refused.append(error)
    return documents, refused


def pack(path: Path, members: Mapping[str, str | bytes]) -> Path:
    """Return a zip archive of so many members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def replaced(raw: bytes, name: str, data: str | bytes) -> bytes:
    """Return a zip package with another content for one of its members."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.namelist():
            new.writestr(member, data if member == name else old.read(member))
    return out.getvalue()


def docx_of(body: str) -> bytes:
    """Return a DOCX file with such a body, in Word's XML."""
    import docx

    out = io.BytesIO()
    document = docx.Document()
    document.core_properties.title = "A title"
    document.save(out)
    text = f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    return replaced(out.getvalue(), "word/document.xml", text)


def epub(path: Path, one: str, two: str = "<p>Second.</p>", package: str = PACKAGE) -> Path:
    """Return an EPUB of two chapters, listed in the other order than they are read in."""
    return pack(
        path,
        {
            "META-INF/container.xml": CONTAINER,
            "OEBPS/book.opf": package,
            "OEBPS/two.xhtml": f"<html><body>{two}</body></html>",
            "OEBPS/one a.xhtml": f"<html><body>{one}</body></html>",
        },
    )


def pdf_of(*pages: bytes) -> bytes:
    """Return a PDF with a page for each stream of drawing operators; font F1 is there."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, stream in enumerate(pages):
        packed = zlib.compress(stream, 9)
        about = f"/Contents {5 + 2 * number} 0 R/Resources<</Font<</F1 3 0 R>>>>"
        objects.append(f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]{about}>>".encode())
        head = f"<</Length {len(packed)}/Filter/FlateDecode>>stream\n".encode()
        objects.append(head + packed + b"\nendstream")
    out, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj" % number + content + b"endobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    head = b"xref\n0 %d\n0000000000 65535 f \n" % size + table
    return out + head + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (size, len(out))


def drawn(words: str) -> bytes:
    """Return the operators that draw some words."""
    return f"BT /F1 12 Tf 20 200 Td ({words}) Tj ET".encode()
