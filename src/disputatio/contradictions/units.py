"""A document divided into statements: sentences, lines "key: value", rows of tables, under their headings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from disputatio.contradictions.measures import tokens_of
from disputatio.contradictions.vocabulary import PRONOUNS, STOP, language_of
from disputatio.text import sentences
from disputatio.values.figures import MONTH_NAMES
from disputatio.values.numerals import decimal_comma

LEAD = "\x1e"  # stands before a sentence that the next one goes on with
LONGEST = 600  # characters of a statement; a longer stretch without an end of a sentence is not read
_LABEL = re.compile(r"(?:[-*•–]\s+)?(?P<key>[^\W_][^:|\n.!?;]{0,58}?)\s?:\s+(?P<value>\S.*)", re.DOTALL)
_VERB = re.compile(r"\b(?:is|are|was|were|ist|sind|war|est|sont|es|son)$", re.IGNORECASE)
BULLET = re.compile(
    r"(?:[-*•–▪◦]|\(?\d{1,3}[.)]|\[\d{1,3}\]|\(?[a-z]\))\s+|\d{1,2}(?:\.\d{1,2}){0,3}(?:\s{2,}|\t)(?=[^\W\d])"
)
_UNDERLINE = re.compile(r"[ \t]*([=\-~^\"'`*+#.:_])\1{2,}[ \t]*(?:\r?\n|$)")
# The version or day at the head of a heading, and how many of them, each lower than the one above it,
# are a log: sections are numbered upwards.
_ENTRY = re.compile(r"(?:\S{1,30}\s){0,3}?[\[(]?[vV]?(\d{1,4}(?:[.-]\d{1,4}){1,3})")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_ENTRIES = 4
_LONGEST_HEADING = 100
# a line of a program, a shell or settings: prompt, comment, keyword, call, assignment, what ends in a bracket
_CODE = re.compile(
    r"\s*(?:[$%>]\s|>>>|//|/\*|#!|\[[\w.-]{1,60}\]$|import\s\w|from\s[\w.]{1,80}\simport\b"
    r"|(?:const|let|var|await|async|export|function)\s[\w{(]|(?:def|class)\s\w.*:$|return\b.*[;)]$"
    r"|[\w.]{1,80}\([^()]*\)[;,]?$|[\w.-]{1,80}\s?=\s?(?:\"[^\"]*\"|'[^']*'|[\w./-]{1,80}),?(?:\s*\#.*)?$"
    r"|[\w'\"-]{1,80}:\s\S{1,80},$)|.*(?:[{};(]|=>.*|\w\[)$"
)
_PROMPT = re.compile(r"\s*([$%>]|>>>)\s")
_TREE = re.compile(r"^[ \t│┃|]*[├└╰╘╠╚┣┗]", re.MULTILINE)  # a line of a tree that a program drew
_BRACKETED = re.compile(r"\([^()\n]{0,200}\)")
_EMPTY = re.compile(r"\n[ \t]*\r?\n")
_KEY = re.compile(r"\s*[a-z][\w-]{0,60}:$")  # of settings whose values stand below, further in
_CODE_LINES = 0.3  # share of the lines of a block, from which it is code
_MARKUP = re.compile(r"\.\. |:[\w-]{1,40}:(?:\s|$)")  # a line for the program that sets the page
# begins an example, to which the rest of a paragraph belongs; says what a name in one means
_EXAMPLE = re.compile(r"for (?:example|instance)\b|zum beispiel\b|par exemple\b|por ejemplo\b", re.IGNORECASE)
_WHERE = re.compile(r"(?:where|wobei|où|same as)\b", re.IGNORECASE)
_ABBREVIATED = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|No|Nr|Art|Abs|approx|ca|max|min|incl|excl|Dr|Mr|Mrs|Ms|St|Prof|z\.B|bzw|Ltd|Inc|Co|Fig)|(?:^|\s)[A-Z])\.$"
)
_ORDINAL_DAY = re.compile(r"(?:^|\s)\d{1,2}\.$")  # "am 3. März", which ends no sentence


@dataclass(frozen=True, slots=True)
class Unit:
    """A statement of a document, at `start:end`: its text is read again when it is compared.

    A row of a table says of what it is by its first cell, not by a `heading`. `code` says that it is part of
    a program, commands or settings.
    """

    start: int
    end: int
    form: Literal["sentence", "label", "row", "record"]
    around: str
    header: tuple[str, ...] = ()
    heading: str = ""
    code: bool = False


def units_of(text: str, title: str) -> Iterator[Unit]:
    """Yield the statements of a document, in order, each with the headings and the lead above it.

    What a log of changes tells is left out: that something was changed once denies no other statement.
    """
    headings: list[str] = []
    after_heading = False
    blocks = list(_blocks(text))
    log = _log_of(text, blocks)
    printed, before = False, 0  # by a command above, without an empty line between
    for number, (start, end) in enumerate(blocks):
        if number in log:
            continue
        block = text[start:end]
        apart = _EMPTY.search(text, before, start) is not None
        prompt = _PROMPT.match(block)
        printed, before = prompt is not None or (printed and not apart), end
        if (printed and (prompt is None or prompt[1] == ">>>")) or _TREE.search(block):
            continue
        lines = list(_lines(text, start, end))
        if _is_table(block, lines, text):
            yield from _rows(text, lines, " / ".join(headings))
            after_heading = False
        elif (
            number + 1 < len(blocks)
            and len(lines) == 1
            and not prompt
            and (_is_heading(block) or _is_ruled(text, end) or (number == 0 and block == title))
        ):
            headings = (
                [*headings[-2:], block.lstrip("#").strip()] if after_heading else [block.lstrip("#").strip()]
            )
            after_heading = True
        else:
            above = " / ".join(headings)
            code = is_code(block)
            for unit in _paragraph(text, lines, above):
                yield unit if unit.form == "record" else replace(unit, heading=above, code=code)
            after_heading = False


def style_of(text: str, company: str = "english") -> tuple[str, bool | None]:
    """Return the language of a document, and whether it writes decimals with a comma.

    `company` is the language of what has no short words, such as a row of a table.
    """
    language = language_of(text) or company
    comma = decimal_comma(text[:20_000])
    return language, language != "english" if comma is None else comma


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    start: int | None = None
    at = last = before = above = 0
    for line in text.splitlines(keepends=True):
        body = line.strip()
        ruled = _UNDERLINE.fullmatch(line) is not None
        if body and not ruled:
            start = at if start is None else start
            before, above, last = last, at, at + len(line.rstrip())
        elif start is not None:
            if ruled and start < above and len(text[above:last]) <= _LONGEST_HEADING:
                yield start, before
                start = above
            yield start, last
            start = None
        at += len(line)
    if start is not None:
        yield start, last


def _log_of(text: str, blocks: Sequence[tuple[int, int]]) -> range:
    """Return the numbers of the blocks of a log of changes: entries, the newest first.

    It ends with the first heading below its last entry that stands below none of the others. A day right
    below a version is the day of that entry, and no entry of its own.
    """
    heads = [
        (number, head.strip("# "))
        for number, (start, end) in enumerate(blocks)
        for head, below, _ in [text[start:end].partition("\n")]
        if (_DAY.fullmatch(head) if below else _is_heading(head) or _is_ruled(text, end))
    ]
    heads = [
        each
        for (_, before), each in pairwise([(0, ""), *heads])
        if not (_DAY.fullmatch(each[1]) and _ENTRY.match(before) and not _DAY.fullmatch(before))
    ]
    entries: list[int] = []
    above: list[int] = []
    for place, (_, head) in enumerate(heads):
        if match := _ENTRY.match(head):
            version = [int(part) for part in re.split("[.-]", match[1])]
            if version >= above and len(entries) < _ENTRIES:
                entries = []
            entries.append(place)
            above = version
    if len(entries) < _ENTRIES:
        return range(0)
    known = {head for _, head in heads[entries[0] : entries[-1]]}
    after = (number for number, head in heads[entries[-1] + 1 :] if head not in known)
    return range(heads[entries[0]][0], next(after, len(blocks)))


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    at = start
    for line in text[start:end].splitlines(keepends=True):
        body = line.strip()
        if body:
            first = at + len(line) - len(line.lstrip())
            yield first, first + len(body)
        at += len(line)


def _is_table(block: str, lines: Sequence[tuple[int, int]], text: str) -> bool:
    """Return whether half of the lines have cells; a bar in brackets or after a prompt parts none."""
    rows = sum(" | " in _BRACKETED.sub("", text[start:end]) for start, end in lines) if " | " in block else 0
    return rows * 2 >= len(lines) and rows > 0 and not _PROMPT.match(block)


def _is_ruled(text: str, end: int) -> bool:
    """Return whether a line of one sign stands below a block, as plain text has it below its headings."""
    below = text.find("\n", end) + 1
    is_short = end - text.rfind("\n", 0, end) <= _LONGEST_HEADING
    return below > 0 and is_short and _UNDERLINE.match(text, below) is not None


def _is_heading(block: str) -> bool:
    if block.startswith("#"):
        return True
    if len(block) > _LONGEST_HEADING or len(block.split()) > 12 or ": " in block or BULLET.match(block):
        return False
    return block[-1].isalnum() or block[-1] in ')?"”»'


def _rows(text: str, lines: Sequence[tuple[int, int]], around: str) -> Iterator[Unit]:
    header: tuple[str, ...] = ()
    for start, end in lines:
        line = text[start:end]
        cells = tuple(cell.strip() for cell in line.strip("|").split("|"))
        if set(line) <= set("|-: +="):
            continue
        if not header:
            if (
                not any(any(map(str.isdigit, cell)) and tokens_values(cell) for cell in cells)
                and len(cells) > 1
            ):
                header = cells
                if len(lines) > 1:
                    continue
            header = header or tuple("" for _ in cells)
        if end - start <= LONGEST:
            yield Unit(start, end, "row", around, header)


def tokens_values(cell: str) -> bool:
    """Return whether a cell of a first row holds a figure with a unit, so that the row is no header."""
    return any(
        token.value and token.value.of not in ("year", "period", "count", "date")
        for token in tokens_of(cell[:80])
    )


def _paragraph(text: str, lines: Sequence[tuple[int, int]], around: str) -> Iterator[Unit]:
    lead, subject, columns = "", "", list[str]()
    stretches = _stretches(text, lines)
    labels = sum(1 for start, end in stretches if label_of(text[start:end]))
    for start, end in stretches:
        line = text[start:end]
        if _MARKUP.match(line):
            continue
        names = [name for name, _, _ in cells_of(line)]
        if len(names) > 1 and end - start <= 2 * LONGEST:
            columns = columns or names
            if names[0] in columns[1:]:
                continue  # what the row is of stands in a cell above that reaches down to it
            yield Unit(start, end, "record", " / ".join(part for part in (around, lead) if part))
            continue
        match = label_of(line)
        if match and (len(match["key"].split()) <= 7) and end - start <= LONGEST:
            body = match["value"]
            if len(body.split()) <= 12 and ". " not in body:
                above = " / ".join(part for part in (around, lead, subject) if part)
                yield Unit(start, end, "label", above)
                if labels > 1 and not subject and not any(map(str.isdigit, body)):
                    subject = f"{match['key']} {body}"
                continue
            whole = ". " in body and label_of(body.partition(". ")[2]) is not None
            first = start if whole else start + match.start("value")
            parts = (around, "" if whole else match["key"])
            yield from _of_text(text, first, end, " / ".join(part for part in parts if part))
            continue
        if line.endswith(":") and len(line) <= 200:
            announcing = sentences(line)[-1][0]  # what stands before says something of its own
            lead = line[announcing:].rstrip(":")
            yield from _of_text(text, start, start + announcing, around)
            continue
        bullet = BULLET.match(line)
        first = start + (bullet.end() if bullet else 0)
        yield from _of_text(text, first, end, " / ".join(part for part in (around, lead) if part))


def _stretches(text: str, lines: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return lines joined where one goes on in the next: not before an item, a label or after a full stop."""
    joined: list[tuple[int, int]] = []
    for start, end in lines:
        line = text[start:end]
        if joined and not BULLET.match(line) and not label_of(line):
            before = text[joined[-1][0] : joined[-1][1]]
            if (
                not before.endswith((".", "!", "?", ":", ";"))
                and (len(before) > 70 or line[:1].islower() or before.split()[-1].casefold() in STOP)
                and not label_of(before)
            ):
                joined[-1] = (joined[-1][0], end)
                continue
        joined.append((start, end))
    return joined


