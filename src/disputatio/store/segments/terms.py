"""Text to terms, for keyword search: any script, accents folded, stems, no stop words removed.

A word is a run of letters, digits and their marks. It is folded (Unicode NFKD, accents dropped) and
stemmed once per unique word; what stays is counted. Scripts written without spaces (Han, kana, Thai,
Lao, Khmer, Burmese) give each character and each pair of neighbours as a term, so that a word of one
character is found and a longer one ranks by its pairs. A term is kept as a 64-bit hash.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from disputatio.errors import InputError, require_package
from disputatio.types import Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DENSE_SCRIPTS = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana, Han
    "\U00020000-\U0003134f"
)
# Accents of Latin, Greek and Cyrillic, vowel points of Hebrew and Arabic. The breve of the Russian
# short i makes another letter and stays.
_ACCENT = re.compile("(?<!и)\u0306|[\u0300-\u0305\u0307-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670]")
_ONES = re.compile(f"[{_DENSE_SCRIPTS}]")
_PLAIN = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_MARK_BLOCKS = ((0x0300, 0x1E00), (0x3099, 0x309B), (0xA800, 0xAC00))


class Counted(NamedTuple):
    """Texts as terms: `hashes` of the unique terms, and for each token in turn its number in them.

    Text i has the tokens `ends[i - 1]` to `ends[i]`, those from `bodies[i]` on without its name.
    """

    hashes: NDArray[np.uint64]
    tokens: NDArray[np.int32]
    bodies: NDArray[np.int64]
    ends: NDArray[np.int64]


def name_of(passage: Passage) -> str:
    """Return what a passage is found by beside its text: its source, which few sections name, and its title.

    >>> name_of(Passage(text="It has 3,559 people.", source="census", title="Broken Bow"))
    'census\\nBroken Bow'
    >>> name_of(Passage(text="# Broken Bow is a city.", title="Broken Bow"))
    ''
    """
    title = "" if passage.text.lstrip("# ").startswith(passage.title) else passage.title
    return "\n".join(filter(None, (passage.source, title)))


def make_search_text(passage: Passage) -> str:
    """Return the text that a passage is found by: its name (`name_of`) and its own text."""
    name = name_of(passage)
    return f"{name}\n{passage.text}" if name else passage.text


def tokens(text: str, language: str = "") -> list[str]:
    """Return the terms of a text in their order, with repeats; stemmed when a language is named.

    >>> tokens("Café, not 3,559! 人口")
    ['cafe', 'not', '3', '559', '人', '人口', '口']
    >>> tokens("The bridges did NOT collapse.", "english")
    ['the', 'bridg', 'did', 'not', 'collaps']
    """
    stem = stemmer(language)
    return [term for word in _split(text) for term in _terms(word, stem)]


def stemmer(language: str) -> Callable[[str], str] | None:
    """Return a thread's Snowball stemmer; None for no language, `InputError` for an unknown one."""
    if not language:
        return None
    with require_package("PyStemmer", "store"):
        import Stemmer
    if language not in Stemmer.algorithms():
        known = ", ".join(Stemmer.algorithms())
        raise InputError(f"there is no stemmer for the language {language!r}; known: {known}")
    stem: Callable[[str], str] = Stemmer.Stemmer(language, 0).stemWord
    return stem


def hash_of(term: str) -> int:
    """Return the 64 bits that stand for a term: BLAKE2b of its UTF-8.

    >>> hash_of("not")
    1677568390362930303
    """
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def query_terms(query: str, language: str = "") -> dict[int, int]:
    """Return the hash of each term of a query, and how often it is there; raises what `stemmer` raises."""
    counts: dict[int, int] = {}
    for term in tokens(query, language):
        key = hash_of(term)
        counts[key] = counts.get(key, 0) + 1
    return counts


def count(names: Sequence[str], texts: Sequence[str], language: str = "") -> Counted:
    """Return the terms of many texts, each with its name (`name_of`); raises what `stemmer` raises."""
    import numpy as np

    table = _Numbers(stemmer(language))
    number = table.__getitem__
    flat = array("i")
    bodies, ends = np.zeros(len(texts), dtype=np.int64), np.zeros(len(texts), dtype=np.int64)
    for row, (name, text) in enumerate(zip(names, texts, strict=True)):
        flat.extend(map(number, _split(name)))
        bodies[row] = len(flat)
        flat.extend(map(number, _split(text)))
        ends[row] = len(flat)
    numbers = np.frombuffer(flat, dtype=np.int32) if flat else np.zeros(0, dtype=np.int32)
    if table.several:
        numbers, bodies, ends = _spread(numbers, bodies, ends, table.several)
    hashes = np.array([hash_of(term) for term in table.terms], dtype=np.uint64)
    return Counted(hashes, numbers, bodies, ends)


