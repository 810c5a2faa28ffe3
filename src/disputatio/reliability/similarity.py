"""How alike texts are: copies that count as one voice, and altered copies that tell another answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from disputatio.text import bare_words, stem
from disputatio.types import Passage

COPY = 0.5  # share of common word triples from which two texts count as copies
SHORT, NEARLY_EQUAL = 25, 0.9  # below so many words, from which share
LONG_WORD = 3  # shorter words say nothing of what a text is about; figures do
# Words of a question that say nothing of its subject.
_PLAIN = frozenset(
    {
        *(
            "what",
            "which",
            "who",
            "whom",
            "whose",
            "when",
            "where",
            "why",
            "how",
            "is",
            "are",
            "was",
            "were",
            "be",
        ),
        *("been", "do", "does", "did", "has", "have", "had", "can", "could", "of", "in", "on"),
        *("at", "to", "for", "from", "by", "with", "and", "or", "as", "it", "its", "this"),
        *("that", "there", "many", "much", "year", "kind", "type", "name"),
    }
)


def content_stems(question: str) -> frozenset[str]:
    """The stems of a question's content words.

    >>> sorted(content_stems("When was the harbour wall built?"))
    ['built', 'harbo', 'wall']
    """
    return frozenset(stem(word) for word in bare_words(question) if word not in _PLAIN)


def likeness(one: str, other: str) -> float:
    """The share of word triples that two texts have in common (Jaccard).

    >>> likeness("a ship left the quay", "a ship left the quay"), likeness("a ship left", "no boat came")
    (1.0, 0.0)
    """
    first, second = _triples(one), _triples(other)
    return len(first & second) / len(first | second)


def kinship(one: str, other: str, leaving: Collection[str] = ()) -> float:
    """How far two texts share their telling words, in [0, 1]: the cosine of their sets of words.

    Telling are figures and words of more than three letters; `leaving` are texts whose words do not count,
    for what a question names stands in every passage that was found for it.

    >>> round(kinship("Lamb, born in Glasgow, 1868", "Lamb of Glasgow, born 1888"), 2)
    0.75
    >>> kinship("Lamb of Glasgow", "Lamb of Oban", leaving=["Who is Lamb?"])
    0.0
    """
    gone = {word for text in leaving for word in bare_words(text)}
    first, second = _telling(one) - gone, _telling(other) - gone
    shared = len(first & second)
    return shared / (len(first) * len(second)) ** 0.5 if shared else 0.0


def is_copy(one: Passage, other: Passage) -> bool:
    """Whether two texts are copies; short ones are alike by chance, so they must be nearly equal."""
    short = min(len(one.text.split()), len(other.text.split())) < SHORT
    return likeness(one.text, other.text) >= (NEARLY_EQUAL if short else COPY)


def independent(passages: Sequence[Passage]) -> list[list[Passage]]:
    """Passages in groups that count as one voice: of one owner or source, or near copies of a text."""
    groups: list[list[Passage]] = []
    for passage in passages:
        own = passage.owner or passage.source
        joined = [
            group
            for group in groups
            if any((own and own == (one.owner or one.source)) or is_copy(passage, one) for one in group)
        ]
        if not joined:
            groups.append([passage])
            continue
        for other in joined[1:]:  # a passage that is one voice with two groups makes them one
            joined[0].extend(other)
        joined[0].append(passage)
        groups = [one for one in groups if not any(one is other for other in joined[1:])]
    return groups


def _triples(text: str) -> set[tuple[str, ...]]:
    words = bare_words(text)
    return {tuple(words[at : at + 3]) for at in range(max(len(words) - 2, 1))}


def _telling(text: str) -> set[str]:
    return {word for word in bare_words(text) if len(word) > LONG_WORD or word.isdigit()}
