"""Documents read into statements: a sentence, a line "key: value" or a cell of a table, with its subject.

A statement is a stretch of the document, verbatim. The facts of sentences are read here, others in `cells`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from disputatio.contradictions.cells import of_label, of_record, of_row
from disputatio.contradictions.facts import (
    Around,
    Fact,
    around_of,
    content_of,
    make_fact,
    roots_of,
)
from disputatio.contradictions.measures import Token, tokens_of
from disputatio.contradictions.units import Unit
from disputatio.contradictions.vocabulary import (
    ABOUT_DOCUMENT,
    BOUNDING,
    CONTRARY,
    NEGATIONS,
    PAST,
    REPORTS,
    SCOPING,
    STOP,
    STUDY,
    UNREAL,
    root,
)

_STUDIES = 2  # words of statistics from which a text is a study
MOST_TOKENS = 30  # of a sentence that is compared with one that denies it
MOST_VALUES = 5  # of a sentence; one with more is statistics, and does not say what each is of
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
_RELEASE = frozenset(map(root, ("version", "release")))


def facts_of(text: str, unit: Unit, title: str, language: str, comma: bool | None) -> list[Fact]:
    """Return what a statement states; `title` is its document's."""
    around = around_of(title, unit.around, language)
    body = text[unit.start : unit.end]
    if unit.form == "row":
        facts = of_row(body, unit, around, language, comma)
    elif unit.form == "record":
        facts = of_record(body, around, language, comma)
    elif unit.form == "label":
        facts = of_label(body, around, language, comma)
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


def _of_sentence(body: str, around: Around, language: str, comma: bool | None) -> list[Fact]:
    if ABOUT_DOCUMENT.match(body) or UNREAL.search(body):
        return []
    tokens = tokens_of(body, comma=comma)
    if not 2 <= len(tokens) <= 120:
        return []
    facts: list[Fact] = []
    if len(tokens) <= MOST_TOKENS:
        whole = make_fact(body, tokens, tokens, around, language, kind="polarity")
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


def _values(body: str, tokens: list[Token], around: Around, language: str) -> list[Fact]:
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
            own = clause if number == 0 or content_of(clause) >= 2 else [*lead, *clause]
            if value.release:  # "Python version 3.9" is "Python 3.9"
                own = [each for each in own if _RELEASE.isdisjoint(roots_of([each], language))]
            fact = make_fact(body, own, tokens, around, language, kind="value", at=token)
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
    if content_of(segment[:at]) + sum(token.kind == "code" for token in segment[:at]) < 2:
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


def _find_names(body: str, tokens: list[Token], around: Around, language: str) -> Iterator[Fact]:
    """Yield who or where something is, and what a term means."""
    defined = DEFINED.match(body)
    if defined and len(defined["term"].split()) <= 6:
        start, end = defined.span("meaning")
        term = tokens_of(defined["term"])
        fact = make_fact(body, term, tokens, around, language, kind="definition")
        after = [token for token in tokens if token.start >= start]
        yield replace(
            fact,
            name=defined["meaning"].strip(" ."),
            value_start=start,
            value_end=end,
            near=frozenset(roots_of(after, language)),
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
        fact = make_fact(body, words, tokens, around, language, kind="name")
        yield replace(
            fact,
            name=name,
            value_start=start,
            value_end=start + len(name),
            names=fact.names - set(roots_of(tokens_of(name), language)),
        )
        return


def is_study(text: str) -> bool:
    """Return whether a text reports a study of its own: its figures are of its own data.

    >>> is_study("We enrolled 90 adults. The odds ratio was 1.2 (95% CI 1.0-1.4), p<0.05.")
    True
    """
    return len({match[0].casefold() for match in islice(STUDY.finditer(text), 12)}) >= _STUDIES


def is_report(title: str) -> bool:
    """Return whether a document's title says that its figures are of one period: a report, an invoice."""
    return REPORTS.search(title) is not None
