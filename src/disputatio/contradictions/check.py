"""The walk of a check: documents to statements, statements to pairs, pairs to contradictions."""

from __future__ import annotations

import time
from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from disputatio.contradictions.comparing import Finding, compare
from disputatio.contradictions.judging import judge
from disputatio.contradictions.pairing import Table, pairs_of
from disputatio.contradictions.standing import (
    Text,
    draft,
    higher,
    is_meeting,
    more_reliable,
    newer,
    settled_by,
    side_of,
    titles_of,
)
from disputatio.contradictions.statements import Fact, facts_of, is_report
from disputatio.contradictions.units import is_row, style_of, units_of
from disputatio.contradictions.vocabulary import GENERIC_ROOTS
from disputatio.kit import Kit
from disputatio.text import content_id
from disputatio.types import Check, Contradiction, ContradictionKind, Severity, Side, Source, Statement

SEVERITIES: tuple[Severity, ...] = ("low", "medium", "high")
MOST = 2_000  # contradictions of one check that are returned
MOST_FACTS = 4_000_000
_CACHED = 4_000  # documents whose statements are kept while pairs are compared
_COMMON = 0.5  # share of the documents from which a word says nothing
_SENTENCE = 5  # words from which a quote says by itself what it is about
_FEW = 8  # documents below which no word is common
_TABLES = (".csv", ".tsv", ".xlsx", ".xls", ".ods")
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
    documents: array[int] = field(default_factory=lambda: array("i"))
    numbers: array[int] = field(default_factory=lambda: array("i"))
    of_documents: Counter[int] = field(default_factory=Counter)
    copies: dict[str, list[int]] = field(default_factory=dict)
    units: int = 0


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
    least: float = 0.5,
    progress: Progress = lambda *_: None,
) -> Check:
    """Return the contradictions between documents.

    `sources` have their estimates, `tiers` the weight of each declared authority, `families` the name that
    versions of a document share. Those below `severity` are counted only; those whose id is `accepted` are
    not
    new. With a `kit` its model judges up to `calls` of them, and drops those it finds less likely than
    `least`.
    """
    began = time.perf_counter()
    corpus = _Corpus()
    group_numbers: dict[str, int] = {}
    for text in texts:
        _read(text, corpus, group_numbers)
        progress("reading", len(corpus.texts), 0)
    pairs, left_out = pairs_of(_table(corpus))
    common = _common(corpus)
    names = [families(text) for text in corpus.texts]
    found = _compared(corpus, pairs, names, common, progress)
    contradictions = [_contradiction(corpus, each, sources, tiers, accepted) for each in found]
    contradictions = _merged(contradictions)
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
            if probability is None or probability >= least
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
    style = style_of(text.passage.text)
    corpus.texts.append(text)
    corpus.styles.append(style)
    table = any(f"{ending}/" in f"{text.path.casefold()}/" for ending in _TABLES)
    same_file = text.row > 0 and table and is_row(text.passage.text)
    key = content_id("t", titles_of(text), text.passage.text)
    corpus.copies.setdefault(key, []).append(number)
    before = (
        corpus.files[-1]
        if corpus.files and same_file and corpus.texts[number - 1].path == text.path
        else number
    )
    corpus.files.append(before)
    if len(corpus.copies[key]) > 1 or len(corpus.said) > MOST_FACTS:
        return
    seen: set[int] = set()
    for place, facts in enumerate(_facts(text, style)):
        corpus.units += 1
        for fact in facts:
            words = [corpus.words.setdefault(word, len(corpus.words)) for word in _keys(fact)]
            if not words:
                continue
            seen.update(words)
            corpus.flat.extend(words)
            corpus.lengths.append(len(words))
            corpus.groups.append(group_numbers.setdefault(fact.group, len(group_numbers)))
            corpus.said.append(hash(fact.said))
            corpus.documents.append(number)
            corpus.numbers.append(place)
    corpus.of_documents.update(seen)


def _facts(text: Text, style: tuple[str, bool | None]) -> list[list[Fact]]:
    passage = text.passage
    return [
        facts_of(passage.text, unit, titles_of(text), *style)
        for unit in units_of(passage.text, passage.title)
    ]


def _keys(fact: Fact) -> list[str]:
    """Return the words by which facts are paired: their own that say something, and what a weak one "
    "is about."""
    words = [word for word in fact.words if word not in GENERIC_ROOTS]
    codes = sorted(fact.codes)
    if fact.weak or len(words) < 2:
        codes += sorted(fact.around_codes)[:3]
        words += sorted(word for word in fact.around if word not in GENERIC_ROOTS and word not in words)[:6]
    return list(dict.fromkeys([*words, *codes[:4]])) or list(fact.words)


def _table(corpus: _Corpus) -> Table:
    return Table(
        flat=np.frombuffer(corpus.flat, np.int32) if corpus.flat else np.empty(0, np.int32),
        lengths=np.array(corpus.lengths, np.int64),
        groups=np.array(corpus.groups, np.int64),
        said=np.array(corpus.said, np.int64),
        documents=np.array([corpus.files[number] for number in corpus.documents], np.int32),
    )


def _common(corpus: _Corpus) -> frozenset[str]:
    if len(corpus.texts) < _FEW:
        return frozenset()
    most = _COMMON * len(corpus.copies)
    return frozenset(word for word, number in corpus.words.items() if corpus.of_documents[number] > most)


# --- pairs to findings ---------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Pair:
    first: int
    second: int
    facts: tuple[Fact, Fact]
    finding: Finding
    family: bool


