"""Questions that name their answers: lettered options, yes or no, yes or no or maybe.

The options are found in the question's own words, or given beside it; a model then picks one of them by
the word that stands for it, so that nothing is read out of prose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from disputatio.errors import InputError
from disputatio.text import bare_words, is_unknown, one_line

FREE = "free"  # in place of options: the answer is in one's own words
LETTERS = "ABCDEFGHIJ"
YES_NO = ("yes", "no")
YES_NO_MAYBE = ("yes", "no", "maybe")
_MARK = r"\(?(?P<letter>[A-J])[.):]\)?\s++"
_LINE = re.compile(rf"^[ \t]*{_MARK}(?P<text>\S(?:.*\S)?)[ \t]*+$", re.MULTILINE)
_INLINE = re.compile(rf"(?:(?<=\s)|^){_MARK}(?P<text>.+?)(?<!\s)(?=\s++\(?[A-J][.):]\)?\s|\s*$)", re.DOTALL)
_HEAD = re.compile(r"(?<![\s#])\s*+(?:#++\s*+)?(?:options|choices)\s*+:?\s*+$", re.IGNORECASE)
_MAYBE = re.compile(
    r"(?<![\s(])[\s(]*+\b(?:answer\s+)?(?:with\s+)?(?:yes)\s*(?:/|,|or)\s*no(?P<maybe>\s*(?:/|,)?\s*(?:or\s+)?maybe)?\b[\s).?:]*$",
    re.IGNORECASE,
)
_AUXILIARY_WORDS = "is are was were do does did can could has have had will would should may might must"
_AUXILIARY = frozenset(_AUXILIARY_WORDS.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Menu:
    """A question without its options, the word that stands for each, and what each says.

    For lettered options the words are the letters; for yes and no they are the answers themselves.
    """

    question: str
    words: tuple[str, ...]
    texts: tuple[str, ...]

    @property
    def lettered(self) -> bool:
        """True if a word stands for something longer."""
        return self.words != self.texts

    def shown(self) -> str:
        """Return the question as an agent reads it, its options on lines of their own."""
        lines = [f"{word}. {text}" for word, text in zip(self.words, self.texts, strict=True)]
        choices = "\n".join(lines) if self.lettered else f"({' / '.join(self.words)})"
        return f"{self.question}\n{choices}"


def read_menu(question: str, choices: str = "") -> Menu | None:
    """Return the options of a question, or None where it is to be answered freely.

    `given` are the options, divided by "|"; "free" for none; empty to find them in the question: two or
    more letters in order from A, or the form of a question that yes, no or maybe answers. Raises
    `InputError` for fewer than two options or more than ten.

    >>> read_menu("Which grows it? A. Rest B. Movement").texts
    ('Rest', 'Movement')
    >>> read_menu("Do mitochondria play a role?").words, read_menu("Who built it?")
    (('yes', 'no', 'maybe'), None)
    """
    if choices.strip():
        return None if choices.strip().casefold() == FREE else _given(question, choices)
    for pattern in (_LINE, _INLINE):
        matches = list(pattern.finditer(question))
        letters = "".join(match["letter"] for match in matches)
        if len(matches) > 1 and letters == LETTERS[: len(matches)]:
            stem = _HEAD.sub("", question[: matches[0].start()])
            if stem.strip():
                return _menu(stem, [match["text"] for match in matches])
    closing = _MAYBE.search(question)
    if closing and question[: closing.start()].strip():
        return Menu(
            question=one_line(question[: closing.start()]),
            words=YES_NO_MAYBE if closing["maybe"] else YES_NO,
            texts=YES_NO_MAYBE if closing["maybe"] else YES_NO,
        )
    first = bare_words(question)
    if first and first[0] in _AUXILIARY and "or" not in first and question.strip().endswith("?"):
        return Menu(question=one_line(question), words=YES_NO_MAYBE, texts=YES_NO_MAYBE)
    return None


def worded(menu: Menu, word: str) -> str:
    """Return the answer that a word of the menu stands for."""
    return menu.texts[menu.words.index(word)]


def _given(question: str, choices: str) -> Menu:
    options = [one_line(option) for option in choices.split("|")]
    if not 2 <= len(options) <= len(LETTERS) or not all(options):
        raise InputError(
            f"option choices: {choices!r} names {len(options)} options; give 2 to {len(LETTERS)} "
            f"with | between them, or {FREE}"
        )
    if len({option.casefold() for option in options}) < len(options):
        raise InputError(f"option choices: {choices!r} names one option twice")
    if {option.casefold() for option in options} <= set(YES_NO_MAYBE):
        words = tuple(option.casefold() for option in options)
        return Menu(question=one_line(question), words=words, texts=words)
    return _menu(question, [re.sub(rf"^{_MARK}", "", option) for option in options])


def _menu(question: str, texts: Sequence[str]) -> Menu:
    """Lettered options; an option that says that there is none keeps its letter in front of it."""
    lines = [one_line(text) for text in texts]
    labelled = [
        f"{letter}. {line}" if is_unknown(line) else line
        for letter, line in zip(LETTERS, lines, strict=False)
    ]
    return Menu(question=one_line(question), words=tuple(LETTERS[: len(lines)]), texts=tuple(labelled))
