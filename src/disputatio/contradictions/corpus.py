"""The documents of a check: their facts as numbers, and statements read again to compare them."""

from __future__ import annotations

import re
from array import array
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import Literal, TypeVar

import numpy as np

from disputatio.contradictions.facts import Fact
from disputatio.contradictions.pairing import AROUND, FactTable
from disputatio.contradictions.standing import Text, titles_of
from disputatio.contradictions.statements import facts_of, is_study
from disputatio.contradictions.units import Unit, is_row, style_of, units_of
from disputatio.contradictions.vocabulary import GENERIC_ROOTS, LABELS, language_of, root
from disputatio.text import content_id

MOST_FACTS = 4_000_000
_CACHED = 20_000  # statements and documents that are kept while pairs are compared
_LONGEST_BODY = 200_000  # characters of a document in which its subject is looked for
_COMMON = 0.5  # share of the documents from which a word says nothing
SENTENCE = 5  # words from which a quote says by itself what it is about
_FEW = 8  # documents below which no word is common
_LABEL = 2  # words of a label that says not of what it is: "Default: 20"
Form = Literal["label", "sentence", "clause"]
_CLAUSE = 3  # words of a clause that many sentences of a document may have: "removed in release 1.46"
_TITLES = 4  # titles that have a word, from which it names no document
_TABLES = (".csv", ".tsv", ".xlsx", ".xls", ".ods")
_Line = tuple[str, frozenset[str], str, str]
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@dataclass(slots=True)
class Corpus:
    """The documents of a check, and their facts as numbers."""

    texts: list[Text] = field(default_factory=list)
    styles: list[tuple[str, bool | None]] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    words: dict[str, int] = field(default_factory=dict)
    flat: array[int] = field(default_factory=lambda: array("i"))
    lengths: array[int] = field(default_factory=lambda: array("i"))
    groups: array[int] = field(default_factory=lambda: array("i"))
    said: array[int] = field(default_factory=lambda: array("q"))
    quotes: array[int] = field(default_factory=lambda: array("q"))
    documents: array[int] = field(default_factory=lambda: array("i"))
    numbers: array[int] = field(default_factory=lambda: array("i"))
    alone: array[int] = field(default_factory=lambda: array("b"))
    places: dict[str, int] = field(default_factory=dict)
    forms: dict[tuple[int, tuple[Form, int]], dict[frozenset[str], set[str]]] = field(default_factory=dict)
    of_documents: Counter[int] = field(default_factory=Counter)
    copies: dict[str, list[int]] = field(default_factory=dict)
    units: int = 0

    def copies_of(self, number: int) -> list[Text]:
        """Return the other texts that have the title and the words of one."""
        text = self.texts[number]
        return [self.texts[other] for other in self.copies[copy_key(text)] if other != number]


def common_language(texts: Sequence[Text]) -> str:
    """Return the language of most documents that show theirs; English where none does, or as many others."""
    counts = Counter(language_of(text.passage.text) for text in texts)
    del counts[""]
    return max(counts, key=lambda name: (counts[name], name == "english"), default="english")


def read_text(text: Text, corpus: Corpus, group_numbers: dict[str, int], language: str) -> None:
    """Read one document, in a language if it does not show its own; a copy of one is only noted."""
    number = len(corpus.texts)
    passage, titles = text.passage, titles_of(text)
    style = style_of(passage.text, language)
    corpus.texts.append(text)
    corpus.styles.append(style)
    corpus.files.append(corpus.places.setdefault(_place(text, number), number))
    copies = corpus.copies.setdefault(copy_key(text), [])
    copies.append(number)
    if len(copies) > 1 or len(corpus.said) > MOST_FACTS:
        return
    study = is_study(passage.text)
    seen: set[int] = set()
    for place, unit in enumerate(units_of(passage.text, passage.title)):
        corpus.units += 1
        for fact in facts_of(passage.text, unit, titles, *style):
            own, around = keys_of(fact)
            for form in forms_of(text, fact):
                below = corpus.forms.setdefault((number, form), {})
                below.setdefault(fact.around, set()).add(fact.said)
            words = [corpus.words.setdefault(word, len(corpus.words)) for word in own]
            seen.update(words)
            words += [corpus.words.setdefault(word, len(corpus.words)) | AROUND for word in around]
            if not words:
                continue
            corpus.flat.extend(words)
            corpus.lengths.append(len(words))
            corpus.groups.append(group_numbers.setdefault(fact.group, len(group_numbers)))
            corpus.said.append(number_of(fact.said))
            corpus.quotes.append(quote_key(text, fact))
            corpus.documents.append(number)
            corpus.numbers.append(place)
            corpus.alone.append(study and fact.kind != "polarity")
    corpus.of_documents.update(seen)


