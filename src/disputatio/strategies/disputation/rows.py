"""Rows of tables that were written out: the one cell that a question asks for, read by code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from disputatio.reliability.similarity import content_stems
from disputatio.strategies.disputation.kinds import Kind, find_asked_kinds, kinds_of_value
from disputatio.text import bare_words, stem
from disputatio.values import canonical, states
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
_YES = frozenset(("yes", "✓", "✔", "✅", "☑", ":white_check_mark:", ":heavy_check_mark:"))
_NO = frozenset(("no", "✗", "✘", "❌", "✖", ":x:"))
_VERSION = re.compile(r"(?P<sign>[<>]=?|[≤≥])?\s?(?<![\d.])(?P<number>\d{1,3}(?:\.\d{1,6}){0,5})(?!\d)")
_UNMEASURED = frozenset[Kind](("amount", "count", "frequency", "number", "other", "person", "place"))
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
    >>> cell_in("What does a jar of linden honey cost?", "Honey: Linden; Jar: 500 g; Price in florins: 7.2.")
    '7.2'
    >>> cell_in("How many pumps has Oak?", "State: Oak; Population: 3576452; Engineers: 0.006.")
    ''
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
    wanted, kinds = content_stems(question), find_asked_kinds(question)
    cells = _cells(text)
    keys = _keys(cells, question)
    if not keys:
        return ""
    others = [
        (name, value) for at, (name, value) in enumerate(cells) if at not in keys and len(value) <= _LONGEST
    ]
    if kinds and not kinds & _UNMEASURED:
        others = [cell for cell in others if not (found := _kinds_in(*cell)) or found & kinds]
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
        best = [cell for cell in others if _kinds_in(*cell) & kinds - _UNMEASURED]
    return best[0][1] if len(best) == 1 else ""


def _kinds_in(name: str, value: str) -> frozenset[Kind]:
    """Return the kinds of a cell's values; of bare numbers the kind that the name of their column tells.

    >>> _kinds_in("Jar", "500 g"), _kinds_in("Weight in kg", "7.2"), _kinds_in("Jar", "blue")
    (frozenset({'mass'}), frozenset({'mass'}), frozenset())
    """
    kinds = [kinds_of_value(each) for each in canonical(value).values]
    told = frozenset[Kind]().union(*kinds) - {"number"}
    return told or (find_asked_kinds(f"What is the {name}?") if kinds else told)


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


def cells_of(text: str) -> tuple[tuple[str, str], ...]:
    """Return the names and values of the cells of a row of a table; none for any other text.

    >>> cells_of("Boat: Yacht; Night: 20 crowns."), cells_of("A night costs 20 crowns.")
    ((('Boat', 'Yacht'), ('Night', '20 crowns')), ())
    """
    return tuple(_cells(text)) if is_row(text) else ()


def _is_property(name: str) -> bool:
    return bool(set(map(stem, bare_words(name))) & _PROPERTIES)


def _cells(text: str) -> list[tuple[str, str]]:
    return [_split_cell(cell) for cell in text.strip().removesuffix(".").split("; ")]


def _keys(cells: Sequence[tuple[str, str]], question: str) -> set[int]:
    """Return the places of the cells that a question names, days in whatever form they are written."""
    wanted, days = content_stems(question), _days_in(question)
    return {at for at, (_, value) in enumerate(cells) if _is_in(value, wanted) or days & _days_in(value)}


def _days_in(text: str) -> set[str]:
    return {day.iso for day in days_in(text) if len(day.iso) == len("2026-03-14")}


def _split_cell(cell: str) -> tuple[str, str]:
    name, mark, value = cell.partition(": ")
    return (name, value) if mark else ("", cell)


def _is_in(value: str, wanted: frozenset[str]) -> bool:
    """Return whether a question names what a cell holds: all its figures and most of its other words."""
    stems = content_stems(value)
    figures = {each for each in stems if any(map(str.isdigit, each))}
    words = {each for each in stems - figures if len(each) > 1}
    return bool(words or figures) and figures <= wanted and 2 * len(words & wanted) > len(words) - (not words)


# --- cells that are marks: "✓", ":x:", "yes" ------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class MarkedRow:
    """A row with its marks by the names of their columns, and its other cells as one text."""

    text: str
    key: str
    marks: tuple[tuple[str, str], ...]


def find_marked_rows(text: str) -> list[MarkedRow]:
    """Return the rows of a text that have a mark."""
    found = []
    for row in [line.strip() for line in text.splitlines() if is_row(line)][:_ROWS]:
        cells = [(name, value, value.strip(" .\ufe0f").lower()) for name, value in _cells(row)]
        marks = tuple((name, mark) for name, _, mark in cells if mark in _YES | _NO | {"x"})
        key = " ".join(value for _, value, mark in cells if mark not in _YES | _NO | {"x"})
        found += [MarkedRow(row, key, marks)] if marks else []
    return found


def is_mark(answer: str, text: str) -> bool:
    """Return whether an answer is a mark of the rows of a text, but for yes and no; its colons may be lost.

    A bare "x" in one row alone may be the name of a key.

    >>> is_mark("x", "Version: 1.1.x; Supported: :x:."), is_mark("x", "Action: close; Key: x.")
    (True, False)
    """
    rows = find_marked_rows(text)
    words = {"yes", "no"} if len(rows) > 1 else {"yes", "no", "x"}
    return _bare(answer) in {_bare(mark) for row in rows for _, mark in row.marks if mark not in words}


def _bare(mark: str) -> str:
    return mark.strip(" .:\ufe0f").lower()


def cell_with_mark(question: str, text: str, copied: str) -> tuple[str, str, bool] | None:
    """Return the row that a question names, the column and whether its mark is a yes; None where there is not one.

    A version names the row of its series, else the words of both do. A bare "x" is no where other marks say yes, and
    else a cross in a list. What was `copied` is a mark or in a row of two cells, unless the question names the column.

    >>> text = "Version: 1.2.x; Supported: ✅.\\nVersion: 1.1.x; Supported: :x:."
    >>> cell_with_mark("Is Borg 1.1 supported?", text, "x"), cell_with_mark("Is it fast?", text, "very")
    (('Version: 1.1.x; Supported: :x:.', 'Supported', False), None)
    """
    rows, wanted = find_marked_rows(text), content_stems(question)
    named = [len(wanted & set(map(stem, bare_words(row.key)))) for row in rows]
    versions = _VERSION.findall(question)
    if versions and any(_VERSION.search(row.key) for row in rows):
        named = [2 * any(_is_of(row.key, number) for _, number in versions) - 1 for row in rows]
    has_yes = any(mark in _YES for row in rows for _, mark in row.marks)
    is_copied = is_mark(copied, text)
    is_of_pair = any(row.text.count("; ") == 1 and states(row.text, copied) for row in rows)
    told = {}
    for row, hits in zip(rows, named, strict=True):
        columns = [len(wanted & set(map(stem, bare_words(name)))) for name, _ in row.marks]
        for (name, mark), column in zip(row.marks, columns, strict=True):
            if 0 <= hits == max(named) and column == max(columns) and (column or is_copied or is_of_pair):
                is_yes = mark in _YES or (mark == "x" and not has_yes)
                told[name, is_yes] = row.text, name, is_yes
    return next(iter(told.values())) if len(told) == 1 else None


def _is_of(key: str, number: str) -> bool:
    """Return whether the key of a row has a version among its own: "1.1.x" and "< 2.0" have 1.1.

    >>> _is_of("1.1.x", "1.1.4"), _is_of("< 1.1", "1.1"), _is_of("< 1.1", "1.0"), _is_of("1.10", "1.1")
    (True, False, True, False)
    """
    asked = [int(part) for part in number.split(".")]
    for sign, written in _VERSION.findall(key):
        own = [int(part) for part in written.split(".")]
        size = min(len(own), len(asked))
        is_same = own[:size] == asked[:size]
        beyond = asked < own if sign[:1] in ("<", "≤") else asked > own
        if (is_same and sign not in ("<", ">")) or (sign and beyond and not is_same):
            return True
    return False
