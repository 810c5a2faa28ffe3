"""Namesakes: whether the passages of two sides speak of one thing, by a model that was trained to tell.

It is asked of sides that contradict each other where nothing else tells: without titles, versions, names or texts that are
alike. Two things are only told by both orders of a pair, since the order must not tell; of each side the passage that was
read first is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from disputatio.agents.replies import shown
from disputatio.agents.trained_reader import CHOICES, about_of, prompt_of
from disputatio.kit import TRAINED_READER, Kit
from disputatio.strategies.disputation.details import Record
from disputatio.strategies.disputation.resolve import (
    Expectation,
    ResolvedSide,
    may_be_namesakes,
    strength,
)
from disputatio.strategies.disputation.sides import Side
from disputatio.trace import judgement_key
from disputatio.types import Passage

MOST = 4  # sides that are compared, the strongest first: six pairs at most
# Mean log-odds of "same" below which two passages speak of two things: one in eight. Chosen on 30 rows each of RAMDocs and
# ConflictNQ to fit on (decision 023).
APART = -2.0


class Sameness:
    """Log-odds that two passages speak of one thing: recorded, or asked once a pair."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self.known: dict[str, float] = dict(Record.from_details(kit.recorded).sameness)

    def __call__(self, question: str, pairs: Sequence[tuple[Passage, Passage]]) -> list[float | None]:
        """Return the log-odds for each pair; None where none is recorded and no model can be asked.

        Where the first order says "different", they are the mean of both. Raises `LLMError` for faults of the model and
        `TooLate` after the deadline.
        """
        keys = [judgement_key("same", question, " ".join(sorted((a.id, b.id)))) for a, b in pairs]
        new = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in self.known}
        if new and not self._kit.recorded:
            odds = dict(zip(new, self._ask(question, list(new.values())), strict=True))
            apart = {key: new[key][::-1] for key, each in odds.items() if each < 0}
            for key, other in zip(apart, self._ask(question, list(apart.values())), strict=True):
                odds[key] = (odds[key] + other) / 2
            self.known.update(odds)
        return [self.known.get(key) for key in keys]

    def _ask(self, question: str, pairs: Sequence[tuple[Passage, Passage]]) -> list[float]:
        if not pairs:
            return []
        prompts = [
            prompt_of("same", about_of(question, shown(first)), shown(second)) for first, second in pairs
        ]
        choices = self._kit.choose(TRAINED_READER, prompts, CHOICES["same"])
        return [same - different for same, different in (choice.logprobs for choice in choices)]


def set_apart(
    question: str, resolved: Sequence[ResolvedSide], sameness: Sameness, expect: Expectation
) -> list[Side]:
    """Return the sides, each with the passages of those contradicting it that speak of a namesake.

    Raises as `Sameness` does.
    """
    sides = [each.side for each in resolved]
    opposed = [number for number, each in enumerate(resolved) if each.rivals]
    opposed = sorted(opposed, key=lambda number: strength(sides[number]), reverse=True)[:MOST]
    pairs = [
        (a, b) for a, b in combinations(opposed, 2) if may_be_namesakes(question, sides[a], sides[b], expect)
    ]
    odds = sameness(question, [(sides[a].passages[0], sides[b].passages[0]) for a, b in pairs])
    for pair, same in zip(pairs, odds, strict=True):
        if same is not None and same < APART:
            for mine, other in (pair, pair[::-1]):
                theirs = {passage.id for passage in sides[other].passages}
                sides[mine] = replace(sides[mine], apart=sides[mine].apart | theirs)
    return sides
