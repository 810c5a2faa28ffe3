"""Compares answers with each other and with texts: by their values, else by their words.

Upper and lower case, articles, punctuation and the hyphens of names do not tell answers apart; signs, decimal
points, units, and the marks of names such as C++ do. A unit that is missing contradicts none, so sameness is
not transitive: "$10" and "€10" are both the same as "10", and not each other. `groups` keeps such apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from disputatio.text import stem
from disputatio.values.figures import HALF_DAY, MONTHS, Date, Figure, Time, covers, same
from disputatio.values.numerals import decimal_comma
from disputatio.values.units import ORDINAL, READINGS
from disputatio.values.value import ItemSequence, Value, canonical

_MARKED = re.compile("[0-9][.,][0-9]")
_YES_AND_NO = (("yes",), ("no",))
MOST_ITEMS = 64  # words and values of an answer that are compared one by one; a longer one as it is written


def same_answer(left: str, right: str) -> bool:
    """Return whether two answers say the same; two empty ones are not answers.

    >>> same_answer("$10 million", "10,000,000 dollars"), same_answer("Spider-Man", "spiderman")
    (True, True)
    >>> same_answer("3.5", "35"), same_answer("C", "C++"), same_answer("$10", "€10"), same_answer("", "")
    (False, False, False, False)
    """
    return _same(canonical(left), canonical(right))


def same_answers(left: Collection[str], right: Collection[str]) -> bool:
    """Return whether two lists of answers say the same, in any order.

    >>> same_answers(["ten", "The Orrin"], ["Orrin", "10"]), same_answers(["10"], ["10", "Orrin"])
    (True, False)
    """
    return all(any(same_answer(ours, theirs) for theirs in right) for ours in left) and all(
        any(same_answer(ours, theirs) for ours in left) for theirs in right
    )


def states(text: str, answer: str) -> bool:
    """Return whether an answer stands in a text, whole: its words in order, its figures with sign and unit.

    >>> states("It is 13.5 km long.", "3.5"), states("written in C++", "C"), states("at -5 degrees", "5")
    (False, False, False)
    >>> states("It sold for $10m on 12 May 1962.", "10 million dollars"), states("on 12 May 1962", "May 1962")
    (True, True)
    """
    whole, parts = _in_one_convention(text, answer)
    return any(_stands(needle, hay) for part in parts for needle in part.views for hay in whole.views)


def matches(left: str, right: str) -> bool:
    """Return whether two wordings are taken for one answer: the same, or one stands in the other.

    >>> matches("about 1898", "1898"), matches("1898", "1899"), matches("$10", "€10")
    (True, False, False)
    """
    return same_answer(left, right) or states(left, right) or states(right, left)


def bears(text: str, answer: str) -> bool:
    """Return whether a text has all figures and half of the words of an answer.

    Words count by their first five letters; a unit may be missing on either side, but not be another.

    >>> bears("an American death metal band", "death metal group"), bears("in 1921", "1975")
    (True, False)
    >>> bears("Revenue (in dollars): 3.5 million", "$3.5 million"), bears("€3.5 million", "$3.5 million")
    (True, False)
    """
    whole, parts = _in_one_convention(text, answer)
    stems = {stem(word) for view in whole.views for word in view.items if isinstance(word, str)}
    return any(_bears(whole, stems, part) for part in parts)


def is_yes_or_no(answer: str) -> bool:
    """Return whether an answer is "yes" or "no" and nothing else.

    >>> is_yes_or_no("Yes."), is_yes_or_no("No, never")
    (True, False)
    """
    return canonical(answer).items in _YES_AND_NO


def contradicts(left: str, right: str) -> bool:
    """Return whether the values of two answers exclude each other, whatever words stand around them.

    >>> contradicts("about $10", "10"), contradicts("about $10", "€10"), contradicts("in 1962", "12 May 1962")
    (False, True, False)
    """
    ours, theirs = canonical(left).values, canonical(right).values
    return len(ours) == len(theirs) and any(
        not (same(our, other) or covers(our, other) or covers(other, our))
        for our, other in zip(ours, theirs, strict=True)
    )


def are_other_values(left: str, right: str) -> bool:
    """Return whether two answers are nothing but values, and other ones, so that no judge is needed to tell.

    >>> are_other_values("1921", "1948"), are_other_values("May 1921", "1921"), are_other_values("1", "ship")
    (True, False, False)
    """
    plain_values = canonical(left).kind != "words" and canonical(right).kind != "words"
    return plain_values and not matches(left, right)


def groups(answers: Sequence[str]) -> tuple[int, ...]:
    """Return the group of each answer, numbered from 0 in the order met, -1 for an empty one.

    All in a group are the same, each with each. An answer without a unit is the same as those of several
    units, which are not the same as each other: so answers that say most come first, and one that says less
    joins the group with most answers, then the first met, of those that it fits whole. None joins two groups.

    >>> groups(["10", "$10", "€10", "10 dollars", "", "ten"])
    (0, 0, 1, 0, -1, 0)
    """
    values = [canonical(answer) for answer in answers]
    count = Counter(value for value in values if value)
    first = {value: at for at, value in reversed(list(enumerate(values)))}
    members: list[list[Value]] = []
    by_key: dict[tuple[str, object], list[int]] = {}
    number: dict[Value, int] = {}
    for value in sorted(count, key=lambda value: (-_precision(value), first[value])):
        keys = [(value.frame, key) for key in _keys(value)]
        near = sorted({at for key in keys for at in by_key.get(key, ())})
        fitting = [at for at in near if all(_same(value, member) for member in members[at])]
        if fitting:
            span = max(
                fitting,
                key=lambda at: (
                    sum(count[member] for member in members[at]),
                    -min(first[member] for member in members[at]),
                ),
            )
            members[span].append(value)
        else:
            span = len(members)
            members.append([value])
        for key in keys:
            by_key.setdefault(key, []).append(span)
        number[value] = span
    pairs_met = {
        fromkey: at for at, fromkey in enumerate(dict.fromkeys(number[value] for value in values if value))
    }
    return tuple(pairs_met[number[value]] if value else -1 for value in values)


def distinct(answers: Sequence[str]) -> tuple[str, ...]:
    """Return each answer once, as first worded; empty ones are left out.

    >>> distinct(["10 km", "The Orrin", "10", "orrin"])
    ('10 km', 'The Orrin')
    """
    worded: dict[int, str] = {}
    for number, answer in zip(groups(answers), answers, strict=True):
        worded.setdefault(number, answer)
    worded.pop(-1, None)
    return tuple(worded.values())


def _in_one_convention(text: str, answer: str) -> tuple[Value, tuple[Value, ...]]:
    """Return a text, and an answer read by itself and with the text's decimal mark."""
    readings = [canonical(answer)]
    if _MARKED.search(answer) and decimal_comma(answer) is None and decimal_comma(text):
        readings.append(canonical(answer, comma=True))
    return canonical(text), tuple(reading for reading in readings if reading)


