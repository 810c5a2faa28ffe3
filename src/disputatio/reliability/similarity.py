"""The similarity of texts: copies that count as one source, and altered copies with another answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from disputatio.text import bare_words, stem
from disputatio.types import Passage

COPY = 0.5  # share of common word triples from which two texts count as copies
SHORT, NEARLY_EQUAL = 25, 0.9  # texts of fewer words must share this much to be copies
RETOLD = 0.7  # cosine of embeddings from which two accounts of one answer may be one story repeated
# Models of the E5 family keep all cosines near one (they were trained at a temperature of .01): at .91 theirs
# join about as many pairs as those of the other embedder at .7 (`bench/results/robustness/retold.md`).
_NARROW, _SPREAD = re.compile(r"(?:^|[^a-z0-9])e5-(?:small|base|large)", re.IGNORECASE), 0.3 / 0.09
LONG_WORD = 3  # words up to this length do not show what a text is about; figures do
# Words of a question that do not show its subject.
_PLAIN_WORDS = """
what which who whom whose when where why how is are was were be been do does did has have had can could of in
on at to for from by with and or as it its this that there many much year kind type name
"""
_PLAIN = frozenset(_PLAIN_WORDS.split())


def content_stems(question: str) -> frozenset[str]:
    """Return the stems of a question's content words.

    >>> sorted(content_stems("When was the harbour wall built?"))
    ['built', 'harbo', 'wall']
    """
    return frozenset(stem(word) for word in bare_words(question) if word not in _PLAIN)


def likeness(first_text: str, second_text: str) -> float:
    """Return the share of word triples that two texts have in common (Jaccard).

    >>> likeness("a ship left the quay", "a ship left the quay"), likeness("a ship left", "no boat came")
    (1.0, 0.0)
    """
    first, second = _triples(first_text), _triples(second_text)
    return len(first & second) / len(first | second)


def content_similarity(first_text: str, second_text: str, leaving: Collection[str] = ()) -> float:
    """Return the similarity of two texts in [0, 1]: the cosine of their sets of content words.

    Content words are figures and words of more than three letters. Words of the texts in `leaving` do not
    count; a question is one, since its words are in every passage that was found for it.

    >>> round(content_similarity("Lamb, born in Glasgow, 1868", "Lamb of Glasgow, born 1888"), 2)
    0.75
    >>> content_similarity("Lamb of Glasgow", "Lamb of Oban", leaving=["Who is Lamb?"])
    0.0
    """
    left_out = {word for text in leaving for word in bare_words(text)}
    first, second = _content_words(first_text) - left_out, _content_words(second_text) - left_out
    shared = len(first & second)
    return shared / (len(first) * len(second)) ** 0.5 if shared else 0.0


def is_copy(first: Passage, other: Passage) -> bool:
    """Return whether two texts are copies; short texts are alike by chance, so they must be nearly equal."""
    short = min(len(first.text.split()), len(other.text.split())) < SHORT
    return likeness(first.text, other.text) >= (NEARLY_EQUAL if short else COPY)


def independent(passages: Sequence[Passage]) -> list[list[Passage]]:
    """Return passages in groups that count as one: of one owner or source, or near copies of a text."""
    groups: list[list[Passage]] = []
    for passage in passages:
        publisher = passage.owner or passage.source
        joined = [
            group
            for group in groups
            if any(
                (publisher and publisher == (member.owner or member.source)) or is_copy(passage, member)
                for member in group
            )
        ]
        if not joined:
            groups.append([passage])
            continue
        for other in joined[1:]:  # a passage that belongs to two groups joins them
            joined[0].extend(other)
        joined[0].append(passage)
        groups = [group for group in groups if not any(group is other for other in joined[1:])]
    return groups


def rescale_cosine(cosine: float, embedder: str) -> float:
    """Return the cosine of two texts on the scale of `RETOLD`, by the name of the embedder that it is of.

    >>> round(rescale_cosine(0.91, "multilingual-e5-small@3dc552ed"), 2)
    0.7
    >>> rescale_cosine(0.91, "minilm-l6-v2@8199be6f")
    0.91
    """
    return 1 - (1 - cosine) * _SPREAD if _NARROW.search(embedder) else cosine


def link(count: int, similarity: Mapping[tuple[int, int], float], bar: float = RETOLD) -> list[list[int]]:
    """Return groups of `count` things by average linkage: the most similar two join while they reach `bar`.

    `similarity` has that of pairs (smaller number first); a pair that it does not have is not similar at all.

    >>> link(3, {(0, 1): 0.9, (0, 2): 0.2, (1, 2): 0.4}), link(2, {(0, 1): 0.6})
    ([[0, 1], [2]], [[0], [1]])
    """
    groups = [[number] for number in range(count)]

    def average(first: list[int], second: list[int]) -> float:
        scores = [similarity.get((min(a, b), max(a, b)), 0.0) for a in first for b in second]
        return sum(scores) / len(scores)

    while len(groups) > 1:
        pairs = [(average(groups[a], groups[b]), a, b) for b in range(len(groups)) for a in range(b)]
        best, first, second = max(pairs, key=lambda pair: (pair[0], -pair[1], -pair[2]))
        if best < bar:
            break
        groups[first] += groups.pop(second)
    return groups


def is_account(passage: Passage) -> bool:
    """Return whether a text is long enough to tell a retelling from a likeness by chance."""
    return len(passage.text.split()) >= SHORT


def _triples(text: str) -> set[tuple[str, ...]]:
    words = bare_words(text)
    return {tuple(words[at : at + 3]) for at in range(max(len(words) - 2, 1))}


def _content_words(text: str) -> set[str]:
    return {word for word in bare_words(text) if len(word) > LONG_WORD or word.isdigit()}