def _spread(
    numbers: NDArray[np.int32], bodies: NDArray[np.int64], ends: NDArray[np.int64], several: list[list[int]]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return the tokens with each word of several terms (a negative number) replaced by its terms."""
    import numpy as np

    sizes = np.array([len(terms) for terms in several], dtype=np.int64)
    parts = np.array([term for terms in several for term in terms], dtype=np.int32)
    firsts = np.cumsum(sizes) - sizes
    words_of_several = numbers < 0
    which = -1 - numbers[words_of_several].astype(np.int64)
    lengths = np.ones(numbers.size, dtype=np.int64)
    lengths[words_of_several] = sizes[which]
    places = np.r_[0, np.cumsum(lengths)]
    flat = np.zeros(int(places[-1]), dtype=np.int32)
    flat[places[:-1][~words_of_several]] = numbers[~words_of_several]
    within = np.arange(int(sizes[which].sum())) - np.repeat(
        np.cumsum(sizes[which]) - sizes[which], sizes[which]
    )
    flat[np.repeat(places[:-1][words_of_several], sizes[which]) + within] = parts[
        np.repeat(firsts[which], sizes[which]) + within
    ]
    return flat, places[bodies], places[ends]


class _Numbers(dict[str, int]):
    """Word -> number of its term; -1 - i for the i-th word that is several terms, or none."""

    def __init__(self, stem: Callable[[str], str] | None) -> None:
        super().__init__()
        self._stem = stem
        self._known: dict[str, int] = {}
        self.terms: list[str] = []
        self.several: list[list[int]] = []

    def __missing__(self, word: str) -> int:
        numbers = [self._number(term) for term in _terms(word, self._stem)]
        if len(numbers) == 1:
            self[word] = numbers[0]
        else:
            self.several.append(numbers)
            self[word] = -len(self.several)
        return self[word]

    def _number(self, term: str) -> int:
        number = self._known.setdefault(term, len(self.terms))
        if number == len(self.terms):
            self.terms.append(term)
        return number


def _split(text: str) -> list[str]:
    """Return the words of a text, lower case; ASCII, most of what is indexed, is split without a regex."""
    return text.translate(_PLAIN).split() if text.isascii() else _word().findall(text.lower())


def _terms(word: str, stem: Callable[[str], str] | None) -> list[str]:
    if not word.isascii():
        folded = unicodedata.normalize("NFKD", word.casefold())
        word = unicodedata.normalize("NFC", _ACCENT.sub("", folded)).lower()
        if _ONES.search(word):
            return [term for part in _parts().findall(word) for term in _split_run(part, stem)]
        parts = _word().findall(word)  # a sign such as a half gives two
    else:
        parts = [word]
    if "_" in word or len(parts) != 1:
        parts = [piece for part in parts for piece in part.split("_") if piece]
    return [stem(part) for part in parts] if stem else parts


def _split_run(part: str, stem: Callable[[str], str] | None) -> list[str]:
    """Return the terms of a run that is all of scripts without spaces, or free of them."""
    if not _ONES.match(part):
        return _terms(part, stem)
    units = _unit().findall(part)
    terms = []
    for at, unit in enumerate(units):
        terms.append(unit)
        if at + 1 < len(units):
            terms.append(unit + units[at + 1])
    return terms


@lru_cache(maxsize=1)
def _marks() -> str:
    """Return the marks (vowel signs, accents) that stand within words, as the inside of a character class."""
    return "".join(
        chr(code)
        for low, high in _MARK_BLOCKS
        for code in range(low, high)
        if unicodedata.category(chr(code)) in ("Mn", "Mc")
    )


@lru_cache(maxsize=1)
def _word() -> re.Pattern[str]:
    return re.compile(f"[\\w{_marks()}]+")


@lru_cache(maxsize=1)
def _parts() -> re.Pattern[str]:
    return re.compile(f"[{_DENSE_SCRIPTS}][{_DENSE_SCRIPTS}{_marks()}]*|[^{_DENSE_SCRIPTS}]+")


@lru_cache(maxsize=1)
def _unit() -> re.Pattern[Any]:
    """Return a character of a script without spaces, with the marks that follow it."""
    return re.compile(f"[^{_marks()}][{_marks()}]*|[{_marks()}]+")