def copy_key(text: Text) -> str:
    return content_id("t", titles_of(text), text.passage.text)


def _place(text: Text, number: int) -> str:
    """Return what is equal in parts of one document: rows of a table, passages with one title and address."""
    passage = text.passage
    table = any(f"{ending}/" in f"{text.path.casefold()}/" for ending in _TABLES)
    if text.row and table and is_row(passage.text):
        return text.path
    if passage.title and (text.row or not text.path or passage.id == text.path):
        return "\x1f".join((passage.title, passage.source, passage.url, passage.date))
    return f"\x1f{number}"


def keys_of(fact: Fact) -> tuple[list[str], list[str]]:
    """Return the words by which facts are paired: own ones, and those that a weak one is about."""
    own = [word for word in fact.words if word not in GENERIC_ROOTS] or list(fact.words)
    own += sorted(fact.codes)[:4]
    if not fact.weak and len(own) > 1:
        return list(dict.fromkeys(own)), []
    around = sorted(word for word in fact.around if word not in GENERIC_ROOTS and word not in own)
    return list(dict.fromkeys(own)), [*sorted(fact.around_codes)[:3], *around[:6]]


def table_of(corpus: Corpus) -> FactTable:
    return FactTable(
        flat=np.frombuffer(corpus.flat, np.int32) if corpus.flat else np.empty(0, np.int32),
        lengths=np.array(corpus.lengths, np.int64),
        groups=np.array(corpus.groups, np.int64),
        said=np.array(corpus.said, np.int64),
        documents=np.array([corpus.files[number] for number in corpus.documents], np.int32),
        alone=np.array(corpus.alone, bool),
    )


@dataclass(frozen=True, slots=True)
class Common:
    """Words that name no subject: those of most documents, and of several titles."""

    words: frozenset[str]
    titles: frozenset[str]


def find_common(corpus: Corpus) -> Common:
    most = _COMMON * len(corpus.copies) if len(corpus.texts) >= _FEW else len(corpus.texts)
    titles = {titles_of(text): number for number, text in enumerate(corpus.texts)}
    of_titles = Counter(word for number in titles.values() for word in title_words(corpus, number))
    return Common(
        frozenset(word for word, number in corpus.words.items() if corpus.of_documents[number] > most),
        frozenset(word for word, count in of_titles.items() if count >= _TITLES),
    )


def title_words(corpus: Corpus, number: int) -> set[str]:
    """Return the roots of the words of a document's title."""
    title, (language, _) = titles_of(corpus.texts[number]), corpus.styles[number]
    return {root(word, language) for word in re.findall(r"[^\W\d_]{2,60}", title.casefold())}


