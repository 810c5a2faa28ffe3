"""Questions that name their options: how they are asked, and which option is right.

Lettered options stand below the question, one a line, and the question says that one is right, so that no
strategy lists several. Where they are yes and no, or yes, no and maybe, they stand behind it. The gold answer
is the right option with its letter, the wrong answers are the others: the metric `choice` reads the letter or
the words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from disputatio.eval.data.rows import Place, literal, objects_of_columns
from disputatio.text import one_line

DECISIONS = ("yes", "no", "maybe")
LETTERS = "ABCDEFGHIJ"
ONE_RIGHT = "(one option is right)"


def menu(question: str, texts: Sequence[str], right: int | None) -> dict[str, Any]:
    """Return what `Place.example` takes of a question with options: as it is asked, gold, wrong, all options.

    `right` is the number of the right option, None where it is not told.

    >>> menu("Which bone is longest?", ["Ulna", "Femur"], 1)["gold"], menu("Is it?", ["No"], 0)["question"]
    (('B. Femur',), 'Is it? (no)')
    """
    plain = [one_line(text) for text in texts]
    if {text.casefold() for text in plain} <= set(DECISIONS):
        named = [text.casefold() for text in plain]
        worded = with_options(question, named)
    else:
        named = [f"{letter}. {text}" for letter, text in zip(LETTERS, plain, strict=False)]
        worded = "\n".join([f"{question.rstrip()} {ONE_RIGHT}", *named])
    return {
        "question": worded,
        "gold": () if right is None else (named[right],),
        "wrong": () if right is None else tuple(option for n, option in enumerate(named) if n != right),
        "options": tuple(texts),
    }


def with_options(question: str, options: Sequence[str]) -> str:
    """Return a question with the words that answer it behind it.

    >>> with_options("Does it help?", ("yes", "no"))
    'Does it help? (yes/no)'
    """
    return f"{one_line(question)} ({'/'.join(options)})"


def boolean(answer: object) -> str:
    """Return the word for a truth value, empty for any other value.

    >>> boolean("True"), boolean(False), boolean("No."), boolean("1963")
    ('yes', 'no', 'no', '')
    """
    text = str(answer).strip(" .").casefold()
    return {"true": "yes", "yes": "yes", "false": "no", "no": "no"}.get(text, "")


def options_of(value: Any, place: Place, key: str) -> dict[str, str]:
    """Return options with their labels: a list of texts, an object by labels, or {"label": [], "text": []}.

    Raises `InputError` where there are fewer than two or more than ten, or one says nothing.
    """
    listed = literal(value)
    if isinstance(listed, Mapping) and {"label", "text"} <= set(listed):
        listed = objects_of_columns(listed)
    if isinstance(listed, list) and all(isinstance(option, Mapping) for option in listed):
        labelled = [(str(option.get("label")), option.get("text")) for option in listed]
    elif isinstance(listed, list):
        labelled = list(zip(LETTERS, listed, strict=False))
    elif isinstance(listed, Mapping):
        labelled = [(str(label), text) for label, text in listed.items()]
    else:
        raise place.wrong(f"{key} must be a list of options, or an object of them")
    count = len(listed) if isinstance(listed, list | Mapping) else 0
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
