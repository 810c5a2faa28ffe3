"""The walk of a check: documents to statements, statements to pairs, pairs to contradictions."""

from __future__ import annotations

import re
import time
from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from itertools import pairwise
from operator import attrgetter
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from disputatio.contradictions.comparing import Finding, compare
from disputatio.contradictions.judging import judge
from disputatio.contradictions.pairing import AROUND, FactTable, pairs_of
from disputatio.contradictions.standing import (
    Text,
    belong_together,
    higher,
    is_meeting,
    more_reliable,
    newer,
    settled_by,
    side_in_force,
    side_of,
    titles_of,
)
from disputatio.contradictions.statements import Fact, facts_of, is_report, is_study
from disputatio.contradictions.units import Unit, is_code, is_row, style_of, units_of
from disputatio.contradictions.vocabulary import GENERIC_ROOTS, LABELS, root
from disputatio.kit import Kit
from disputatio.text import content_id
from disputatio.types import Check, Contradiction, ContradictionKind, Severity, Source, Statement

SEVERITIES: tuple[Severity, ...] = ("low", "medium", "high")
MOST = 2_000  # contradictions of one check that are returned
MOST_FACTS = 4_000_000
_CACHED = 20_000  # statements and documents that are kept while pairs are compared
_LONGEST_BODY = 200_000  # characters of a document in which its subject is looked for
_COMMON = 0.5  # share of the documents from which a word says nothing
_NAMED, _COPIES = 20, 1_000  # documents of a statement that are named, and whose ids are kept
_MOST_REPEATED = 20_000  # pairs of statements that are compared, since others of the same words contradict
_LONG_SENTENCE = 8  # words from which versions have one statement, whatever heading it stands below
_SENTENCE = 5  # words from which a quote says by itself what it is about
_MANY = 8  # documents that have a fact, each its own, from which only the title says of what it is
_FEW = 8  # documents below which no word is common
_LABEL = 2  # words of a label that says not of what it is: "Default: 20"
# Values that one document gives under a label, or in a sentence, from which it is of several things.
_Form = Literal["label", "sentence", "clause"]
_SEVERAL: Mapping[_Form, int] = {"label": 3, "sentence": 2, "clause": 4}
_CLAUSE = 3  # words of a clause that many sentences of a document may have: "removed in release 1.46"
_TITLES = 4  # titles that have a word, from which it names no document
_TABLES = (".csv", ".tsv", ".xlsx", ".xls", ".ods")
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class _Corpus:
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
    forms: dict[tuple[int, tuple[_Form, int]], dict[frozenset[str], set[str]]] = field(default_factory=dict)
    of_documents: Counter[int] = field(default_factory=Counter)
    copies: dict[str, list[int]] = field(default_factory=dict)
    units: int = 0

    def copies_of(self, number: int) -> list[Text]:
        """Return the other texts that have the title and the words of one."""
        text = self.texts[number]
        return [self.texts[other] for other in self.copies[_copy_key(text)] if other != number]


def find(
    texts: Iterable[Text],
    *,
    sources: Mapping[str, Source],
    tiers: Mapping[str, float],
    families: Callable[[Text], frozenset[str]],
    severity: Severity = "medium",
    accepted: Collection[str] = frozenset(),
    kit: Kit | None = None,
    calls: int = 0,
    progress: Progress = lambda *_: None,
) -> Check:
    """Return the contradictions between documents.

    `sources` have their estimates, `tiers` the weight of each declared authority, `families` the name that
    versions of a document share. Those below `severity` are counted only; those whose id is `accepted` are
    not new. With a `kit` its model judges up to `calls` of them, and drops those it finds unlikely.
    """
    began = time.perf_counter()
    corpus = _Corpus()
    group_numbers: dict[str, int] = {}
    for text in texts:
        _read(text, corpus, group_numbers)
        progress("reading", len(corpus.texts), 0)
    pairs, others, left_out = pairs_of(_table(corpus))
    common = _common(corpus)
    names = [families(text) for text in corpus.texts]
    found = _compared(corpus, (pairs, others), names, common, progress)
    contradictions = [_contradiction(corpus, each, sources, tiers, accepted) for each in found]
    contradictions = _merged(_of_third_versions(contradictions))
    hidden = sum(SEVERITIES.index(each.severity) < SEVERITIES.index(severity) for each in contradictions)
    kept = [each for each in contradictions if SEVERITIES.index(each.severity) >= SEVERITIES.index(severity)]
    kept.sort(key=lambda each: (-SEVERITIES.index(each.severity), not each.new, -each.likeness, each.id))
    judged = 0
    if kit is not None and calls:
        probabilities = judge(kept, kit, calls=calls)
        judged = sum(probability is not None for probability in probabilities)
        kept = [
            replace(each, probability=probability)
            for each, probability in zip(kept, probabilities, strict=True)
            if probability is None or probability >= 0.5
        ]
    return Check(
        contradictions=tuple(kept[:MOST]),
        documents=len(corpus.texts),
        statements=corpus.units,
        compared=len(pairs),
        left_out=left_out + max(0, len(kept) - MOST),
        hidden=hidden,
        judged=judged,
        seconds=round(time.perf_counter() - began, 2),
    )


