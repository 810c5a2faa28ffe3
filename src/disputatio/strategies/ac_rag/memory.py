"""The memory of a search in rounds: what was looked up, what was found on it, and where that stands.

AC-RAG's M = {(t, s)} (Zhang et al. 2025), with the places in passages that each entry rests on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from disputatio.text import bare_words, find_quote, sentences, stem
from disputatio.types import Citation, Claim, Passage, Reply
from disputatio.values import canonical

SHORT = 3  # letters; words no longer than that do not tell what a sentence is about


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """An entry of the memory: a term, the passages read for it, and what they say on it, with its places."""

    term: str
    passages: tuple[str, ...]
    claims: tuple[Claim, ...]

    @property
    def text(self) -> str:
        """What was found on the term."""
        return " ".join(one.text for one in self.claims)


@dataclass(slots=True, kw_only=True)
class Memory:
    """What was looked up for one question.

    `missing` are terms on which nothing was found, `read` the passages by id, `useless` the ids of those
    that told nothing, `replies` the words of the agents that read them, `rounds` the searches made.
    """

    notes: list[Note] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    read: dict[str, Passage] = field(default_factory=dict)
    useless: set[str] = field(default_factory=set)
    replies: list[Reply] = field(default_factory=list)
    rounds: int = 0

    def has(self, term: str) -> bool:
        """Whether a term was looked up before."""
        known = (*(one.term for one in self.notes), *self.missing)
        return canonical(term) in {canonical(other) for other in known}

    def claims(self) -> list[Claim]:
        """What all notes say, each claim once."""
        return list(dict.fromkeys(claim for note in self.notes for claim in note.claims))

    def remembered(self) -> list[Passage]:
        """The passages behind the notes, in the order read; none that told nothing or whose reader failed."""
        kept = {one for note in self.notes for one in note.passages}
        return [passage for name, passage in self.read.items() if name in kept]


def cited_places(passages: Iterable[Passage], quote: str, about: str = "") -> tuple[Citation, ...]:
    """Where a quote stands, one place a passage; without a quote, the sentence of each nearest to a text.

    The citations are not numbered yet. A passage in which neither is found has none.
    """
    found = []
    for one in passages:
        span = find_quote(one.text, quote) if bare_words(quote) else nearest(one.text, about)
        if span is not None:
            start, end = span
            found.append(
                Citation(
                    n=0, passage=one.id, source=one.source, quote=one.text[start:end], start=start, end=end
                )
            )
    return tuple(found)


def nearest(text: str, about: str) -> tuple[int, int] | None:
    """The sentence of a text that shares most of its words with another text; None where none does.

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
