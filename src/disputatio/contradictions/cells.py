"""Facts of lines "key: value", of rows of a table, and of records: a cell, with what its row is of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from disputatio.contradictions.facts import (
    Around,
    Fact,
    codes_of,
    content_of,
    make_fact,
    periods_of,
    roots_of,
    scope_of,
)
from disputatio.contradictions.measures import Token, tokens_of
from disputatio.contradictions.units import BULLET, Unit, cells_of, label_of
from disputatio.contradictions.vocabulary import (
    ABOUT_DOCUMENT,
    ACTS,
    ATTRIBUTES,
    FREE_KEYS,
    KEY_COLUMNS,
    NO,
    UNREAL,
    VALUE_COLUMNS,
    YES,
)


def of_label(body: str, around: Around, language: str, comma: bool | None) -> list[Fact]:
    """Return the facts of a line "key: value"."""
    match = label_of(body)
    if match is None or ABOUT_DOCUMENT.match(BULLET.sub("", body)):
        return []
    key = match["key"]
    return _cell(body, match.start("value"), match.end("value"), key, around, language, comma, extra=())


def of_row(body: str, unit: Unit, around: Around, language: str, comma: bool | None) -> list[Fact]:
    """Return the facts of a row of a table, by the header of each cell."""
    cells: list[tuple[int, int]] = []
    at = 0
    for part in body.split("|"):
        stripped = part.strip()
        first = at + len(part) - len(part.lstrip())
        if stripped or cells:
            cells.append((first, first + len(stripped)))
        at += len(part) + 1
    if len(cells) < 2:
        return []
    key = body[slice(*cells[0])]
    subject = tokens_of(key)
    if key.replace(" ", "").isdigit():
        second = tokens_of(body[slice(*cells[1])]) if len(cells) > 2 else []
        subject = [_number_of(unit.header[0] if unit.header else "", key), *second]
    facts: list[Fact] = []
    keyed = {number for number, name in enumerate(unit.header) if number and _is_key(name, language)}
    for number, (start, end) in enumerate(cells[1:], start=1):
        column = unit.header[number] if number < len(unit.header) else ""
        if set(roots_of(tokens_of(column), language)) <= VALUE_COLUMNS and len(cells) == 2:
            found = _cell(body, start, end, key, around, language, comma, extra=())
        else:
            extra = [*subject]
            for other in keyed - {number}:
                extra += tokens_of(body[slice(*cells[other])]) if other < len(cells) else []
            if not column or number in keyed:
                continue
            found = _cell(body, start, end, column, around, language, comma, extra=tuple(extra))
        facts += found
    return facts


def _is_key(column: str, language: str) -> bool:
    """Return whether a column says what the other cells of a row are of, such as a region."""
    words = set(roots_of(tokens_of(column), language))
    return bool(words) and words <= KEY_COLUMNS


def _number_of(column: str, number: str) -> Token:
    """Return the number in a first cell as the code of its row."""
    return Token("code", 0, 0, f"{column.casefold()}\x1f{number}")


def of_record(body: str, around: Around, language: str, comma: bool | None) -> list[Fact]:
    """Return the facts of a row that names its columns: "Ticket: Day; Price: 9 EUR"."""
    cells = cells_of(body)
    texts = [cell for cell in cells if _names_row(body[cell[1] : cell[2]])]
    numbered = body[slice(*cells[0][1:])].replace(" ", "").isdigit()
    (key, start, end) = cells[0] if numbered or not texts else texts[0]
    subject = [*tokens_of(body[start:end]), *(token for token in tokens_of(key) if token.kind == "code")]
    if numbered:
        subject = [_number_of(key, body[start:end]), *tokens_of(body[slice(*cells[1][1:])])]
    if not subject:
        return []
    keyed = {name for name, _, _ in cells if name != key and _is_key(name, language)}
    for name, first, last in cells:
        subject += tokens_of(body[first:last]) if name in keyed else []
    columns = [
        (set(roots_of(tokens_of(name), language)), fact)
        for name, first, last in cells
        if (name, first, last) != (key, start, end) and name not in keyed
        for fact in _cell(body, first, last, name, around, language, comma, extra=tuple(subject))
    ]
    return [replace(fact, others=_values_beside(fact, words, columns)) for words, fact in columns]


def _names_row(cell: str) -> bool:
    """Return whether a cell may say what its row is of: a name, with a number in it or without, no mark.

    >>> [_names_row(cell) for cell in ("Basic", "Ubuntu 18.04 LTS", "EUR 9", ":x:")]
    [True, True, False, False]
    """
    tokens = tokens_of(cell)
    valued = any(token.value for token in tokens)
    return cell[:1].isalpha() and content_of(tokens) > 0 if valued else cell[:1].isalnum()


def _values_beside(fact: Fact, words: set[str], columns: Sequence[tuple[set[str], Fact]]) -> tuple[str, ...]:
    """Return what a row gives of the same measure beside: of "price net" what "price gross" says."""
    return tuple(
        other.value.key
        for named, other in columns
        if other.value and other.group == fact.group and words & named and not words <= named
    )


def _cell(
    body: str,
    start: int,
    end: int,
    key: str,
    around: Around,
    language: str,
    comma: bool | None,
    *,
    extra: Sequence[Token],
) -> list[Fact]:
    """Return the facts of a key and its value; `extra` are tokens of a row's first cell."""
    cell = body[start:end]
    if not cell or len(cell.split()) > 14 or UNREAL.search(cell):
        return []
    unit = re.search(r"[(\[]\s?([^()\[\]]{1,20})\s?[)\]]\s*$", key)
    named = tokens_of(key[: unit.start()] if unit else key)
    subject = [*extra, *named]
    base = make_fact(body, subject, [*subject], around, language, kind="name")
    codes = codes_of(extra) | codes_of(named) | codes_of([t for t in tokens_of(cell) if not t.value])
    base = replace(
        base,
        codes=codes,
        periods=periods_of(subject),
        head=next((form for form in roots_of(named, language) if form in ATTRIBUTES - ACTS), ""),
        weak=not extra,
        value_start=start,
        value_end=end,
    )
    words = set(roots_of(named, language))
    if words <= FREE_KEYS or not base.words:
        return []
    folded = cell.casefold().strip(" .")
    if folded in YES or folded in NO:
        return [replace(base, kind="polarity", negated=folded in NO)]
    tokens = tokens_of(cell, comma=comma)
    values = [token for token in tokens if token.value and token.value.of != "listed"]
    if unit and len(values) == 1 and values[0].value and values[0].value.of == "count":
        again = tokens_of(f"{cell} {unit[1]}", comma=comma)
        measured = [token for token in again if token.value]
        if len(measured) == 1 and measured[0].value:
            values = [replace(measured[0], end=values[0].end)]
    if values:
        first = next((token.value for token in values if token.value), None)
        kinds = {token.value.of for token in values if token.value}
        if first is None or (len(values) > 1 and len(kinds) != len(values)):
            return []
        found = []
        for token in values:
            if token.value and token.value.of not in ("period", "span"):
                rest = make_fact(
                    body,
                    [*subject, *[t for t in tokens if t.kind == "word"]],
                    [*subject],
                    around,
                    language,
                    kind="value",
                )
                found.append(
                    replace(
                        base,
                        kind="value",
                        value=token.value,
                        value_start=start + token.start,
                        value_end=start + token.end,
                        near=frozenset(rest.words) - set(base.words),
                        scope=frozenset(scope_of(tokens, language)),
                        raw=base.raw | rest.raw,
                    )
                )
        return found
    if len(cell.split()) <= 6 and cell.count(",") < 2 and not codes_of(tokens) and cell[0].isalpha():
        return [replace(base, name=cell)]
    return []
