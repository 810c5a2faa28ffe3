"""Citations: verbatim quotes that our code finds in stored passages, never what a model says they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from disputatio.text import bare_words, find_quote, sentences
from disputatio.types import Citation, Claim, Passage, Reply
from disputatio.values import bears, canonical, states

_MARK = re.compile(r"\[\s*(\d+(?:\s*[,;–-]\s*\d+)*)\s*\]")


def quote_span(passage: Passage, answer: str, reply: Reply | None = None) -> tuple[int, int] | None:
    """Where the passage says the answer, as offsets into its text; None when it does not.

    The agent's own quote counts when it is verbatim in the passage and bears the answer; else the
    first sentence that bears it whole; else the agent's quote when it bears most of its words.
    """
    quoted = find_quote(passage.text, reply.quote) if reply and reply.quote else None
    if quoted and states(passage.text[slice(*quoted)], answer):
        return quoted
    for start, end in sentences(passage.text):
        if states(passage.text[start:end], answer):
            return start, end
    if quoted and bears(passage.text[slice(*quoted)], answer):
        return quoted
    if canonical(answer).values and not states(passage.text, answer):
        return None  # "10" is not what "10 million" says
    return find_quote(passage.text, answer)


def cite(
    answer: str, passages: Iterable[Passage], replies: Mapping[str, Reply], first: int = 1
) -> list[Citation]:
    """One citation for each passage that says the answer, numbered from `first`."""
    found: list[Citation] = []
    for passage in passages:
        reply = replies.get(passage.id)
        span = quote_span(passage, answer, reply)
        if span is None and reply is not None and reply.answer:  # the same answer in other words
            span = quote_span(passage, reply.answer, reply)
        if span is not None:
            start, end = span
            found.append(
                Citation(
                    n=first + len(found),
                    passage=passage.id,
                    source=passage.source,
                    quote=passage.text[start:end],
                    start=start,
                    end=end,
                )
            )
    return found


def renumber(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """One number a quote: citations of the same span share it, counted in order of appearance."""
    numbers: dict[tuple[str, int, int], int] = {}
    return tuple(
        replace(
            claim,
            citations=tuple(
                replace(one, n=numbers.setdefault((one.passage, one.start, one.end), len(numbers) + 1))
                for one in claim.citations
            ),
        )
        for claim in claims
    )


def joined(claims: Sequence[Claim], text: str, citations: Iterable[Citation]) -> list[Claim]:
    """Claims with one more statement; one that says the same, word for word, gains its citations instead.

    A citation is a place in a passage, so nothing is renumbered here and none can be lost.

    >>> [one.text for one in joined([Claim(text="It rained.")], "it rained", ())]
    ['It rained.']
    """
    whole, given = list(claims), tuple(citations)
    for at, one in enumerate(whole):
        if states(one.text, text) or states(text, one.text):
            places = {(each.passage, each.start, each.end): each for each in (*one.citations, *given)}
            longer = max(one.text, text, key=lambda said: len(" ".join(bare_words(said))))
            whole[at] = replace(one, text=longer, citations=tuple(places.values()))
            return whole
    return [*whole, Claim(text=text, citations=given)]


def render(claims: Sequence[Claim]) -> str:
    """The claims as running text with `[n]` after each; the numbers are ours alone.

    >>> render([Claim(text="It rained [7]."), Claim(text="It stopped")])
    'It rained (7). It stopped.'
    """
    parts = []
    for claim in claims:
        text = escape_marks(claim.text).strip().rstrip(".")
        marks = "".join(f"[{one.n}]" for one in claim.citations)
        parts.append(f"{text} {marks}." if marks else f"{text}.")
    return " ".join(parts)


def unmarked(text: str) -> str:
    """Text without marks of citation, for the word of an agent that was not asked for any.

    >>> unmarked("So it is [3][4, 5].")
    'So it is.'
    """
    return re.sub(r"\s*" + _MARK.pattern, "", text).strip()


def escape_marks(text: str) -> str:
    """Text whose own `[3]` cannot be taken for a citation of ours.

    >>> escape_marks("so it is [3], [4, 5]")
    'so it is (3), (4, 5)'
    """
    return _MARK.sub(r"(\1)", text)
