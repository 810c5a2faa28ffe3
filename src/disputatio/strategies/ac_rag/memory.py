"""The memory of a search in rounds: the terms, what was found on them, and the cited passages.

AC-RAG's M = {(t, s)} (Zhang et al. 2025), with the places in passages that each entry rests on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from disputatio.kit import Kit
from disputatio.text import bare_words, fence, find_quote, sentences, stem
from disputatio.types import Citation, Claim, Passage, Reply
from disputatio.values import canonical

NO_NOTES = "There are no notes."
NOT_FOUND = "nothing was found on: {terms}"
SHORT = 3  # letters; words up to this length do not show what a sentence is about


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Parts that are the same in all rounds: the question (`asked`: as agents read it), the kit, the roles, the options."""

    question: str
    asked: str
    kit: Kit
    detector: str
    resolver: str
    votes: int
    k: int
    query: str
    summary: bool
    bound: bool
    max_tokens: int
    shots: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """An entry of the memory: a term, the passages read for it, and their claims on it, cited."""

    term: str
    passages: tuple[str, ...]
    claims: tuple[Claim, ...]

    @property
    def text(self) -> str:
        """The finding on the term."""
        return " ".join(claim.text for claim in self.claims)


@dataclass(slots=True, kw_only=True)
class Memory:
    """The findings for one question.

    `missing` are terms on which nothing was found, `read` the passages by id, `useless` the ids of passages
    without an answer, `replies` the replies of the agents that read them, `rounds` the number of searches.
    """

    notes: list[Note] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    read: dict[str, Passage] = field(default_factory=dict)
    useless: set[str] = field(default_factory=set)
    replies: list[Reply] = field(default_factory=list)
    rounds: int = 0

    def has(self, term: str) -> bool:
        """Return whether a term was looked up before."""
        known = (*(note.term for note in self.notes), *self.missing)
        return canonical(term) in {canonical(other) for other in known}

    def claims(self) -> list[Claim]:
        """Return what all notes say, each claim once."""
        return list(dict.fromkeys(claim for note in self.notes for claim in note.claims))

    def remembered(self) -> list[Passage]:
        """Return the passages behind the notes, in the order read."""
        ids = {passage for note in self.notes for passage in note.passages}
        return [passage for name, passage in self.read.items() if name in ids]

    def shown(self) -> str:
        """Return the memory as agents read it, in a fence."""
        lines = [f"{note.term}: {note.text}" for note in self.notes]
        if self.missing:
            lines.append(NOT_FOUND.format(terms="; ".join(self.missing)))
        return fence("notes", "\n".join(lines)) if lines else NO_NOTES


def cited_places(passages: Iterable[Passage], quote: str, about: str = "") -> tuple[Citation, ...]:
    """Citations of a quote, one for each passage; without a quote, of the sentence nearest to a text.

    The citations are not numbered yet. A passage with neither has none.
    """
    citations = []
    for passage in passages:
        span = find_quote(passage.text, quote) if bare_words(quote) else nearest(passage.text, about)
        if span is not None:
            start, end = span
            citations.append(
                Citation(
                    n=0,
                    passage=passage.id,
                    source=passage.source,
                    quote=passage.text[start:end],
                    start=start,
                    end=end,
                )
            )
    return tuple(citations)


def nearest(text: str, about: str) -> tuple[int, int] | None:
    """Return the sentence of a text that shares most words with another text; None if none shares any.

    >>> nearest("It rained. The ferry crossed in 1887.", "the first ferry crossing")
    (11, 37)
    """
    wanted = {stem(word) for word in bare_words(about) if len(word) > SHORT}
    shared = [
        (len(wanted & {stem(word) for word in bare_words(text[start:end])}), -start, end)
        for start, end in sentences(text)
    ]
    most, start, end = max(shared, default=(0, 0, 0))
    return (-start, end) if most else None
