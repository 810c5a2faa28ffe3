"""Visible text: each trick is found or a stated limit, each file that hides nothing is read whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lxml.html
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disputatio.store.ingesting.documents import FileReading
from disputatio.store.ingesting.readers import open_reader
from disputatio.store.ingesting.visibility.pdf_page import Follower
from disputatio.store.ingesting.visibility.selectors import TooMuch
from disputatio.store.ingesting.visibility.web_page import remove_hidden
from tests.store.ingesting import hidden_cases

_CASES = list(hidden_cases.cases())
_WORDS = (
    *(
        "p",
        ".a",
        "#b",
        "*",
        ":not(",
        ")",
        ">",
        "~",
        " ",
        ",",
        "{",
        "}",
        "display",
        ":",
        "none",
        ";",
        "&",
        "[",
    ),
    *(
        "@media",
        "@keyframes k",
        "calc(",
        "1px",
        "-",
        "url(",
        "]",
        "=",
        '"',
        ":nth-child(2n+1)",
        "color",
        "red",
    ),
    *("!important", "var(--x)", "--x", "transform", "scale(0)", "filter:blur(9px)", "margin", "font", "0/0"),
)
_OPERATORS = (
    *(
        b"q",
        b"Q",
        b"cm",
        b"BT",
        b"Tf",
        b"Tm",
        b"Td",
        b"T*",
        b"Tj",
        b"TJ",
        b"'",
        b'"',
        b"re",
        b"W",
        b"n",
        b"f",
    ),
    *(b"Do", b"gs", b"BDC", b"EMC", b"g", b"scn", b"cs", b"Tr", b"Tz", b"sh", b"m", b"l"),
)


@pytest.fixture(scope="module")
def read() -> Iterator[Callable[[Path, str], FileReading]]:
    with open_reader() as reader:
        yield reader


@pytest.mark.long
@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
def test_a_trick_is_found_or_a_stated_limit_and_a_plain_look_is_read(
    case: hidden_cases.Case, read: Callable[[Path, str], FileReading], tmp_path: Path
) -> None:
    path = tmp_path / f"a.{case.suffix}"
    path.write_bytes(case.data)
    [document] = read(path, "").documents
    is_read = hidden_cases.UNSEEN.split()[1] in document.text
    assert is_read is (not case.hides or case.name in hidden_cases.LIMITS)
    assert ("hidden" in document.metadata) is not is_read


def test_there_are_as_many_tricks_as_the_decision_page_says_at_the_least() -> None:
    tricks = [case.name for case in _CASES if case.hides]
    assert len(tricks) >= 54
    assert set(hidden_cases.LIMITS) <= set(tricks)


def test_style_sheets_that_ask_too_much_refuse_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("disputatio.store.ingesting.visibility.selectors._MOST_STEPS", 50)
    page = "<style>div p b {color: red}</style>" + "<div><p><b>x</b></p></div>" * 100
    with pytest.raises(TooMuch):
        remove_hidden(lxml.html.document_fromstring(page))


def test_deep_selectors_take_steps_for_each_part_and_element_and_no_more() -> None:
    css = " ".join(["div"] * 60) + " p {color: red}"
    page = f"<style>{css}</style>" + "<div>" * 150 + "<p>x</p>" * 200
    assert remove_hidden(lxml.html.document_fromstring(page)) == ""  # with powers it would be TooMuch


def test_variables_that_double_each_other_end() -> None:
    css = "".join(f"--v{at}: var(--v{at + 1}) var(--v{at + 1});" for at in range(40))
    page = f"<style>p {{ {css} color: var(--v0) }}</style><p>x</p>"
    assert remove_hidden(lxml.html.document_fromstring(page)) == ""


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(_WORDS), max_size=60))
def test_no_style_sheet_breaks_the_reading(words: list[str]) -> None:
    css = " ".join(words)
    page = f'<div class="a"><p id="b" style="{css.replace(chr(34), "")}">Words</p></div>'
    remove_hidden(lxml.html.document_fromstring(f"<style>{css}</style>{page}"))


_operand: Any = st.one_of(st.floats(), st.integers(), st.text(max_size=3), st.binary(max_size=3), st.none())


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(_OPERATORS), st.lists(_operand, max_size=7)), max_size=40))
def test_no_operators_break_the_following_of_a_page(operations: list[tuple[bytes, list[Any]]]) -> None:
    follower = Follower(page=(0, 0, 300, 300), resources={})
    for operator, operands in operations:
        follower.see(operator, operands)
        follower.leave(operator)
    assert follower.finish() <= set(range(follower.number))
