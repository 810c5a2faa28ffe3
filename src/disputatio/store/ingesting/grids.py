"""Tables without a column of text: their header found, and each row written as "column: value".

What is written is the text that is stored, so a quote of a row is verbatim. A cell is a string; white space
in it is single.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from disputatio.values.units import symbol_of

HEADER_WITHIN = 10  # rows with words, of which one is the header
MOST_COLUMNS = 200
_LABEL = 80  # characters of the name of a column
_WIDE = 0.6  # of the widest row's cells that a header fills
_LETTER = re.compile(r"[^\W\d_]")
_VALUE_START = re.compile(r"[-+~<>≈(]?\s?[\d$€£¥]|https?:|\S{1,80}@\S")
_YEAR = re.compile(r"(?:19|20)\d\d")
_NUMBER = re.compile(r"[-+~<>≈]?\s?\d[\d.,' \u00a0\u202f]*")
_ENDS = ".!?。！？"
_CURRENCIES = ("EUR", "USD", "GBP", "CHF", "CNY", "JPY", "SEK", "NOK", "DKK", "PLN", "CZK")
# Last words of a name that are no unit, and words after which none is.
_NO_UNITS = frozenset(["in", "at", "no", "a", "b", "c", "d", "t", "s", "year", "week", "month", "day"])
_BEFORE_UNITS = ("per", "by")
# Names of a first column whose cells name what the others measure.
_PROPERTIES_WORDS = """
property attribute feature specification parameter characteristic eigenschaft merkmal kennwert caractéristique
propriété
"""
_PROPERTIES = frozenset(["", *_PROPERTIES_WORDS.split()])
_UNITS = frozenset(["unit", "units", "einheit", "einheiten", "unité", "unités"])


def find_header(rows: Sequence[Sequence[str]]) -> tuple[int, list[str]] | None:
    """Return the number of rows above the first values, and the column names; None without names. A header is
    the first wide row, if it has nothing but labels, with the next one where its cells span columns.

    >>> find_header([["Prices 2025", ""], ["Model", "Price (EUR)"], ["A1", "20"]])
    (2, ['Model', 'Price (EUR)'])
    >>> find_header([["A1", "20"], ["A2", "30"]]) is None
    True
    """
    widest = max((len(_drop_empty(row)) for row in rows), default=0)
    for number, row in enumerate(rows[:HEADER_WITHIN]):
        filled = _drop_empty(row)
        if len(set(filled)) < min(2, widest) or len(filled) < _WIDE * widest:
            continue
        if not _are_labels(filled):
            return None
        below = rows[number + 1] if number + 1 < len(rows) else ()
        spans = len(set(filled)) < len(filled)
        if (
            spans
            and number + 2 < len(rows)
            and _are_labels(_drop_empty(below))
            and len(_drop_empty(below)) > 1
        ):
            return number + 2, [_join_names(*names) for names in zip_longest(row, below, fillvalue="")]
        return number + 1, [single(name) for name in row]
    return None


def row_text(names: Sequence[str], values: Sequence[str]) -> str:
    """Return a row as text, the unit of a column or property after its numbers; empty if no cell is filled.

    >>> row_text(["Model", "Weight (kg)", "Note"], ["X20", "1.5", ""])
    'Model: X20; Weight: 1.5 kg.'
    >>> row_text(["Model", "Weight (kg)", "Note"], ["Prices are without tax", "", ""])
    'Prices are without tax.'
    >>> row_text(["Property", "X20", "X30"], ["Weight (kg)", "1.5", "2"])
    'Property: Weight; X20: 1.5 kg; X30: 2 kg.'
    >>> row_text(["Name", "Value", "Unit"], ["Weight", "1.5", "kg"])
    'Name: Weight; Value: 1.5 kg.'
    """
    cells = list(zip_longest(names, map(single, values), fillvalue=""))[:MOST_COLUMNS]
    filled = [(name, value) for name, value in cells if value]
    if len(filled) == 1 and len(cells) > 1 and filled[0][1] == cells[0][1]:
        filled = [("", filled[0][1])]  # a note, or the name of a group of rows
    text = "; ".join(_cell(name, value) for name, value in _with_units(filled))
    return text if not text or text[-1] in _ENDS else f"{text}."


def spell_rows(rows: Sequence[Sequence[str]], *, marked: int = 0, headed: bool = False) -> list[str] | None:
    """Return the rows of a table within a text, written out; None for one without values in columns. `marked`
    rows are its header, `headed` says that the first cells of the rows are marked.

    >>> spell_rows([["Colour", "red"], ["Weight", "12 kg"]])
    ['Colour: red.', 'Weight: 12 kg.']
    """
    rows = [[single(cell) for cell in row[:MOST_COLUMNS]] for row in rows if any(map(str.strip, row))]
    width = max(map(len, rows), default=0)
    if len(rows) < 2 or width < 2 or sum(len(_drop_empty(row)) > 1 for row in rows) < 2:
        return None
    if 0 < marked < len(rows):
        names = [_join_names(*column) for column in zip_longest(*rows[:marked], fillvalue="")]
        return [text for row in rows[marked:] if (text := row_text(names, row))]
    if width == 2 and (headed or not _is_over_values(rows)):
        if any(len(row[0]) > _LABEL for row in rows):
            return None  # it lays out a text
        return [
            row_text([row[0]], row[1:]) if len(_drop_empty(row)) == 2 else row_text([""], row) for row in rows
        ]
    found = find_header(rows)
    if found is None:
        return None
    first, names = found
    captions = [row_text([], row) for row in rows[:first] if len(set(_drop_empty(row))) == 1]
    return captions + [text for row in rows[first:] if (text := row_text(names, row))]


def delimiter_of(lines: Sequence[str], delimiters: str) -> str:
    """Return the mark that divides most lines into the same number of cells, else the first.

    >>> delimiter_of(["a;b;c", "1,5;2;3"], ",;|")
    ';'
    """

    def fit(delimiter: str) -> tuple[int, int]:
        counts = Counter(line.count(delimiter) for line in lines if line.strip())
        counts.pop(0, None)
        number, times = max(counts.items(), key=lambda each: (each[1], each[0]), default=(0, 0))
        return times, number

    return max(delimiters, key=fit)


def single(text: str) -> str:
    """Return text on one line with single spaces."""
    return " ".join(text.split())


def _drop_empty(row: Sequence[str]) -> list[str]:
    return [cell.strip() for cell in row if cell.strip()]


def _are_labels(cells: Sequence[str]) -> bool:
    """Return whether cells can be names of columns; years can, beside another name."""
    names = [cell for cell in cells if not _YEAR.fullmatch(cell)]
    return bool(names) and all(
        len(cell) <= _LABEL and _LETTER.search(cell) and not _VALUE_START.match(cell) for cell in names
    )


def _is_over_values(rows: Sequence[Sequence[str]]) -> bool:
    first, *others = [row[1] if len(row) > 1 else "" for row in rows]
    values = list(filter(None, others))
    are_values = len(values) > 1 and all(map(_VALUE_START.match, values))
    return are_values and bool(first) and _are_labels(_drop_empty(rows[0]))


def _join_names(*names: str) -> str:
    """Return the names of a column in several rows of a header as one, the unit last.

    >>> _join_names("Fare (EUR)", "Car"), _join_names("Line", "Line")
    ('Fare Car (EUR)', 'Line')
    """
    parts = list(dict.fromkeys(single(name) for name in names if name.strip()))
    labels = [_unit_of(part) for part in parts]
    units = [unit for _, unit in labels if unit]
    if len(parts) < 2 or len(units) != 1:
        return " ".join(parts)
    return f"{' '.join(label for label, _ in labels)} ({units[0]})"


def _cell(name: str, value: str) -> str:
    if not name:
        return value
    label, unit = _unit_of(_in_words(name))
    if unit and _NUMBER.fullmatch(value):
        return f"{_capital(label)}: {value} {unit}"
    return f"{_capital(_in_words(name).rstrip(' :'))}: {value}"


def _with_units(cells: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Return the cells of a row, the unit after the numbers: that of the property in the first, or the one in
    a column of its own beside a single number.
    """
    units = [cell for cell in cells if cell[0].casefold().strip(" :") in _UNITS and symbol_of(cell[1])]
    figures = [cell for cell in cells if _NUMBER.fullmatch(cell[1])]
    if len(units) == len(figures) == 1:
        [(_, unit)], [(of, figure)] = units, figures
        with_unit = (of, f"{figure} {unit}")
        return [with_unit if cell in figures else cell for cell in cells if cell not in units]
    (name, about), *others = cells or [("", "")]
    label, unit = _unit_of(about)
    if not (others and unit) or name.casefold().rstrip(" :") not in _PROPERTIES:
        return cells
    numbers = [(other, f"{value} {unit}" if _NUMBER.fullmatch(value) else value) for other, value in others]
    return [(name, label), *numbers]


