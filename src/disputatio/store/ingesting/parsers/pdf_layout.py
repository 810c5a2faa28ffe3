"""The paragraphs of a page of a PDF, told by its layout: a page has lines, and no marks between paragraphs.

A paragraph ends where the next line is further away than lines are, or is set in another font or size. Lines
that all stand apart in one font, as rows of a table and items of a list do, stay together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

APART = 1.35  # times the distance of lines
OTHER_SIZE = 1.1


@dataclass(slots=True)
class _Line:
    text: str = ""
    height: float = 0.0  # above the page's foot
    size: float = 0.0
    font: str = ""


@dataclass(slots=True)
class Layout:
    """The lines of a page as its text is read, each with its place, size and font."""

    _lines: list[_Line] = field(default_factory=lambda: [_Line()])

    def see(
        self,
        text: str,
        page: Sequence[float],
        place: Sequence[float],
        font: Mapping[str, Any] | None,
        size: float,
    ) -> None:
        """Take a piece of text with the matrices of page and text, as pypdf tells of it."""
        for number, piece in enumerate(text.split("\n")):
            if number:
                self._lines.append(_Line())
            line = self._lines[-1]
            if piece.strip() and not line.text.strip():
                line.height = place[4] * page[1] + place[5] * page[3] + page[5]
                line.size = abs(size * place[3] * page[3])
                line.font = str((font or {}).get("/BaseFont", ""))
            line.text += piece

    def text(self) -> str:
        """Return the text with an empty line between paragraphs."""
        lines = [line for line in self._lines if line.text.strip()]
        near = _distance(lines)
        paragraphs: list[list[_Line]] = []
        for line in lines:
            last = paragraphs[-1][-1] if paragraphs else None
            if last is None or _is_other(last, line) or abs(last.height - line.height) > APART * near:
                paragraphs.append([])
            paragraphs[-1].append(line)
        joined = paragraphs[:1]
        for one, other in pairwise(paragraphs):
            if len(one) == len(other) == 1 and not _is_other(one[0], other[0]):
                joined[-1].extend(other)
            else:
                joined.append(other)
        return "\n\n".join("\n".join(line.text.rstrip() for line in some) for some in joined)


def _is_other(one: _Line, other: _Line) -> bool:
    small, large = sorted((one.size, other.size))
    return one.font != other.font or large > OTHER_SIZE * small


def _distance(lines: Sequence[_Line]) -> float:
    """Return how far apart the lines of a paragraph are: a quarter of all in a font are no further."""
    apart = sorted(
        one.height - other.height
        for one, other in pairwise(lines)
        if one.height > other.height and not _is_other(one, other)
    )
    return apart[len(apart) // 4] if apart else float("inf")
