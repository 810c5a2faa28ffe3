"""A harbour's papers in the formats that people have: rules in two versions, minutes, a table, a web page."""

from __future__ import annotations

from pathlib import Path

import docx

from disputatio.api.indexing import Index
from disputatio.eval.reporting.run_folders import RunFolders
from disputatio.server.options import Access, StorageOptions
from disputatio.server.service import Service
from tests.page.town import reader
from tests.server.ferry import ferry
from tests.store.files import pdf_of

QUOTE = "The mooring fee is 15 EUR a night"
OLD = """# Harbour rules

Date: 2019-04-01

The mooring fee is 12 EUR a night. Boats longer than 12 metres moor at the north quay.

## Basin

Swimming in the basin is not allowed.
"""
WEB = """<html><head><title>Visitors of the harbour</title><meta name="date" content="2021-06-30"></head>
<body><article><h1>Visitors of the harbour</h1><p>Swimming in the basin is allowed from May to September.</p>
<p>The lighthouse opens at ten. <script>window.hit = 1</script></p></article></body></html>"""
FARES = "Route,Fare (EUR),Minutes\nIsland,4,20\nHarbour,9,45\nLighthouse,6,30\n"


def page_of_lines(*lines: str) -> bytes:
    """Return the drawing of a page of lines, from the top."""
    moves = " ".join(f"({line}) Tj 0 -16 Td" for line in lines)
    return f"BT /F1 11 Tf 24 262 Td {moves} ET".encode()


def papers(folder: Path) -> Path:
    """Write the papers."""
    folder.mkdir(exist_ok=True)
    (folder / "harbour-rules-2019.md").write_text(OLD, encoding="utf-8")
    (folder / "visitors.html").write_text(WEB, encoding="utf-8")
    (folder / "fares.csv").write_text(FARES, encoding="utf-8")
    first = page_of_lines("Harbour rules, version 2", "In force from 2023-01-01.", "This page has the names.")
    second = page_of_lines(
        "Fees", "The mooring fee is 15", "EUR a night. Boats longer than", "12 metres moor at the south quay."
    )
    (folder / "harbour-rules-v2.pdf").write_bytes(pdf_of(first, second))
    minutes = docx.Document()
    minutes.add_heading("Minutes of the harbour board", 1)
    minutes.add_paragraph("The board met on 2022-11-03.")
    minutes.add_paragraph("It resolved that the mooring fee is 15 EUR a night.")
    minutes.save(str(folder / "minutes-2022-11-03.docx"))
    return folder


def archive(folder: Path, *, writing: bool = True) -> Service:
    """Return a service over an index of the papers."""
    index = Index.open(folder / "harbour.index", embedder="none")
    index.ingest(papers(folder / "papers"))
    (folder / "runs").mkdir(exist_ok=True)
    keeping = StorageOptions(
        uploads=folder / "harbour.index.uploads",
        runs=RunFolders(folder / "runs"),
        changes=folder / "harbour.index.changes.sqlite",
        baseline=folder / "harbour.index.accepted.json",
    )
    return ferry(folder, model=reader(), index=index, access=Access(writing=writing), keeping=keeping)
