"""Passages: a text divided at headings and sentence ends, with exact character offsets.

A section is divided by itself, the cheapest way (a dynamic program over the possible cuts): passages want to
be about 125 words long and want to end where a paragraph ends; a heading stays with what follows it;
a sentence is cut only when it is longer than a passage by itself.
"""

from __future__ import annotations

import bisect
import itertools
import re
from functools import lru_cache
from typing import NamedTuple

from disputatio.text import NOT_IN_DATE, PARAGRAPH, PIECE, is_heading

TARGET = 125
LONGEST = 170
_WHOLE = 150

_LINE = re.compile(r"\n(?=[ \t]*(?:#{1,6} |[-*+•] |\d{1,3}[.)] |\|)|[^\n]{0,200}? \| )|(?<=\n)(?=#{1,6} )")
_SENTENCE = re.compile(
    rf"(?<=[.!?…]){NOT_IN_DATE}[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[^\Wa-zß-ÿ])|(?<=[。！？；])[」』”’）]*\s*(?=\S)"
)
_ABBREVIATION = re.compile(r"(?:\b(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|No|Fig|Vol|etc|e\.g|i\.e|cf|al))\.$")
_HEADING = 30.0  # the cost of a cut after a heading
_MOST_HEADINGS = 4  # of one path
_BODY = 8  # words from which a section stands alone
_PART = 50


class _Unit(NamedTuple):
    """A stretch that is not to be cut, its length in words, and what a cut after it costs."""

    start: int
    end: int
    words: int
    cut: float


def split(text: str) -> list[tuple[int, int]]:
    """Return spans of the passages of `text`, in order, which hold every visible character once.

    >>> split("One sentence. Another one.")
    [(0, 26)]
    >>> split("  "), [len(split("x" * 100_000)) > 20]
    ([], [True])
    """
    units = _units(text)
    return [
        (section[first].start, section[last - 1].end)
        for section in _sections(units)
        for first, last in _runs(section)
    ]


def heading_of(text: str, start: int) -> str:
    """Return the headings above the character at `start`, the higher first; empty for none.

    >>> text = "Terms\\n\\nDelivery\\n\\n" + "We deliver on any working day of the week to all places. " * 9
    >>> heading_of(text, 0), heading_of(text, 60), heading_of("Words only, and no heading.", 3)
    ('Terms › Delivery', 'Terms › Delivery', '')
    """
    starts, headings = _headings(text)
    at = bisect.bisect_right(starts, start) - 1
    return headings[at] if at >= 0 else ""


@lru_cache(maxsize=2)
def _headings(text: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
    starts, headings = [], []
    for section in _sections(_units(text)):
        lines = list(itertools.takewhile(_opens, section))[:_MOST_HEADINGS]
        starts.append(section[0].start)
        headings.append(" › ".join(_bare(text[unit.start : unit.end]) for unit in lines))
    return tuple(starts), tuple(headings)


def _bare(heading: str) -> str:
    return " ".join(heading.lstrip("# ").split())


def _opens(unit: _Unit) -> bool:
    return unit.cut == _HEADING


def _sections(units: list[_Unit]) -> list[list[_Unit]]:
    """Return the units by section: one begins at a heading where the one before has a body."""
    sections: list[list[_Unit]] = []
    words = 0  # of the body of the last section
    for unit in units:
        if not sections or (_opens(unit) and words >= _BODY):
            sections.append([])
            words = 0
        sections[-1].append(unit)
        words += 0 if _opens(unit) else unit.words
    if len(sections) > 1 and words < _BODY:  # what is left at the end, such as a name below a letter
        last = sections.pop()
        sections[-1] += last
    return sections


def _runs(units: list[_Unit]) -> list[tuple[int, int]]:
    if sum(unit.words for unit in units) <= _WHOLE:
        return [(0, len(units))]
    return _cheapest(units)


def _cheapest(units: list[_Unit]) -> list[tuple[int, int]]:
    """Return the division of units into runs (first, last + 1) that costs least."""
    best: list[float] = [0.0]
    came_from: list[int] = [0]
    for last in range(1, len(units) + 1):
        least, origin, words = float("inf"), last - 1, 0
        cut = units[last - 1].cut if last < len(units) else 0.0
        for first in range(last - 1, -1, -1):
            words += units[first].words
            if words > LONGEST and first < last - 1:
                break
            cost = best[first] + ((words - TARGET) / 25) ** 2 + cut
            if cost < least:
                least, origin = cost, first
        best.append(least)
        came_from.append(origin)
    runs, last = [], len(units)
    while last:
        runs.append((came_from[last], last))
        last = came_from[last]
    return runs[::-1]


def _units(text: str) -> list[_Unit]:
    units: list[_Unit] = []
    for start, end in _between(text, 0, len(text), PARAGRAPH):
        lines = _between(text, start, end, _LINE)
        for line in lines:
            sentences = _sentences(text, *line)
            for sentence in sentences:
                units.extend(_parts(text, *sentence))
            units[-1] = units[-1]._replace(cut=1.0)
        units[-1] = units[-1]._replace(
            cut=_HEADING if len(lines) == 1 and is_heading(text[start:end]) else 0.0
        )
    return units


def _between(text: str, start: int, end: int, cut: re.Pattern[str]) -> list[tuple[int, int]]:
    """Return the non-empty stretches between matches of `cut`, without outer white space."""
    stretches, at = [], start
    for match in cut.finditer(text, start, end):
        stretches.append((at, match.start()))
        at = match.end()
    stretches.append((at, end))
    trimmed = []
    for first, last in stretches:
        body = text[first:last]
        left, right = len(body) - len(body.lstrip()), len(body.rstrip())
        if right > left:
            trimmed.append((first + left, first + right))
    return trimmed


def _sentences(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return sentence spans: closing quotes stay with the sentence before."""
    spans, at = [], start
    for match in _SENTENCE.finditer(text, start, end):
        stop = match.start() + len(match.group().rstrip())
        if _ABBREVIATION.search(text, max(at, match.start() - 8), match.start()):
            continue
        if text[at:stop].strip():
            spans.append((at, stop))
        at = match.end()
    if text[at:end].strip():
        spans.append((at, end))
    return spans


def _parts(text: str, start: int, end: int) -> list[_Unit]:
    """Return a sentence as one unit, or as several where it is longer than a passage."""
    pieces = [match.span() for match in PIECE.finditer(text, start, end)]
    if len(pieces) <= _WHOLE:
        return [_Unit(start, end, len(pieces), 1.5)]
    parts = [pieces[i : i + _PART] for i in range(0, len(pieces), _PART)]
    return [_Unit(part[0][0], part[-1][1], len(part), 4.0) for part in parts]
