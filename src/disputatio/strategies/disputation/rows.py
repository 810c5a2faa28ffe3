"""Rows of tables that were written out: the one cell that a question asks for, read by code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from disputatio.reliability.similarity import content_stems
from disputatio.strategies.disputation.kinds import asked_kinds, kinds_of_value
from disputatio.text import bare_words, stem
from disputatio.values import canonical
from disputatio.versions.days import days_in

_PERSONS = frozenset(
    map(stem, ("name", "person", "contact", "head", "manager", "leader", "owner", "director"))
)
_PROPERTIES = frozenset(
    map(stem, ("property", "attribute", "feature", "item", "specification", "parameter", "merkmal"))
)
_CELL = re.compile(
    r"[^\W\d_a-zß-ÿ][^:;.!?]{0,80}: \S|[^\W_][^:;.!?a-z]{0,20}: \S"
)  # the name of a column, and a value
_ROWS = 200  # rows of one text that are read
_LONGEST = 200  # characters of a cell that is an answer


def is_row(text: str) -> bool:
    """Return whether a text is a row of a table, written out.

    >>> is_row("Pump: X210; Weight: 14 kg."), is_row("He said: go; and they went.")
    (True, False)
    """
    line = text.strip()
    cells = line.rstrip(".").split("; ")
    return "\n" not in line and len(cells) > 1 and all(map(_CELL.match, cells[1:]))


def cell_in(question: str, text: str) -> str:
    """Return the cell that a question asks for of a row, or of rows that stand within a text; empty if not told.

    Within other text only a column that the question names, or the value of a property, is told.

    >>> cell_in("How heavy is the pump X210?", "Pump: X210; Weight: 14 kg; Price: 90 EUR.")
    '14 kg'
    >>> cell_in("Which pump weighs 14 kg?", "Pump: X210; Weight: 14 kg; Price: 90 EUR.")
    'X210'
    >>> text = "Pumps of 2025\\nPump: X200; Oil: 9 l; Fat: 2 l.\\nPump: X210; Oil: 8 l; Fat: 3 l."
    >>> cell_in("How much oil is in the X210?", text), cell_in("How much water is in the X210?", text)
    ('8 l', '')
    >>> cell_in("What is the noise of the X200?", "Pump X200\\nProperty: Noise; Value: 58 dB.")
    '58 dB'
    """
    alone = is_row(text)
    rows = [text] if alone else [line for line in text.splitlines() if is_row(line)][:_ROWS]
    cells = {cell for row in rows if (cell := _cell_of(question, row, alone=alone))}
    return cells.pop() if len(cells) == 1 else ""


def _cell_of(question: str, text: str, *, alone: bool) -> str:
    wanted, kinds = content_stems(question), asked_kinds(question)
    cells = _cells(text)
    keys = _keys(cells, question)
    if not keys:
        return ""
    others = [
        (name, value) for at, (name, value) in enumerate(cells) if at not in keys and len(value) <= _LONGEST
    ]
    if len(others) == 1 and all(_is_property(cells[at][0]) for at in keys):
        return others[0][1]
    named = [len(wanted & set(map(stem, bare_words(name)))) for name, _ in others]
    if any(named):
        best = [cell for cell, hits in zip(others, named, strict=True) if hits == max(named)]
    elif not alone:
        return ""
    elif kinds & {"person"}:
        best = [(name, value) for name, value in others if _PERSONS & set(map(stem, bare_words(name)))][:1]
    else:
        best = [
            (name, value)
            for name, value in others
            if any(kinds_of_value(found) & kinds - {"number"} for found in canonical(value).values)
        ]
    return best[0][1] if len(best) == 1 else ""


def is_about_another(question: str, text: str) -> bool:
    """Return whether a text is a row of a table, and none of its cells is what a question names.

    A table of properties and their values has a thing of its own, which its title names.

    >>> is_about_another("How heavy is the pump X200?", "Pump: X210; Weight: 14 kg; Price: 90 EUR.")
    True
    >>> is_about_another("How heavy is it?", "Property: Weight; Value: 14 kg.")
    False
    """
    if not is_row(text):
        return False
    cells = _cells(text)
    is_list = any(_is_property(name) for name, _ in cells)
    wanted = content_stems(question)
    return not is_list and not wanted <= set(map(stem, bare_words(text))) and not _keys(cells, question)


def _is_property(name: str) -> bool:
    return bool(set(map(stem, bare_words(name))) & _PROPERTIES)


def _cells(text: str) -> list[tuple[str, str]]:
    return [_divided(cell) for cell in text.strip().removesuffix(".").split("; ")]


def _keys(cells: Sequence[tuple[str, str]], question: str) -> set[int]:
    """Return the places of the cells that a question names, days in whatever form they are written."""
    wanted, days = content_stems(question), _days_in(question)
    return {at for at, (_, value) in enumerate(cells) if _is_in(value, wanted) or days & _days_in(value)}


def _days_in(text: str) -> set[str]:
    return {day.iso for day in days_in(text) if len(day.iso) == len("2026-03-14")}


def _divided(cell: str) -> tuple[str, str]:
    name, mark, value = cell.partition(": ")
    return (name, value) if mark else ("", cell)


def _is_in(value: str, wanted: frozenset[str]) -> bool:
    """Return whether a question names what a cell holds: all its figures and most of its other words."""
    stems = content_stems(value)
    figures = {each for each in stems if any(map(str.isdigit, each))}
    words = {each for each in stems - figures if len(each) > 1}
    return bool(words or figures) and figures <= wanted and 2 * len(words & wanted) > len(words) - (not words)