class Recent:
    """Statements that were read again last, and the words of documents."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._units: OrderedDict[int, list[Unit]] = OrderedDict()
        self._facts: OrderedDict[tuple[int, int], list[Fact]] = OrderedDict()
        self._words: OrderedDict[int, frozenset[str]] = OrderedDict()
        self._given: OrderedDict[int, frozenset[_Line]] = OrderedDict()
        self._said_in: OrderedDict[int, tuple[frozenset[str], frozenset[str]]] = OrderedDict()

    def facts(self, document: int, place: int) -> list[Fact]:
        facts = self._facts.get((document, place))
        if facts is None:
            text, style = self._corpus.texts[document], self._corpus.styles[document]
            facts = facts_of(text.passage.text, self.units(document)[place], titles_of(text), *style)
            _keep(self._facts, (document, place), facts)
        return facts

    def units(self, document: int) -> list[Unit]:
        units = self._units.get(document)
        if units is None:
            passage = self._corpus.texts[document].passage
            units = list(units_of(passage.text, passage.title))
            _keep(self._units, document, units)
        return units

    def says(self, ours: tuple[int, Fact], theirs: tuple[int, Fact]) -> bool:
        """Return whether one document has the statement of the other, too; if it is short, each has both."""
        texts = self._corpus.texts
        quote, other = (plain(texts[at].passage.text[fact.start : fact.end]) for at, fact in (ours, theirs))
        in_theirs, in_ours = quote in self._said(theirs[0])[0], other in self._said(ours[0])[0]
        repeated = quote if in_theirs else other if in_ours else ""
        return (in_theirs and in_ours) or len(repeated.split()) >= SENTENCE

    def lists(self, place: tuple[int, int], fact: Fact, other: Fact) -> bool:
        """Return whether the list or table of a fact has a line of its key with what another says, too."""
        document, number = place
        given = self._given.get(document)
        if given is None:
            given = frozenset(
                (*_key(each), unit.heading, each.said)
                for at, unit in enumerate(self.units(document))
                if unit.form != "sentence"
                for each in self.facts(document, at)
            )
            _keep(self._given, document, given)
        return (*_key(fact), self.units(document)[number].heading, other.said) in given

    def stand_apart(self, *places: tuple[int, int]) -> bool:
        """Return whether two versions have statements below two headings, of which one is in both."""
        ours, theirs = (self.units(document)[place].heading for document, place in places)
        ours_has, theirs_has = (self._said(document)[1] for document, _ in places)
        return "" not in (ours, theirs) and ours != theirs and (ours in theirs_has or theirs in ours_has)

    def _said(self, document: int) -> tuple[frozenset[str], frozenset[str]]:
        """Return the statements of a document, and the headings above them."""
        said = self._said_in.get(document)
        if said is None:
            text, units = self._corpus.texts[document].passage.text, self.units(document)
            quotes = frozenset(plain(text[unit.start : unit.end]) for unit in units)
            said = quotes, frozenset(unit.heading for unit in units)
            _keep(self._said_in, document, said)
        return said

    def words(self, document: int) -> frozenset[str]:
        """Return the words and codes of a document's text, without its title."""
        words = self._words.get(document)
        if words is None:
            text, (language, _) = self._corpus.texts[document], self._corpus.styles[document]
            body = text.passage.text.removeprefix(text.passage.title)[:_LONGEST_BODY]
            written = [word.casefold() for word in re.findall(r"[^\W_][\w-]{0,80}", body)]
            words = frozenset(
                {
                    *(root(word, language) for word in written),
                    *(word.replace("-", "") for word in written),
                    *(
                        f"{label}\x1f{of}"
                        for label, of in pairwise(written)
                        if label in LABELS or of.isdigit()
                    ),
                }
            )
            _keep(self._words, document, words)
        return words


def _key(fact: Fact) -> tuple[str, frozenset[str]]:
    return fact.group, frozenset(fact.words)


def _keep(cache: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    cache[key] = value
    if len(cache) > _CACHED:
        cache.popitem(last=False)


def forms_of(text: Text, fact: Fact) -> list[tuple[Form, int]]:
    """Return numbers of what a document may repeat with other values: a short label; sentence and clause."""
    own = keys_of(fact)[0]
    words = number_of("\x1f".join(sorted(own)))
    if fact.weak and len(own) <= _LABEL:
        return [("label", words)]
    if fact.kind in ("polarity", "definition"):
        return []
    body = text.passage.text
    before, after = body[fact.start : fact.value_start], body[fact.value_end : fact.end]
    sentence = plain(before if len(before.split()) >= SENTENCE else f"{before} _ {after}")
    forms: list[tuple[Form, int]] = [("sentence", number_of(sentence))]
    return [*forms, ("clause", words)] if len(own) <= _CLAUSE else forms


def quote_key(text: Text, fact: Fact) -> int:
    """Return a number of a statement's words; 0 for one that is too short to say of what it is."""
    words = text.passage.text[fact.start : fact.end].casefold().split()
    return number_of(" ".join(words)) if len(words) >= SENTENCE else 0


def number_of(text: str) -> int:
    """Return a number of a text, the same in each process: which pairs are compared depends on it."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 1


def plain(text: str) -> str:
    return " ".join(text.casefold().split())
