"""reStructuredText, as Markdown: headings, directives, tables and roles are translated, the rest is alike.

The text is read line by line: Sphinx lets anyone add directives, and a strict parser stops at the first
that it does not know.
"""

from __future__ import annotations

import bisect
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from string import punctuation
from typing import BinaryIO

from disputatio.store.ingesting.grids import MOST_COLUMNS, spell_rows
from disputatio.store.ingesting.parsers import ParsedPart, markdown
from disputatio.store.ingesting.parsers.plain_text import is_line

FORMATS = (
    replace(markdown.FORMATS[0], kind="rst", suffixes=(".rst", ".rest"), content_types=("text/x-rst",)),
)

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1*")
_SIMPLE = re.compile(r"=+(?: +=+)+")  # the border of a table, as is the next
_GRID = re.compile(r"\+(?:[-=]+\+)+")
_MARKED = (".. ", "__ ")
_DIRECTIVE = re.compile(r"\.\. (\|[^|]{1,80}\| )?([\w:+.-]{1,60}?)::(.*)")
_OPTION = re.compile(r":([^:`\s][^:`]{0,60}):(?!`)(.*)")
_NUMBERED = re.compile(r"^#\.")
_ITEM = re.compile(r"(?:[-*+•|]|\(?(?:\d{1,4}|#)[.)]|\(?[a-z]\)) ")
_INLINE = re.compile(
    r"(``(?:[^`]|`(?!`))+``)|(?::([\w:+.-]{1,40}):)?_?`([^`]+)`(_{0,2})|\\([^\n]?)|(?<=[\w\]])_{1,2}(?![\w`])|([<&\[_])"
)
_CODE = re.compile(
    "(?:source)?code|code-block|parsed-literal|prompt|console|ipython|doctest|test(?:code|output)|csv-table"
)
_UNSEEN = re.compile(
    "toctree|contents|(?:literal)?include|image|raw|index|meta|highlight|(?:current)?module|role|auto.*|default-.*"
)
_TERM = re.compile("rubric|setting|conf(?:val|ig)|(?:cmd)?option|envvar|object")
_LAYOUT = re.compile("figure|container|(?:rst-|css)?class|only|grid|tab-set|tabs|list-table")
_NOTES = re.compile("note|warning|tip|hint|important|caution|attention|danger|error")
_VERSIONS = {
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
}


def parse(file: BinaryIO) -> Iterator[ParsedPart]:
    return markdown.parse(file, lambda text: _Translation(text).markdown())


