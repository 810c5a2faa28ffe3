"""Write the folder of documents that the questions of bench/documents are asked about; the same bytes each time.

    python -m bench.documents.build DIR [--metadata found|stated] [--part PART]

The texts are in bench/documents/sources, those of the part `aside2` in sources2 and so on; those of `public` and `yesno` parts are fetched. A name
that ends in `.docx.md`, `.pdf.md`, `.epub.md` or `.pptx.md` becomes a file of that format, one in `.xlsx.csv` or
`.ods.csv` a workbook; any other file is copied. With `--metadata stated` the folder also
has the file `disputatio.yaml`, in which its owner states dates, sources and authority.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import html
import io
import re
import textwrap
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

from bench.documents.public import PUBLIC, public_documents, public_names, public_sidecar
from bench.documents.questions import HERE, Part

SIDECAR = "disputatio.yaml"
# When a converter made the files that state no day of their own.
EXPORTED = datetime(2026, 8, 3, 9, 0, tzinfo=UTC)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # of all members of zip packages
_WIDTH, _LINES = 92, 56  # letters of a line and lines of a page of a PDF

Metadata = Literal["found", "stated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A heading (its level in `level`), a paragraph, an item of a list or a table."""

    kind: Literal["heading", "paragraph", "item", "table"]
    text: str = ""
    level: int = 0
    rows: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A source of a document: its properties and its blocks."""

    blocks: Sequence[Block]
    title: str = ""
    author: str = ""
    created: datetime = field(default=EXPORTED)


def read_text(source: str) -> Text:
    """Read the plain source of a document: properties between lines of `---`, then headings, paragraphs, items, tables."""
    properties: dict[str, str] = {}
    if head := re.match(r"---\n(.*?)\n---\n", source, re.DOTALL):
        properties = dict(line.split(": ", 1) for line in head[1].splitlines())
        source = source[head.end() :]
    created = properties.get("created")
    return Text(
        blocks=list(_blocks(source)),
        title=properties.get("title", ""),
        author=properties.get("author", ""),
        created=datetime.fromisoformat(created).replace(tzinfo=UTC) if created else EXPORTED,
    )


def _blocks(source: str) -> Iterator[Block]:
    for part in re.split(r"\n\s*\n", source.strip()):
        lines = part.strip().splitlines()
        if lines[0].startswith("|"):
            rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
            yield Block(kind="table", rows=[row for row in rows if set("".join(row)) - set("-")])
        elif lines[0].startswith("- "):
            yield from (Block(kind="item", text=line.removeprefix("- ")) for line in lines)
        elif lines[0].startswith("#"):
            marks, _, text = lines[0].partition(" ")
            yield Block(kind="heading", text=text, level=len(marks))
        else:
            yield Block(kind="paragraph", text=" ".join(lines))


# --- formats --------------------------------------------------------------------------------------
def packed(members: Mapping[str, bytes | str]) -> bytes:
    """Return a zip package in which nothing tells when it was made; `mimetype` is not compressed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            about = zipfile.ZipInfo(name, date_time=_EPOCH)
            about.compress_type = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(about, data)
    return out.getvalue()