class _Kept:
    """The facts of documents that were read again last, by document."""

    def __init__(self, corpus: _Corpus) -> None:
        self._corpus = corpus
        self._facts: OrderedDict[int, list[list[Fact]]] = OrderedDict()
        self._words: dict[int, frozenset[str]] = {}

    def unit(self, document: int, place: int) -> list[Fact]:
        """Return the facts of a statement."""
        facts = self._facts.get(document)
        if facts is None:
            facts = self._facts[document] = _facts(
                self._corpus.texts[document], self._corpus.styles[document]
            )
            if len(self._facts) > _CACHED:
                self._facts.popitem(last=False)
        else:
            self._facts.move_to_end(document)
        return facts[place]

    def words(self, document: int) -> frozenset[str]:
        """Return the words of all statements of a document that was asked for before."""
        known = self._words.get(document)
        if known is None:
            if len(self._words) > _CACHED:
                self._words.clear()
            facts = self._facts.get(document, [])
            known = frozenset(
                word for unit in facts for fact in unit for word in (*fact.words, *fact.near, *fact.codes)
            )
            self._words[document] = known
        return known


def _compared(
    corpus: _Corpus, pairs: Any, names: Sequence[frozenset[str]], common: Collection[str], progress: Progress
) -> list[_Pair]:
    kept = _Kept(corpus)
    seen: set[tuple[int, int, int, int]] = set()
    found: list[_Pair] = []
    places = [
        (corpus.documents[a], corpus.numbers[a], corpus.documents[b], corpus.numbers[b])
        for a, b in pairs.tolist()
    ]
    for done, place in enumerate(sorted(set(places))):
        if done % 1000 == 0:
            progress("comparing", done, len(places))
        first, ours, second, theirs = place
        if first > second:
            first, ours, second, theirs = second, theirs, first, ours
        if (first, ours, second, theirs) in seen:
            continue
        seen.add((first, ours, second, theirs))
        titles = titles_of(corpus.texts[first]), titles_of(corpus.texts[second])
        reports = any(map(is_report, titles))
        family = (
            not names[first].isdisjoint(names[second])
            and corpus.files[first] != corpus.files[second]
            and not reports
            and not any(is_meeting(corpus.texts[number]) for number in (first, second))
        )
        best: _Pair | None = None
        our_facts, their_facts = kept.unit(first, ours), kept.unit(second, theirs)
        bodies = kept.words(first), kept.words(second)
        for fact in our_facts:
            for other in their_facts:
                if fact.group != other.group:
                    continue
                finding = compare(fact, other, family=family, reports=reports, common=common, bodies=bodies)
                if finding and (best is None or _rank(finding) > _rank(best.finding)):
                    best = _Pair(first, second, (fact, other), finding, family)
        if best is not None:
            found.append(best)
    return found


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
    first, second = (corpus.texts[number] for number in (pair.first, pair.second))
    ours, theirs = (_statement(text, fact) for text, fact in zip((first, second), pair.facts, strict=True))
    by_date = newer(first.passage, second.passage)
    by_tier = higher(first.passage, second.passage, tiers)
    reliable = more_reliable(first.passage, second.passage, sources)
    holds = _in_force(first, second, pair.family, by_date)
    finding = pair.finding
    name = _id(ours, theirs, pair.facts)
    return Contradiction(
        id=name,
        kind="version" if pair.family else _kind(pair.facts[0]),
        severity=finding.severity,
        first=ours,
        second=theirs,
        about=" ".join(finding.about),
        scope=finding.scope,
        newer=by_date,
        higher=by_tier,
        more_reliable=reliable,
        holds=holds,
        settled_by=settled_by(
            by_date, by_tier, reliable, holds, family=pair.family, scope=bool(finding.scope)
        ),
        likeness=finding.likeness,
        new=name not in accepted,
    )


def _in_force(first: Text, second: Text, family: bool, by_date: Side) -> Side:
    """Return the side that is in force: no draft and not withdrawn, else the newer of two versions."""
    drafts = draft(first.passage.relations), draft(second.passage.relations)
    if drafts[0] != drafts[1]:
        return side_of(not drafts[0], not drafts[1])
    return by_date if family else ""


def _kind(fact: Fact) -> ContradictionKind:
    if fact.kind == "polarity":
        return "negation"
    if fact.kind == "definition":
        return "definition"
    return "date" if fact.value is not None and fact.value.of in ("date", "year") else "value"


def _statement(text: Text, fact: Fact) -> Statement:
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
    )


def _id(first: Statement, second: Statement, facts: tuple[Fact, Fact]) -> str:
    """Return a name that stays as long as both quotes, what they are about and what differs in them do."""
    sides = sorted(
        "\x1f".join((" ".join(statement.quote.casefold().split()), statement.title.casefold(), fact.said))
        for statement, fact in zip((first, second), facts, strict=True)
    )
    return content_id("c", facts[0].group, *sides)


def _merged(contradictions: list[Contradiction]) -> list[Contradiction]:
    """Return each contradiction once: the gravest where two documents have it twice, or where copies "
    "have it."""
    order = sorted(
        contradictions, key=lambda each: (-SEVERITIES.index(each.severity), -each.likeness, each.id)
    )
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


def _with_places(known: Contradiction, other: Contradiction) -> Contradiction:
    """Return a contradiction that names the documents of another one with the same quotes."""
    sides = {"first": known.first, "second": known.second}
    for statement in (other.first, other.second):
        for name, side in sides.items():
            place = statement.path or statement.title
            if _plain(side.quote) == _plain(statement.quote) and place not in (
                side.path or side.title,
                *side.also,
            ):
                sides[name] = replace(side, also=(*side.also, place)[:20])
    return replace(known, first=sides["first"], second=sides["second"])


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