def label_of(line: str) -> re.Match[str] | None:
    match = _LABEL.match(line)
    if (
        match is None
        or len(match["key"].split()) > 8
        or _VERB.search(match["key"])
        or match["key"].casefold() in ("http", "https")
    ):
        return None
    return match


def _of_text(text: str, start: int, end: int, around: str) -> Iterator[Unit]:
    spans = [(start + first, start + last) for first, last in sentences(text[start:end])]
    merged: list[tuple[int, int]] = []
    for first, last in spans:
        tail = text[max(merged[-1][0], merged[-1][1] - 8) : merged[-1][1]] if merged else ""
        month = text[first : first + 12].split(maxsplit=1)[0].casefold() in MONTH_NAMES
        if _ABBREVIATED.search(tail) or (month and _ORDINAL_DAY.search(tail)):
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    question, before = "", ""
    for first, last in merged:
        sentence = text[first:last]
        if sentence.endswith("?"):
            question = sentence
            continue
        if _EXAMPLE.match(sentence):
            break
        if last - first <= LONGEST and not _WHERE.match(sentence):
            pronoun = sentence.split(maxsplit=1)[0].casefold().strip(",") in PRONOUNS
            parts = (around, question, LEAD + before if pronoun and before and not question else "")
            form: Literal["sentence", "label"] = "label" if label_of(sentence) else "sentence"
            yield Unit(first, last, form, " / ".join(part for part in parts if part))
        before = sentence[:200]


