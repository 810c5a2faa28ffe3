"""Passages that bear an answer to a question: word for word, about its subject, and no copy of another."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from math import log

from disputatio.eval.builders.material import stands
from disputatio.reliability.similarity import COPY, likeness
from disputatio.text import bare_words, squad_normalise, stem

SAME = 0.85  # of the letters of two names that match, from which they are two spellings of one
_ASKING = re.compile(
    r"(?:what|wh(?:o|om|ose|ich|en|ere|y)|how|is|are|was|were|do|does|did|has|have|had|of|in|on|at|to|for|from"
    r"|by|with|as|and|or|its?|many|much|named?|called)"
)


def measure_coverage(text: str, question: str, rarity: Mapping[str, float] | None = None) -> float:
    """Return the share of the question's words that a text has, those apart that any question has; in [0, 1].

    `rarity` weighs them: what few questions ask about weighs more than "season" or "first".

    >>> measure_coverage("The mill at Lund is old.", "Who built the mill at Lund?")
    0.6666666666666666
    """
    weights = {word: 1.0 if rarity is None else rarity.get(word, 1.0) for word in content_words(question)}
    stems = _stems(text)
    return sum(weight for word, weight in weights.items() if word in stems) / max(sum(weights.values()), 1e-9)


@lru_cache(maxsize=1 << 14)
def content_words(question: str) -> frozenset[str]:
    """Return the stems of a question's words, those apart that any question has."""
    return frozenset(stem(word) for word in bare_words(question) if not _ASKING.fullmatch(word))


@lru_cache(maxsize=1 << 14)
def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in bare_words(text))


def rarities(questions: Sequence[str]) -> dict[str, float]:
    """Compute how rare each word is among questions, in [0, 1]; 1 if one question has it (scaled idf)."""
    among = Counter(word for question in questions for word in content_words(question))
    top = log(1 + len(questions))
    return {word: log(1 + len(questions) / count) / top for word, count in among.items()}


def names_subject(text: str, question: str) -> bool:
    """Return True if a text has at least half of the words of the names that a question asks about.

    Names are its words with a capital or a figure behind the first; a question without any names nothing.

    >>> question = "When was the Poplar station opened?"
    >>> names_subject("Poplar DLR station", question), names_subject("The line was opened", question)
    (True, False)
    """
    words = re.findall(r"[\w’']+", question)[1:]
    names = {stem(squad_normalise(word)) for word in words if word[0].isupper() or word[0].isdigit()} - {""}
    return 2 * len(names & _stems(text)) >= len(names)


def is_about(text: str, question: str, rarity: Mapping[str, float]) -> bool:
    """Return True if a text names the subject of a question: its names, and half of its rarest words.

    >>> rarity = rarities(["When was the first DSM published?", "When was the first map published?"])
    >>> is_about("The first book was published.", "when was the first dsm published", rarity)
    False
    """
    words = content_words(question)
    top = max((rarity.get(word, 1.0) for word in words), default=1.0)
    rarest = {word for word in words if rarity.get(word, 1.0) == top}
    stems = _stems(text)
    return 2 * len(rarest & stems) >= len(rarest) and names_subject(text, question)


def distinct(texts: Sequence[str], *, beside: Sequence[str] = ()) -> list[str]:
    """Return the texts that do not nearly repeat an earlier one or one of `beside`.

    >>> distinct(["A ship left the old quay.", "A ship left the old quay !", "No boat came."])
    ['A ship left the old quay.', 'No boat came.']
    """
    bearing_texts: list[str] = []
    for text in texts:
        if all(likeness(text, other) < COPY for other in (*beside, *bearing_texts)):
            bearing_texts.append(text)
    return bearing_texts


def is_one_answer(first: str, second: str) -> bool:
    """Return True if two answers are one: one within the other, or two spellings of a name.

    >>> is_one_answer("Zoltán Korda", "Zoltan Korda"), is_one_answer("May 1921", "1921")
    (True, True)
    >>> is_one_answer("1921", "1922"), is_one_answer("Ada Lund", "Bo Lund")
    (False, False)
    """
    if stands(first, second) or stands(second, first):
        return True
    letters, other_letters = _letters(first), _letters(second)
    if any(map(str.isdigit, letters + other_letters)):
        return letters == other_letters
    return SequenceMatcher(None, letters, other_letters).ratio() >= SAME


def _letters(answer: str) -> str:
    apart = unicodedata.normalize("NFKD", squad_normalise(answer))
    return "".join(char for char in apart if not unicodedata.combining(char))
