"""Questions that name their options: how they are asked, and which option is right.

Lettered options stand below the question, one a line; where they are yes and no, or yes, no and maybe,
they stand behind it. The gold answer is the right option with its letter, the wrong answers are the
others: the metric `choice` reads the letter or the words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from disputatio.eval.data.rows import Place, by_columns, literal
from disputatio.text import one_line

DECISIONS = ("yes", "no", "maybe")
LETTERS = "ABCDEFGHIJ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Menu:
    """A question as it is asked, the right option, the others, and the words of all."""

    question: str
    gold: tuple[str, ...]
    wrong: tuple[str, ...]
    options: tuple[str, ...]


def menu(question: str, texts: Sequence[str], right: int | None) -> Menu:
    """A question with its options; `right` is the number of the right one, None where it is not told.

    >>> menu("Which bone is longest?", ["Ulna", "Femur"], 1).gold, menu("Is it?", ["Yes", "No"], 0).question
    (('B. Femur',), 'Is it? (yes/no)')
    """
    plain = [one_line(one) for one in texts]
    if {one.casefold() for one in plain} <= set(DECISIONS):
        named = [one.casefold() for one in plain]
        asked = in_words(question, named)
    else:
        named = [f"{letter}. {one}" for letter, one in zip(LETTERS, plain, strict=False)]
        asked = "\n".join([question.rstrip(), *named])
    return Menu(
        question=asked,
        gold=() if right is None else (named[right],),
        wrong=() if right is None else tuple(one for n, one in enumerate(named) if n != right),
        options=tuple(texts),
    )


def in_words(question: str, words: Sequence[str]) -> str:
    """A question with the words that answer it behind it.

    >>> in_words("Does it help?", ("yes", "no"))
    'Does it help? (yes/no)'
    """
    return f"{one_line(question)} ({'/'.join(words)})"


def boolean(answer: object) -> str:
    """The word for a truth value, empty for what is none.

    >>> boolean("True"), boolean(False), boolean("No."), boolean("1963")
    ('yes', 'no', 'no', '')
    """
    said = str(answer).strip(" .").casefold()
    return {"true": "yes", "yes": "yes", "false": "no", "no": "no"}.get(said, "")


def options_of(found: Any, place: Place, key: str) -> dict[str, str]:
    """Options with their labels: a list of texts, an object by labels, or {"label": [], "text": []}.

    Raises `InputError` where there are fewer than two or more than ten, or one says nothing.
    """
    told = literal(found)
    if isinstance(told, Mapping) and {"label", "text"} <= set(told):
        told = by_columns(told)
    if isinstance(told, list) and all(isinstance(one, Mapping) for one in told):
        labelled = [(str(one.get("label")), one.get("text")) for one in told]
    elif isinstance(told, list):
        labelled = list(zip(LETTERS, told, strict=False))
    elif isinstance(told, Mapping):
        labelled = [(str(label), text) for label, text in told.items()]
    else:
        raise place.wrong(f"{key} must be a list of options, or an object of them")
    count = len(told) if isinstance(told, list | Mapping) else 0
    if not 2 <= count <= len(LETTERS):
        raise place.wrong(f"{key} must hold two to {len(LETTERS)} options, and holds {count}")
    options = {}
    for label, text in labelled:
        if not isinstance(text, str | int | float) or not str(text).strip():
            raise place.wrong(f"{key}: option {label} says nothing")
        options[label] = str(text)
    if len(options) < count:
        raise place.wrong(f"{key}: a label stands twice")
    return options
