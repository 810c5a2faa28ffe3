"""PDF: the text page by page, with where each page begins; what a reader would not see removed."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from disputatio.store.ingesting.hidden import PARTED, clean_and_count, orders_in
from disputatio.store.ingesting.parsers import (
    LARGEST_BOOK,
    LARGEST_TEXT,
    Format,
    ParsedPart,
    RefusedDocument,
    headline,
    too_much_text,
)
from disputatio.store.ingesting.parsers.pdf_layout import Layout
from disputatio.store.ingesting.visibility.pdf_page import SHOWING, Box, Follower
from disputatio.versions.families import FILE

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

FORMATS = (
    Format(
        kind="pdf",
        suffixes=(".pdf",),
        content_types=("application/pdf",),
        packages={"pypdf": "pypdf", "tinycss2": "tinycss2"},
        largest=LARGEST_BOOK,
        is_attachment=True,
    ),
)


def parse(file: BinaryIO) -> Iterator[ParsedPart]:
    """Yield the whole file as one document; title and date from its own record (the date is the file's)."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    reader = PdfReader(file)
    try:
        if reader.is_encrypted and not reader.decrypt(""):
            raise RefusedDocument("is locked by a password", "encrypted")
    except (DependencyError, NotImplementedError) as error:
        raise RefusedDocument(
            f"is encrypted in a way that is not read here ({error})", "encrypted"
        ) from error
    texts: list[str] = []
    starts: list[int] = []
    layers = _layers_off(reader)
    orders: dict[str, str] = {}
    at = hidden = 0
    for page in reader.pages:
        words, unseen, lines = _page(page, layers)
        text, removed = clean_and_count(words)
        orders |= orders_in(lines)
        text = text.strip()
        # A page without words begins where the next one does: offsets never go back.
        starts.append(at)
        hidden += unseen + removed
        if text:
            texts.append(text)
            at += len(text) + 2
        if at > LARGEST_TEXT:
            raise too_much_text()
    if not texts:
        raise RefusedDocument("has no text, as a scan has none", "scan")
    text = "\n\n".join(texts)
    about = _about(reader)
    about["title"] = about.get("title") or _headline(texts[0])
    yield {"document": {"text": text, **about, **orders}, "hidden": hidden, "pages": starts}


def _headline(text: str) -> str:
    """Return the first line of a page where it can only be a title: what follows does not go on with it.

    >>> _headline("Mooring rules\\nVersion 2"), _headline("The office lets berths and\\nkeeps the list.")
    ('Mooring rules', '')
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()][:2]
    return headline(lines[0]) if len(lines) == 2 and not lines[1][0].islower() else ""


def _page(page: PageObject, layers: frozenset[int]) -> tuple[str, int, str]:
    """Return the text of a page that is seen, how many characters are not, and the lines hidden in part."""
    follower = Follower(
        page=_sides(page), resources=page.get("/Resources", {}).get_object(), switched_off=layers
    )
    layout = Layout()
    words = page.extract_text(
        visitor_operand_before=lambda operator, operands, _, __: follower.see(operator, operands),
        visitor_operand_after=lambda operator, *_: follower.leave(operator),
        visitor_text=layout.see,
    )
    hidden = follower.finish()
    if not hidden:
        return layout.text(), 0, ""
    number = 0

    def blank(operator: bytes, operands: list[Any], *_: object) -> None:
        nonlocal number
        if operator in SHOWING:
            if number in hidden and operands:
                operands[-1] = type(operands[-1])()
            number += 1

    layout = Layout()
    seen = page.extract_text(visitor_operand_before=blank, visitor_text=layout.see)
    shown = set(seen.splitlines())
    lines = PARTED.join(line for line in words.splitlines() if line not in shown)
    return layout.text(), max(0, len("".join(words.split())) - len("".join(seen.split()))), lines


def _sides(page: PageObject) -> Box:
    """Return the part of the page that is shown: its crop within its paper."""
    crop, paper = page.cropbox, page.mediabox
    return (
        max(float(crop.left), float(paper.left)),
        max(float(crop.bottom), float(paper.bottom)),
        min(float(crop.right), float(paper.right)),
        min(float(crop.top), float(paper.top)),
    )


def _layers_off(reader: PdfReader) -> frozenset[int]:
    """Return the objects of the layers that a viewer does not show at first."""
    try:
        layers: Any = reader.root_object["/OCProperties"].get_object()
        settings = layers["/D"].get_object()
        off = [layer.idnum for layer in settings.get("/OFF", ())]
        if settings.get("/BaseState") == "/OFF":
            on = {layer.idnum for layer in settings.get("/ON", ())}
            off += [layer.idnum for layer in layers["/OCGs"] if layer.idnum not in on]
    except (KeyError, AttributeError, TypeError):
        return frozenset()
    return frozenset(off)


def _about(reader: PdfReader) -> dict[str, str]:
    """Return the title of the file's record and the day on which it was made; nothing if broken.

    Programs write the name of the file that was printed as its title: "Microsoft Word - fees.docx".
    """
    try:
        about = reader.metadata
        title = str(about.title or "").strip() if about else ""
        created = about.creation_date if about else None
    except Exception:  # noqa: BLE001  (a broken record is no reason to lose the text)
        return {}
    return {
        "title": "" if FILE.fullmatch(title) else title[:1000],
        "date": created.date().isoformat() if isinstance(created, datetime.datetime) else "",
        "date_origin": "file",
    }
