"""The tasks of the reader as leaves; the words of their prompts are those at work (`disputatio.agents.trained_reader`)."""

from __future__ import annotations

from disputatio.agents.replies import shown
from disputatio.agents.trained_reader import UNKNOWN, ask_of, claim_of, judge_of
from disputatio.text import bare_words
from disputatio.types import Passage
from train.language.trees import Leaf


def passage_text(text: str, title: str = "") -> str:
    """Return a passage as the reader is shown it."""
    return shown(Passage(text=text, title=title))


def question_leaf(question: str, answer: str, kind: str, subject: str = "") -> Leaf:
    """Return a question with its answer, empty if there is none, and what the passage is about below it."""
    written = f"{answer}\n{subject}" if answer and subject else answer
    return Leaf(ask_of(question), written or UNKNOWN, kind)


def decision_leaf(question: str, reply: str) -> Leaf:
    """Return a question of *decide*, which yes, no or unknown answers."""
    return Leaf(ask_of(question), reply, f"decide/{reply}")


def named_in(subject: str, text: str) -> str:
    """Return a subject if a text has all of its words, else nothing: what is not there cannot be read.

    >>> named_in("Mercury (planet)", "The planet Mercury"), named_in("Mercury (planet)", "Mercury is near")
    ('Mercury (planet)', '')
    """
    return subject if set(bare_words(subject)) <= set(bare_words(text)) else ""


def support_leaf(question: str, answer: str, *, supported: bool, kind: str) -> Leaf:
    """Return a question of *support*: the answer to be judged."""
    return Leaf(judge_of(question, answer), "yes" if supported else "no", kind)


def claim_leaf(claim: str, label: str, kind: str) -> Leaf:
    """Return a claim of *entail*."""
    return Leaf(claim_of(claim), label, kind)


def same_leaf(passage: str, *, same: bool, kind: str) -> Leaf:
    """Return the second passage of *same*."""
    return Leaf(passage, "same" if same else "different", kind)
