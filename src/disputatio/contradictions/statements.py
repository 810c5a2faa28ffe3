"""Documents read into statements: a sentence, a line "key: value" or a cell of a table, with its subject.

A statement is a stretch of the document, verbatim. Its facts are what it states: a value of some kind, a
name, a definition, or that something holds or does not; each with its own words and with those around it
(title, heading, question before it), by which `comparing` decides whether two are about one thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, pairwise
from typing import Literal

from disputatio.contradictions.measures import Measure, Token, tokens_of
from disputatio.contradictions.units import BULLET, LEAD, Unit, cells_of, label_of
from disputatio.contradictions.vocabulary import (
    ABOUT_DOCUMENT,
    ACTS,
    ANAPHORIC,
    ARTICLES,
    ATTRIBUTES,
    BOUNDING,
    CONDITION,
    CONTRARY,
    EVERYONE_ROOTS,
    FREE_KEYS,
    GENERIC_ROOTS,
    KEY_COLUMNS,
    NEGATIONS,
    NO,
    PAST,
    POLAR,
    PRONOUNS,
    REPORTS,
    SCOPING,
    STOP,
    STUDY,
    UNREAL,
    VALUE_COLUMNS,
    YES,
    root,
)

_STUDIES = 2  # words of statistics from which a text is a study
MOST_TOKENS = 30  # of a sentence that is compared with one that denies it
MOST_VALUES = 5  # of a sentence; one with more is statistics, and does not say what each is of
MOST_WORDS = 14  # of a fact, those nearest to its value
COMPOUND = 12  # letters of a word that says by itself what it is about
_TITLE_NOISE = re.compile(r"\.(?:md|txt|html?|docx?|pdf|csv|xlsx|eml|json|pptx?)$", re.IGNORECASE)
_NAME = (
    r"[A-ZÀ-ÖØ-Þ][\w'’.&-]*(?: (?:(?:of|the|de|la|von|van|der|di|und|and|&) )?[A-ZÀ-ÖØ-Þ0-9][\w'’.&-]*){0,5}"
)
_IS = r"(?:is|was|are|were|remains|will be|has been|ist|war|sind|est|sera|es|será)"
_NAMED = tuple(
    re.compile(form)
    for form in (
        rf"^(?:The|Our|Its|Your|Der|Die|Das|Le|La|Les|L'"
        rf"|El)\s?(?P<what>[a-zà-ÿA-ZÄÖÜ0-9][^,;:()]{{2,80}}?) {_IS} (?:now |currently )?(?:called "
        rf"|named )?(?P<name>{_NAME})(?=[.,;]|$| \(|, )",
        rf"^(?P<what>[A-Z][a-z]+(?: [a-z0-9]+){{0,6}}) {_IS} (?:now |currently )?(?P<name>{_NAME}"
        rf")(?=[.,;]|$)",
        rf"^(?P<name>{_NAME}),? {_IS} (?:the|our|their|its|der|die|das|le|la|el) "
        rf"(?P<what>[^,;:()]{{3,80}}?)[.,;]",
        rf"^(?P<what>[^,;:()]{{3,80}}? {_IS} (?:\w+ )?(?:led|headed|managed|chaired|owned|run|founded"
        rf"|designed|built|written|signed|approved|supplied|manufactured|produced|made|hosted|operated"
        rf"|acquired|insured|audited|delivered|maintained|provided|based|located|headquartered|situated"
        rf"|held|stored|kept|registered) (?:by|in|at|with|on)) (?:the )?(?P<name>{_NAME})(?=[.,;]|$| )",
        rf"^(?P<name>{_NAME}) (?P<what>(?:leads|heads|manages|chairs|owns|founded|supplies|designed"
        rf"|built|wrote|hosts|operates|directs|runs(?! (?:on|with)\b)|acquired|audits|insures) "
        rf"[^,;:()]{{3,80}}?)(?=[.,;]|$)",
        rf"^(?P<what>[^,;:()]{{3,80}}? (?:takes place|moved|moves|will move|will be held|will take "
        rf"place|resides|sits) (?:in|at|to)) (?:the )?(?P<name>{_NAME})(?=[.,;]|$| )",
    )
)
DEFINED = re.compile(
    r"^(?:The term |Der Begriff |Le terme )?[\"“„«']?\s?(?P<term>[^\W_][^\"”“»',;:]{1,60}"
    r"?)\s?[\"”“»']?,? (?:means|shall mean|is defined as|are defined as|"
    r"refers to|stands for|denotes|bezeichnet|bedeutet|steht für|désigne|signifie|significa|se refiere "
    r"a)(?: that)? (?P<meaning>\S.{2,400})",
    re.DOTALL,
)
_PARTING = {",", "and", "but", "while", "whereas", "und", "aber", "während", "et", "mais", "y", "pero"}
_ASIDE = re.compile(r"\s(?:--?|–|—)\s(?=(?:not|no|nicht|kein\w{0,2}|pas)\b)")
_LATE = re.compile(r"\b(?:after|beyond|later than|past|nach|après|después|outside)\b", re.IGNORECASE)
_RELEASE = frozenset(map(root, ("version", "release")))
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
class _Around:
    """The surroundings of a statement: words, codes and periods of title, headings, question before."""

    words: frozenset[str] = frozenset()
    titled: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()
    periods: frozenset[str] = frozenset()


def facts_of(text: str, unit: Unit, title: str, language: str, comma: bool | None) -> list[Fact]:
    """Return what a statement states; `title` is its document's."""
    around = _around(title, unit.around, language)
    body = text[unit.start : unit.end]
    if unit.form == "row":
        facts = _of_row(body, unit, around, language, comma)
    elif unit.form == "record":
        facts = _of_record(body, around, language, comma)
    elif unit.form == "label":
        facts = _of_label(body, around, language, comma)
    else:
        facts = _of_sentence(body, around, language, comma)
    return [
        replace(
            fact,
            start=unit.start,
            end=unit.end,
            value_start=fact.value_start + unit.start,
            value_end=fact.value_end + unit.start,
        )
        for fact in facts
    ]