def _repacked(raw: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return packed({name: archive.read(name) for name in archive.namelist()})


def docx(source: str) -> bytes:
    """Return a document of a word processor."""
    import docx as word

    text, document = read_text(source), word.Document()
    about = document.core_properties
    about.title, about.author, about.created, about.modified = (
        text.title,
        text.author,
        text.created.replace(tzinfo=None),
        text.created.replace(tzinfo=None),
    )
    for block in text.blocks:
        if block.kind == "heading":
            document.add_heading(block.text, level=block.level)
        elif block.kind == "table":
            table = document.add_table(rows=0, cols=len(block.rows[0]))
            for row in block.rows:
                for cell, value in zip(table.add_row().cells, row, strict=True):
                    cell.text = value
        else:
            document.add_paragraph(block.text, style="List Bullet" if block.kind == "item" else None)
    out = io.BytesIO()
    document.save(out)
    return _repacked(out.getvalue())


def pptx(source: str) -> bytes:
    """Return slides: one for each heading."""
    import pptx as slides

    text, deck = read_text(source), slides.Presentation()
    about = deck.core_properties
    about.title, about.author, about.created, about.modified = (
        text.title,
        text.author,
        text.created.replace(tzinfo=None),
        text.created.replace(tzinfo=None),
    )
    body, first = None, True
    for block in text.blocks:
        if block.kind == "heading":
            slide = deck.slides.add_slide(deck.slide_layouts[1])
            slide.shapes.title.text, body = block.text, slide.placeholders[1].text_frame
            first = True
        elif body is not None:
            paragraph = body.paragraphs[0] if first else body.add_paragraph()
            paragraph.text, first = block.text, False
    out = io.BytesIO()
    deck.save(out)
    return _repacked(out.getvalue())


def pdf(source: str) -> bytes:
    """Return a PDF with its text set in Helvetica, line by line, as a word processor prints it."""
    text = read_text(source)
    lines: list[tuple[int, str]] = []
    for block in text.blocks:
        size = {0: 10, 1: 16}.get(block.level, 12)
        if block.kind == "table":
            lines += [(size, "    ".join(row)) for row in block.rows]
        else:
            mark = "- " if block.kind == "item" else ""
            lines += [(size, line) for line in textwrap.wrap(mark + block.text, _WIDTH * 10 // size)]
        lines.append((6, ""))
    pages = [lines[start : start + _LINES] for start in range(0, len(lines), _LINES)]
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
    ]
    for number, page in enumerate(pages):
        stream, height = b"BT 56 790 Td\n", 0
        for size, line in page:
            height = size + 3
            shown = re.sub(rb"([()\\])", rb"\\\1", line.encode("cp1252"))
            stream += b"/F1 %d Tf 0 -%d Td (%s) Tj\n" % (size, height, shown)
        content = zlib.compress(stream + b"ET", 9)
        about = f"/Contents {5 + 2 * number} 0 R/Resources<</Font<</F1 3 0 R>>>>"
        objects.append(f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]{about}>>".encode())
        objects.append(b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(content), content))
    made = text.created.strftime("D:%Y%m%d%H%M%SZ")
    objects.append(f"<</Producer(Office export)/CreationDate({made})/Title({text.title})>>".encode("cp1252"))
    out, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj" % number + content + b"endobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    trailer = b"trailer<</Size %d/Root 1 0 R/Info %d 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        size,
        size - 1,
        len(out),
    )
    return out + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + trailer


def epub(source: str) -> bytes:
    """Return a book with a chapter for each heading of the first level."""
    text = read_text(source)
    chapters: list[list[str]] = []
    for block in text.blocks:
        if block.kind == "heading" and block.level == 1:
            chapters.append([])
        tag = {"heading": f"h{block.level}", "item": "li"}.get(block.kind, "p")
        chapters[-1].append(f"<{tag}>{html.escape(block.text)}</{tag}>")
    names = [f"chapter{number}" for number in range(1, len(chapters) + 1)]
    about = (
        f"<dc:title>{html.escape(text.title)}</dc:title><dc:creator>{html.escape(text.author)}</dc:creator>"
        f"<dc:language>en</dc:language><dc:date>{text.created:%Y-%m-%d}</dc:date>"
    )
    items = "".join(
        f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>' for name in names
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in names)
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/">{about}</metadata><manifest>{items}</manifest>'
        f"<spine>{spine}</spine></package>"
    )
    container = (
        '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile '
        'full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    pages = {
        f"OEBPS/{name}.xhtml": f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{"".join(parts)}</body></html>'
        for name, parts in zip(names, chapters, strict=True)
    }
    return packed(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": container,
            "OEBPS/book.opf": package,
            **pages,
        }
    )


def sheets_of(source: str) -> dict[str, list[list[str]]]:
    """Return the rows of each sheet; a line `# sheet: NAME` begins one."""
    parts = re.split(r"^# sheet: (.+)\n", source, flags=re.MULTILINE)[1:]
    return {
        name: list(csv.reader(rows.strip().splitlines()))
        for name, rows in zip(parts[::2], parts[1::2], strict=True)
    }


