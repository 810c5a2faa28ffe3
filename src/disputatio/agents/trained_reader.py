"""Prompts of the trained reader: a model with an adapter that was trained on these words (`train/language`).

Six tasks are told apart by their instruction. A prompt has two parts with an empty line between them; the first stays the
same for all that is asked about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from disputatio.agents.replies import shown
from disputatio.kit import chat
from disputatio.text import fence, one_line
from disputatio.types import Passage, Prompt

UNKNOWN = "unknown"
GAP = "\n\n"  # between the two parts
INSTRUCTIONS: Mapping[str, str] = {
    "read": (
        "Copy from the passage the shortest answer to the question; below it, what the passage is about, with what tells it "
        f'from namesakes. Reply "{UNKNOWN}" if the passage does not say it of what is asked about.'
    ),
    "look": (
        "Copy from the quotes the shortest answer to the question; "
        f'reply "{UNKNOWN}" if no quote says it of what is asked about.'
    ),
    "decide": (
        "Does the passage say yes or no to the question? "
        f"Reply yes, no or {UNKNOWN} if the passage does not say it of what is asked about."
    ),
    "support": "Does the passage say that this answers the question? Reply yes or no.",
    "entail": "Compare the claim with the passage. Reply supports, contradicts or silent.",
    "same": "Do both passages speak of the same thing of that name? They may disagree. Reply same or different.",
}
# The first words of the replies between which a task decides, by log-probability.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "decide": ("yes", "no", UNKNOWN),
    "support": ("yes", "no"),
    "entail": ("supports", "contradicts", "silent"),
    "same": ("same", "different"),
}


def ask_of(question: str) -> str:
    """Return the second part of *read*."""
    return f"Question: {one_line(question)}"


def judge_of(question: str, answer: str) -> str:
    """Return the second part of *support*: the answer to be judged."""
    return f"{ask_of(question)}\nAnswer: {one_line(answer)}"


def claim_of(claim: str) -> str:
    """Return the second part of *entail*."""
    return f"Claim: {one_line(claim)}"


def about_of(about: str, passage: str) -> str:
    """Return the first part of *same*: what both passages are asked about, and the first."""
    return f"About: {one_line(about)}{GAP}{passage}"


def quotes_text(quotes: Sequence[str]) -> str:
    """Return the first part of *look*: quotes as they are shown side by side."""
    return "\n".join(fence("quote", quote) for quote in quotes)


def prompt_of(task: str, first: str, second: str) -> Prompt:
    return chat(INSTRUCTIONS[task], f"{first}{GAP}{second}")


def read_prompt(question: str, passage: Passage) -> Prompt:
    return prompt_of("read", shown(passage), ask_of(question))


def decide_prompt(question: str, passage: Passage) -> Prompt:
    return prompt_of("decide", shown(passage), ask_of(question))


def look_prompt(question: str, quotes: Sequence[str]) -> Prompt:
    return prompt_of("look", quotes_text(quotes), ask_of(question))