def cells_of(line: str) -> list[tuple[str, int, int]]:
    """Return the cells of a row that is written out ("Plan: Basic; Price: 9 EUR.") with their places."""
    cells: list[tuple[str, int, int]] = []
    at = 0
    for part in line.split("; "):
        name, colon, value = part.partition(": ")
        if not colon or not 0 < len(name) <= 60 or "." in name[:-1]:
            return []
        start = at + len(name) + 2
        cells.append((name, start, start + len(value.rstrip(". "))))
        at += len(part) + 2
    return cells


def is_code(block: str) -> bool:
    """Return whether a block is a program, commands or settings: an example, not what the document says.

    >>> is_code("$ quay -n 2 boats"), is_code("[quay]\\nberths = 2"), is_code("Rent = 5 euros")
    (True, True, False)
    >>> is_code("checks:\\n    - name: lamps\\n      every: 2 weeks"), is_code("Boats (and rafts)")
    (True, False)
    """
    lines = block.splitlines()
    nested = any(
        _KEY.match(line) and len(below) - len(below.lstrip()) > len(line) - len(line.lstrip())
        for line, below in pairwise(lines)
    )
    return nested or sum(_CODE.match(line) is not None for line in lines) > _CODE_LINES * len(lines)


def is_row(text: str) -> bool:
    """Return whether a text is one row of a table, written out."""
    return len(text) <= 2 * LONGEST and len(cells_of(text.strip())) > 1
