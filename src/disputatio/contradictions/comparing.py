"""Two facts compared: are they about one thing, do they exclude each other, and how sure is that.

A pair is dropped as soon as something says that it is about two things: other model numbers, years, names.
What only one of the two says ("for apprentices") may be a limit of scope: that is kept with low severity.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from disputatio.contradictions.facts import COMPOUND, Fact
from disputatio.contradictions.measures import differ
from disputatio.contradictions.statements import facts_of
from disputatio.contradictions.units import style_of, units_of
from disputatio.contradictions.vocabulary import (
    ATTRIBUTES,
    CONTRAST_OF,
    EVERYONE_ROOTS,
    GENERIC_ROOTS,
    TITLES,
    root,
)
from disputatio.types import Severity
from disputatio.values import same_answer
from disputatio.versions.denials import without_denied

GENERIC, LONG = 0.25, 0.8  # the weight of words that any policy has, and what a long compound counts more
NEAR, AROUND = 0.9, 0.8  # what a word counts that the other has elsewhere in its sentence, in its heading
Bodies = tuple[Callable[[], frozenset[str]], Callable[[], frozenset[str]]]
_EXCEPTED = re.compile(
    r"\b(?:until|till|before|unless|except|than|bis|bevor|vor|außer|avant|sauf|antes|salvo)\b", re.IGNORECASE
)
_SCOPE_LESS = EVERYONE_ROOTS | GENERIC_ROOTS


@dataclass(frozen=True, slots=True)
class Finding:
    """Two facts that exclude each other: how alike their words are in [0, 1], and what may reconcile them."""

    severity: Severity
    likeness: float
    about: tuple[str, ...]
    scope: tuple[str, ...]


def compare(
    first: Fact,
    second: Fact,
    *,
    family: bool = False,
    framed: bool = False,
    reports: bool = False,
    many: bool = False,
    apart: bool = False,
    common: Collection[str] = frozenset(),
    titles: Collection[str] = frozenset(),
    bodies: Bodies = (frozenset, frozenset),
) -> Finding | None:
    """Return how two facts of one group contradict each other, None where they do not or are of two things.

    `family` says that their documents are versions of one; `framed` that but for the values these have one
    statement in the same words; `reports` that a document's period is that of its
    figures; `many` that many documents have such a fact, each its own; `apart` that they are of two
    publishers; `common` are words that most documents have, such as the company's name, and `titles` those
    that several titles have; `bodies` the words of all statements of each document.
    """
    if not _exclude(first, second) or (apart and not _names_whose(first, second)):
        return None
    if many:
        first, second = replace(first, weak=True), replace(second, weak=True)
    limits: set[str] = set()
    if _other_codes(first, second, limits, family, bodies):
        return None
    if _other_periods(first, second, limits, family, reports):
        return None
    if _other_scopes(first, second, limits):
        return None
    shared, ours, theirs = _words(first, second)
    weight = sum(shared.values()) + len(
        (first.codes | first.around_codes) & (second.codes | second.around_codes)
    )
    subject = {word for word, share in shared.items() if share >= 0.5} - ATTRIBUTES
    long = any(len(word) >= COMPOUND for word in first.raw & second.raw)
    weight += LONG * (long or (len(subject) == 1 and weight < 1.7))
    own, other = sum(ours.values()), sum(theirs.values())
    total = weight + max(own, other)
    likeness = weight / total if total else 0.0
    if _other_names(first, second, ours, theirs, limits, common):
        return None
    if _other_heads(first, second) or not _meets(first, second):
        return None
    if not framed and not _alike(first, second, weight, own, other, family=family):
        return None
    if not family and _other_subject(first, second, weight, limits, common, titles, bodies):
        return None
    limits |= _limits(first, ours, second) | _limits(second, theirs, first)
    if limits and (first.kind in ("polarity", "definition")):
        return None
    severity: Severity = (
        "low" if limits else "high" if likeness >= 0.8 and min(own, other) < 0.3 else "medium"
    )
    about = tuple(word for form, word in zip(first.words, first.written, strict=True) if form in shared)[:6]
    return Finding(severity, round(likeness, 3), about, tuple(sorted(limits))) if about else None


def denies(text: str, claim: str) -> bool:
    """Return whether a statement of a text is a claim but for a negation.

    "Not before 1931" and the like deny nothing of 1931.

    >>> denies("The old quay is not open to visitors.", "The old quay is open to visitors.")
    True
    >>> denies("It was not Croll but Vasmer who designed the quay.", "Vasmer designed the quay.")
    False
    >>> denies("The quay's rent is 45 euros, not 42 euros.", "The quay's rent is 45 euros.")
    False
    """
    return any(
        ours.group == theirs.group and compare(ours, theirs) is not None
        for ours in _polarities(without_denied(text, claim))
        for theirs in _polarities(claim)
    )


def _polarities(text: str) -> list[Fact]:
    style = style_of(text)
    facts = (fact for unit in units_of(text, "") for fact in facts_of(text, unit, "", *style))
    return [
        replace(fact, stopped=True)  # a claim is a sentence, with a full stop or without
        for fact in facts
        if fact.kind == "polarity" and not _EXCEPTED.search(text, fact.start, fact.end)
    ]


# --- do they exclude each other ------------------------------------------------------------------
def _exclude(first: Fact, second: Fact) -> bool:
    if first.kind != second.kind:
        return False
    if first.kind == "polarity":
        if (
            first.negated == second.negated
            or first.conditional
            or second.conditional
            or first.late != second.late
            or first.stopped != second.stopped
        ):
            return False
        return not (first.others and second.others and set(first.others) != set(second.others))
    if first.kind == "name":
        return is_other_name(first.name, second.name)
    if first.kind == "definition":
        return _other_meaning(first, second)
    if first.value is None or second.value is None or first.rank != second.rank:
        return False
    keys = (first.value.key, second.value.key)
    if keys[0] in second.others or keys[1] in first.others or not differ(first.value, second.value):
        return False
    nouns = {root(value.noun) for value in (first.value, second.value) if value.of == "count" and value.noun}
    if len(nouns) == 2:
        everything = {*first.words, *first.near, *second.words, *second.near}
        return bool(nouns & set(first.words) & set(second.words)) or not nouns <= everything
    return True


def _names_whose(first: Fact, second: Fact) -> bool:
    """Return whether facts of two publishers, if they may be of versions, have two names in common.

    "Python 3.9 is required" is said by each of what it makes itself.
    """
    if not any(fact.value and fact.value.release for fact in (first, second)):
        return True
    names = [word for word in first.written if word[0].isupper()]
    return len({word.casefold() for word in names} & {word.casefold() for word in second.written}) > 1


def share_a_name(first: Fact, second: Fact) -> bool:
    """Return whether two facts have a name or a code in common: a word that both write with a capital."""
    if (first.codes | first.around_codes) & (second.codes | second.around_codes):
        return True
    ours, theirs = (
        {form for form, word in zip(fact.words, fact.written, strict=True) if word[0].isupper()}
        for fact in (first, second)
    )
    return bool(ours & theirs - GENERIC_ROOTS - ATTRIBUTES)


def is_other_name(first: str, second: str) -> bool:
    """
    >>> is_other_name("Anna Weber", "Weber"), is_other_name("Anna Weber", "Tomas Riedl")
    (False, True)
    >>> is_other_name("http://quay.org/", "https://quay.org/en"), is_other_name("quay.org/a", "quay.org/b")
    (False, True)
    >>> is_other_name("Raft", "quay.boats.Raft")
    False
    """
    short, long = sorted((_address(first), _address(second)), key=len)
    if f"{long}/".startswith(f"{short}/") or long.endswith(f".{short}"):
        return False
    ours, theirs = _parts(first), _parts(second)
    return bool(ours and theirs) and not (ours & theirs) and not same_answer(first, second)


def _address(name: str) -> str:
    """Return an address without what differs in addresses of one page."""
    return re.sub(r"^https?://(?:www\.)?", "", name.casefold()).rstrip("/.")


def _parts(name: str) -> set[str]:
    return {word.strip(".,").casefold() for word in name.split() if len(word.strip(".,")) > 1}


def _other_meaning(first: Fact, second: Fact) -> bool:
    """Return whether two definitions share few words, or have other values of one kind."""
    measured = {key.partition("|")[0] for key in first.others} & {
        key.partition("|")[0] for key in second.others
    }
    if measured and not set(first.others) & set(second.others):
        return True
    ours, theirs = first.near - GENERIC_ROOTS, second.near - GENERIC_ROOTS
    return bool(ours and theirs) and len(ours & theirs) / min(len(ours), len(theirs)) < 0.6


# --- are they about one thing --------------------------------------------------------------------
def _other_codes(first: Fact, second: Fact, limits: set[str], family: bool, bodies: Bodies) -> bool:
    """Return whether two facts are of two models, rooms, articles; a code that one alone has may limit it.

    A code of a title that its own document never speaks of is the number of the document.
    """

    def kept(codes: Iterable[str]) -> set[str]:
        return {code for code in codes if not (family and code.startswith("version"))}

    ours, theirs = kept(first.codes), kept(second.codes)
    our_around, their_around = kept(first.around_codes), kept(second.around_codes)
    only, others = ours - theirs - their_around, theirs - ours - our_around
    if (only and others) or (only and their_around) or (others and our_around):
        return True
    if our_around and their_around and not (first.weak or second.weak):
        our_around, their_around = our_around & bodies[0](), their_around & bodies[1]()
    apart = our_around and their_around and not our_around & their_around
    if apart and not family and not ours & their_around and not theirs & our_around:
        return True
    limits |= {code.replace("\x1f", " ") for code in only | others}
    return False


def _other_periods(first: Fact, second: Fact, limits: set[str], family: bool, reports: bool) -> bool:
    ours, theirs = first.periods, second.periods
    if ours and theirs:
        if not _meet(ours, theirs):
            return True
    elif ours or theirs:
        around = second.around_periods if ours else first.around_periods
        if around and not family and not _meet(ours or theirs, around):
            return True
        if not around:
            limits |= ours | theirs
    if family or not (first.around_periods and second.around_periods):
        return False
    apart = not _meet(first.around_periods, second.around_periods)
    return apart and not (ours and theirs) and (reports or first.weak or second.weak)


def _meet(first: Collection[str], second: Collection[str]) -> bool:
    """Return whether two sets of periods have one in common: a year and a quarter of it do."""
    for our in first:
        for their in second:
            year, _, part = our.replace("-", "/").partition("/")
            other_year, _, other_part = their.replace("-", "/").partition("/")
            if (year == other_year or not year or not other_year) and (
                part == other_part or not part or not other_part
            ):
                return True
    return False


def _other_scopes(first: Fact, second: Fact, limits: set[str]) -> bool:
    ours, theirs = _contrasts(first), _contrasts(second)
    for line in ours.keys() & theirs.keys():
        if not (ours[line] & theirs[line]):
            return True
    everything = {root(word) for word in (*first.raw, *second.raw)}
    for mine, other in ((ours, second), (theirs, first)):
        for line, words in mine.items():
            if line in ours and line in theirs:
                continue
            bound = other.value.bound if other.value else ""
            if (bound == "min" and "min" in words) or (bound == "max" and "max" in words):
                continue
            if words & {*other.words, *other.around, *other.near}:
                continue
            limits |= words & everything
    return False


def _contrasts(fact: Fact) -> dict[int, set[str]]:
    lines: dict[int, set[str]] = {}
    for word in fact.raw:
        for line in CONTRAST_OF.get(word, ()):
            lines.setdefault(line, set()).add(root(word))
    return lines


def _words(first: Fact, second: Fact) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """Return the words that both have, those of the first alone, those of the second, weighed."""
    shared: dict[str, float] = {}
    ours: dict[str, float] = {}
    theirs: dict[str, float] = {}
    for mine, other, only in ((first, second, ours), (second, first, theirs)):
        others = set(other.words)
        for word in mine.words:
            weight = GENERIC if word in GENERIC_ROOTS else 1.0
            if word in others:
                shared[word] = weight
            elif word in other.near:
                shared[word] = weight * NEAR
            elif word in other.around:
                shared[word] = weight * AROUND
            else:
                only[word] = weight
    return shared, ours, theirs


def _other_names(
    first: Fact,
    second: Fact,
    ours: dict[str, float],
    theirs: dict[str, float],
    limits: set[str],
    common: Collection[str],
) -> bool:
    def alone(mine: Fact, other: Fact) -> set[str]:
        everything = {*other.words, *other.near, *other.around, *other.names, *common}
        return {name for name in mine.names if name not in everything and name not in GENERIC_ROOTS}

    only, others = alone(first, second), alone(second, first)
    if first.kind == "name":
        only, others = only & ours.keys(), others & theirs.keys()
    if only and others:
        return True
    limits |= (only & ours.keys()) | (others & theirs.keys())
    return False


def _other_heads(first: Fact, second: Fact) -> bool:
    """Return whether two facts measure two things, such as a delivery and a warranty "from delivery"."""
    if not first.head or not second.head or first.head == second.head:
        return False
    return first.head not in (*second.words, *second.near) or second.head not in (*first.words, *first.near)


def _meets(first: Fact, second: Fact) -> bool:
    """Return whether the own words of two facts meet, and not only those of their titles; codes do too."""
    if first.codes & second.codes:
        return True
    ours, theirs = set(first.words) - GENERIC_ROOTS, set(second.words) - GENERIC_ROOTS
    if not ours or not theirs:
        return not set(first.words).isdisjoint(second.words)
    return bool(ours & theirs)


def _alike(first: Fact, second: Fact, weight: float, own: float, other: float, *, family: bool) -> bool:
    least, most = sorted((own, other))
    if first.kind == "polarity":
        return weight >= 1.8 and most <= 0.35 * weight
    if first.kind == "definition":
        return weight >= 0.9 and most < 0.3
    if first.kind == "name":
        return weight >= 0.9 and most <= 0.5 * weight and least <= 0.3
    if weight < (0.9 if first.weak or second.weak or family else 1.7):
        return False
    return least <= 0.3 * weight and most <= 1.1 * weight


def _other_subject(
    first: Fact,
    second: Fact,
    weight: float,
    limits: set[str],
    common: Collection[str],
    titles: Collection[str],
    bodies: Bodies,
) -> bool:
    """Return whether titles and headings name two subjects, where the facts themselves do not name one.

    A word of a title is the subject of a document that speaks of it in its text, too.
    """
    if (first.codes | first.around_codes) & (second.codes | second.around_codes):
        return False
    ours, theirs = _subject(first, second, common), _subject(second, first, common)
    everything = {*second.words, *second.near, *second.around}
    met = first.around & everything - TITLES - GENERIC_ROOTS - set(common)
    if first.weak or second.weak:
        if first.weak != second.weak and _lacks_subject(*sorted((first, second), key=lambda fact: fact.weak)):
            return True
        met -= set(titles)
        label = first.kind == "name" and len(set(first.words) - GENERIC_ROOTS) < 2
        if (ours or theirs) if label else (ours and theirs and not met):
            return True
        return weight < 1.7 and not met
    if ours and theirs and not met and weight < 2.8:
        ours, theirs = ours & bodies[0]() - bodies[1](), theirs & bodies[1]() - bodies[0]()
    else:
        return False
    if ours and theirs:
        limits |= set(sorted(ours)[:2]) | set(sorted(theirs)[:2])
    return False


def _lacks_subject(fact: Fact, weak: Fact) -> bool:
    """Return whether a word that says of what a fact is stands nowhere around one that names no subject."""
    named = set(fact.words) - GENERIC_ROOTS - ATTRIBUTES
    return not named <= {*weak.words, *weak.near, *weak.around}


def _subject(fact: Fact, other: Fact, common: Collection[str]) -> set[str]:
    """Return the words of title and headings that name a subject and that the other does not have."""
    everything = {*other.words, *other.near, *other.around, *fact.words}
    return {word for word in fact.titled if word not in everything} - TITLES - GENERIC_ROOTS - set(common)


def _limits(fact: Fact, alone: dict[str, float], other: Fact) -> set[str]:
    """Return the words of one side alone that limit it: after "for" or "in", or before a shared word."""
    after = dict(fact.before)
    found = set()
    for word, weight in alone.items():
        if weight < 0.5 or word in _SCOPE_LESS:
            continue
        following = after.get(word)
        if word in fact.scope or (
            following is not None and following in other.words and following not in alone
        ):
            found.add(word)
    return found