# --- what stands around -------------------------------------------------------------------------
_AROUND: dict[tuple[str, str, str], _Around] = {}


def _around(title: str, above: str, language: str) -> _Around:
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
        known = _AROUND[key] = _Around(
            words=frozenset(_roots(words, language)),
            titled=frozenset(_roots([*parts[0], *tokens_of(stated)], language)),
            codes=_codes(parts[1]) or _codes(parts[0]) or _codes(parts[2]),
            periods=_periods([*parts[0], *parts[1]]),
        )
    return known


def _roots(tokens: Sequence[Token], language: str, *, polarity: bool = False) -> Iterator[str]:
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


def _codes(tokens: Sequence[Token]) -> frozenset[str]:
    return frozenset(
        token.text.casefold().replace("-", "").replace(" ", "") for token in tokens if token.kind == "code"
    )


def _periods(tokens: Sequence[Token]) -> frozenset[str]:
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


# --- facts of a sentence ------------------------------------------------------------------------
def _of_sentence(body: str, around: _Around, language: str, comma: bool | None) -> list[Fact]:
    if ABOUT_DOCUMENT.match(body) or UNREAL.search(body):
        return []
    tokens = tokens_of(body, comma=comma)
    if not 2 <= len(tokens) <= 120:
        return []
    facts: list[Fact] = []
    if len(tokens) <= MOST_TOKENS:
        whole = _fact(body, tokens, tokens, around, language, kind="polarity")
        facts = (
            [replace(whole, negated=_is_negated(_before_aside(body, tokens)))]
            if len(whole.words) >= 2
            else []
        )
    if sum(token.value is not None for token in tokens) <= MOST_VALUES:
        facts += _values(body, tokens, around, language)
    facts += _find_names(body, tokens, around, language)
    return facts


def _before_aside(body: str, tokens: list[Token]) -> list[Token]:
    """Return the tokens before what a dash adds: "a new boat -- not a large one"."""
    aside = _ASIDE.search(body)
    return [token for token in tokens if token.start < aside.start()] if aside else tokens


