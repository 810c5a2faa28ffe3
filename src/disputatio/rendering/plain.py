"""Answers and hits as plain text, for `print`; text of documents cannot begin a line or steer a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from disputatio.rendering.reasons import reason
from disputatio.rendering.wording import (
    SOURCE_COLUMNS,
    conflict_line,
    cost,
    describe_certificate,
    describe_search,
    describe_unused_claims,
    find_origin,
    headline,
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


def align_rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows in columns of equal width.

    >>> print(align_rows(["source", "right"], [["a.example", "0.9"]]))
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
        yield _wrap_beside("", answer.text)
    yield from _quote_lines(answer)
    if answer.conflict.positions:
        yield ""
        yield f"Positions: {conflict_line(answer)}"
        for position in answer.conflict.positions:
            yield from _position_lines(position)
    if answer.each_source:
        yield ""
        yield f"Each source: {sources_counted(answer)}"
        yield align_rows(SOURCE_COLUMNS, source_rows(answer))
    yield ""
    if answer.certificate:
        yield _wrap_beside("Robustness: ", describe_certificate(answer.certificate))
    if answer.passages:
        yield _wrap_beside("Read: ", read_from(answer))
    if claims := describe_unused_claims(answer):
        yield _wrap_beside("Not used: ", claims)
    if further := describe_search(answer):
        yield _wrap_beside("Looked further: ", further)
    yield _wrap_beside("Cost: ", cost(answer))


def _quote_lines(answer: Answer) -> Iterator[str]:
    citations = {citation.n: citation for claim in answer.claims for citation in claim.citations}
    for n, citation in sorted(citations.items()):
        verdict = "" if citation.verdict in ("supported", "unchecked") else f"  ({citation.verdict})"
        origin, address = find_origin(citation, answer.passages)
        quote = without_headings(citation.quote)[1]
        yield _wrap_beside(f"  [{n}] ", f"{origin}: “{quote}”{verdict}")
        if address:
            yield " " * len(f"  [{n}] ") + one_line(address)


def _position_lines(position: Position) -> Iterator[str]:
    about = f" — {position.subject}" if position.subject else ""
    yield _wrap_beside(f"  {_MARKS[position.verdict]} {position.verdict}  ", f"{position.answer}{about}")
    if sources := sources_line(position):
        yield _wrap_beside("      by:  ", sources)
    yield _wrap_beside("      why: ", reason(position))


def _hit_lines(hit: Hit) -> Iterator[str]:
    passage = hit.passage
    scores = ", ".join(f"{one_line(name)} {score:.3f}" for name, score in hit.scores.items())
    more = f"  ({scores})" if scores else ""
    yield f"{hit.score:.3f}  {one_line(passage.source or passage.id)}{more}"
    if passage.title:
        yield _wrap_beside("  ", passage.title)
    yield _wrap_beside("  ", textwrap.shorten(one_line(passage.text), _EXCERPT, placeholder=" …"))


def _wrap_beside(label: str, text: str) -> str:
    """Return a label, and text beside it that never runs under it."""
    lines = textwrap.wrap(one_line(text), max(_WIDTH - len(label), 40)) or [""]
    return label + ("\n" + " " * len(label)).join(lines)