def _bears(whole: Value, stems: Collection[str], part: Value) -> bool:
    if part.items in _YES_AND_NO:
        return True
    hits = 0
    for item in part.items:
        if isinstance(item, str):
            hits += stem(item) in stems or any(covers(date, item) for date in whole.dates)
        elif any(same(value, item) or covers(value, item) for value in whole.values):
            hits += 1
        elif not (isinstance(item, Figure) and item.spelled and item.unit == ORDINAL):
            return False
    return 2 * hits >= len(part.items)


def _same(left: Value, right: Value) -> bool:
    if left is right:
        return bool(left)
    return (
        bool(left)
        and left.frame == right.frame
        and len(left.values) == len(right.values)
        and all(map(same, left.values, right.values))
    )


def _stands(part: ItemSequence, whole: ItemSequence) -> bool:
    """Return whether the items of a view stand in another, in one run between word ends."""
    length = len(part.items)
    if length > MOST_ITEMS:
        return f" {_join_items(part)} " in f" {_join_items(whole)} "
    return any(
        whole.opens[at]
        and at + length <= len(whole.items)
        and whole.closes[at + length - 1]
        and all(map(covers, whole.items[at : at + length], part.items))
        for at in _places(part, whole)
    )


def _places(part: ItemSequence, whole: ItemSequence) -> Iterator[int]:
    """Yield where the first item of a view may stand in another."""
    first = part.items[0]
    if not isinstance(first, str) or first in MONTHS:
        yield from (at for at, item in enumerate(whole.items) if covers(item, first))
        return
    at = -1
    while True:
        try:
            at = whole.items.index(first, at + 1)
        except ValueError:
            return
        yield at


def _join_items(view: ItemSequence) -> str:
    return " ".join(map(str, view.items))


def _keys(value: Value) -> set[object]:
    """Return keys, one of them in common to answers with equal words and the same first values."""
    first = value.values[0] if value.values else None
    if isinstance(first, Figure):
        return {
            first.value,
            *((reading.dimension, first.value * reading.factor) for reading in READINGS.get(first.unit, ())),
        }
    if isinstance(first, Date):
        return set(first.readings)
    return {first.second % HALF_DAY if first else ""}


def _precision(value: Value) -> int:
    """Return how exact the values of an answer are: a unit of one meaning counts most."""
    return sum(
        (2 if len(READINGS[item.unit]) == 1 else 1)
        if isinstance(item, Figure) and item.unit
        else int(not item.turned)
        if isinstance(item, Date)
        else int(bool(item.half) or not item.in_twelve)
        if isinstance(item, Time)
        else 0
        for item in value.values
    )
