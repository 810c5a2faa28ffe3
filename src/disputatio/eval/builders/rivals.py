"""Misinformation made in code: a plausible wrong answer, and a copy of a passage that states it.

Entity substitution within a type (Longpre et al. 2021), which RAMDocs takes over for retrieved passages (Wang
et al. 2025, section 3). A wrong answer is one that a question of the same form has; a copy in which something
of the right answer stays is refused, so that nothing is called misinformation that still states it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from disputatio.eval.builders.bearing import measure_coverage
from disputatio.eval.builders.material import bears_any, stands
from disputatio.eval.builders.substitution import MONTHS, kind_of, mentions, near_figure, surnames
from disputatio.text import bare_words, content_id, squad_normalise, stem
from disputatio.values.figures import ordinal_ending

WORDS = 5  # a wrong answer has at most so many
ALIKE = 0.5  # of the words of two questions that both have, from which one's answer is of the other's type
SUBJECT = 0.5  # of a question's weighed words, from which another that has them is on the same subject
LATEST = 2025  # a year after it would give the lie away
Rivals = Callable[..., Iterator[str]]  # `rivals` over the questions of one set, for a seed
_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b")
_SPAN = re.compile(r"\b(1\d{3}|20\d\d)( ?[-–—/] ?)(\d{4}|\d\d)\b")
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
_BODY = re.compile(
    r"\b(?:the|union|states|kingdom|empire|republic|party|court|congress|senate|parliament|government|army|navy"
    r"|forces|council|committee|company|corporation|university|church|league|club|united|city|team|people)\b",
    re.IGNORECASE,
)
_VOWEL = re.compile(r"[aeio8]|u(?!ni|se|su)|1[18]\b", re.IGNORECASE)


def rivals(
    question: str,
    answer: str,
    known: Sequence[tuple[str, str]],
    *,
    avoid: Iterable[str] = (),
    rarity: Mapping[str, float] | None = None,
    seed: int = 0,
) -> Iterator[str]:
    """Yield wrong answers of the answer's type, the most plausible first; the same for a seed.

    `known` holds questions with a right answer each: whose question is most like this one comes first
    ("What sport is ... associated with?"). Dates and numbers get figures near them. None contains, or
    is contained in, an answer to `avoid` or the question. With the words' `rarity` (`bearing.rarities`) the
    answers to questions on the same subject are left out: they might be right.

    >>> known = [("Who drew Ada?", "Ed Lee"), ("Who drew the map of Oslo?", "Ivo Berg"), ("Who sang?", "Bo")]
    >>> list(rivals("Who drew the map of Riga?", "Per Hall", known))
    ['Ivo Berg', 'Ed Lee']
    """
    kind = _type(question, answer)
    barred = [*avoid, answer]
    used: set[str] = set()
    candidates = (
        (figure for n in range(40) if _told_already(figure := _figure(answer, kind, seed, n)))
        if kind in ("date", "number")
        else _of_others(question, answer, kind, known, rarity, seed)
    )
    for candidate in candidates:
        form = squad_normalise(candidate)
        if form in used or stands(question, candidate):
            continue
        if not any(stands(candidate, other) or stands(other, candidate) for other in barred):
            used.add(form)
            yield candidate


def _of_others(
    question: str,
    answer: str,
    kind: str,
    known: Sequence[tuple[str, str]],
    rarity: Mapping[str, float] | None,
    seed: int,
) -> Iterator[str]:
    """Yield the answers of other questions, nearest question first; equals in an order of chance."""
    capital = answer[:1].isupper()
    ranked = []
    for other_question, other_answer in known:
        likeness = alike(question, other_question)
        if (
            len(other_answer.split()) > WORDS
            or other_answer[:1].isupper() != capital
            or _type(other_question, other_answer) != kind
        ):
            continue
        if kind in ("phrase", "name") and likeness < ALIKE:  # a type that no question word gives
            continue
        if rarity is not None and measure_coverage(other_question, question, rarity) >= SUBJECT:
            continue
        ranked.append((-likeness, content_id("r", str(seed), question, other_answer), other_answer))
    yield from (answer for _, _, answer in sorted(ranked))


def _type(question: str, answer: str) -> str:
    """Return `kind_of`, but no person where the answer to "who" is one word or a body of people."""
    kind = kind_of(question, answer)
    lone = " " not in answer.strip() or _BODY.search(answer) is not None
    return "name" if kind == "person" and lone else kind


def alike(first: str, second: str) -> float:
    """Return the share of the words of two questions that both have, in [0, 1] (Jaccard).

    >>> alike("Who is Ada?", "Who is Bo?")
    0.5
    """
    words, other_words = _words(first), _words(second)
    return len(words & other_words) / max(len(words | other_words), 1)


@lru_cache(maxsize=1 << 14)
def _words(question: str) -> frozenset[str]:
    return frozenset(bare_words(question))


def _figure(answer: str, kind: str, seed: int, n: int) -> str:
    """Return another figure of the same form; a span keeps its length, an ordinal gets its ending."""
    chance = random.Random(f"{seed}/{answer}/{n}")
    if span := _SPAN.search(answer):
        first, last = int(span[1]), int(span[3])
        later = chance.choice([-1, 1]) * chance.randint(1, 15)
        end = f"{last + later}" if len(span[3]) == 4 else f"{(last + later) % 100:02}"
        return f"{answer[: span.start()]}{first + later}{span[2]}{end}{answer[span.end() :]}"
    figure = near_figure(answer, kind, chance)
    return _ORDINAL.sub(lambda match: f"{match[1]}{ordinal_ending(int(match[1]))}", figure)


def _told_already(figure: str) -> bool:
    """Return True if no year of it lies ahead."""
    return all(int(year) <= LATEST for year in _YEAR.findall(figure))


def swap_answers(text: str, right: Sequence[str], wrong: str, *, question: str = "") -> str | None:
    """Return a copy of a text with a wrong answer for each right one; None without a clean copy.

    `right` are all answers that must not stay in it. Refused are copies of a text that has the wrong answer
    already, those in which a right one or a telling word of it stays, and those that would cut a longer
    name in two. Articles and capitals are set right.

    >>> swap_answers("He is an actor. Actors travel.", ["actor"], "painter") is None
    True
    >>> swap_answers("Bo Lund is an actor from Oslo.", ["actor"], "painter")
    'Bo Lund is a painter from Oslo.'
    >>> swap_answers("She taught at Lund University.", ["Lund"], "Oslo") is None
    True
    """
    if stands(text, wrong):
        return None
    copy = text
    for answer in sorted(right, key=len, reverse=True):
        if not stands(copy, answer):
            continue
        if form_of(answer) != form_of(wrong) or _in_a_span(copy, answer):
            return None
        if answer[:1].isupper() and _in_a_name(copy, answer):
            return None
        copy = mentions(answer).sub(lambda match: _as_written(match[0], wrong), copy)
        copy = surnames(copy, answer, wrong)
    mark = re.escape(wrong)
    again = rf"(?:,? and |, (?:and )?| or ){mark}(?!\w)"
    copy = re.sub(rf"(?<!\w)({mark})(?:{again})+", r"\1", copy)
    copy = re.sub(
        rf"\b([Aa])n?(\s+)(?={mark}(?!\w))",
        lambda match: match[1] + ("n" if _VOWEL.match(wrong) else "") + match[2],
        copy,
    )
    if not stands(copy, wrong) or bears_any(copy, right) or _left(copy, right, wrong, question):
        return None
    return copy


def form_of(answer: str) -> str:
    """Return the form of an answer, as far as another may stand in its place: a year is no whole date.

    >>> form_of("May 1921"), form_of("1921"), form_of("1,921"), form_of("Ada Lund"), form_of("a fox")
    ('month', 'year', 'number', 'name', 'phrase')
    """
    kind = kind_of("", answer)
    if kind == "date":
        months = re.findall(r"[^\W\d]{3,}", answer)
        figures = [figure for figure in re.findall(r"\d+", answer) if len(figure) < 4]
        return ("day" if figures else "month") if months else "year"
    return kind


def _as_written(old: str, new: str) -> str:
    """Return a lower-case answer with a capital, where the mention that it replaces has one."""
    return new[:1].upper() + new[1:] if old[:1].isupper() and new[:1].islower() else new


def _in_a_name(text: str, name: str) -> bool:
    """Return True if a name occurs as a part of a longer name; in front of one only if it is one word."""
    mention = re.escape(name)
    after = rf"(?<!\w){mention}(?:\.? |-|\. )[A-ZÀ-Þ][a-zà-þ]"
    if re.search(r"\b\w$", name):  # an initial, and so the end of nothing
        after = rf"(?<!\w){mention}\."
    before = rf"(?<=[a-z,;] )(?:[A-ZÀ-Þ][\w.’'-]* )+{mention}(?!\w)"
    return re.search(after if " " in name else rf"{before}|{after}", text) is not None


def _in_a_span(text: str, figure: str) -> bool:
    """Return True if a figure occurs as one end of a span, whose other end would contradict a new one."""
    mention = re.escape(figure)
    return re.search(rf"(?<=\d) ?[-–—] ?{mention}(?!\w)|(?<!\w){mention} ?[-–—] ?(?=\d)", text) is not None


def _left(text: str, right: Sequence[str], wrong: str, question: str) -> bool:
    """Return True if a word of four letters or more, or a year, of a right answer stays."""
    innocent = {stem(word) for word in bare_words(f"{wrong} {question}")}
    telling = (
        word
        for answer in right
        for word in bare_words(answer)
        if (word.isalpha() and len(word) > 3 and word.title() not in MONTHS) or _YEAR.fullmatch(word)
    )
    words = {stem(word) for word in telling}
    return bool((words - innocent) & {stem(word) for word in bare_words(text)})
