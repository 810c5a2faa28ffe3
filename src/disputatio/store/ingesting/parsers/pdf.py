"""PDF: the text page by page, with where each page begins; text drawn without ink removed."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from disputatio.store.ingesting.hidden import cleaned
from disputatio.store.ingesting.parsers import LARGEST_TEXT, ParsedPart, Refused

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

_RENDERING = re.compile(rb"\b[37]\s+Tr\b")
_SHOWING = (b"Tj", b"TJ", b"'", b'"')


def parse(file: BinaryIO) -> Iterator[ParsedPart]:
    """The whole file as one document; title and date from its own record (the date is the file's)."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    reader = PdfReader(file)
    try:
        if reader.is_encrypted and not reader.decrypt(""):
            raise Refused("is locked by a password: unlock it first")
    except (DependencyError, NotImplementedError) as error:
        raise Refused(f"is encrypted in a way that is not read here ({error}): unlock it first") from error
    texts: list[str] = []
    starts: list[int] = []
    at = hidden = 0
    for page in reader.pages:
        words, unseen = _page(page, reader)
        text, removed = cleaned(words)
        text = text.strip()
        # A page without words begins where the next one does: offsets never go back.
        starts.append(at)
        hidden += unseen + removed
        if text:
            texts.append(text)
            at += len(text) + 2
        if at > LARGEST_TEXT:
            raise Refused(f"has more than {LARGEST_TEXT:,} characters of text, the limit")
    if not texts:
        raise Refused("has no text: is it a scan? run OCR first")
    text = "\n\n".join(texts)
    yield {"document": {"text": text, **_about(reader)}, "hidden": hidden, "pages": starts}


def _page(page: PageObject, reader: PdfReader) -> tuple[str, int]:
    """The text of a page that is drawn with ink, and the number of characters that is not.

    Text without ink over a picture is what OCR lays over a scan: the picture shows it, so it stays.
    """
    words = page.extract_text()
    contents = page.get_contents()
    if contents is None or not _RENDERING.search(contents.get_data()) or _has_picture(page):
        return words, 0
    from pypdf.generic import ContentStream, NameObject

    stream = ContentStream(contents, reader)
    visible, modes = [], [0]
    for operands, operator in stream.operations:
        if operator == b"q":
            modes.append(modes[-1])
        elif operator == b"Q" and len(modes) > 1:
            modes.pop()
        elif operator == b"Tr" and operands:
            modes[-1] = int(operands[0])
        if not (operator in _SHOWING and modes[-1] in (3, 7)):
            visible.append((operands, operator))
    stream.operations = visible
    page[NameObject("/Contents")] = stream
    seen = page.extract_text()
    return seen, max(0, len("".join(words.split())) - len("".join(seen.split())))


def _has_picture(page: PageObject) -> bool:
    resources = page.get("/Resources")
    drawn = resources.get_object().get("/XObject") if resources is not None else None
    return bool(drawn is not None and drawn.get_object())


def _about(reader: PdfReader) -> dict[str, str]:
    """Title of the file's record and the day on which the file was made; a broken record says nothing."""
    try:
        about = reader.metadata
        title = str(about.title or "").strip() if about else ""
        created = about.creation_date if about else None
    except Exception:  # noqa: BLE001  (a broken record is no reason to lose the text)
        return {}
    return {
        "title": title[:1000],
        "date": created.date().isoformat() if isinstance(created, datetime.datetime) else "",
        "date_origin": "file",
    }
