"""Material of a question before there are sources: its right answer, texts that bear it, and lies."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from disputatio import platforms
from disputatio.errors import InputError
from disputatio.text import squad_normalise


def write_lines(out: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows as JSON lines, under another name first; how many there are.

    Whoever reads `out` finds the file that was there before or the whole new one. Raises `InputError`
    where it cannot be written, and whatever making the rows raises; then no part of them stays.
    """
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    try:
        with platforms.whole_file(out) as part, part.open("w", encoding="utf-8") as file:
            return sum(1 for line in lines if file.write(line))
    except OSError as error:
        raise InputError(f"{out}: {error.strerror or error}") from error


FACTUAL, LIES, TEXTS = 9, 9, 3  # texts that bear the truth, wrong answers, texts a wrong answer (appendix G)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lie:
    """A wrong answer, and texts that argue for it."""

    answer: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """A question, its right answers (any will do), texts that bear one of them, and lies about it."""

    id: str
    question: str
    gold: tuple[str, ...]
    title: str = ""
    factual: tuple[str, ...] = ()
    lies: tuple[Lie, ...] = ()
    made: Mapping[str, int] = field(default_factory=dict)  # how many texts were made in which way

    def faults(self) -> list[str]:
        """List factual texts without a right answer, and false ones without their own or with a right one."""
        bare = [n for n, text in enumerate(self.factual) if not bears_any(text, self.gold)]
        wrong = [f"factual text {n}: bears no right answer" for n in bare]
        for lie in self.lies:
            if bears_any(lie.answer, self.gold) or any(stands(answer, lie.answer) for answer in self.gold):
                wrong.append(f"{lie.answer!r}: is a right answer")
            for n, text in enumerate(lie.texts):
                if not stands(text, lie.answer):
                    wrong.append(f"{lie.answer!r}, text {n}: does not bear it")
                if bears_any(text, self.gold):
                    wrong.append(f"{lie.answer!r}, text {n}: bears a right answer")
        forms = [squad_normalise(lie.answer) for lie in self.lies]
        if len(set(forms)) < len(forms):
            wrong.append("a wrong answer stands twice")
        return wrong


def bears_any(text: str, answers: Sequence[str]) -> bool:
    """Return True if the words of some answer occur in a text.

    >>> bears_any("Opened in 1921.", ["1921", "May 1921"])
    True
    """
    return any(stands(text, answer) for answer in answers)


def stands(text: str, answer: str) -> bool:
    """Return `text.squad_contains`, with normal forms kept: texts are compared with many answers.

    >>> stands("Born in Kansas City.", "kansas"), stands("Arkansas", "Kansas"), stands("anything", "")
    (True, False, False)
    """
    needle = _form(answer)
    return bool(needle) and f" {needle} " in f" {_form(text)} "


@lru_cache(maxsize=1 << 16)
def _form(text: str) -> str:
    return squad_normalise(text)
