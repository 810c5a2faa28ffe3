"""The walk of a check: documents to statements, statements to pairs, pairs to contradictions."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from disputatio.contradictions.changes import changes, sentences_of
from disputatio.contradictions.comparing import Finding, compare, share_a_name
from disputatio.contradictions.corpus import (
    SENTENCE,
    Common,
    Corpus,
    Form,
    Recent,
    common_language,
    copy_key,
    find_common,
    forms_of,
    plain,
    quote_key,
    read_text,
    table_of,
    title_words,
)
from disputatio.contradictions.facts import Fact
from disputatio.contradictions.judging import judge
from disputatio.contradictions.pairing import pairs_of
from disputatio.contradictions.standing import (
    REMEDIES,
    Text,
    belong_together,
    higher,
    is_meeting,
    more_reliable,
    newer,
    only_changes_in_part,
    settle,
    side_in_force,
    side_of,
    titles_of,
    words_to_come,
)
from disputatio.contradictions.statements import DEFINED, is_report
from disputatio.contradictions.vocabulary import GENERIC_ROOTS, TITLES
from disputatio.kit import Kit
from disputatio.text import content_id
from disputatio.types import Check, Contradiction, ContradictionKind, Severity, Source, Statement

SEVERITIES: tuple[Severity, ...] = ("low", "medium", "high")
MOST = 2_000  # contradictions of one check that are returned
_NAMED, _COPIES = 20, 1_000  # documents of a statement that are named, and whose ids are kept
_MOST_REPEATED = 20_000  # pairs of statements that are compared, since others of the same words contradict
_VERSIONS = 8  # of a document, between which names are compared
_LONG_SENTENCE = 8  # words from which versions have one statement, whatever heading it stands below
_MANY = 8  # documents that have a fact, each its own, from which only the title says of what it is
# Values that one document gives under a label, or in a sentence, from which it is of several things.
_SEVERAL: Mapping[Form, int] = {"label": 3, "sentence": 2, "clause": 4}
_SECTION = re.compile(
    r"(?:section|clause|article|paragraph|rule|§|abschnitt|ziffer|artikel) ?\d[\d.]*", re.IGNORECASE
)
# "A guest is a person who", "Guests are people who"; with "the guest" it would tell of one. After
# "are" comes a noun: "Guests are told that" defines nothing.
_OF_A_KIND = re.compile(
    r"(?:an?|any|every|eine?|une?) [^.,;:]{1,60}? (?:is|ist|est) "
    r"(?:an?|any|every|one|eine?|jede[rs]?|une?|toute?|(?:any|some)(?:one|body)|jemand)\b[^.;:]{0,80}?"
    r"\b(?:who|whose|whom|that|which|der|die|das|qui|que|dont)\b"
    r"|(?!(?:the|these|those|our|your|their|its|die|diese|unsere|ihre|ces|nos|vos|leurs)\b)[^.,;:]{1,60}? "
    r"(?:are (?:all |any )?(?:those|(?:\w+ )?(?:people|men|women|children|\w+s)) "
    r"(?:who|whose|whom|that|which)"
    r"|sind (?:alle|jene|(?:alle )?(?:\w+ )?(?-i:[A-ZÄÖÜ])\w+), (?:die|deren|denen)"
    r"|sont (?:ceux|celles|(?:des|tous les|toutes les) \w+s) (?:qui|que|dont))\b",
    re.IGNORECASE,
)
Progress = Callable[[str, int, int], None]


def find(
    texts: Iterable[Text],
    *,
    sources: Mapping[str, Source],
    tiers: Mapping[str, float],
    families: Callable[[Text], frozenset[str]],
    day: str,
    severity: Severity = "medium",
    accepted: Collection[str] = frozenset(),
    kit: Kit | None = None,
    calls: int = 0,
    progress: Progress = lambda *_: None,
) -> Check:
    """Return the contradictions between documents.

    `sources` have their estimates, `tiers` the weight of each declared authority, `families` the name that
    versions of a document share; what is in force is so on the `day`. Those below `severity` are counted
    only; those whose id is `accepted` are not new. With a `kit` its model judges up to `calls` of them, and
    drops those it finds unlikely.
    """
    began = time.perf_counter()
    corpus = Corpus()
    group_numbers: dict[str, int] = {}
    read: list[Text] = []
    for text in texts:
        read.append(text)
        progress("reading", len(read), 0)
    language = common_language(read)
    for text in read:
        read_text(text, corpus, group_numbers, language)
    pairs, others, left_out = pairs_of(table_of(corpus))
    common = find_common(corpus)
    names = [families(text) for text in corpus.texts]
    recent = Recent(corpus)
    found = _compare_all(corpus, recent, (pairs, others), names, common, progress)
    releases = _find_releases(names)
    found = [
        each
        if _tells_of_one(each, corpus, recent, names, releases, common)
        else replace(each, finding=replace(each.finding, severity="low"))
        for each in found
    ]
    found += _find_changes(corpus, recent, names, {pair.place for pair in found})
    contradictions = [_contradiction(corpus, each, sources, tiers, accepted, day) for each in found]
    contradictions = _merge(_of_third_versions(contradictions, corpus.texts))
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


# --- pairs to findings ---------------------------------------------------------------------------
_Place: TypeAlias = tuple[int, int, int, int]  # document and number of two statements


@dataclass(frozen=True, slots=True)
class _Pair:
    place: _Place
    facts: tuple[Fact, Fact]
    finding: Finding
    family: bool
    many: bool


def _compare_all(
    corpus: Corpus,
    kept: Recent,
    found_pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    names: Sequence[frozenset[str]],
    common: Common,
    progress: Progress,
) -> list[_Pair]:
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
    for place, many in _find_repeated(corpus, found).items():
        if place not in places:
            found += _compare(place, corpus, kept, names, common, many=many)
    return found


def _in_order(first: tuple[int, int], second: tuple[int, int]) -> _Place:
    """Return the place of two statements, each a document and a number, the lower document first."""
    return (*min(first, second), *max(first, second))


def _compare(
    place: _Place,
    corpus: Corpus,
    kept: Recent,
    names: Sequence[frozenset[str]],
    common: Common,
    *,
    many: bool,
) -> list[_Pair]:
    """Return the gravest contradiction of two statements, and those of their other values."""
    first, ours, second, theirs = place
    reports = any(is_report(titles_of(corpus.texts[number])) for number in (first, second))
    family = not reports and _are_versions(corpus, names, first, second)
    sides = (first, ours), (second, theirs)
    code = any(kept.units(document)[place].code for document, place in sides)
    if code and not family:
        return []
    passages = corpus.texts[first].passage, corpus.texts[second].passage
    apart = all(each.owner or each.source for each in passages) and not belong_together(*passages)
    below_one = len({kept.units(document)[place].heading for document, place in sides}) == 1
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
        if not code or (framed and fact.kind == "value")
        if not headed_apart or (framed and len(_words_of(corpus, first, fact)) >= _LONG_SENTENCE)
        if (
            finding := compare(
                fact,
                other,
                family=family,
                framed=framed and (below_one or not GENERIC_ROOTS.issuperset(fact.words)),
                reports=reports,
                many=many,
                apart=apart,
                common=common.words,
                titles=common.titles,
                bodies=bodies,
            )
        )
        if not (kept.lists(sides[0], fact, other) or kept.lists(sides[1], other, fact))
    ]
    gravest: list[_Pair] = []
    for pair in sorted(found, key=lambda pair: _rank(pair.finding), reverse=True):
        others = [fact for each in gravest for fact in each.facts]
        values = all(fact.kind == "value" for fact in (*others, *pair.facts))
        again = any(fact in others for fact in pair.facts) or any(
            _is_in_another_currency(pair, each) for each in gravest
        )
        if not gravest or (values and not again):
            gravest.append(pair)
    return gravest


def _is_in_another_currency(first: _Pair, second: _Pair) -> bool:
    """Return whether two pairs are of one price, which both statements give in two currencies."""
    return all(
        ours.value is not None
        and theirs.value is not None
        and ours.group == theirs.group == "money"
        and ours.value.of != theirs.value.of
        and set(ours.words) == set(theirs.words)
        for ours, theirs in zip(first.facts, second.facts, strict=True)
    )


def _are_versions(corpus: Corpus, names: Sequence[frozenset[str]], first: int, second: int) -> bool:
    return (
        not names[first].isdisjoint(names[second])
        and corpus.files[first] != corpus.files[second]
        and not any(is_meeting(corpus.texts[number]) for number in (first, second))
    )


def _find_releases(names: Sequence[frozenset[str]]) -> set[int]:
    """Return the documents in folders named by a version whose file another version has, too."""
    versions = Counter(name for some in names for name in some if "/" in name)
    return {number for number, some in enumerate(names) if any(versions[name] > 1 for name in some)}


def _tells_of_one(
    pair: _Pair,
    corpus: Corpus,
    recent: Recent,
    names: Sequence[frozenset[str]],
    releases: Collection[int],
    common: Common,
) -> bool:
    """Return whether a pair says enough of what it is, of two publishers or of other files of two versions.

    A statement of a manual is compared with the same file of the other version; with another file only if
    the two are one sentence but for the value. Two publishers have to name one thing by a name of its own.
    """
    first, ours, second, theirs = pair.place
    texts = [corpus.texts[number] for number in (first, second)]
    manuals = first in releases and second in releases
    if not names[first].isdisjoint(names[second]):
        return True
    if not belong_together(*(text.passage for text in texts)):
        titled = title_words(corpus, first) & title_words(corpus, second)
        return (
            not (manuals or all(text.passage.owner for text in texts))
            or share_a_name(*pair.facts)
            or not titled <= TITLES | GENERIC_ROOTS | common.titles
        )
    return not manuals or (
        all(quote_key(*each) for each in zip(texts, pair.facts, strict=True))
        and recent.units(first)[ours].form == recent.units(second)[theirs].form == "sentence"
        and _have_one_frame(corpus, (first, pair.facts[0]), (second, pair.facts[1]))
    )


def _find_changes(
    corpus: Corpus, kept: Recent, names: Sequence[frozenset[str]], found: Collection[_Place]
) -> list[_Pair]:
    """Return what changed in the sentences of versions of one document and is no value: a name, a path."""
    families: dict[str, list[int]] = {}
    for number, text in enumerate(corpus.texts):
        if not is_report(titles_of(text)) and corpus.copies[copy_key(text)][0] == number:
            for name in names[number]:
                families.setdefault(name, []).append(number)
    versions = {
        (first, second)
        for family in families.values()
        if len(family) <= _VERSIONS
        for first, second in combinations(family, 2)
        if _are_versions(corpus, names, first, second)
        and belong_together(corpus.texts[first].passage, corpus.texts[second].passage)
    }
    sentences = {
        number: (text, sentences_of(text, kept.units(number)))
        for number in {number for pair in versions for number in pair}
        for text in [corpus.texts[number].passage.text]
    }
    pairs: list[_Pair] = []
    for first, second in sorted(versions):
        for ours, theirs, facts, finding in changes(sentences[first], sentences[second]):
            place = _in_order((first, ours), (second, theirs))
            if place not in found and not kept.stand_apart((first, ours), (second, theirs)):
                pairs.append(_Pair(place, facts, finding, family=True, many=False))
    return pairs


def _words_of(corpus: Corpus, number: int, fact: Fact) -> list[str]:
    return corpus.texts[number].passage.text[fact.start : fact.end].split()


def _have_one_frame(corpus: Corpus, *facts: tuple[int, Fact]) -> bool:
    """Return whether two statements have the same words before and after their values."""
    frames = {
        (plain(body[fact.start : fact.value_start]), plain(body[fact.value_end : fact.end]))
        for number, fact in facts
        for body in [corpus.texts[number].passage.text]
    }
    return len(frames) == 1 and all(fact.kind in ("value", "name") for _, fact in facts)


def _may_be_of_one(corpus: Corpus, *facts: tuple[int, Fact]) -> bool:
    """Return whether facts may be of one thing: of a form that a document repeats, those of one heading."""
    forms = [
        (form, corpus.forms.get((number, (form, words)), {}), fact)
        for number, fact in facts
        for form, words in forms_of(corpus.texts[number], fact)
    ]
    if all(len(set().union(*below.values())) < _SEVERAL[form] for form, below, _ in forms):
        return True
    return len({fact.around for _, fact in facts}) == 1 and all(
        len(below.get(fact.around, ())) <= 1 for _, below, fact in forms
    )


def _find_repeated(corpus: Corpus, found: Sequence[_Pair]) -> dict[_Place, bool]:
    """Return the places where other documents say a contradicted statement in the same words."""
    quotes = np.frombuffer(corpus.quotes, np.int64) if corpus.quotes else np.empty(0, np.int64)
    order = np.argsort(quotes, kind="stable")
    ordered = quotes[order]
    places: dict[_Place, bool] = {}
    for pair in found:
        first, ours, second, theirs = pair.place
        sides = ((first, pair.facts[0], (second, theirs)), (second, pair.facts[1], (first, ours)))
        for number, fact, against in sides:
            quote = quote_key(corpus.texts[number], fact)
            start, end = np.searchsorted(ordered, [quote, quote + 1]) if quote else (0, 0)
            for row in order[start : min(end, start + _COPIES)].tolist():
                own = corpus.documents[row], corpus.numbers[row]
                if corpus.files[own[0]] != corpus.files[against[0]] and len(places) < _MOST_REPEATED:
                    places[_in_order(own, against)] = pair.many
    return places


def _rank(finding: Finding) -> tuple[int, float]:
    return SEVERITIES.index(finding.severity), finding.likeness


# --- findings to contradictions ------------------------------------------------------------------
def _contradiction(
    corpus: Corpus,
    pair: _Pair,
    sources: Mapping[str, Source],
    tiers: Mapping[str, float],
    accepted: Collection[str],
    day: str,
) -> Contradiction:
    first, second = (corpus.texts[number] for number in (pair.place[0], pair.place[2]))
    ours = _statement(first, pair.facts[0], corpus.copies_of(pair.place[0]))
    theirs = _statement(second, pair.facts[1], corpus.copies_of(pair.place[2]))
    by_date = newer(first.passage, second.passage)
    by_tier = higher(first.passage, second.passage, tiers)
    reliable = more_reliable(first.passage, second.passage, sources)
    apart = not belong_together(first.passage, second.passage)
    family = pair.family and not apart
    holds = side_in_force(first.passage, second.passage, by_date, day, family=family)
    finding = pair.finding
    by_name = side_in_force(first.passage, second.passage, by_date, day, family=False)
    if by_name and finding.scope and all(map(_SECTION.fullmatch, finding.scope)):
        finding = replace(finding, scope=(), severity="medium")  # it says what it changes, and limits nothing
    to_come = [words for text in (first, second) for words in [words_to_come(text.passage, day)] if words]
    if len(to_come) == 1 and not apart:
        finding = replace(finding, scope=(*finding.scope, *to_come), severity="low")
    remedy, side = settle(
        by_date,
        by_tier,
        reliable,
        holds,
        family=family,
        scope=bool(finding.scope),
        apart=apart,
        orders=side_of(ours.gives_orders, theirs.gives_orders),
    )
    name = _id(ours, theirs, pair.facts)
    return Contradiction(
        id=name,
        kind="version" if family else _kind(pair.facts[0], ours.quote, theirs.quote),
        severity=finding.severity,
        first=ours,
        second=theirs,
        about=" ".join(sorted(finding.about, key=lambda word: (_offset_in(ours.quote, word), word))),
        scope=finding.scope,
        newer=by_date,
        higher=by_tier,
        more_reliable=reliable,
        holds=holds,
        settled_by=REMEDIES[remedy].format(side=side),
        remedy=remedy,
        likeness=finding.likeness,
        new=name not in accepted,
    )


def _of_third_versions(found: Sequence[Contradiction], texts: Sequence[Text]) -> list[Contradiction]:
    """Return contradictions without a version as in force that gives way to another one elsewhere.

    What only corrects or amends another one leaves the rest of that in force.
    """
    about = attrgetter("document", "title", "source", "url", "date")
    document = attrgetter("path", "document", "title", "source", "url", "date")
    other = {"first": "second", "second": "first"}
    in_part = {(text.path, *about(text.passage)) for text in texts if only_changes_in_part(text.passage)}
    gone = {
        document(getattr(each, other[each.holds]))
        for each in found
        if each.holds and each.kind == "version" and document(getattr(each, each.holds)) not in in_part
    }
    return [
        each
        if not each.holds or document(getattr(each, each.holds)) not in gone
        else replace(each, holds="", settled_by=REMEDIES["correct_both"], remedy="correct_both")
        if each.remedy == "correct_other"
        else replace(each, holds="")
        for each in found
    ]


def _kind(fact: Fact, *quotes: str) -> ContradictionKind:
    if fact.kind == "polarity":
        return "negation"
    if fact.kind == "definition" or all(DEFINED.match(each) or _OF_A_KIND.match(each) for each in quotes):
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


def _merge(contradictions: list[Contradiction]) -> list[Contradiction]:
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
        by_documents.setdefault((*places, _values_of(each)), each)
    by_quotes: dict[tuple[str, ...], Contradiction] = {}
    for each in by_documents.values():
        quotes = sorted((plain(each.first.quote), plain(each.second.quote)))
        key = (
            (*quotes, *_values_of(each))
            if all(len(quote.split()) >= SENTENCE for quote in quotes)
            else (each.id,)
        )
        known = by_quotes.get(key)
        by_quotes[key] = each if known is None else _with_places(known, each)
    return list(by_quotes.values())


def _values_of(contradiction: Contradiction) -> tuple[str, ...]:
    return tuple(sorted((plain(contradiction.first.value), plain(contradiction.second.value))))


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
            if plain(side.quote) != plain(statement.quote):
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
