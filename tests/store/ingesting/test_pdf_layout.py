"""Paragraphs of a page of a PDF: told by the distance of lines, their size and their font."""

from __future__ import annotations

from itertools import pairwise

import pytest

from disputatio.store.ingesting.parsers.pdf_layout import Layout
from disputatio.store.ingesting.split import find_heading, split

PAGE = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
Line = tuple[str, float, float, str]  # text, height, size, font


def text_of(lines: list[Line], page: tuple[float, ...] = PAGE) -> str:
    """Return the text of a page whose lines pypdf tells of, each with the end of the one before."""
    layout = Layout()
    layout.see("", PAGE, PAGE, None, 12.0)
    for number, (text, height, size, font) in enumerate(lines):
        place = (1.0, 0.0, 0.0, 1.0, 56.0, height)
        if number:
            layout.see("\n", page, place, {"/BaseFont": font}, size)
        layout.see(text, page, place, {"/BaseFont": font}, size)
    return layout.text()


PLAIN: list[Line] = [
    ("Rules of the hut", 770, 16, "/Helvetica"),
    ("1 Booking", 740, 12, "/Helvetica"),
    ("A bed is booked by telephone or on the page of the club, and a deposit of", 718, 10, "/Helvetica"),
    ("15 euros is asked for.", 705, 10, "/Helvetica"),
    ("2 Cancelling", 680, 12, "/Helvetica"),
    ("The deposit is given back to whoever cancels four days before they arrive, or", 658, 10, "/Helvetica"),
    ("when the prefecture warns of a storm.", 645, 10, "/Helvetica"),
]


def test_headings_stand_apart_and_lines_of_a_paragraph_together() -> None:
    text = text_of(PLAIN)
    assert text.split("\n\n") == [
        "Rules of the hut",
        "1 Booking",
        "A bed is booked by telephone or on the page of the club, and a deposit of\n15 euros is asked for.",
        "2 Cancelling",
        "The deposit is given back to whoever cancels four days before they arrive, or\n"
        "when the prefecture warns of a storm.",
    ]
    sections = [text[start:end] for start, end in split(text)]
    assert [section.splitlines()[0] for section in sections] == ["Rules of the hut", "2 Cancelling"]
    assert find_heading(text, text.index("The deposit is")) == "2 Cancelling"


def test_a_heading_in_bold_of_the_size_of_the_text_stands_apart() -> None:
    lines: list[Line] = [
        ("Orders are taken on any", 700, 10, "/Serif"),
        ("working day.", 688, 10, "/Serif"),
        ("Returns", 676, 10, "/Serif-Bold"),
        ("Within 14 days.", 664, 10, "/Serif"),
    ]
    assert text_of(lines) == "Orders are taken on any\nworking day.\n\nReturns\n\nWithin 14 days."


def test_rows_that_all_stand_apart_stay_together() -> None:
    rows: list[Line] = [(f"Item {n}    {n} euros", 500 - 20 * n, 10, "/Serif") for n in range(4)]
    text = text_of([("The prices of this", 600, 10, "/Serif"), ("year are these.", 588, 10, "/Serif"), *rows])
    assert text == "The prices of this\nyear are these.\n\n" + "\n".join(row[0] for row in rows)


@pytest.mark.parametrize("scale", [0.24, -0.24])
def test_a_page_that_is_scaled_or_turned_over_has_the_same_paragraphs(scale: float) -> None:
    page = (scale, 0.0, 0.0, scale, 0.0, 800.0)
    turned = [(text, height if scale > 0 else -height, size, font) for text, height, size, font in PLAIN]
    assert text_of(turned, page) == text_of(PLAIN)


def test_the_next_column_goes_on_at_the_top() -> None:
    left: list[Line] = [(f"left {n}", 700 - 12 * n, 10, "/Serif") for n in range(4)]
    right: list[Line] = [(f"right {n}", 700 - 12 * n, 10, "/Serif") for n in range(4)]
    paragraphs = text_of([*left, *right]).split("\n\n")
    assert [paragraph.count("\n") for paragraph in paragraphs] == [3, 3]
    assert all(one != other for one, other in pairwise(paragraphs))
