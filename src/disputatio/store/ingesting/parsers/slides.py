"""Presentations (.pptx): each slide a page, with its speaker's notes; hidden slides and shapes removed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from disputatio.store.ingesting.grids import single, spell_rows
from disputatio.store.ingesting.hidden import PARTED, clean_and_count, ink_of, orders_in
from disputatio.store.ingesting.parsers import (
    LARGEST_BOOK,
    LARGEST_TEXT,
    Format,
    ParsedPart,
    RefusedDocument,
    too_much_text,
)
from disputatio.store.ingesting.parsers.web import spread
from disputatio.store.ingesting.parsers.word import check_package

FORMATS = (
    Format(
        kind="pptx",
        suffixes=(".pptx",),
        content_types=("application/vnd.openxmlformats-officedocument.presentationml.presentation",),
        packages={"pptx": "python-pptx", "lxml": "lxml", "tinycss2": "tinycss2"},
        largest=LARGEST_BOOK,
        is_attachment=True,
    ),
)

_DEEPEST = 20  # groups within groups


def parse(file: BinaryIO) -> Iterator[ParsedPart]:
    """Yield the whole presentation as one document; slides have the numbers that the program shows."""
    import pptx

    check_package(file)
    deck = pptx.Presentation(file)
    size = (int(deck.slide_width or 0), int(deck.slide_height or 0))
    texts: list[str] = []
    starts: list[int] = []
    orders: dict[str, str] = {}
    at = hidden = 0
    for slide in deck.slides:
        is_hidden = slide.element.get("show") in ("0", "false")
        seen, unseen = _texts(slide.shapes, size)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            seen += [slide.notes_slide.notes_text_frame.text]
        text, removed = clean_and_count("\n\n".join(filter(None, (part.strip() for part in seen))))
        unseen += [text] if is_hidden else []
        hidden += removed + sum(map(ink_of, unseen))
        orders |= orders_in(PARTED.join(unseen))
        # A slide without words begins where the next one does: offsets never go back.
        starts.append(at)
        if text and not is_hidden:
            texts.append(text)
            at += len(text) + 2
        if at > LARGEST_TEXT:
            raise too_much_text()
    if not texts:
        raise RefusedDocument("has no text on a slide that is shown", "no_text")
    about = deck.core_properties
    date = about.modified or about.created
    fields = {
        "text": "\n\n".join(texts),
        "title": str(about.title or "")[:1000],
        "date": date.date().isoformat() if date else "",
        "date_origin": "file",
        "author": str(about.author or "")[:1000],
        **orders,
    }
    yield {"document": fields, "hidden": hidden, "pages": starts}


def _texts(shapes: Any, size: tuple[int, int], depth: int = 0) -> tuple[list[str], list[str]]:
    """Return the texts of shapes that are seen, and of those that are hidden or lie off the slide."""
    seen: list[str] = []
    unseen: list[str] = []
    for shape in shapes:
        if hasattr(shape, "shapes"):  # a group
            inner = _texts(shape.shapes, size, depth + 1) if depth < _DEEPEST else ([], [])
            within = (inner[0], inner[1])
        else:
            within = ([_text(shape)], [])
        if _is_unseen(shape, size, in_group=depth > 0):
            unseen += [*within[0], *within[1]]
        else:
            seen += within[0]
            unseen += within[1]
    return seen, unseen


def _text(shape: Any) -> str:
    """Return the paragraphs of a shape, or a line for each row of its table, its values by column."""
    if getattr(shape, "has_table", False):
        grid = spread(
            [
                [
                    (single(cell.text), cell.span_height, cell.span_width)
                    for cell in row.cells
                    if not cell.is_spanned
                ]
                for row in shape.table.rows
            ]
        )
        if rows := spell_rows(grid, marked=int(shape.table.first_row)):
            return "\n".join(rows)
        return "\n".join(" | ".join(cells) for cells in grid if any(cells))
    return str(shape.text_frame.text) if shape.has_text_frame else ""


def _is_unseen(shape: Any, size: tuple[int, int], *, in_group: bool) -> bool:
    """Return whether a shape is marked hidden, or lies wholly off the slide; within groups it cannot."""
    about = next(shape.element.iter("{*}cNvPr"), None)
    if about is not None and str(about.get("hidden") or "").lower() in ("1", "true"):
        return True
    if in_group or not all(size) or None in (shape.left, shape.top, shape.width, shape.height):
        return False
    right, bottom = shape.left + shape.width, shape.top + shape.height
    return bool(right <= 0 or bottom <= 0 or shape.left >= size[0] or shape.top >= size[1])