class _Translation:
    """A text of which each block is written as Markdown once its last line is read."""

    def __init__(self, text: str) -> None:
        self._lines = [*map(str.rstrip, text.split("\n")), "", ""]
        self._at = 0
        self._blocks: list[str] = []
        self._open: list[str] = []  # lines of the block that is read
        self._lead = ""  # words before the next one
        self._levels: dict[tuple[str, int], int] = {}  # of headings, by their lines
        self._base = 0  # where its last line begins, which code is indented against
        self._indent: int | None = None  # of its next line, None for any
        self._lists: list[
            int
        ] = []  # how far the terms of open definition lists are indented, inner ones last
        ends = (n for n, line in enumerate(self._lines) if not line and n)
        self._table_ends = [n for n in ends if _SIMPLE.fullmatch(self._lines[n - 1].strip())]

    def markdown(self) -> str:
        while self._at < len(self._lines) - 2:
            text = self._lines[self._at].strip()
            if not text or text == ".." or text.startswith(_MARKED):
                self._at += 1
                self._close()
                if text:
                    self._read_marked(text)
            elif self._open or not (self._read_heading() or self._read_term(text) or self._read_table(text)):
                self._read_line(text)
        self._close()
        self._end_lists(-1)
        return "\n\n".join(self._blocks)

    def _read_heading(self) -> bool:
        """Read a heading, or a rule between paragraphs, if there is one here."""
        line, below, last = self._lines[self._at : self._at + 3]
        if _RULE.fullmatch(line):
            title, under, lines = below.strip(), line, 3
            if last != line or not title or _RULE.fullmatch(title):
                self._at += len(line) > 3
                return len(line) > 3
        else:
            title, under, lines = line, below, 2
            if line[0] == " " or below in ("..", "::") or not _RULE.fullmatch(below):
                return False
        if len(under) < len(title):
            return False
        self._end_lists(-1)
        level = self._levels.setdefault((under[0], lines), len(self._levels) + 1)
        self._blocks.append(f"{'#' * min(level, 6)} {_inline(title)}")
        self._at += lines
        return True

    def _read_term(self, text: str) -> bool:
        """Read a term, if one is here: a short line with its definition below it, indented further."""
        indent = self._indent_at(self._at)
        is_term = (
            self._indent_at(self._at + 1) > indent
            and is_line(text)
            and any(map(str.isalnum, text))
            and not (_OPTION.match(text) or _ITEM.match(text) or "  " in text)
        )
        self._end_lists(indent + is_term)
        if is_term:
            if self._lists[-1:] != [indent]:
                self._lists.append(indent)
                self._blocks.append("<dl>")
            self._blocks += ["<dt>", _inline(text), "</dt>"]
            self._at += 1
        return is_term

    def _end_lists(self, indent: int) -> None:
        """End the definition lists whose terms are indented this far, or further."""
        while self._lists and self._lists[-1] >= indent:
            self._lists.pop()
            self._blocks.append("</dl>")

    def _read_table(self, text: str) -> bool:
        start = end = self._at
        if _GRID.fullmatch(text):
            while self._lines[end].lstrip()[:1] in ("+", "|") and self._lines[end]:
                end += 1
            self._add_table(*_grid([line.strip() for line in self._lines[start:end]]))
        elif text.count(" =") < MOST_COLUMNS and _SIMPLE.fullmatch(text):
            at = bisect.bisect_right(self._table_ends, start + 1)
            for end in self._table_ends[at : at + 1]:
                self._add_table(*_simple(self._lines[start : end - 1]))
        self._at = end
        return end > start

    def _read_line(self, text: str) -> None:
        indent = self._indent_at(self._at)
        if not self._open:
            self._base, self._indent = indent, None
            self._open = [f"{self._lead} "] if self._lead else []
            self._lead = ""
        field, item = _OPTION.match(text), _ITEM.match(text)
        if self._open and (field or self._indent not in (None, indent)):
            self._open[-1] += "  "  # a definition stands below its term
            self._base = indent
        if item:
            self._base = indent + item.end()
        if not field or field[2]:
            self._open.append(f"{field[1]}:{field[2]}" if field else _NUMBERED.sub("1.", text))
        self._indent = None if field or item else indent
        self._at += 1

    def _close(self) -> None:
        """End the block that is open; what is indented below `::` is code."""
        text = "\n".join(self._open)
        self._open = []
        is_code = text.endswith("::")
        if is_code:
            text = text[:-2] if text[-3:-2] in ("", " ", "\n") else text[:-1]
        if text.strip():
            self._blocks.append(_inline(text))
        if is_code:
            self._add_code(self._base)

    def _read_marked(self, text: str) -> None:
        """Read the first lines of a directive, a footnote, a label or a comment; the line is behind."""
        indent = self._indent_at(self._at - 1)
        found = _DIRECTIVE.match(text)
        name = found[2].lower().rpartition(":")[2] if found else ""
        self._lead = ""
        if text.startswith(".. ["):
            self._start(text[3:], indent)
        elif found and not (found[1] or _UNSEEN.fullmatch(name)):
            self._read_directive(name, found[3].strip(), indent)
        elif found or not text.startswith((".. _", "__ ")):
            start = self._at
            if text != ".." or self._lines[start]:
                self._at = self._end(indent)
            if not found:
                comment = " ".join([text[2:], *self._lines[start : self._at]])
                self._blocks.append(f"<!-- {re.sub('[<>-]', ' ', comment)} -->")

    def _read_directive(self, name: str, argument: str, indent: int) -> None:
        options, last = [], len(self._lines) - 1
        while self._indent_at(self._at) > indent and (option := _OPTION.match(self._lines[self._at].strip())):
            options.append(f"{option[1]}:{option[2]}" if option[2] else "")
            self._at += 1
        if _CODE.fullmatch(name):
            self._add_code(indent)
        elif _NOTES.fullmatch(name) or name in _VERSIONS:
            self._lead = name.capitalize()
            if name in _VERSIONS:
                version, _, argument = argument.partition(" ")
                self._lead = f"{_VERSIONS[name]} {version}"
            if argument:
                self._start(f"{self._lead}: {argument}", indent)
            elif self._indent_at(next(filter(self._lines.__getitem__, range(self._at, last)), last)) > indent:
                self._lead += ":"
            else:
                self._blocks.append(f"{self._lead}.")
                self._lead = ""
        elif not _LAYOUT.fullmatch(name):
            if argument and _TERM.fullmatch(name):
                self._blocks.append(f"**{_inline(argument)}**")
                argument = ""
            self._blocks.append("  \n".join(_inline(line) for line in [argument, *options] if line))

    def _start(self, text: str, indent: int) -> None:
        """Begin a block whose first line stands behind a mark."""
        self._open, self._lead = [text], ""
        self._base, self._indent = indent, None

    def _indent_at(self, at: int) -> int:
        """Return how far a line is indented; a blank one is nowhere."""
        line = self._lines[at]
        return len(line) - len(line.lstrip()) if line else -1

    def _end(self, indent: int) -> int:
        """Return the line after those that are indented further, or blank."""
        end = self._at
        while end < len(self._lines) - 2 and (not self._lines[end] or self._indent_at(end) > indent):
            end += 1
        return end

    def _add_code(self, indent: int) -> None:
        end = self._end(indent)
        code = textwrap.dedent("\n".join(self._lines[self._at : end])).strip("\n")
        if code:
            self._blocks.append(f"~~~~~~~~\n{code}\n~~~~~~~~")
        self._at = end

    def _add_table(self, rows: Sequence[Sequence[Sequence[str]]], marked: int) -> None:
        """Add a table; a row is given as lines of cells."""
        grid = [
            [" ".join(part for part in cell if part.strip("\\")) for cell in zip(*row, strict=True)]
            for row in rows
        ]
        lines = spell_rows(grid, marked=marked) or [" | ".join(filter(None, row)) for row in grid]
        self._blocks.append("  \n".join(map(_inline, lines)))


