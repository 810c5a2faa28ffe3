"""Answers and hits as plain text, for `print`; text of documents cannot begin a line or steer a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from disputatio.rendering.reasons import reason
from disputatio.rendering.wording import (
    SOURCE_COLUMNS,
    certified,
    claimed_line,
    conflict_line,
    cost,
    headline,
    looked_for,
    quoted_from,
    read_from,
    source_rows,
    sources_counted,
    sources_line,
)
from disputatio.text import one_line, without_headings
from disputatio.types import Answer, Hit, Position

_WIDTH = 100
_MARKS = {"accepted": "✓", "rejected": "✗", "unresolved": "?"}
_EXCERPT = 300  # characters of a hit's passage


def text(noun: object) -> str:
    """Return an answer or a hit as a person reads it; another noun as `repr` gives it."""
    if isinstance(noun, Answer):
        return "\n".join(_answer_lines(noun))
    if isinstance(noun, Hit):
        return "\n".join(_hit_lines(noun))
    return repr(noun)


def aligned(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows in columns of equal width.

    >>> print(aligned(["source", "right"], [["a.example", "0.9"]]))
    source     right
    a.example  0.9
    """
    cells = [[one_line(cell) for cell in row] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


def _answer_lines(answer: Answer) -> Iterator[str]:
    yield one_line(headline(answer))
    if answer.text:
        yield ""
        yield _wrapped("", answer.text)
    yield from _quote_lines(answer)
    if answer.conflict.positions:
        yield ""
        yield f"Positions: {conflict_line(answer)}"
        for position in answer.conflict.positions:
            yield from _position_lines(position)
    if answer.each_source:
        yield ""
        yield f"Each source: {sources_counted(answer)}"
        yield aligned(SOURCE_COLUMNS, source_rows(answer))
    yield ""
    if answer.certificate:
        yield _wrapped("Robustness: ", certified(answer.certificate))
    if answer.passages:
        yield _wrapped("Read: ", read_from(answer))
    if claims := claimed_line(answer):
        yield _wrapped("Not used: ", claims)
    if further := looked_for(answer):
        yield _wrapped("Looked further: ", further)
    yield _wrapped("Cost: ", cost(answer))


def _quote_lines(answer: Answer) -> Iterator[str]:
    citations = {citation.n: citation for claim in answer.claims for citation in claim.citations}
    for n, citation in sorted(citations.items()):
        verdict = "" if citation.verdict in ("supported", "unchecked") else f"  ({citation.verdict})"
        origin, address = quoted_from(citation, answer.passages)
        quote = without_headings(citation.quote)[1]
        yield _wrapped(f"  [{n}] ", f"{origin}: “{quote}”{verdict}")
        if address:
            yield " " * len(f"  [{n}] ") + one_line(address)


def _position_lines(position: Position) -> Iterator[str]:
    about = f" — {position.subject}" if position.subject else ""
    yield _wrapped(f"  {_MARKS[position.verdict]} {position.verdict}  ", f"{position.answer}{about}")
    if sources := sources_line(position):
        yield _wrapped("      by:  ", sources)
    yield _wrapped("      why: ", reason(position))


def _hit_lines(hit: Hit) -> Iterator[str]:
    passage = hit.passage
    scores = ", ".join(f"{one_line(name)} {score:.3f}" for name, score in hit.scores.items())
    more = f"  ({scores})" if scores else ""
    yield f"{hit.score:.3f}  {one_line(passage.source or passage.id)}{more}"
    if passage.title:
        yield _wrapped("  ", passage.title)
    yield _wrapped("  ", textwrap.shorten(one_line(passage.text), _EXCERPT, placeholder=" …"))


def _wrapped(label: str, text: str) -> str:
    """Return a label, and text beside it that never runs under it."""
    lines = textwrap.wrap(one_line(text), max(_WIDTH - len(label), 40)) or [""]
    return label + ("\n" + " " * len(label)).join(lines)