def _values(body: str, tokens: list[Token], around: _Around, language: str) -> list[Fact]:
    segments = _segments(tokens)
    lead = [token for token in segments[0] if not token.value]
    timed = any(
        token.value and token.value.of not in ("date", "year", "period", "span", "listed", "every")
        for token in tokens
    )
    facts: list[Fact] = []
    for number, segment in enumerate(segments):
        stretch = body[segment[0].start : segment[-1].end] if segment else ""
        if not segment or PAST.search(stretch):
            continue
        values = [token for token in segment if token.value]
        counted = [token.value.of for token in values if token.value]
        for token in values:
            value = token.value
            if value is None or value.of in ("listed", "span", "period"):
                continue
            if value.of in ("date", "year") and timed:
                continue
            if value.of in ("every", "weekday") and len(set(counted)) > 1 and "clock" not in counted:
                continue
            dated = value.of in ("date", "year")
            clause = _before_place(segment, token) if dated else segment
            own = clause if number == 0 or _content(clause) >= 2 else [*lead, *clause]
            if value.release:  # "Python version 3.9" is "Python 3.9"
                own = [each for each in own if _RELEASE.isdisjoint(_roots([each], language))]
            fact = _fact(body, own, tokens, around, language, kind="value", at=token)
            same = [
                other
                for other in values
                if other.value and (other.value.of == value.of or (other.value.release and value.release))
            ]
            others = tuple(
                other.value.key
                for other in tokens
                if other.value and other is not token and other.value.of in (value.of, "listed")
            )
            facts.append(replace(fact, value=value, others=others, rank=(same.index(token), len(same))))
    return facts


def _before_place(segment: list[Token], date: Token) -> list[Token]:
    """Return a clause without what says where, after its date: "on 3 March in Munich"."""
    at = segment.index(date)
    if _content(segment[:at]) + sum(token.kind == "code" for token in segment[:at]) < 2:
        return segment
    ends = (n for n, token in enumerate(segment) if n > at and token.text.casefold() in SCOPING)
    return segment[: next(ends, len(segment))]


def _segments(tokens: list[Token]) -> list[list[Token]]:
    """Return the tokens in clauses: cut at marks, and at a comma or "and" that parts two that hold values."""
    cuts: list[int] = []
    for at, token in enumerate(tokens):
        if token.kind == "mark" and token.text != ",":
            cuts.append(at)
        elif token.text in _PARTING:
            last = cuts[-1] + 1 if cuts else 0
            if (
                any(other.value for other in tokens[last:at])
                and any(other.value for other in tokens[at + 1 :])
            ) or (token.text == "," and any(other.value for other in tokens[last:at])):
                cuts.append(at)
    segments, start = [], 0
    for cut in cuts:
        segments.append(tokens[start:cut])
        start = cut + 1
    segments.append(tokens[start:])
    return [segment for segment in segments if segment] or [tokens]


def _content(tokens: Sequence[Token]) -> int:
    return sum(token.kind == "word" and token.text.casefold() not in STOP for token in tokens)