# --- documents to facts --------------------------------------------------------------------------
def _read(text: Text, corpus: _Corpus, group_numbers: dict[str, int]) -> None:
    """Read one document; a copy of one that was read is only noted."""
    number = len(corpus.texts)
    passage, titles = text.passage, titles_of(text)
    style = style_of(passage.text)
    corpus.texts.append(text)
    corpus.styles.append(style)
    corpus.files.append(corpus.places.setdefault(_place(text, number), number))
    copies = corpus.copies.setdefault(_copy_key(text), [])
    copies.append(number)
    if len(copies) > 1 or len(corpus.said) > MOST_FACTS:
        return
    study = is_study(passage.text)
    seen: set[int] = set()
    for place, unit in enumerate(units_of(passage.text, passage.title)):
        corpus.units += 1
        for fact in facts_of(passage.text, unit, titles, *style):
            own, around = _keys(fact)
            for form in _forms_of(text, fact):
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
            corpus.said.append(_number_of(fact.said))
            corpus.quotes.append(_quote_key(text, fact))
            corpus.documents.append(number)
            corpus.numbers.append(place)
            corpus.alone.append(study and fact.kind != "polarity")
    corpus.of_documents.update(seen)


def _copy_key(text: Text) -> str:
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


def _keys(fact: Fact) -> tuple[list[str], list[str]]:
    """Return the words by which facts are paired: own ones, and those that a weak one is about."""
    own = [word for word in fact.words if word not in GENERIC_ROOTS] or list(fact.words)
    own += sorted(fact.codes)[:4]
    if not fact.weak and len(own) > 1:
        return list(dict.fromkeys(own)), []
    around = sorted(word for word in fact.around if word not in GENERIC_ROOTS and word not in own)
    return list(dict.fromkeys(own)), [*sorted(fact.around_codes)[:3], *around[:6]]


def _table(corpus: _Corpus) -> FactTable:
    return FactTable(
        flat=np.frombuffer(corpus.flat, np.int32) if corpus.flat else np.empty(0, np.int32),
        lengths=np.array(corpus.lengths, np.int64),
        groups=np.array(corpus.groups, np.int64),
        said=np.array(corpus.said, np.int64),
        documents=np.array([corpus.files[number] for number in corpus.documents], np.int32),
        alone=np.array(corpus.alone, bool),
    )


@dataclass(frozen=True, slots=True)
class _Common:
    """Words that name no subject: those of most documents, and of several titles."""

    words: frozenset[str]
    titles: frozenset[str]


def _common(corpus: _Corpus) -> _Common:
    most = _COMMON * len(corpus.copies) if len(corpus.texts) >= _FEW else len(corpus.texts)
    of_titles = Counter(
        word
        for title, language in {
            titles_of(text): language for text, (language, _) in zip(corpus.texts, corpus.styles, strict=True)
        }.items()
        for word in {root(word, language) for word in re.findall(r"[^\W\d_]{2,60}", title.casefold())}
    )
    return _Common(
        frozenset(word for word, number in corpus.words.items() if corpus.of_documents[number] > most),
        frozenset(word for word, count in of_titles.items() if count >= _TITLES),
    )


# --- pairs to findings ---------------------------------------------------------------------------
_Place: TypeAlias = tuple[int, int, int, int]  # document and number of two statements


@dataclass(frozen=True, slots=True)
class _Pair:
    place: _Place
    facts: tuple[Fact, Fact]
    finding: Finding
    family: bool
    many: bool