def xlsx(source: str) -> bytes:
    """Return a workbook; figures are stored as figures."""
    import xlsxwriter

    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    book.set_properties({"created": EXPORTED.replace(tzinfo=None)})
    for name, rows in sheets_of(source).items():
        sheet = book.add_worksheet(name)
        for number, row in enumerate(rows):
            for column, value in enumerate(row):
                if _is_figure(value):
                    sheet.write_number(number, column, float(value))
                elif value:
                    sheet.write_string(number, column, value)
    book.close()
    return _repacked(out.getvalue())


def ods(source: str) -> bytes:
    """Return a workbook of the open format; figures are stored as figures."""
    tables = "".join(
        f'<table:table table:name="{html.escape(name)}">'
        + "".join(f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>" for row in rows)
        + "</table:table>"
        for name, rows in sheets_of(source).items()
    )
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text")
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces} office:version="1.2">'
        f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body></office:document-content>"
    )
    manifest = (
        '<?xml version="1.0" encoding="UTF-8"?><manifest:manifest manifest:version="1.2" '
        'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>'
    )
    return packed({"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": manifest})


def _ods_cell(value: str) -> str:
    stored = (
        f'office:value-type="float" office:value="{value}"'
        if _is_figure(value)
        else 'office:value-type="string"'
    )
    return f"<table:table-cell {stored}><text:p>{html.escape(value)}</text:p></table:table-cell>"


def _is_figure(value: str) -> bool:
    return re.fullmatch(r"[1-9]\d*(?:\.\d+)?|0\.\d+", value) is not None


MADE: Mapping[str, Callable[[str], bytes]] = {
    ".docx.md": docx,
    ".pptx.md": pptx,
    ".pdf.md": pdf,
    ".epub.md": epub,
    ".xlsx.csv": xlsx,
    ".ods.csv": ods,
}


# --- the folder -----------------------------------------------------------------------------------
def sources_of(part: Part) -> Path:
    """Return the folder of the sources of a part's documents."""
    return HERE / f"sources{_number_of(part)}"


def count_files(part: Part) -> int:
    """Return the number of a part's documents; nothing is fetched for it."""
    if part in PUBLIC:
        return len(public_names(part))
    return sum(path.is_file() for path in sources_of(part).rglob("*"))


def _number_of(part: Part) -> str:
    """Return what the names of a part's sources and sidecar end in: the first two parts share a folder."""
    return "" if part in ("development", "aside") else part.removeprefix("aside")


def documents(metadata: Metadata = "found", part: Part = "development") -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of every document, in the order of paths; some parts' are fetched."""
    if part in PUBLIC:
        yield from sorted(public_documents(part))
        if metadata == "stated":
            yield SIDECAR, public_sidecar(part).encode()
        return
    folder = sources_of(part)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name, data = path.relative_to(folder).as_posix(), path.read_bytes()
        ending = next((ending for ending in MADE if name.endswith(ending)), "")
        if ending:
            name, data = name.removesuffix(Path(ending).suffix), MADE[ending](data.decode())
        yield name, data
    if metadata == "stated":
        yield SIDECAR, (HERE / f"stated{_number_of(part)}.yaml").read_bytes()


def build(folder: Path, metadata: Metadata = "found", part: Part = "development") -> str:
    """Write the documents of a part below a folder and return the SHA-256 of their paths and contents."""
    return lay(folder, documents(metadata, part))


def lay(folder: Path, files: Iterable[tuple[str, bytes]]) -> str:
    """Write files below a folder and return the SHA-256 of their paths and contents."""
    digest = hashlib.sha256()
    for name, data in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        digest.update(f"{name} {hashlib.sha256(data).hexdigest()}\n".encode())
    return digest.hexdigest()


def main() -> None:
    """Build the folder and print what it holds."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.documents.build", description=__doc__.splitlines()[0]
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--metadata", choices=get_args(Metadata), default="found")
    parser.add_argument("--part", choices=get_args(Part), default="development")
    asked = parser.parse_args()
    print(f"sha256 {build(asked.folder, asked.metadata, asked.part)}")


if __name__ == "__main__":
    main()