def _fact(
    body: str,
    own: Sequence[Token],
    tokens: Sequence[Token],
    around: _Around,
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
            for form in _roots([token], language, polarity=kind == "polarity"):
                roots.append((place, form))
                if len(words) < MOST_WORDS:
                    words.setdefault(form, token.text)
    if at is not None and at.value and at.value.noun and at.value.of == "count":
        words.setdefault(root(at.value.noun, language), at.value.noun)
    roots.sort()
    head = next((form for _, form in roots if form in ATTRIBUTES - ACTS), "")
    before = tuple((first, second) for (_, first), (_, second) in pairwise(roots))
    near = frozenset(_roots(tokens, language)) - set(words)
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
    scope = frozenset(_scope(own, language))
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
        codes=_codes(tokens),
        around_codes=around.codes,
        names=names,
        periods=_periods([token for token in tokens if token is not at]),
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


def _scope(tokens: Sequence[Token], language: str) -> Iterator[str]:
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
            for form in _roots([token], language):
                if form not in EVERYONE_ROOTS:
                    yield form
            left -= 1


def _word_at(tokens: Sequence[Token], number: int) -> str:
    return tokens[number].text.casefold() if number < len(tokens) else ""


def _is_negated(tokens: Sequence[Token]) -> bool:
    """Return whether a sentence denies: its negations and contraries count, two of them say it again."""
    count, bound = 0, False
    for number, token in enumerate(tokens):
        folded = token.text.casefold().replace("’", "'")
        if folded in ("(", "so") or (folded == "but" and _word_at(tokens, number + 1) in ("no", "not")):
            break  # what an aside or a purpose denies, and what is held against the rest
        if folded in NEGATIONS:
            following = _word_at(tokens, number + 1)
            bound = following in BOUNDING
            bound |= following == "one" and _word_at(tokens, number + 2) in ("but", "except")
            if folded in ("ne", "n") or bound or (folded == "no" and following in ("later", "doubt")):
                continue
            count += 1
        elif folded in CONTRARY:
            count += 1
    return count % 2 == 1


def polar(word: str) -> str:
    """Return the word that stays of one that says that something holds or does not."""
    return CONTRARY.get(word) or POLAR.get(word) or word


def _find_names(body: str, tokens: list[Token], around: _Around, language: str) -> Iterator[Fact]:
    """Yield who or where something is, and what a term means."""
    defined = DEFINED.match(body)
    if defined and len(defined["term"].split()) <= 6:
        start, end = defined.span("meaning")
        term = tokens_of(defined["term"])
        fact = _fact(body, term, tokens, around, language, kind="definition")
        after = [token for token in tokens if token.start >= start]
        yield replace(
            fact,
            name=defined["meaning"].strip(" ."),
            value_start=start,
            value_end=end,
            near=frozenset(_roots(after, language)),
            names=frozenset(),
            periods=frozenset(),
            others=tuple(token.value.key for token in after if token.value),
            weak=False,
        )
        return
    if PAST.search(body):
        return
    for form in _NAMED:
        match = form.match(body)
        if match is None:
            continue
        start, end = match.span("name")
        words = [token for token in tokens if match.start("what") <= token.start < match.end("what")]
        name = match["name"].strip(" .")
        if not words or any(token.value for token in tokens_of(name)) or name.casefold() in STOP:
            return
        fact = _fact(body, words, tokens, around, language, kind="name")
        yield replace(
            fact,
            name=name,
            value_start=start,
            value_end=start + len(name),
            names=fact.names - set(_roots(tokens_of(name), language)),
        )
        return


# --- facts of lines and rows ---------------------------------------------------------------------
def _of_label(body: str, around: _Around, language: str, comma: bool | None) -> list[Fact]:
    match = label_of(body)
    if match is None or ABOUT_DOCUMENT.match(BULLET.sub("", body)):
        return []
    key = match["key"]
    return _cell(body, match.start("value"), match.end("value"), key, around, language, comma, extra=())


def _of_row(body: str, unit: Unit, around: _Around, language: str, comma: bool | None) -> list[Fact]:
    cells: list[tuple[int, int]] = []
    at = 0
    for part in body.split("|"):
        stripped = part.strip()
        first = at + len(part) - len(part.lstrip())
        if stripped or cells:
            cells.append((first, first + len(stripped)))
        at += len(part) + 1
    if len(cells) < 2:
        return []
    key = body[slice(*cells[0])]
    subject = tokens_of(key)
    if key.replace(" ", "").isdigit():
        second = tokens_of(body[slice(*cells[1])]) if len(cells) > 2 else []
        subject = [_number_of(unit.header[0] if unit.header else "", key), *second]
    facts: list[Fact] = []
    keyed = {number for number, name in enumerate(unit.header) if number and _is_key(name, language)}
    for number, (start, end) in enumerate(cells[1:], start=1):
        column = unit.header[number] if number < len(unit.header) else ""
        if set(_roots(tokens_of(column), language)) <= VALUE_COLUMNS and len(cells) == 2:
            found = _cell(body, start, end, key, around, language, comma, extra=())
        else:
            extra = [*subject]
            for other in keyed - {number}:
                extra += tokens_of(body[slice(*cells[other])]) if other < len(cells) else []
            if not column or number in keyed:
                continue
            found = _cell(body, start, end, column, around, language, comma, extra=tuple(extra))
        facts += found
    return facts


def _is_key(column: str, language: str) -> bool:
    """Return whether a column says what the other cells of a row are of, such as a region."""
    words = set(_roots(tokens_of(column), language))
    return bool(words) and words <= KEY_COLUMNS


def _number_of(column: str, number: str) -> Token:
    """Return the number in a first cell as the code of its row."""
    return Token("code", 0, 0, f"{column.casefold()}\x1f{number}")


def _of_record(body: str, around: _Around, language: str, comma: bool | None) -> list[Fact]:
    cells = cells_of(body)
    texts = [cell for cell in cells if _names_row(body[cell[1] : cell[2]])]
    numbered = body[slice(*cells[0][1:])].replace(" ", "").isdigit()
    (key, start, end) = cells[0] if numbered or not texts else texts[0]
    subject = [*tokens_of(body[start:end]), *(token for token in tokens_of(key) if token.kind == "code")]
    if numbered:
        subject = [_number_of(key, body[start:end]), *tokens_of(body[slice(*cells[1][1:])])]
    if not subject:
        return []
    keyed = {name for name, _, _ in cells if name != key and _is_key(name, language)}
    for name, first, last in cells:
        subject += tokens_of(body[first:last]) if name in keyed else []
    columns = [
        (set(_roots(tokens_of(name), language)), fact)
        for name, first, last in cells
        if (name, first, last) != (key, start, end) and name not in keyed
        for fact in _cell(body, first, last, name, around, language, comma, extra=tuple(subject))
    ]
    return [replace(fact, others=_values_beside(fact, words, columns)) for words, fact in columns]


def _names_row(cell: str) -> bool:
    """Return whether a cell may say what its row is of: a name, with a number in it or without, no mark.

    >>> [_names_row(cell) for cell in ("Basic", "Ubuntu 18.04 LTS", "EUR 9", ":x:")]
    [True, True, False, False]
    """
    tokens = tokens_of(cell)
    valued = any(token.value for token in tokens)
    return cell[:1].isalpha() and _content(tokens) > 0 if valued else cell[:1].isalnum()


def _values_beside(fact: Fact, words: set[str], columns: Sequence[tuple[set[str], Fact]]) -> tuple[str, ...]:
    """Return what a row gives of the same measure beside: of "price net" what "price gross" says."""
    return tuple(
        other.value.key
        for named, other in columns
        if other.value and other.group == fact.group and words & named and not words <= named
    )


def _cell(
    body: str,
    start: int,
    end: int,
    key: str,
    around: _Around,
    language: str,
    comma: bool | None,
    *,
    extra: Sequence[Token],
) -> list[Fact]:
    """Return the facts of a key and its value; `extra` are tokens of a row's first cell."""
    cell = body[start:end]
    if not cell or len(cell.split()) > 14 or UNREAL.search(cell):
        return []
    unit = re.search(r"[(\[]\s?([^()\[\]]{1,20})\s?[)\]]\s*$", key)
    named = tokens_of(key[: unit.start()] if unit else key)
    subject = [*extra, *named]
    base = _fact(body, subject, [*subject], around, language, kind="name")
    codes = _codes(extra) | _codes(named) | _codes([t for t in tokens_of(cell) if not t.value])
    base = replace(
        base,
        codes=codes,
        periods=_periods(subject),
        head=next((form for form in _roots(named, language) if form in ATTRIBUTES - ACTS), ""),
        weak=not extra,
        value_start=start,
        value_end=end,
    )
    words = set(_roots(named, language))
    if words <= FREE_KEYS or not base.words:
        return []
    folded = cell.casefold().strip(" .")
    if folded in YES or folded in NO:
        return [replace(base, kind="polarity", negated=folded in NO)]
    tokens = tokens_of(cell, comma=comma)
    values = [token for token in tokens if token.value and token.value.of != "listed"]
    if unit and len(values) == 1 and values[0].value and values[0].value.of == "count":
        again = tokens_of(f"{cell} {unit[1]}", comma=comma)
        measured = [token for token in again if token.value]
        if len(measured) == 1 and measured[0].value:
            values = [replace(measured[0], end=values[0].end)]
    if values:
        first = next((token.value for token in values if token.value), None)
        kinds = {token.value.of for token in values if token.value}
        if first is None or (len(values) > 1 and len(kinds) != len(values)):
            return []
        found = []
        for token in values:
            if token.value and token.value.of not in ("period", "span"):
                rest = _fact(
                    body,
                    [*subject, *[t for t in tokens if t.kind == "word"]],
                    [*subject],
                    around,
                    language,
                    kind="value",
                )
                found.append(
                    replace(
                        base,
                        kind="value",
                        value=token.value,
                        value_start=start + token.start,
                        value_end=start + token.end,
                        near=frozenset(rest.words) - set(base.words),
                        scope=frozenset(_scope(tokens, language)),
                        raw=base.raw | rest.raw,
                    )
                )
        return found
    if len(cell.split()) <= 6 and cell.count(",") < 2 and not _codes(tokens) and cell[0].isalpha():
        return [replace(base, name=cell)]
    return []


def is_study(text: str) -> bool:
    """Return whether a text reports a study of its own: its figures are of its own data.

    >>> is_study("We enrolled 90 adults. The odds ratio was 1.2 (95% CI 1.0-1.4), p<0.05.")
    True
    """
    return len({match[0].casefold() for match in islice(STUDY.finditer(text), 12)}) >= _STUDIES


def is_report(title: str) -> bool:
    """Return whether a document's title says that its figures are of one period: a report, an invoice."""
    return REPORTS.search(title) is not None
