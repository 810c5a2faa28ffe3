"""Presentations: each slide a page with its notes; what is not shown is removed and counted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pptx
import pytest
from pptx.util import Inches

from disputatio.errors import IngestError
from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting.documents import Document, page_of
from disputatio.store.ingesting.readers import open_reader


def _deck(path: Path, fill: Callable[[Any], object]) -> Path:
    deck = pptx.Presentation()
    deck.core_properties.title = "Bridges"
    deck.core_properties.modified = datetime(2019, 3, 4)  # noqa: DTZ001  (the format keeps no zone)
    fill(deck)
    deck.save(str(path))
    return path


def _slide(deck: Any, title: str, notes: str = "") -> Any:
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = title
    if notes:
        slide.notes_slide.notes_text_frame.text = notes
    return slide


def _box(slide: Any, words: str, left: float = 1, top: float = 2) -> Any:
    box = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(2), Inches(1))
    box.text_frame.text = words
    return box


def _only(path: Path) -> Document:
    with open_reader() as read:
        (document,) = read(path, "").documents
    return document


@pytest.mark.long
def test_slides_are_pages_with_text_tables_groups_and_notes(tmp_path: Path) -> None:
    def fill(deck: Any) -> None:
        first = _slide(deck, "Severin", "The mayor was there.")
        _box(first, "Opened in 1931.")
        table = first.shapes.add_table(2, 2, Inches(1), Inches(3), Inches(4), Inches(1)).table
        for at, words in enumerate(("Name", "Year", "Severin", "1931")):
            table.cell(at // 2, at % 2).text = words
        deck.slides.add_slide(deck.slide_layouts[6])
        group = _slide(deck, "Deutz").shapes.add_group_shape()
        group.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "Opened in 1948."

    document = _only(_deck(tmp_path / "d.pptx", fill))
    assert document.text.split("\n\n") == [
        "Severin",
        "Opened in 1931.",
        "Name: Severin; Year: 1931.",
        "The mayor was there.",
        "Deutz",
        "Opened in 1948.",
    ]
    assert (document.title, document.date, document.date_origin) == ("Bridges", "2019-03-04", "file")
    pages = [page_of(document, document.text.index(words)) for words in ("Severin", "mayor", "Deutz", "1948")]
    assert pages == ["1", "1", "3", "3"]


@pytest.mark.long
def test_hidden_slides_and_shapes_and_what_lies_off_the_slide_are_removed_and_counted(tmp_path: Path) -> None:
    def fill(deck: Any) -> None:
        seen = _slide(deck, "Seen.")
        marked = _box(seen, "marked")
        marked.element.nvSpPr.cNvPr.set("hidden", "1")
        _box(seen, "far away", left=-30)
        hidden = _slide(deck, "Whole slide", "and notes")
        hidden.element.set("show", "0")
        _slide(deck, "Last.")

    document = _only(_deck(tmp_path / "d.pptx", fill))
    assert document.text == "Seen.\n\nLast."
    assert document.metadata["hidden"] == str(len("marked") + len("far away") + len("Whole slide and notes"))
    assert page_of(document, document.text.index("Last")) == "3"


@pytest.mark.long
def test_a_deck_without_words_is_refused(tmp_path: Path) -> None:
    path = _deck(tmp_path / "d.pptx", lambda deck: deck.slides.add_slide(deck.slide_layouts[6]))
    with pytest.raises(IngestError, match="has no text on a slide that is shown"):
        _only(path)
    (tmp_path / "b.pptx").write_bytes(b"PK\x03\x04 no package")
    with pytest.raises(IngestError, match="is not a readable PPTX file"):
        _only(tmp_path / "b.pptx")


@pytest.mark.long
def test_a_found_passage_says_on_which_slide_it_stands(tmp_path: Path) -> None:
    def fill(deck: Any) -> None:
        for number in range(1, 6):
            _box(_slide(deck, f"Slide {number}"), f"The zebra number {number} walks. " * 40)

    index = FolderIndex.open(tmp_path / "ix")
    index.ingest(_deck(tmp_path / "d.pptx", fill))
    (hit,) = index.search("zebra number 4", k=1)
    assert "4" in hit.passage.metadata["page"].split("-")
