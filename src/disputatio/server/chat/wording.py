"""An answer as the text of a chat, with an annotation for every citation mark in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from disputatio.rendering.wording import abstention_line, conflict_line, quoted_from, sources_line, warning
from disputatio.server.chat.inert import inert, inert_quote
from disputatio.types import Answer, Citation, Passage, Position

_MARK = re.compile(r"\[(\d{1,4})\]")
_MOST_POSITIONS = 12
_WORD = re.compile(r"\s*\S+\s*")
_WORDS = 6  # of one piece of a stream
# What of an answer stands beside its text; the rest is at its own address.
_BESIDE = (
    *("question", "answers", "abstained", "claims", "conflict", "confidence", "certificate", "read", "usage"),
    *("strategy", "model"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What a chat shows of an answer."""

    text: str
    annotations: list[dict[str, Any]]


def worded(
    answer: Answer,
    address: Callable[[str], str],
    *,
    full: bool = True,
    understood: str = "",
    note: str = "",
) -> Wording:
    """Return the answer's text; when `full` with the positions that were not accepted, and the quotes.

    `address` gives that of a passage by its id. `understood` is the question that was asked, where it is not
    the one that was written; it comes first. `note` is a line of ours that comes last.
    """
    parts = [f"Understood as: {inert_quote(understood, 2_000)}"] if understood else []
    parts.append(_answer(answer))
    if full:
        if others := list(_others(answer)):
            parts.append("\n".join(others))
        if quotes := list(_quotes(answer)):
            parts.append("\n".join(quotes))
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
    """Return what of an answer stands beside the text, as JSON values: answers, claims, positions, cost."""
    fields = answer.to_dict()
    return {**more, **{name: fields[name] for name in _BESIDE}}


def _answer(answer: Answer) -> str:
    if answer.abstained:
        return f"No answer: {inert_quote(abstention_line(answer))}."
    text = inert(answer.text) or "; ".join(map(inert_quote, answer.answers))
    doubts = sorted({line for claim in answer.claims if (line := warning(claim))})
    return f"{text} ({'; '.join(doubts)})" if doubts else text


def _others(answer: Answer) -> Iterator[str]:
    """Yield a line for each position that was not accepted, under one that says how the positions relate."""
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
        origin, _ = quoted_from(citation, answer.passages)
        yield f"- [{n}] {inert_quote(origin, 120)}: “{inert_quote(citation.quote)}”"


def _citations(answer: Answer) -> dict[int, Citation]:
    return {citation.n: citation for claim in answer.claims for citation in claim.citations}


def _annotations(text: str, answer: Answer, address: Callable[[str], str]) -> Iterator[dict[str, Any]]:
    """Yield one for each mark of a citation, in OpenAI's form: the indices are those of the mark."""
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
