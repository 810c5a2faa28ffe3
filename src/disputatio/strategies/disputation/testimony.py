"""Testimonies: what one passage, read alone, answers to a question, and what it is about."""

from __future__ import annotations

from dataclasses import dataclass

from disputatio.text import bare_words, one_line
from disputatio.types import Passage, Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Testimony:
    """What one passage answers alone: `reply.answer` is empty where it answers nothing.

    `reply.quote` is where the passage says it. `answered` is how likely the passage answers at all, by the
    trained encoder, None where that was not asked. `by_model` is false where the encoder alone gave the answer.
    """

    passage: Passage
    reply: Reply
    answered: float | None = None
    by_model: bool = True

    @property
    def answer(self) -> str:
        """The answer, empty where there is none."""
        return self.reply.answer

    @property
    def subject(self) -> str:
        """What the passage is about, in its own words or those of the question."""
        return self.reply.subject

    @property
    def certainty(self) -> float | None:
        """The mean log-probability of the answer's tokens, None where the model gives none."""
        return self.reply.certainty


def grounded_subject(subject: str, passage: Passage, question: str = "") -> str:
    """Return a subject without the parts (between commas) that stand neither in its passage nor in the
    question.

    >>> grounded_subject("Elkins, Arden", Passage(text="Elkins is a city in West Virginia."))
    'Elkins'
    """
    known_words = set(bare_words(f"{passage.title} {passage.text} {question}"))
    parts = [part.strip() for part in one_line(subject).split(",")]
    return ", ".join(part for part in parts if part and set(bare_words(part)) <= known_words)
