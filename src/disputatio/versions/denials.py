"""Values that a text takes back for others: "costs 58 pounds and not 85 pounds", "13:45 (statt 16:00)"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from disputatio.text import sentences
from disputatio.values import canonical, matches, states
from disputatio.values.figures import Figure

MOST = 60  # characters in which a value is denied
BEFORE = 120  # characters before, in which the other one is said
WORDS = 4  # of what is denied: "not 9 pounds as guests do" denies nothing
MOST_OF_A_TEXT = 20  # a hostile text is a list of them
_LINK = r"(?:(?:at|on|for|to|in|by|zu|um|am|für|auf|à|a|de|le|la|the|den|der)\s){0,2}"
# What bounds a value denies none: "and not more than 5 kg".
_NO_BOUND = (
    r"(?!(?:more|less|fewer|later|earlier|sooner|before|after|until|under|over|above|below|mehr|weniger|später"
    r"|früher|vor|nach|bis|plus\sde|moins|avant|après)\b)"
)
_SAID_FIRST = re.compile(
    r"(?:,?\s\b(?:and|und|et)\s|,\s?)(?:not|no\slonger|nicht(?:\smehr)?|non(?:\splus|\spas)?)\s"
    rf"{_NO_BOUND}{_LINK}"
    rf"|\s\(?(?:instead\sof|rather\sthan|in\splace\sof|statt|anstatt|au\slieu\sd[e’'])\s?{_LINK}",
    re.IGNORECASE,
)
_DENIED_FIRST = re.compile(
    rf"\b(?:not|nicht(?:\smehr)?|non(?:\splus)?)\s{_NO_BOUND}{_LINK}"
    rf"(?P<denied>.{{1,{MOST}}}?),?\s(?:but|sondern|mais)\s(?P<said>.{{1,{MOST}}})",
    re.IGNORECASE,
)
_VALUE = re.compile(r"(?<![\w.,-])(?:[£$€]\s?)?\d[\d.,:/’']*\d?(?:\s(?:h\s?\d{2}|%|€|[^\W\d_]{1,14})\b)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """Two stretches of a sentence, of which the one holds and the other does not; `quote` is the sentence."""

    said: str
    denied: str
    quote: str


def denials_in(text: str) -> Iterator[Denial]:
    """Yield where sentences of a text, in English, German or French, say one thing and deny another.

    >>> [(one.said, one.denied) for one in denials_in("It costs 58 pounds and not 85 pounds; all pay that.")]
    [('It costs 58 pounds', '85 pounds')]
    >>> list(denials_in("It weighs 4 kg and not more than 5 kg."))
    []
    """
    blocks = text.split("\n\n")  # a heading is no part of the sentence below it
    every = (
        denial
        for block in blocks
        for first, last in sentences(block)
        for denial in _denials_of(block[first:last])
    )
    yield from islice(every, MOST_OF_A_TEXT)


def _denials_of(sentence: str) -> Iterator[Denial]:
    for match in _DENIED_FIRST.finditer(sentence):
        yield Denial(said=match["said"], denied=match["denied"], quote=sentence)
    for match in _SAID_FIRST.finditer(sentence):
        said = sentence[max(0, match.start() - BEFORE) : match.start()]
        if match.start() > BEFORE:
            said = said.partition(" ")[2]  # no half of a figure
        if denied := _find_denied(sentence, match.end()):
            yield Denial(said=said, denied=denied, quote=sentence)


def _find_denied(sentence: str, start: int) -> str:
    """Return the few words that are denied from a place of a sentence on; empty where it goes on too long."""
    denied = re.split(r"[;.)](?:\s|$)|,\s", sentence[start : start + MOST], maxsplit=1)[0]
    return denied if len(denied.split()) <= WORDS else ""


def without_denied(text: str, claim: str) -> str:
    """Return a sentence without the figures that it denies beside others, unless a claim states these itself.

    >>> without_denied("The fee is 43 euros, not 34 euros.", "The fee is 43 euros.")
    'The fee is 43 euros.'
    >>> without_denied("The fee is 43 euros, not 34 euros.", "The fee is 34 euros.")
    'The fee is 43 euros, not 34 euros.'
    """
    for match in reversed(list(islice(_SAID_FIRST.finditer(text), MOST_OF_A_TEXT))):
        denied = _find_denied(text, match.end())
        if any(map(str.isdigit, denied)) and not states(claim, denied):
            text = text[: match.start()] + text[match.end() + len(denied) :]
    return text


def instead_of(text: str, answer: str) -> str:
    """Return the value that a text gives in the place of an answer which it denies; else the answer.

    An answer that quotes the denial, too, is shortened to what is said.

    >>> instead_of("The fee is 187 pounds and not 178 pounds.", "178 pounds")
    '187 pounds'
    >>> instead_of("The fee is 187 pounds and not 178 pounds.", "187 pounds")
    '187 pounds'
    """
    value_denied = next((each.denied for each in denials_in(answer)), answer)
    for each in denials_in(text):
        if states(each.denied, value_denied) and not states(each.said, value_denied):
            values = [match[0].strip() for match in _VALUE.finditer(each.said)]
            fitting = [
                value
                for value in values
                if _are_alike(value, value_denied) and not matches(value, value_denied)
            ]
            if fitting:
                return fitting[-1]
    return answer


def sentence_denying(text: str, said: str, denied: str) -> str:
    """Return the sentence of a text that says one value and denies another; empty where there is none.

    >>> sentence_denying("Hello. The fee is 43 and not 34.", "43", "34")
    'The fee is 43 and not 34.'
    """
    for each in denials_in(text):
        if states(each.said, said) and states(each.denied, denied) and not states(each.said, denied):
            return each.quote.strip()
    return ""


def _are_alike(first: str, second: str) -> bool:
    """Return whether two values are of one kind: figures whose units do not differ, dates, or times."""
    ours, theirs = canonical(first).values, canonical(second).values
    if len(ours) != 1 or len(theirs) != 1:
        return False
    one, other = ours[0], theirs[0]
    if isinstance(one, Figure) and isinstance(other, Figure):
        return one.unit == other.unit or not (one.unit and other.unit)
    return type(one) is type(other)
