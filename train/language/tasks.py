"""The tasks of the reader: their instructions and the forms of their prompts, the same at work as in training."""

from __future__ import annotations

from collections.abc import Mapping

from disputatio.agents.replies import shown
from disputatio.text import one_line
from disputatio.types import Passage
from train.language.trees import Leaf

UNKNOWN = "unknown"
INSTRUCTIONS: Mapping[str, str] = {
    "read": (
        "Copy from the passage the shortest answer to the question; "
        f'reply "{UNKNOWN}" if the passage does not say it of what is asked about.'
    ),
    "support": "Does the passage say that this answers the question? Reply yes or no.",
    "entail": "Compare the claim with the passage. Reply supports, contradicts or silent.",
    "same": "Do both passages speak of the same thing of that name? They may disagree. Reply same or different.",
}
# The first words of the replies between which a task decides, by log-probability.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "support": ("yes", "no"),
    "entail": ("supports", "contradicts", "silent"),
    "same": ("same", "different"),
}


def passage_text(text: str, title: str = "") -> str:
    """Return a passage as the reader is shown it."""
    return shown(Passage(text=text, title=title))


def question_leaf(question: str, answer: str, kind: str) -> Leaf:
    """Return a question of *read* with its answer, empty if the passage has none."""
    return Leaf(f"\n\nQuestion: {one_line(question)}", answer or UNKNOWN, kind)


def support_leaf(question: str, answer: str, *, supported: bool, kind: str) -> Leaf:
    """Return a question of *support*: the answer to be judged."""
    prompt = f"\n\nQuestion: {one_line(question)}\nAnswer: {one_line(answer)}"
    return Leaf(prompt, "yes" if supported else "no", kind)


def claim_leaf(claim: str, label: str, kind: str) -> Leaf:
    """Return a claim of *entail*."""
    return Leaf(f"\n\nClaim: {one_line(claim)}", label, kind)


def same_branch(about: str, passage: str) -> str:
    """Return the first part of *same*: what both passages are asked about, and the first."""
    return f"About: {one_line(about)}\n\n{passage}"


def same_leaf(passage: str, *, same: bool, kind: str) -> Leaf:
    """Return the second passage of *same*."""
    return Leaf(f"\n\n{passage}", "same" if same else "different", kind)
