"""A page of HTML that stands alone: no script, nothing loaded, light and dark, for a desk and a phone.

Whatever comes from data, models or documents passes `escape`; nothing else makes markup of text.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from importlib import resources

from disputatio.eval.reporting.tables import Table
from disputatio.text import one_line


def _style() -> str:
    text = resources.files("disputatio.eval.reporting").joinpath("page.css").read_text(encoding="utf-8")
    return text.partition("*/")[2].strip()


def escape(text: object) -> str:
    """Return text as a page shows it: one line, no control characters, no markup.

    >>> escape("<script>[1]\\n'a' & b")
    '&lt;script&gt;[1] &#x27;a&#x27; &amp; b'
    """
    return html.escape(one_line(str(text)))


def document(title: str, body: Sequence[str]) -> str:
    """Return a whole page around a body of markup; the title is text."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            "style-src 'unsafe-inline'\">",
            f"<title>{escape(title)}</title>",
            f"<style>{_style()}</style>",
            "</head>",
            "<body>",
            *body,
            "</body>",
            "</html>",
            "",
        ]
    )


def grid(table: Table) -> str:
    """Return a table that scrolls sideways; columns without figures are text."""
    prose = [not any(_has_figure(row[at]) for row in table.rows) for at in range(len(table.head))]
    head = "".join(f"<th>{escape(title)}</th>" for title in table.head)
    rows = []
    for row in table.rows:
        cells = "".join(
            f'<td class="text">{escape(cell)}</td>' if text and at else f"<td>{escape(cell)}</td>"
            for at, (cell, text) in enumerate(zip(row, prose, strict=True))
        )
        rows.append(f"<tr>{cells}</tr>")
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>\n'
        + "\n".join(rows)
        + "\n</tbody></table></div>"
    )


def _has_figure(cell: str) -> bool:
    return cell[:1].isdigit() or cell[:1] in "-–["
