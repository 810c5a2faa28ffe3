"""A fact that a statement states: a value, a name, a definition, or that something holds or does not.

It has its own words and those around it (title, heading, question before it), by which `comparing` decides
whether two are about one thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from disputatio.contradictions.measures import Measure, Token, tokens_of
from disputatio.contradictions.units import LEAD
from disputatio.contradictions.vocabulary import (
    ACTS,
    ANAPHORIC,
    ARTICLES,
    ATTRIBUTES,
    CONDITION,
    CONTRARY,
    EVERYONE_ROOTS,
    GENERIC_ROOTS,
    NEGATIONS,
    POLAR,
    PRONOUNS,
    SCOPING,
    STOP,
    root,
)

MOST_WORDS = 14  # of a fact, those nearest to its value
COMPOUND = 12  # letters of a word that says by itself what it is about
_TITLE_NOISE = re.compile(r"\.(?:md|txt|html?|docx?|pdf|csv|xlsx|eml|json|pptx?)$", re.IGNORECASE)
_LATE = re.compile(r"\b(?:after|beyond|later than|past|nach|après|después|outside)\b", re.IGNORECASE)
FactKind = Literal["value", "name", "definition", "polarity"]


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a statement states, at `start:end` of its document, with the words that say of what.

    `words` are its own, the subject's and the attribute's (`written` as they stand there); `scope` those of
    them that limit it ("for apprentices"); `before` maps a word to the one after it; `near` has the words
    around: the rest of the sentence, heading and title, which `titled` has without questions. `codes` are
    model numbers and the like, `names` words with a capital, `periods` years and quarters it is about. `head`
    is the first word that names what is measured (a fee, a length); `weak` says that its own words name no
    subject.
    """

    kind: FactKind
    start: int
    end: int
    value_start: int
    value_end: int
    value: Measure | None = None
    name: str = ""
    negated: bool = False
    words: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    scope: frozenset[str] = frozenset()
    before: tuple[tuple[str, str], ...] = ()
    raw: frozenset[str] = frozenset()
    near: frozenset[str] = frozenset()
    around: frozenset[str] = frozenset()
    titled: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()
    around_codes: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    periods: frozenset[str] = frozenset()
    around_periods: frozenset[str] = frozenset()
    others: tuple[str, ...] = ()
    rank: tuple[int, int] = (0, 1)
    head: str = ""
    weak: bool = False
    conditional: bool = False
    late: bool = False
    stopped: bool = False

    @property
    def group(self) -> str:
        """Return what two facts must have in common to be compared at all."""
        if self.value is None:
            return self.kind
        of = self.value.of
        same = {"year": "date", "version": "count"}
        return "money" if of.startswith("money") else same.get(of, of)

    @property
    def said(self) -> str:
        """Return a key that is equal in facts that cannot differ."""
        if self.value is not None:
            return self.value.key
        return str(self.negated) if self.kind == "polarity" else self.name.casefold()


@dataclass(slots=True)
class Around:
    """The surroundings of a statement: words, codes and periods of title, headings, question before."""

    words: frozenset[str] = frozenset()
    titled: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()
    periods: frozenset[str] = frozenset()


_AROUND: dict[tuple[str, str, str], Around] = {}


def around_of(title: str, above: str, language: str) -> Around:
    """Return words, codes and periods of title and headings; the last few thousand are kept."""
    key = (title, above, language)
    known = _AROUND.get(key)
    if known is None:
        if len(_AROUND) > 5_000:
            _AROUND.clear()
        headings, _, before = above.partition(LEAD)
        stated = " / ".join(part for part in headings[:600].split(" / ") if not part.endswith("?"))
        parts = [tokens_of(part) for part in (_TITLE_NOISE.sub("", title)[:200], headings[:600], before)]
        tokens = [token for part in parts for token in part]
        words = [token for token in tokens if token.kind == "word"]
        known = _AROUND[key] = Around(
            words=frozenset(roots_of(words, language)),
            titled=frozenset(roots_of([*parts[0], *tokens_of(stated)], language)),
            codes=codes_of(parts[1]) or codes_of(parts[0]) or codes_of(parts[2]),
            periods=periods_of([*parts[0], *parts[1]]),
        )
    return known


def roots_of(tokens: Sequence[Token], language: str, *, polarity: bool = False) -> Iterator[str]:
    """Yield the roots of words; with `polarity` what stays of those that say that something holds or not."""
    for token in tokens:
        if token.kind == "word":
            yield from _forms(token.text, language, polarity)


