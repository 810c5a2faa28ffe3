"""Passages: a text divided at headings and sentence ends, with exact character offsets.

A section is divided by itself, the cheapest way (a dynamic program over the possible cuts): passages want to
be about 125 words long and want to end where a paragraph ends; a heading stays with what follows it;
a sentence is cut only when it is longer than a passage by itself. Headings are those that the format marks
(`outline`), or lines with a rule below; in a text with neither, short lines that end as no sentence does.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from disputatio.store.ingesting.documents import outline_of
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
_MOST_HEADINGS = 4  # of one path, where no format says their levels
_MINOR = 7  # the level of terms and bold lines, which do not say that all headings are marked
_RULE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}")
_FULL_RULE = 4  # characters of a rule that may be shorter than its heading
_LONGEST_TITLE = 200  # characters
_BODY = 8  # words from which a section stands alone
_PART = 50


class _Unit(NamedTuple):
    """A stretch that is not to be cut, its length in words, what a cut after it costs, and the level of the
    heading that it is; one of no words ends the headings from its level on.
    """

    start: int
    end: int
    words: int
    cut: float
    level: int = 0


def split(text: str, outline: str = "") -> list[tuple[int, int]]:
    """Return spans of the passages of `text`, in order, which hold every visible character once.

    >>> split("One sentence. Another one.")
    [(0, 26)]
    >>> split("  "), [len(split("x" * 100_000)) > 20]
    ([], [True])
    """
    units = _units(text, outline)
    return [
        (section[first].start, section[last - 1].end)
        for section in _sections(units)
        for first, last in _runs(section)
    ]


def find_heading(text: str, start: int, outline: str = "") -> str:
    """Return the headings above the character at `start`, the higher first, with those that it begins with.

    >>> text = "Terms\\n\\nDelivery\\n\\n" + "We deliver on any working day of the week to all places. " * 9
    >>> find_heading(text, 0), find_heading(text, 60), find_heading("Words only, and no heading.", 3)
    ('Terms › Delivery', 'Terms › Delivery', '')
    """
    starts, headings = _headings(text, outline)
    at = bisect.bisect_right(starts, start) - 1
    return headings[at] if at >= 0 else ""


@lru_cache(maxsize=2)
def _headings(text: str, outline: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
    starts, headings = [], []
    path: list[tuple[int, str]] = []
    for is_head, run in itertools.groupby(_units(text, outline), lambda unit: unit.level > 0):
        if not is_head:
            continue
        for number, unit in enumerate(run):
            if not number:
                starts.append(unit.start)
            while path and path[-1][0] >= unit.level:
                path.pop()
            if unit.words:
                path.append((unit.level, _bare(text[unit.start : unit.end])))
        headings.append(" › ".join(words for _, words in path))
    return tuple(starts), tuple(headings)


def _bare(heading: str) -> str:
    lines = (line for line in heading.split("\n") if not _RULE.fullmatch(line.strip()))
    return " ".join(" ".join(lines).lstrip("# ").split())


def _opens(unit: _Unit) -> bool:
    return unit.level > 0


def _sections(units: list[_Unit]) -> list[list[_Unit]]:
    """Return the units by section: one begins at a heading where the one before has a body."""
    sections: list[list[_Unit]] = []
    words = 0  # of the body of the last section
    for unit in units:
        if not sections or (_opens(unit) and words >= _BODY):
            sections.append([])
            words = 0
        if unit.words:
            sections[-1].append(unit)
        words += 0 if _opens(unit) else unit.words
    if len(sections) > 1 and words < _BODY:  # what is left at the end, such as a name below a letter
        last = sections.pop()
        sections[-1] += last
    return [section for section in sections if section]


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


def _units(text: str, outline: str) -> list[_Unit]:
    """Return the units of a text; the levels of headings that no format marks are their places in a row."""
    marked = outline_of(outline) or _find_underlined(text)
    is_marked = any(0 < level < _MINOR for *_, level in marked)
    units: list[_Unit] = []
    at = 0
    for start, end, level in marked:
        if at <= start <= end <= len(text) and (level or not is_marked):
            units += _body(text, at, start, guess=not is_marked)
            if level:
                units += [part._replace(cut=_HEADING, level=level) for part in _parts(text, start, end)]
            else:
                units += _body(text, start, end, guess=False)
            at = end
    return units + _body(text, at, len(text), guess=not is_marked)


def _body(text: str, first: int, last: int, *, guess: bool) -> list[_Unit]:
    units: list[_Unit] = []
    row = 0  # headings before this paragraph that nothing stands between
    for start, end in _between(text, first, last, PARAGRAPH):
        lines = _between(text, start, end, _LINE)
        for line in lines:
            sentences = _sentences(text, *line)
            for sentence in sentences:
                units.extend(_parts(text, *sentence))
            units[-1] = units[-1]._replace(cut=1.0)
        row = row + 1 if guess and len(lines) == 1 and is_heading(text[start:end]) else 0
        level = row and _MINOR + min(row, _MOST_HEADINGS)
        units[-1] = units[-1]._replace(cut=_HEADING if row else 0.0, level=level)
    return units


def _find_underlined(text: str) -> Sequence[tuple[int, int, int]]:
    """Return the headings that have a line of one character below, and perhaps above, as in reStructuredText.

    Their levels are in the order of those lines. A single one does not say that there are no others.

    >>> _find_underlined("Pool\\n====\\n\\nHours\\n-----\\nFrom seven.")
    ((0, 9, 1), (11, 22, 2))
    >>> _find_underlined("Words\\nand more\\n----")
    ()
    """
    lines = ["", "", *text.split("\n")]
    levels: dict[tuple[str, bool], int] = {}
    found: list[tuple[int, int, int]] = []
    at = -2  # where the line before a title begins
    for above, title, below in zip(lines, lines[1:], lines[2:], strict=False):
        rule = below.rstrip()
        over = above.rstrip() == rule
        if _RULE.fullmatch(rule) and (over or not above.strip()) and _is_title(title, len(rule), over=over):
            level = levels.setdefault((rule[0], over), len(levels) + 1)
            start = at if over else at + len(above) + 1
            found.append((start, at + len(above) + len(title) + 2 + len(rule), min(level, _MINOR - 1)))
        at += len(above) + 1
    return tuple(found) if len(found) > 1 else tuple((start, end, _MINOR) for start, end, _ in found)


def _is_title(line: str, rule: int, *, over: bool) -> bool:
    title = line.strip()
    is_line = over or title == line.rstrip()  # else it is indented
    fits = min(len(title), _FULL_RULE) <= rule and len(title) <= _LONGEST_TITLE
    return is_line and fits and any(map(str.isalnum, title)) and "  " not in title and " | " not in title


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
