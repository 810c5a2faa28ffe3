"""Asking on: what the model itself holds of sides that contradict each other, and their advocates.

Both are asked only where neither a lead of two independent accounts, nor known sources, nor dates decide, and overrule none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from disputatio.errors import NoLogprobs
from disputatio.events import Belief, Debated, NoBelief, NoDebate
from disputatio.kit import Kit
from disputatio.strategies.disputation.details import Record
from disputatio.strategies.disputation.hearing import LETTERS, believe, plead
from disputatio.strategies.disputation.resolve import Expectation, Ruling, contested, in_doubt

# What belief weighs, chosen across corpora (decision 023): a lead of two accounts is never put to it, and to outweigh a lead of
# one it takes about an eighth of a nat for one answer and against the other; of what it knows nothing a model prefers by less.
BELIEF = 2.0  # of merit at most
SHARPNESS = 5.0  # a nat and a rival: among more answers it strays further from their mean by chance


def believed(question: str, rulings: Sequence[Ruling], kit: Kit, expect: Expectation) -> dict[str, float]:
    """Move sides that contradict each other by the model's own belief; returns its nats by answer, if asked."""
    sides = in_doubt(question, rulings, expect)
    if len(sides) < 2:
        return {}
    try:
        preferences = believe(question, [side.answer for side in sides], kit)
    except NoLogprobs as error:
        kit.emit(NoBelief(reason=str(error)))
        known = Record.from_details(kit.recorded).beliefs.get(question, {})
        if any(side.answer not in known for side in sides):
            return {}
        mean = sum(known[side.answer] for side in sides) / len(sides)
        preferences = [known[side.answer] - mean for side in sides]  # as if the others did not matter
    sharpness = SHARPNESS / (min(len(sides), len(LETTERS)) - 1)
    for side, nats in zip(sides, preferences, strict=True):
        side.moved["belief"] = BELIEF * math.tanh(sharpness * nats)
    beliefs = {side.answer: round(nats, 3) for side, nats in zip(sides, preferences, strict=True)}
    kit.emit(Belief(question=question, nats=beliefs))
    return beliefs


def debated(question: str, rulings: Sequence[Ruling], kit: Kit, turn: int) -> bool:
    """Return whether a round was held: the advocates of the open sides read the quotes, and keep or yield."""
    unsettled = contested(rulings)
    sides = [ruling.side for ruling in unsettled]
    if not sides:
        return False
    try:
        pleas = plead(question, sides, [ruling.rivals for ruling in unsettled], kit)
    except NoLogprobs as error:
        kit.emit(NoDebate(reason=str(error)))
        return False
    mean = sum(pleas) / len(pleas)
    for side, nats in zip(sides, pleas, strict=True):
        side.moved["debate"] = side.moved.get("debate", 0.0) + nats - mean
    kit.emit(
        Debated(
            number=turn + 1,
            kept={side.answer: round(nats, 3) for side, nats in zip(sides, pleas, strict=True)},
        )
    )
    return True
