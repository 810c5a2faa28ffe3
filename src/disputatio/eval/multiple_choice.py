"""Which option an answer to a multiple-choice question picks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from disputatio.text import squad_contains, squad_normalise

_LETTERED = re.compile(r"(?<!\s)\s*+\(?(?P<letter>[A-Z])[.):]\)?\s++", re.ASCII)  # "B. rest", "(B) rest"
_LETTER = re.compile(
    r"(?:(?:the\s+)?(?:answer|option)\s+(?:is\s+)?)?\(?(?P<letter>[A-Z])\)?[.):]*", re.IGNORECASE
)
_PICKS = re.compile(
    r"(?:the\s+)?(?:correct\s+|right\s+|final\s+|best\s+)?(?:answer|option|choice)\s*(?::|=|is:?)\s*(?=\S)",
    re.IGNORECASE,
)  # "Answer: B", "The correct option is B. rest"


def choice(predicted: Sequence[str], gold: Sequence[str], wrong: Sequence[str]) -> float | None:
    """1.0 when the answer picks the right one of the options, which are the gold and the wrong answers.

    An answer picks by the letter that it begins with ("B", "B. rest"), by being or beginning with an
    option's words, or by naming one option's words and no other's. "Answer:" may stand before it. Picking
    several, or none, is not right.

    >>> options = (["B. rest"], ["A. movement", "C. both"])
    >>> choice(["B"], *options), choice(["rest"], *options), choice(["(C) both"], *options)
    (1.0, 1.0, 0.0)
    >>> choice(["Yes, it does"], ["yes"], ["no"]), choice(["B", "C"], *options), choice([], *options)
    (1.0, 0.0, 0.0)
    >>> choice(["Answer: B"], *options), choice(["The correct option is (A) movement"], *options)
    (1.0, 0.0)
    """
    if not gold:
        return None
    picks = {pick for prediction in predicted if (pick := _picked(prediction, [*gold, *wrong])) is not None}
    right = {_words_of(wording) for wording in gold}
    return float(bool(picks) and picks <= right)


def _picked(prediction: str, options: Sequence[str]) -> str | None:
    """Return the words of the option that an answer picks; None where it picks none, or more than one."""
    letters = {match["letter"]: option for option in options if (match := _LETTERED.match(option))}
    announced = _PICKS.match(prediction.strip())
    if announced and squad_normalise(prediction) not in [_words_of(option) for option in options]:
        prediction = prediction.strip()[announced.end() :]
    named = _LETTERED.match(prediction.strip()) or _LETTER.fullmatch(prediction.strip())
    if named and named["letter"].upper() in letters:
        return _words_of(letters[named["letter"].upper()])
    words, option_words = squad_normalise(prediction), [_words_of(option) for option in options]
    if words in option_words:
        return words
    begun = [
        words_of_option
        for words_of_option in option_words
        if words_of_option and f"{words} ".startswith(f"{words_of_option} ")
    ]
    if begun:
        return max(begun, key=len)
    inside = {option for option in option_words if squad_contains(words, option)}
    inside = {
        option
        for option in inside
        if not any(option != other and squad_contains(other, option) for other in inside)
    }
    return inside.pop() if len(inside) == 1 else None


def _words_of(option: str) -> str:
    """Return the normal form of an option without its letter."""
    return squad_normalise(_LETTERED.sub("", option, count=1))
