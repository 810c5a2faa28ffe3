"""An answer as the text of a chat, with an annotation for every citation mark in it.

Text of documents, sources and models stays text in clients that draw Markdown or HTML, and loads nothing:
what could become markup is changed so that people can still read it, as no escape is shown alike by all
clients.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from disputatio.attribution.citations import escape_marks
from disputatio.rendering.wording import (
    abstention_line,
    conflict_line,
    find_origin,
    find_warning,
    late_line,
    sources_line,
)
from disputatio.text import one_line, shorten, without_headings
from disputatio.types import Answer, Citation, Passage, Position

_TAG = re.compile(r"<(?=[^\s\d=])")  # the beginning of a tag, a comment or an automatic link
_SCHEME = re.compile(r"(?<=[A-Za-z0-9]):(?=//)")  # clients turn bare addresses into links
_WWW = re.compile(r"\b(www)\.(?=\w)", re.IGNORECASE)
_FENCE = re.compile(r"`{3,}|~{3,}|:{3,}|\${2,}")  # code, directives and formulas, which some clients run
_MARK = re.compile(r"\[(\d{1,4})\]")
_MOST_POSITIONS = 12
_WORD = re.compile(r"\s*\S+\s*")
_WORDS = 6  # of one piece of a stream
# Fields of an answer beside its text; the whole answer has its own address.
_BESIDE = (
    *("question", "answers", "abstained", "claims", "conflict", "confidence", "certificate", "read", "usage"),
    *("strategy", "model", "each_source"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """An answer as a chat shows it."""

    text: str
    annotations: list[dict[str, Any]]


def word_answer(
    answer: Answer, address: Callable[[str], str], *, full: bool = True, understood: str = "", note: str = ""
) -> Wording:
    """Return the answer's text; when `full` with the positions that were not accepted, and the quotes.

    `address` gives that of a passage by its id. `understood` is the question that was asked, if it differs
    from the one that was written; it comes first. `note` comes last.
    """
    parts = [f"Understood as: {inert_quote(understood, 2_000)}"] if understood else []
    parts.append(_answer(answer))
    if full:
        if others := list(_others(answer)):
            parts.append("\n".join(others))
        if quotes := list(_quotes(answer)):
            parts.append("\n".join(quotes))
    if late := late_line(answer):
        parts.append(f"{late[:1].upper()}{late[1:]}.")
    if note:
        parts.append(inert(note))
    text = "\n\n".join(parts)
    return Wording(text=text, annotations=list(_annotations(text, answer, address)))


def pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces of a few words, for a stream; joined they are the text.

    >>> "".join(pieces("It rained [1].\\n\\nThen it stopped.")) == "It rained [1].\\n\\nThen it stopped."
    True
    """
    words = _WORD.findall(text)
    for at in range(0, len(words), _WORDS):
        yield "".join(words[at : at + _WORDS])


def beside(answer: Answer, **more: Any) -> dict[str, Any]:
    """Return the fields beside the text, as JSON values: answers, claims, positions, cost."""
    fields = answer.to_dict()
    return {**more, **{name: fields[name] for name in _BESIDE}}


def _answer(answer: Answer) -> str:
    if answer.abstained:
        return f"No answer: {inert_quote(abstention_line(answer))}."
    text = inert(answer.text) or "; ".join(map(inert_quote, answer.answers))
    doubts = sorted({line for claim in answer.claims if (line := find_warning(claim))})
    return f"{text} ({'; '.join(doubts)})" if doubts else text


def _others(answer: Answer) -> Iterator[str]:
    """Yield a line on how the positions relate, then one for each that was not accepted."""
    others = [each for each in answer.conflict.positions if each.verdict != "accepted"]
    if not others:
        return
    yield f"Positions: {inert(conflict_line(answer))}."
    for position in others[:_MOST_POSITIONS]:
        yield f"- {_position(position)}"
    if len(others) > _MOST_POSITIONS:
        yield f"- and {len(others) - _MOST_POSITIONS:,} more"


def _position(position: Position) -> str:
    about = f", {inert_quote(position.subject, 100)}" if position.subject else ""
    by = inert_quote(sources_line(position))
    held = f" (by {by})" if by else ""
    why = inert_quote(position.reason, 500)
    return f"{position.verdict}: {inert_quote(position.answer)}{about}{held}: {why}"


def _quotes(answer: Answer) -> Iterator[str]:
    for n, citation in sorted(_citations(answer).items()):
        origin, _ = find_origin(citation, answer.passages)
        yield f"- [{n}] {inert_quote(origin, 120)}: “{inert_quote(without_headings(citation.quote)[1])}”"


def _citations(answer: Answer) -> dict[int, Citation]:
    return {citation.n: citation for claim in answer.claims for citation in claim.citations}


def _annotations(text: str, answer: Answer, address: Callable[[str], str]) -> Iterator[dict[str, Any]]:
    """Yield an annotation in OpenAI's form for each citation mark; the indices are those of the mark."""
    citations = _citations(answer)
    passages = {passage.id: passage for passage in answer.passages}
    for mark in _MARK.finditer(text):
        citation = citations.get(int(mark[1]))
        if citation is None:
            continue
        yield {
            "type": "url_citation",
            "url_citation": {
                "url": address(citation.passage),
                "title": _title(citation, passages.get(citation.passage)),
                "start_index": mark.start(),
                "end_index": mark.end(),
            },
        }


def _title(citation: Citation, passage: Passage | None) -> str:
    named: Sequence[str] = (citation.source, passage.title if passage else "")
    return ": ".join(inert_quote(name, 120) for name in named if name) or citation.passage


def inert(text: str) -> str:
    """Return the text on one line, without control characters, chat tokens, HTML, links and code.

    Its citation marks are our own; see `inert_quote` for text of documents.

    >>> inert("see ![x](https://a.example/?q=1) <img src=x>")
    'see ! [x] (https: //a.example/?q=1) ‹img src=x>'
    """
    text = _TAG.sub("‹", one_line(text))
    text = _FENCE.sub(lambda match: " ".join(match[0][0] for _ in range(3)), text)
    text = text.replace("![", "! [").replace("](", "] (").replace("]:", "] :")
    return _WWW.sub(r"\1 .", _SCHEME.sub(": ", text))


def inert_quote(text: str, limit: int = 300) -> str:
    """Return the same for text of documents, shortened, and without marks like those of our citations.

    >>> inert_quote("as [1] says")
    'as (1) says'
    """
    return escape_marks(inert(shorten(text, limit)))