@lru_cache(maxsize=200_000)
def _forms(text: str, language: str, polarity: bool) -> tuple[str, ...]:
    """Return the roots of a word, none for one without content; `polarity` for what stays of a contrary."""
    folded = text.casefold()
    folded = polar(folded) if polarity else folded
    if folded in STOP or folded in NEGATIONS or len(folded) < 2:
        return ()
    parts = (part.removesuffix("'s").removesuffix("’s") for part in folded.split("/"))
    return tuple(root(part, language) for part in parts if part)


def codes_of(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the codes, model numbers and the like, without their hyphens and spaces."""
    return frozenset(
        token.text.casefold().replace("-", "").replace(" ", "") for token in tokens if token.kind == "code"
    )


def periods_of(tokens: Sequence[Token]) -> frozenset[str]:
    """Return years and quarters, as "2024" and "2024/3"; a quarter without a year is "/3"."""
    found = set()
    for token in tokens:
        value = token.value
        if value is None or value.of not in ("date", "year", "period", "span"):
            continue
        year = str(value.date.year) if value.date and value.date.year else ""
        if value.of == "period" and value.low:
            found.add(f"{year}/{value.low}")
        elif value.of == "date" and value.date and value.date.month:
            found.add(f"{year}-{value.date.month:02}")
        elif year:
            found.add(year)
    return frozenset(found)


def content_of(tokens: Sequence[Token]) -> int:
    """Return how many words say something."""
    return sum(token.kind == "word" and token.text.casefold() not in STOP for token in tokens)


def make_fact(
    body: str,
    own: Sequence[Token],
    tokens: Sequence[Token],
    around: Around,
    language: str,
    *,
    kind: FactKind,
    at: Token | None = None,
) -> Fact:
    """Return a fact with the words of some tokens as its own, and those of the others as near."""
    middle = own.index(at) if at in own else len(own)
    order = sorted(range(len(own)), key=lambda place: abs(place - middle))
    words: dict[str, str] = {}
    roots: list[tuple[int, str]] = []
    for place in order:
        token = own[place]
        if token.kind == "word" and token.text.casefold() not in NEGATIONS:
            for form in roots_of([token], language, polarity=kind == "polarity"):
                roots.append((place, form))
                if len(words) < MOST_WORDS:
                    words.setdefault(form, token.text)
    if at is not None and at.value and at.value.noun and at.value.of == "count":
        words.setdefault(root(at.value.noun, language), at.value.noun)
    roots.sort()
    head = next((form for _, form in roots if form in ATTRIBUTES - ACTS), "")
    before = tuple((first, second) for (_, first), (_, second) in pairwise(roots))
    near = frozenset(roots_of(tokens, language)) - set(words)
    capital = language == "german"
    names = frozenset(
        root(token.text.casefold(), language)
        for number, token in enumerate(tokens)
        if token.kind == "word"
        and number
        and token.text[:1].isupper()
        and token.text.casefold() not in STOP
        and not capital
    )
    raw = frozenset(token.text.casefold() for token in own if token.kind == "word")
    scope = frozenset(scope_of(own, language))
    specific = [word for word in words if word not in GENERIC_ROOTS]
    start, end = (at.start, at.end) if at else (0, len(body))
    return Fact(
        kind=kind,
        start=0,
        end=len(body),
        value_start=start,
        value_end=end,
        words=tuple(words),
        written=tuple(words.values()),
        head=head,
        scope=scope,
        before=before,
        raw=raw,
        near=near,
        around=around.words,
        titled=around.titled,
        codes=codes_of(tokens),
        around_codes=around.codes,
        names=names,
        periods=periods_of([token for token in tokens if token is not at]),
        around_periods=around.periods,
        weak=(
            len(specific) < 2
            and set(specific) <= ATTRIBUTES
            and not any(len(word) >= COMPOUND for word in raw)
        )
        or set(specific) <= ANAPHORIC
        or (tokens[0].text.casefold() in PRONOUNS),
        conditional=CONDITION.search(body) is not None,
        late=_LATE.search(body) is not None,
        stopped=body.endswith((".", "!")),
    )


def scope_of(tokens: Sequence[Token], language: str) -> Iterator[str]:
    """Yield the words after "for", "in" and their like, up to three."""
    left = 0
    for token in tokens:
        folded = token.text.casefold()
        if token.kind != "word" or folded in NEGATIONS:
            left = 0
        elif folded in SCOPING:
            left = 3
        elif folded in STOP:
            left *= folded in ARTICLES
        elif left:
            for form in roots_of([token], language):
                if form not in EVERYONE_ROOTS:
                    yield form
            left -= 1


def polar(word: str) -> str:
    """Return the word that stays of one that says that something holds or does not."""
    return CONTRARY.get(word) or POLAR.get(word) or word
