"""Citations: verbatim quotes that our code finds in stored passages; a model never sets them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from disputatio.text import bare_words, find_quote, sentences
from disputatio.types import Citation, Claim, Passage, Reply
from disputatio.values import bears, canonical, is_yes_or_no, states

_MARK = re.compile(r"[\[［【〔]\s*+(\d++(?:\s*+[,;–-]\s*+\d++)*+)\s*+[\]］】〕]")

_NEXT_PART = re.compile(r"\n[ \t]*(?:\n\s*(?:[-*•][ \t]+)?|[-*•][ \t]+)")  # of paragraphs and list items
_MORE_WORDS = 3  # than the answer, that a quote has


def quote_span(passage: Passage, answer: str, reply: Reply | None = None) -> tuple[int, int] | None:
    """Return the offsets at which the passage states the answer; None if it does not.

    First the agent's quote, if it is verbatim in the passage and states the answer; else the first sentence
    that states it; else the agent's quote, if it has most of the answer's words. What says yes or no need not
    have that word, and the word may stand anywhere.
    """
    quoted = find_quote(passage.text, reply.quote) if reply and reply.quote else None
    if quoted and (is_yes_or_no(answer) or states(passage.text[slice(*quoted)], answer)):
        return quoted
    for start, end in sentences(passage.text):
        if states(passage.text[start:end], answer):
            return _narrow(passage.text, start, end, answer)
    if quoted and bears(passage.text[slice(*quoted)], answer):
        return quoted
    if canonical(answer).values and not states(passage.text, answer):
        return None  # "10 million" does not state "10"
    return find_quote(passage.text, answer)


def _narrow(text: str, start: int, end: int, answer: str) -> tuple[int, int]:
    """Return the paragraph or list item in text without full stops that states an answer, if it says more.

    >>> text = "Fees\\n- a boat is 9 EUR a day\\n- a tent is 4 EUR a day"
    >>> start, end = _narrow(text, 0, len(text), "4 EUR")
    >>> text[start:end]
    'a tent is 4 EUR a day'
    """
    said = len(answer.split())
    first = start
    for mark in (*_NEXT_PART.finditer(text, start, end), None):
        last = mark.start() if mark else end
        part = text[first:last]
        if states(part, answer):
            is_enough = len(part.split()) >= said + _MORE_WORDS
            return (first, first + len(part.rstrip())) if is_enough else (start, end)
        first = mark.end() if mark else end
    return start, end


def cite(answer: str, passages: Iterable[Passage], replies: Mapping[str, Reply]) -> list[Citation]:
    """Return one citation for each passage that states the answer, numbered from 1."""
    citations: list[Citation] = []
    for passage in passages:
        reply = replies.get(passage.id)
        span = quote_span(passage, answer, reply)
        if span is None and reply is not None and reply.answer:  # the same answer in other words
            span = quote_span(passage, reply.answer, reply)
        if span is not None:
            start, end = span
            citations.append(
                Citation(
                    n=1 + len(citations),
                    passage=passage.id,
                    source=passage.source,
                    quote=passage.text[start:end],
                    start=start,
                    end=end,
                )
            )
    return citations


def renumber(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Return the claims with citations numbered in order of appearance, one number for each span."""
    numbers: dict[tuple[str, int, int], int] = {}
    return tuple(
        replace(
            claim,
            citations=tuple(
                replace(
                    citation,
                    n=numbers.setdefault((citation.passage, citation.start, citation.end), len(numbers) + 1),
                )
                for citation in claim.citations
            ),
        )
        for claim in claims
    )


def add_statement(claims: Sequence[Claim], text: str, citations: Iterable[Citation]) -> list[Claim]:
    """Return claims with one more statement; an equal claim gains its citations instead.

    Citations are spans of passages, so nothing is renumbered here and no citation is lost.

    >>> [claim.text for claim in add_statement([Claim(text="It rained.")], "it rained", ())]
    ['It rained.']
    """
    extended, added = list(claims), tuple(citations)
    for at, claim in enumerate(extended):
        if states(claim.text, text) or states(text, claim.text):
            spans = {
                (citation.passage, citation.start, citation.end): citation
                for citation in (*claim.citations, *added)
            }
            longer = max(claim.text, text, key=lambda wording: len(" ".join(bare_words(wording))))
            extended[at] = replace(claim, text=longer, citations=tuple(spans.values()))
            return extended
    return [*extended, Claim(text=text, citations=added)]


def render(claims: Sequence[Claim]) -> str:
    """Return the claims as running text with `[n]` after each; no other number keeps its brackets.

    >>> render([Claim(text="It rained [7]."), Claim(text="It stopped")])
    'It rained (7). It stopped.'
    """
    parts = []
    for claim in claims:
        text = escape_marks(claim.text).strip().rstrip(".")
        marks = "".join(f"[{citation.n}]" for citation in claim.citations)
        parts.append(f"{text} {marks}." if marks else f"{text}.")
    return " ".join(parts)


def remove_marks(text: str) -> str:
    """Return text without citation marks, for replies of agents that should not cite.

    >>> remove_marks("So it is [3][4, 5].")
    'So it is.'
    """
    return re.sub(r"(?<!\s)\s*+" + _MARK.pattern, "", text).strip()


def escape_marks(text: str) -> str:
    """Return text whose own `[3]` cannot be mistaken for one of our citations.

    >>> escape_marks("so it is [3], [4, 5]")
    'so it is (3), (4, 5)'
    """
    return _MARK.sub(r"(\1)", text)
