"""Grades of answers by what a person would answer: right, half, wrong or abstained; decided by code, without a model."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

from bench.documents.questions import Question
from disputatio.eval.metrics import normalise_predicted

Grade = Literal["right", "half", "wrong", "abstained"]
_SMALL = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
]  # fmt: skip
_ORDINALS = {
    "first": "1st", "second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th", "seventh": "7th"
}  # fmt: skip
_WORDS = {word: str(number) for number, word in enumerate(_SMALL)} | {"twenty": "20"} | _ORDINALS
_TOKEN = re.compile(
    r"\d+(?:st|nd|rd|th)\b|\d+(?:[.,:]\d+)*|[\u3040-\u30ff\u3400-\u9fff]|[^\W\d_\u3040-\u30ff\u3400-\u9fff]+"
)


def tokens(text: str) -> list[str]:
    """Return the words and figures of a text in one form.

    >>> tokens("About 2,500 euros, twelve times"), tokens("6,20 Euro"), tokens("at 05:10"), tokens("45天")
    (['about', '2500', 'euros', '12', 'times'], ['6.2', 'euro'], ['at', '5.1'], ['45', '天'])
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return [
        _figure(token) if token[0].isdigit() else _WORDS.get(token, token) for token in _TOKEN.findall(folded)
    ]


def _figure(token: str) -> str:
    if not token[-1].isdigit():
        return token
    if re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d{0,2}(?:\.\d{3})+", token):
        return re.sub("[.,]", "", token)
    whole, *rest = re.split("[.,:]", token)
    parts = [whole.lstrip("0") or "0", *rest]
    if len(rest) == 1:
        parts = [parts[0], *filter(None, [rest[0].rstrip("0")])]
    return ".".join(parts)


def states(answer: str, value: str) -> bool:
    """Return True if the words of a value stand in an answer, one after the other.

    >>> states("It is 34 euros.", "34"), states("134", "34"), states("3.4 kg", "34"), states("€1,500", "1500")
    (True, False, False, True)
    """
    words, wanted = tokens(answer), tokens(value)
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words) - len(wanted) + 1))


def grade(answers: Sequence[str], question: Question) -> Grade:
    """Grade the answers that a reader is given as true.

    `half` is the right one beside another as its equal, or one of several that were asked for. Where the documents give
    none, to abstain is right. An answer that is neither accepted nor listed as wrong is wrong.
    """
    given = [answer for answer in answers if normalise_predicted([answer])]
    if not given:
        return "abstained" if question.accept else "right"
    if not question.accept:
        return "wrong"
    met = [any(states(answer, name) for answer in given for name in names) for names in question.accept]
    if not any(met):
        return "wrong"
    accepted = [name for names in question.accept for name in names]
    clean = all(
        any(states(answer, name) for name in accepted)
        and (question.yes_no or not any(states(answer, value) for value in question.wrong))
        for answer in given
    )
    return "right" if clean and all(met) else "half"
