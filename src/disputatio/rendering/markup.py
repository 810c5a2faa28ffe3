"""Answers and hits as HTML for a notebook: escaped throughout, on one line, without script, link or load.

Text of documents and models is untrusted. It is escaped, isolated (`<bdi>`), and its controls and marks of
direction are shown by their code points. There is no line break in the markup, so that a Markdown processor
sees one block of HTML; and a math processor is told to leave it alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from disputatio.attribution.citations import escape_marks
from disputatio.rendering import plain
from disputatio.rendering.reasons import reason
from disputatio.rendering.wording import (
    ORDERS,
    abstention_line,
    conflict_line,
    cost,
    describe_certificate,
    describe_date,
    describe_search,
    describe_unused_claims,
    find_warning,
    read_from,
    sources_line,
    sureness,
)
from disputatio.text import find_quote, is_unseen
from disputatio.types import Answer, Claim, Hit, Passage, Position

_AROUND = 160  # characters of a passage before and after its quote
_LONGEST = 600  # characters that are shown of a passage without a quote
_JOINERS = "\u200c\u200d"  # parts of letters and emoji, which do nothing alone
_COLOURS = {"accepted": "#1a7f37", "rejected": "#b42318", "unresolved": "#9a6700"}
_VERDICTS = {"accepted": "✓ accepted", "rejected": "✗ rejected", "unresolved": "? unresolved"}
_CARD = "flex:1 1 16em;max-width:32em;border:1px solid #8886;border-radius:6px;padding:.5em .8em"
_CARDS = "display:flex;flex-wrap:wrap;gap:.8em;margin:.6em 0"
_SMALL = "font-size:.85em;opacity:.8"
_QUOTE = "margin:.4em 0;padding-left:.6em;border-left:2px solid #8886;font-size:.9em"

Span = tuple[int, int]


def html(noun: object) -> str:
    """Return an answer or a hit as an element of HTML; another noun as its text."""
    if isinstance(noun, Answer):
        return _block(_answer_parts(noun))
    if isinstance(noun, Hit):
        return _block(_hit_parts(noun))
    return _block([f"<pre>{to_html(plain.text(noun))}</pre>"])


def to_html(text: str) -> str:
    """Return untrusted text as inert HTML: escaped, line breaks as elements, controls by their code points.

    >>> to_html("<b>1 & 2</b>"), to_html("\u202e7")
    ('&lt;b&gt;1 &amp; 2&lt;/b&gt;', '<span style="opacity:.5">[U+202E]</span>7')
    """
    return "".join(_character(char) for char in re.sub(r"\r\n?", "\n", text))


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str = "") -> str:
    """Return rows as an HTML table under a caption; all text is escaped."""
    title = f"<p>{to_html(caption)}</p>" if caption else ""
    cells = "".join(f"<th>{to_html(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{to_html(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return _block([f"{title}<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"])


def _character(char: str) -> str:
    if char == "\n":
        return "<br>"
    if char == "\t" or char in _JOINERS:
        return char
    if is_unseen(char) or unicodedata.category(char) in ("Zl", "Zp"):
        return f'<span style="opacity:.5">[U+{ord(char):04X}]</span>'
    return escape(char)


def _block(parts: Iterable[str]) -> str:
    """Return the parts in one element, which math processors leave alone."""
    return f'<div class="disputatio tex2jax_ignore mathjax_ignore">{"".join(parts)}</div>'


def _isolate(text: str) -> str:
    return f"<bdi>{to_html(text)}</bdi>"


# --- an answer ----------------------------------------------------------------------------------
def _answer_parts(answer: Answer) -> Iterator[str]:
    yield f'<p style="{_SMALL}">{_isolate(answer.question)}</p>'
    if answer.answers:
        answers = sureness(answer) + "; ".join(map(_isolate, answer.answers))
        sure = "" if answer.confidence is None else f' <span style="{_SMALL}">{answer.confidence:.0%}</span>'
        yield f'<p style="font-size:1.3em"><b>{answers}</b>{sure}</p>'
    else:
        yield f'<p style="font-size:1.3em"><b>No answer</b>: {_isolate(abstention_line(answer))}</p>'
    if answer.claims:
        yield "<p>" + " ".join(map(_claim, answer.claims)) + "</p>"
    elif answer.text:
        yield f"<p>{_isolate(answer.text)}</p>"
    if answer.conflict.positions:
        yield f"<p><b>Positions</b>: {to_html(conflict_line(answer))}</p>"
        cards = "".join(_position(position, answer) for position in answer.conflict.positions)
        yield f'<div style="{_CARDS}">{cards}</div>'
    facts = [("Robustness", describe_certificate(answer.certificate))] if answer.certificate else []
    facts += [("Read", read_from(answer))] if answer.passages else []
    facts += [("Not used", claims)] if (claims := describe_unused_claims(answer)) else []
    facts += [("Looked further", further)] if (further := describe_search(answer)) else []
    for label, text in [*facts, ("Cost", cost(answer))]:
        yield f'<p style="{_SMALL};margin:.2em 0"><b>{label}</b>: {to_html(text)}</p>'


def _claim(claim: Claim) -> str:
    marks = "".join(f"<sup>[{citation.n}]</sup>" for citation in claim.citations)
    doubt = f' <span style="color:#9a6700">({find_warning(claim)})</span>' if find_warning(claim) else ""
    return f"{_isolate(escape_marks(claim.text).strip().rstrip('.'))}{marks}.{doubt}"


def _position(position: Position, answer: Answer) -> str:
    colour = _COLOURS[position.verdict]
    parts = [f'<div style="color:{colour}">{_VERDICTS[position.verdict]}</div>']
    parts.append(f"<div><b>{_isolate(position.answer)}</b></div>")
    if position.subject:
        parts.append(f"<div>{_isolate(position.subject)}</div>")
    parts.append(f'<div style="{_SMALL}">{_isolate(reason(position))}</div>')
    quoted = list(_quotes(position, answer))
    if quoted:
        parts += quoted
    elif sources := sources_line(position):
        parts.append(f'<div style="{_SMALL}">by {_isolate(sources)}</div>')
    return f'<div style="{_CARD};border-top:3px solid {colour}">{"".join(parts)}</div>'


def _quotes(position: Position, answer: Answer) -> Iterator[str]:
    """Yield each passage of a position with what it says highlighted in its context."""
    cited = {citation.passage: citation for claim in answer.claims for citation in claim.citations}
    replies = {reply.passages[0]: reply for reply in answer.replies if len(reply.passages) == 1}
    for passage in answer.passages:
        if passage.id not in position.passages:
            continue
        span: Span | None = None
        label = ""
        if passage.id in cited and position.verdict != "rejected":
            citation = cited[passage.id]
            span, label = (citation.start, citation.end), f"[{citation.n}] "
        elif passage.id in replies and replies[passage.id].quote:
            span = find_quote(passage.text, replies[passage.id].quote)
        span = span or find_quote(passage.text, position.answer)
        yield _passage(passage, span, label)


def _passage(passage: Passage, span: Span | None, label: str = "") -> str:
    where = " · ".join(
        filter(
            None,
            [passage.source or passage.id, passage.title, describe_date(passage), _page(passage.metadata)],
        )
    )
    orders = f' <b style="color:#b42318">{ORDERS}</b>' if passage.gives_orders else ""
    head = f'<div style="{_SMALL}">{label}{_isolate(where)}{orders}</div>'
    return f'<blockquote style="{_QUOTE}">{head}{_in_context(passage.text, span)}</blockquote>'


def _page(metadata: Mapping[str, str]) -> str:
    return f"page {metadata['page']}" if metadata.get("page") else ""


def _in_context(text: str, span: Span | None) -> str:
    """Return a passage's text around a span of it, whose characters are marked; its beginning without one."""
    if span is None:
        return _isolate(text[:_LONGEST] + ("…" if len(text) > _LONGEST else ""))
    start, end = span
    first, last = max(0, start - _AROUND), min(len(text), end + _AROUND)
    before = ("…" if first else "") + text[first:start]
    after = text[end:last] + ("…" if last < len(text) else "")
    return f"<bdi>{to_html(before)}<mark>{to_html(text[start:end])}</mark>{to_html(after)}</bdi>"


# --- a hit --------------------------------------------------------------------------------------
def _hit_parts(hit: Hit) -> Iterator[str]:
    scores = "".join(f", {to_html(name)} {score:.3f}" for name, score in hit.scores.items())
    yield f'<p style="{_SMALL}"><b>{hit.score:.3f}</b>{scores}</p>'
    yield _passage(hit.passage, None)
