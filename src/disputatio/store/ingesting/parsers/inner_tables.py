"""Tables within pages: each row of values written out as a line, "column: value"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from disputatio.store.ingesting.grids import row_text, spelled_rows
from disputatio.store.ingesting.parsers.plain_text import plain_text

_MOST_SPAN = 100  # rows or columns that one cell covers
_MOST_CELLS = 50_000  # of a table; a larger one is left as it is
_MARKED = 3  # rows of a header


def write_out_tables(tree: Any) -> None:
    """Write out the rows of every table that has names for its columns, each in one cell.

    Tables that hold tables, or that only lay out a page, stay as they are.
    """
    for table in list(tree.iter("table")):
        if _holds_table(table):
            continue
        rows = list(_rows(table))
        grid = spread([[(plain_text(cell), *_spans(cell)) for cell in row] for row in rows])
        lines = spelled_rows(grid, marked=_marked(rows), headed=_is_headed(rows))
        if lines:
            _replace(table, [*_captions(table), *lines])


def spread(rows: Sequence[Sequence[tuple[str, int, int]]]) -> list[list[str]]:
    """Return the cells of a table, given as text, rows and columns covered, each in all places that it
    covers.

    >>> spread([[("North", 2, 1), ("1", 1, 1)], [("2", 1, 1)]])
    [['North', '1'], ['North', '2']]
    """
    grid: list[list[str]] = []
    below: dict[int, tuple[str, int]] = {}  # of each column, the cell that reaches down and for how many rows
    cells = 0
    for row in rows:
        line: list[str] = []
        waiting = list(reversed(row))
        while waiting or len(line) in below:
            if len(line) in below:
                text, left = below.pop(len(line))
                if left > 1:
                    below[len(line)] = (text, left - 1)
                line.append(text)
                continue
            text, down, across = waiting.pop()
            for _ in range(across):
                if down > 1:
                    below[len(line)] = (text, down - 1)
                line.append(text)
        cells += len(line)
        if cells > _MOST_CELLS:
            return []
        grid.append(line)
    return grid


def _holds_table(table: Any) -> bool:
    inner = table.iter("table")
    next(inner)
    return next(inner, None) is not None


def _rows(table: Any) -> Iterator[list[Any]]:
    for row in table.iter("tr"):
        cells = [cell for cell in row if cell.tag in ("td", "th")]
        if cells:
            yield cells


def _spans(cell: Any) -> tuple[int, int]:
    """Return how many rows and columns a cell covers."""
    return _number(cell.get("rowspan")), _number(cell.get("colspan"))


def _number(word: str | None) -> int:
    is_number = word is not None and word.isascii() and word.isdecimal() and len(word) < 6
    return min(max(int(word), 1), _MOST_SPAN) if word and is_number else 1


def _marked(rows: Sequence[Sequence[Any]]) -> int:
    """Return the number of first rows that the page marks as a header."""
    marked = 0
    for row in rows[:_MARKED]:
        parent = row[0].getparent().getparent()
        if not (all(cell.tag == "th" for cell in row) or (parent is not None and parent.tag == "thead")):
            break
        marked += 1
    return marked


def _is_headed(rows: Sequence[Sequence[Any]]) -> bool:
    """Return whether each row begins with a cell that is marked as a name, and the others are not."""
    return all(row[0].tag == "th" and all(cell.tag == "td" for cell in row[1:]) for row in rows)


def _captions(table: Any) -> list[str]:
    captions = (" ".join(plain_text(caption).split()) for caption in table.iter("caption"))
    return [row_text([], [caption]) for caption in captions if caption]


def _replace(table: Any, lines: Sequence[str]) -> None:
    """Give a table one cell a row, so that what extracts the main text of a page still sees a table."""
    for child in list(table):
        table.remove(child)
    table.text = None
    for line in lines:
        row = table.makeelement("tr")
        cell = row.makeelement("td")
        cell.text = line
        row.append(cell)
        table.append(row)
