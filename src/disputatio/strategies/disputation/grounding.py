"""Grounds: which words of a question a passage names where it gives its answer.

A value is of what the title, the heading, the beginning and the sentence about it speak of. Of two values the one whose
passage names what is asked for, where the other names a part of it, is the answer; no date and no vote makes up for it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from disputatio.reliability.similarity import content_stems
from disputatio.strategies.disputation.reading import PassageReading
from disputatio.text import bare_words, sentences, stem
from disputatio.values import states

OPENING = 200  # characters of a passage in which it names its subject
CLEARLY = 2  # words of a question by which a passage must name more than another one
HARDLY = (
    1 / 3
)  # share of a question's words up to which a passage is of something else, whatever votes it has
# A name with the noun before it, or what is said of it after: "the geologist Anna Lund", "Jon Berg of the fire brigade".
_CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w’'-]{1,30}"
_DESCRIBED = re.compile(
    rf"\b(?:the\s+)?(?P<noun>[a-zß-ÿ]{{4,30}})\s(?P<name>{_CAPITAL}(?:\s{_CAPITAL}){{1,3}})"
    rf"|(?P<owner>{_CAPITAL}(?:\s{_CAPITAL}){{1,3}})\s(?:of|from|in|at)\s(?:the\s+)?(?P<place>[^\W\d_][\w’'-]{{3,30}}(?:\s[a-z]{{4,30}})?)"
)
_NO_NOUNS = frozenset({
    *("does", "have", "were", "will", "when", "what", "that", "with", "from", "which", "whom", "into", "said", "than"),
    *("about", "after", "before", "between", "must", "should", "would", "could", "near", "under", "over", "than"),
    *("called", "named", "born", "made", "than", "says", "join", "leave", "live", "work", "play"),
})  # fmt: skip


def share_named(question: str, reading: PassageReading) -> float:
    """Return the share of a question's content words that a passage begins with, or that stand about its answer:
    in the heading above, the sentence before and its own.
    """
    stems = content_stems(question)
    if not stems:
        return 1.0
    return max(len(stems & _stems(text)) for text in (_beginning(reading), _around(reading))) / len(stems)


def stems_named(question: str, readings: Sequence[PassageReading]) -> frozenset[str]:
    """Return the stems of a question's content words that the best of some passages names."""
    stems = content_stems(question)
    named = [
        stems & (_stems(_beginning(each)) | _stems(_around(each)) | _stems(_place(each))) for each in readings
    ]
    return max(named, key=len, default=frozenset())


def says_more(question: str, named: Collection[str], rival: Collection[str]) -> bool:
    """Return whether a passage names all that a rival's names of a question, and clearly more of it.

    One word more is enough where it tells the one of two things of the same name that is asked about.

    >>> question = "When was the geologist Anna Lund born?"
    >>> says_more(question, {"anna", "lund", "geolo"}, {"anna", "lund"})
    True
    >>> says_more("How deep is Lake Orre?", {"deep", "lake", "orre"}, {"lake", "orre"})
    False
    """
    more = set(named) - set(rival)
    if not set(rival) < set(named):
        return _is_told_apart(question, more, rival)
    return len(more) >= CLEARLY or _is_told_apart(question, more, rival)


def _is_told_apart(question: str, more: Collection[str], rival: Collection[str]) -> bool:
    """Return whether one passage has the words that tell which bearer of a name is asked about, and a rival with the
    name has none of them.
    """
    for match in _DESCRIBED.finditer(question):
        if match["noun"] in _NO_NOUNS:
            continue
        name = {stem(word) for word in bare_words(match["name"] or match["owner"])}
        told = {stem(word) for word in bare_words(match["noun"] or match["place"])}
        if name <= set(rival) and told <= set(more):
            return True
    return False


def stating(reading: PassageReading) -> list[str]:
    """Return the sentences, or lines, in which a passage gives its answer.

    >>> from disputatio.types import Passage, Reply
    >>> passage = Passage(text="Range: 15 m. Weight: 2 kg.\\nSupply: 7 V")
    >>> stating(PassageReading(passage=passage, reply=Reply(passages=(), answer="2 kg")))
    ['Weight: 2 kg.']
    """
    text = reading.passage.text
    lines = [line for first, last in sentences(text) for line in text[first:last].split("\n")]
    return [line for line in lines if states(line, reading.answer)]


def is_hardly_named(question: str, named: Collection[str]) -> bool:
    """Return whether a passage names so little of a question that it is of something else."""
    return len(named) <= HARDLY * len(content_stems(question))


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, bare_words(text)))


def _beginning(reading: PassageReading) -> str:
    passage = reading.passage
    return f"{passage.title} {passage.text}"[: OPENING + len(passage.title)]


def _place(reading: PassageReading) -> str:
    return f"{reading.passage.owner} {reading.passage.source}"


def _around(reading: PassageReading) -> str:
    """Return the title, the heading, and the sentences in which a passage gives its answer."""
    passage, before = reading.passage, ""
    stating: list[str] = []
    for first, last in sentences(passage.text):
        sentence = passage.text[first:last]
        if states(sentence, reading.answer):
            stating = [before, sentence]
            break
        before = sentence
    return " ".join([passage.title, passage.metadata.get("heading", ""), *stating])