class _Kept:
    """Statements that were read again last, and the words of documents."""

    def __init__(self, corpus: _Corpus) -> None:
        self._corpus = corpus
        self._units: OrderedDict[int, list[Unit]] = OrderedDict()
        self._facts: OrderedDict[tuple[int, int], list[Fact]] = OrderedDict()
        self._words: OrderedDict[int, frozenset[str]] = OrderedDict()
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

    def quote(self, document: int, place: int) -> str:
        unit = self.units(document)[place]
        return self._corpus.texts[document].passage.text[unit.start : unit.end]

    def says(self, ours: tuple[int, Fact], theirs: tuple[int, Fact]) -> bool:
        """Return whether one document has the statement of the other, too; if it is short, each has both."""
        texts = self._corpus.texts
        quote, other = (_plain(texts[at].passage.text[fact.start : fact.end]) for at, fact in (ours, theirs))
        in_theirs, in_ours = quote in self._said(theirs[0])[0], other in self._said(ours[0])[0]
        repeated = quote if in_theirs else other if in_ours else ""
        return (in_theirs and in_ours) or len(repeated.split()) >= _SENTENCE

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
            quotes = frozenset(_plain(text[unit.start : unit.end]) for unit in units)
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


def _keep(cache: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    cache[key] = value
    if len(cache) > _CACHED:
        cache.popitem(last=False)


def _compared(
    corpus: _Corpus,
    found_pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    names: Sequence[frozenset[str]],
    common: _Common,
    progress: Progress,
) -> list[_Pair]:
    kept = _Kept(corpus)
    places: dict[_Place, int] = {}
    for (a, b), others in zip(found_pairs[0].tolist(), found_pairs[1].tolist(), strict=True):
        place = _in_order((corpus.documents[a], corpus.numbers[a]), (corpus.documents[b], corpus.numbers[b]))
        places[place] = max(others, places.get(place, 0))
    found: list[_Pair] = []
    for done, place in enumerate(sorted(places)):
        if done % 1000 == 0:
            progress("comparing", done, len(places))
        found += _compare(place, corpus, kept, names, common, many=places[place] >= _MANY)
    # Of statements that are repeated only a few are paired: where these contradict, all of them are compared.
    for place, many in _repeated(corpus, found).items():
        if place not in places:
            found += _compare(place, corpus, kept, names, common, many=many)
    return found


def _in_order(first: tuple[int, int], second: tuple[int, int]) -> _Place:
    """Return the place of two statements, each a document and a number, the lower document first."""
    return (*min(first, second), *max(first, second))


def _compare(
    place: _Place,
    corpus: _Corpus,
    kept: _Kept,
    names: Sequence[frozenset[str]],
    common: _Common,
    *,
    many: bool,
) -> list[_Pair]:
    """Return the gravest contradiction of two statements, if there is one."""
    first, ours, second, theirs = place
    titles = titles_of(corpus.texts[first]), titles_of(corpus.texts[second])
    reports = any(map(is_report, titles))
    family = (
        not names[first].isdisjoint(names[second])
        and corpus.files[first] != corpus.files[second]
        and not reports
        and not any(is_meeting(corpus.texts[number]) for number in (first, second))
    )
    sides = (first, ours), (second, theirs)
    if not family and any(is_code(kept.quote(*side)) for side in sides):
        return []
    passages = corpus.texts[first].passage, corpus.texts[second].passage
    apart = all(each.owner or each.source for each in passages) and not belong_together(*passages)
    headed_apart = family and kept.stand_apart(*sides)
    bodies = partial(kept.words, first), partial(kept.words, second)
    found = [
        _Pair(place, (fact, other), finding, family, many)
        for fact in kept.facts(first, ours)
        for other in kept.facts(second, theirs)
        if fact.group == other.group
        and _words_of(corpus, first, fact) != _words_of(corpus, second, other)
        and not kept.says((first, fact), (second, other))
        and _may_be_of_one(corpus, (first, fact), (second, other))
        for framed in [family and _have_one_frame(corpus, (first, fact), (second, other))]
        if not headed_apart or (framed and len(_words_of(corpus, first, fact)) >= _LONG_SENTENCE)
        if (
            finding := compare(
                fact,
                other,
                family=family,
                framed=framed,
                reports=reports,
                many=many,
                apart=apart,
                common=common.words,
                titles=common.titles,
                bodies=bodies,
            )
        )
    ]
    return [max(found, key=lambda pair: _rank(pair.finding))] if found else []


def _words_of(corpus: _Corpus, number: int, fact: Fact) -> list[str]:
    return corpus.texts[number].passage.text[fact.start : fact.end].split()


def _have_one_frame(corpus: _Corpus, *facts: tuple[int, Fact]) -> bool:
    """Return whether two statements have the same words before and after their values."""
    frames = {
        (_plain(body[fact.start : fact.value_start]), _plain(body[fact.value_end : fact.end]))
        for number, fact in facts
        for body in [corpus.texts[number].passage.text]
    }
    return len(frames) == 1 and all(fact.kind in ("value", "name") for _, fact in facts)


def _may_be_of_one(corpus: _Corpus, *facts: tuple[int, Fact]) -> bool:
    """Return whether facts may be of one thing: of a form that a document repeats, those of one heading."""
    forms = [
        (form, corpus.forms.get((number, (form, words)), {}), fact)
        for number, fact in facts
        for form, words in _forms_of(corpus.texts[number], fact)
    ]
    if all(len(set().union(*below.values())) < _SEVERAL[form] for form, below, _ in forms):
        return True
    return len({fact.around for _, fact in facts}) == 1 and all(
        len(below.get(fact.around, ())) <= 1 for _, below, fact in forms
    )


def _forms_of(text: Text, fact: Fact) -> list[tuple[_Form, int]]:
    """Return numbers of what a document may repeat with other values: a short label; sentence and clause."""
    own = _keys(fact)[0]
    words = _number_of("\x1f".join(sorted(own)))
    if fact.weak and len(own) <= _LABEL:
        return [("label", words)]
    if fact.kind in ("polarity", "definition"):
        return []
    body = text.passage.text
    before, after = body[fact.start : fact.value_start], body[fact.value_end : fact.end]
    sentence = _plain(before if len(before.split()) >= _SENTENCE else f"{before} _ {after}")
    forms: list[tuple[_Form, int]] = [("sentence", _number_of(sentence))]
    return [*forms, ("clause", words)] if len(own) <= _CLAUSE else forms


def _repeated(corpus: _Corpus, found: Sequence[_Pair]) -> dict[_Place, bool]:
    """Return the places where other documents say a contradicted statement in the same words."""
    quotes = np.frombuffer(corpus.quotes, np.int64) if corpus.quotes else np.empty(0, np.int64)
    order = np.argsort(quotes, kind="stable")
    ordered = quotes[order]
    places: dict[_Place, bool] = {}
    for pair in found:
        first, ours, second, theirs = pair.place
        sides = ((first, pair.facts[0], (second, theirs)), (second, pair.facts[1], (first, ours)))
        for number, fact, against in sides:
            quote = _quote_key(corpus.texts[number], fact)
            start, end = np.searchsorted(ordered, [quote, quote + 1]) if quote else (0, 0)
            for row in order[start : min(end, start + _COPIES)].tolist():
                own = corpus.documents[row], corpus.numbers[row]
                if corpus.files[own[0]] != corpus.files[against[0]] and len(places) < _MOST_REPEATED:
                    places[_in_order(own, against)] = pair.many
    return places


def _quote_key(text: Text, fact: Fact) -> int:
    """Return a number of a statement's words; 0 for one that is too short to say of what it is."""
    words = text.passage.text[fact.start : fact.end].casefold().split()
    return _number_of(" ".join(words)) if len(words) >= _SENTENCE else 0


def _number_of(text: str) -> int:
    """Return a number of a text, the same in each process: which pairs are compared depends on it."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 1


def _rank(finding: Finding) -> tuple[int, float]:
    return SEVERITIES.index(finding.severity), finding.likeness


# --- findings to contradictions ------------------------------------------------------------------
def _contradiction(
    corpus: _Corpus,
    pair: _Pair,
    sources: Mapping[str, Source],
    tiers: Mapping[str, float],
    accepted: Collection[str],
) -> Contradiction:
    first, second = (corpus.texts[number] for number in (pair.place[0], pair.place[2]))
    ours = _statement(first, pair.facts[0], corpus.copies_of(pair.place[0]))
    theirs = _statement(second, pair.facts[1], corpus.copies_of(pair.place[2]))
    by_date = newer(first.passage, second.passage)
    by_tier = higher(first.passage, second.passage, tiers)
    reliable = more_reliable(first.passage, second.passage, sources)
    apart = not belong_together(first.passage, second.passage)
    family = pair.family and not apart
    holds = side_in_force(first.passage, second.passage, by_date, family=family)
    finding = pair.finding
    name = _id(ours, theirs, pair.facts)
    return Contradiction(
        id=name,
        kind="version" if family else _kind(pair.facts[0]),
        severity=finding.severity,
        first=ours,
        second=theirs,
        about=" ".join(sorted(finding.about, key=lambda word: (_offset_in(ours.quote, word), word))),
        scope=finding.scope,
        newer=by_date,
        higher=by_tier,
        more_reliable=reliable,
        holds=holds,
        settled_by=settled_by(
            by_date,
            by_tier,
            reliable,
            holds,
            family=family,
            scope=bool(finding.scope),
            apart=apart,
            orders=side_of(ours.gives_orders, theirs.gives_orders),
        ),
        likeness=finding.likeness,
        new=name not in accepted,
    )


def _of_third_versions(found: Sequence[Contradiction]) -> list[Contradiction]:
    """Return contradictions without a version as in force that gives way to another one elsewhere."""
    document = attrgetter("path", "document", "title", "source", "url", "date")
    other = {"first": "second", "second": "first"}
    gone = {
        document(getattr(each, other[each.holds])) for each in found if each.holds and each.kind == "version"
    }
    third = "another version is in force: withdraw or correct both"
    return [
        replace(each, holds="", settled_by=third)
        if each.holds and document(getattr(each, each.holds)) in gone
        else each
        for each in found
    ]


def _kind(fact: Fact) -> ContradictionKind:
    if fact.kind == "polarity":
        return "negation"
    if fact.kind == "definition":
        return "definition"
    return "date" if fact.value is not None and fact.value.of in ("date", "year") else "value"


def _statement(text: Text, fact: Fact, copies: Sequence[Text]) -> Statement:
    passage = text.passage
    body = passage.text
    return Statement(
        quote=body[fact.start : fact.end],
        value=body[fact.value_start : fact.value_end],
        start=fact.start,
        end=fact.end,
        path=text.path,
        row=text.row,
        document=passage.document,
        source=passage.source,
        owner=passage.owner,
        title=passage.title,
        url=passage.url,
        date=passage.date,
        date_origin=passage.date_origin,
        authority=passage.authority,
        line=body.count("\n", 0, fact.start) + 1,
        also=_others(text.path or passage.title, (each.path or each.passage.title for each in copies))[
            :_NAMED
        ],
        copies=_others(passage.document, (each.passage.document for each in copies))[:_COPIES],
        gives_orders=passage.gives_orders,
    )


def _offset_in(quote: str, word: str) -> int:
    """Return where a word stands in a quote, last of all if it does not."""
    at = quote.casefold().find(word.casefold())
    return at if at >= 0 else len(quote)


def _id(first: Statement, second: Statement, facts: tuple[Fact, Fact]) -> str:
    """Return a name that stays as long as both quotes, what they are about and what differs in them do."""
    sides = sorted(
        "\x1f".join((" ".join(statement.quote.casefold().split()), statement.title.casefold(), fact.said))
        for statement, fact in zip((first, second), facts, strict=True)
    )
    return content_id("c", facts[0].group, *sides)


def _merged(contradictions: list[Contradiction]) -> list[Contradiction]:
    """Return each contradiction once: the gravest, then the latest, where documents have it twice."""
    order = sorted(sorted(contradictions, key=attrgetter("id")), key=_dates, reverse=True)
    order.sort(key=lambda each: (-SEVERITIES.index(each.severity), -each.likeness))
    by_documents: dict[tuple[Any, ...], Contradiction] = {}
    for each in order:
        places = (
            each.first.path,
            each.first.row,
            each.first.title,
            each.second.path,
            each.second.row,
            each.second.title,
        )
        values = tuple(sorted((_plain(each.first.value), _plain(each.second.value))))
        by_documents.setdefault((*places, values), each)
    by_quotes: dict[tuple[str, ...], Contradiction] = {}
    for each in by_documents.values():
        quotes = sorted((_plain(each.first.quote), _plain(each.second.quote)))
        key = tuple(quotes) if all(len(quote.split()) >= _SENTENCE for quote in quotes) else (each.id,)
        known = by_quotes.get(key)
        by_quotes[key] = each if known is None else _with_places(known, each)
    return list(by_quotes.values())


def _dates(contradiction: Contradiction) -> list[str]:
    """Return the dates that the documents of a contradiction state, the latest first."""
    statements = (contradiction.first, contradiction.second)
    return sorted((each.date for each in statements if each.date_origin != "file"), reverse=True)


def _with_places(known: Contradiction, other: Contradiction) -> Contradiction:
    """Return a contradiction that names the documents of another one with the same quotes."""
    sides = {"first": known.first, "second": known.second}
    for statement in (other.first, other.second):
        for name in ("first", "second"):
            side = sides[name]
            if _plain(side.quote) != _plain(statement.quote):
                continue
            places = (statement.path or statement.title, *statement.also)
            documents = (statement.document, *statement.copies)
            sides[name] = replace(
                side,
                also=_others(side.path or side.title, (*side.also, *places))[:_NAMED],
                copies=_others(side.document, (*side.copies, *documents))[:_COPIES],
            )
    return replace(known, first=sides["first"], second=sides["second"])


def _others(own: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return names once each, without one's own and empty ones."""
    return tuple(dict.fromkeys(name for name in names if name not in ("", own)))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