def _in_words(name: str) -> str:
    """Return the name of a column as words, its unit in brackets: "unit_price_eur" is "unit price (EUR)".

    >>> _in_words("chlorine_mg_l"), _in_words("ladder_type")
    ('chlorine (mg/L)', 'ladder type')
    """
    if "_" not in name.strip("_ ") or " " in name.strip():
        return name
    *words, last = name.strip("_ ").split("_")
    if len(words) > 1 and (rate := symbol_of(f"{words[-1]}/{last}")):
        return f"{' '.join(words[:-1])} ({rate})"
    unit = (
        "" if last in _NO_UNITS or words[-1] in _BEFORE_UNITS else symbol_of(last) or symbol_of(last.upper())
    )
    return f"{' '.join(words)} ({unit})" if unit else " ".join([*words, last])


def format_value(name: str, value: object) -> str:
    """Return a value of a table as a person writes it: sums of money with two decimals, if they have any.

    >>> format_value("Price (EUR)", 12.5), format_value("Price (EUR)", 12), format_value("Weight (kg)", 12.5)
    ('12.50', '12', '12.5')
    """
    unit = _unit_of(_in_words(name))[1] if isinstance(value, float) else ""
    is_money = bool(unit) and symbol_of(unit) in _CURRENCIES
    return f"{value:.2f}" if is_money and round(float(str(value)), 2) == value else str(value)


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def _unit_of(name: str) -> tuple[str, str]:
    """Return the name of a column without its unit, and the unit; empty if it states none.

    >>> _unit_of("Weight (kg)"), _unit_of("Price in EUR"), _unit_of("Rooms (all)")
    (('Weight', 'kg'), ('Price', 'EUR'), ('Rooms (all)', ''))
    >>> _unit_of("Flow (m3/h)"), _unit_of("Price (EUR/night)"), _unit_of("Fee (adult/child)")
    (('Flow', 'm3/h'), ('Price (EUR/night)', ''), ('Fee (adult/child)', ''))
    """
    for label, unit in _divide_name(name):
        if label.strip(" ,:") and all(map(symbol_of, unit.split("/"))):
            return label.strip(" ,:"), unit
    return name, ""


def _divide_name(name: str) -> Iterator[tuple[str, str]]:
    """Yield the places where the unit of a column may begin."""
    bare = name.strip()
    for opened, closed in ("()", "[]"):
        if bare.endswith(closed):
            label, _, unit = bare[:-1].rpartition(opened)
            yield label, unit.strip().removeprefix("in ").strip()
    for mark in (" in ", ", ", " / "):
        label, _, unit = bare.rpartition(mark)
        yield label, unit.strip()
