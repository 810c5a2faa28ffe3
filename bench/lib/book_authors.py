"""Lists of authors as shops write them, made comparable: which people a list names, in any form and order.

"Knuth, Donald E.", "KNUTH" and "Donald Ervin Knuth" name one person; "Boyce, Joseph G. (Author) Jennings,
Dan W. (Author)" and "BOYCE, JOSEPHJENNINGS, DANIEL" the same two. A person is the surname, and a second one
of that name where first letters of given names tell two apart. Surnames are learned from the clearly
written lists of the same book, and looked for in the others. No gold answer is used.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

TITLES = frozenset(
    [
        "dr",
        "edited",
        "ii",
        "iii",
        "inc",
        "iv",
        "jr",
        "md",
        "mr",
        "mrs",
        "phd",
        "prof",
        "sr",
        "the",
        "available",
        "not",
        "unknown",
    ]
)
_ROLE = re.compile(
    r"\b(?:joint authors?|authors?|editors?|edt|eds?|foreword by|by|illustrators?|ill|translators?|contributors?|et al|with)\b\.?:?"
)
_BRACKETED_ROLE = re.compile(r"\((?:joint )?(?:author|editor|edt|eds?\.?)\)")
_GLUED = 5  # letters of a surname from which it is also looked for inside a word
Authors = frozenset[str]


class Name(NamedTuple):
    """A name as one list writes it; sure, where the form leaves no doubt which word is the surname."""

    surname: str
    given: tuple[str, ...]
    sure: bool


def plain(text: str) -> str:
    """Lower case without accents, entities and remarks in brackets; people parted by ";" where that is clear.

    >>> plain("By (author) M&uuml;ller, J&#246;rg &amp; O'Neil, Ann (Yale)").split(";")
    ['', '  ', '  muller, jorg', 'oneil, ann  ']
    """
    text = html.unescape(html.unescape(text)).replace("andapos;", "'")
    folded = "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
    folded = _BRACKETED_ROLE.sub(" ; ", folded.lower())
    folded = re.sub(r"\([^)]*\)?", " ", folded)
    folded = _ROLE.sub(";", folded)
    return re.sub(r"['`\-_]", "", re.sub(r"\s(?:and|&|-)\s|[;/|&]", ";", folded))


def words(text: str) -> tuple[str, ...]:
    """Return the words of a plain text that can be names."""
    return tuple(each for each in re.findall(r"[^\W\d]+", text) if each not in TITLES)


def names(text: str) -> list[Name]:
    """Return the names of a list, as well as its punctuation tells.

    >>> [name.surname for name in names("Knuth, Donald E.; Alan Turing")]
    ['knuth', 'turing']
    """
    found: list[Name] = []
    for piece in plain(text).split(";"):
        parts = [each for each in map(words, piece.split(",")) if each]
        full = [sum(len(word) > 1 for word in each) >= 2 for each in parts]
        if not parts:
            continue
        if len(parts) == 1 or (len(parts) == 2 and all(full)):
            found += [Name(each[-1], each[:-1], len(each) <= 3 or len(parts) == 2) for each in parts]
        elif len(parts) == 2:
            found.append(Name(parts[0][-1], parts[1], len(parts[1]) <= 2))
        elif all(len(each) >= 2 for each in parts):
            found += [Name(each[-1], each[:-1], len(each) <= 3) for each in parts]
        else:  # "Last, First, Last, First"
            found += [
                Name(last[-1], other, False) for last, other in zip(parts[::2], parts[1::2], strict=False)
            ]
            if len(parts) % 2:
                found.append(Name(parts[-1][-1], parts[-1][:-1], False))
    return found


def surnames(lists: Iterable[str]) -> frozenset[str]:
    """Return the surnames of one book: words that clearly written lists use as surnames more than as given
    names.
    """
    last: Counter[str] = Counter()
    first: Counter[str] = Counter()
    for text in lists:
        for name in names(text):
            if name.sure:
                last[name.surname] += 2 if name.given else 1
                first.update(dict.fromkeys(name.given, 2))
    return frozenset(word for word in last if len(word) > 1 and last[word] > first[word])


def authors(text: str, known: frozenset[str]) -> Authors:
    """Whom a list names, given the surnames of its book; empty where it names nobody.

    >>> known = surnames(["Boyce, Joseph G.", "Daniel Jennings"])
    >>> sorted(authors("BOYCE, JOSEPHJENNINGS, DANIEL", known)), authors("Not Available", known)
    (['boyce', 'jennings'], frozenset())
    """
    said = words(plain(text))
    matches = {
        surname
        for surname in known
        if surname in said
        or (
            len(surname) >= _GLUED
            and any((w.startswith(surname) or w.endswith(surname)) and w not in known for w in said)
        )
    }
    listed = names(text)
    if not matches:
        return frozenset(name.surname for name in listed if len(name.surname) > 1)
    people = set(matches)
    for surname in matches:
        letters = {name.given[0][0] for name in listed if name.surname == surname and name.given}
        people |= {f"{surname} {number}" for number in range(2, len(letters) + 1)}
    return frozenset(people)