def _grid(lines: Sequence[str]) -> tuple[list[list[list[str]]], int]:
    """Return the rows of a table drawn with lines, and how many of them are its header."""
    rows: list[list[list[str]]] = []
    marked, is_new = 0, True
    for line in lines:
        cells = [cell.strip(" +") for cell in line[1:-1].split("|")]
        if _GRID.fullmatch(line):
            marked, is_new = (len(rows) if "=" in line else marked), True
        elif is_new or len(cells) != len(rows[-1][0]):
            rows.append([cells])
            is_new = False
        else:
            rows[-1].append(cells)
    return rows, marked


def _simple(lines: Sequence[str]) -> tuple[list[list[list[str]]], int]:
    """Return the rows of a table whose columns are those of its border, and how many are its header."""
    starts = [column.start() for column in re.finditer("=+", lines[0])]
    rows: list[list[list[str]]] = []
    marked = 0
    for line in lines[1:]:
        if _SIMPLE.fullmatch(line.strip()):
            marked = marked or len(rows)
        elif line.strip("- "):
            cells = [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
            if cells[0] or len(rows) == marked:
                rows.append([])
            rows[-1].append(cells)
    return rows, marked


def _inline(text: str) -> str:
    """Return a text with the inline marks of Markdown.

    >>> _inline("``a``, :ref:`the FAQ <faq>`, :class:`~a.B`, `Home <http://x.example>`_, :pep:`8` and Foo_")
    '``a``, ``the FAQ``, ``B``, ``Home``, PEP ``8`` and Foo'
    """
    return _INLINE.sub(_shown, text)


def _shown(mark: re.Match[str]) -> str:
    code, role, words, link, escaped, special = mark.groups(default="")
    if words and (role or link) and words.endswith(">") and "<" in words:
        words = words[: words.rindex("<")].strip() or words.strip("<>")
    if role:
        words = words.rpartition(".")[2] if words.startswith("~") else words.lstrip("!")
    if words:
        return f"{role.upper()} ``{words}``" if role in ("pep", "rfc") else f"``{words}``"
    return code or (
        f"\\{special or escaped}" if (special or escaped or " ") in punctuation else escaped.strip()
    )
