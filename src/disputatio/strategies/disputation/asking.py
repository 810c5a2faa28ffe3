"""Asking on: what the model itself holds of sides that contradict each other, and their advocates.

Both are asked only of contradictions that independent accounts and dates leave open, so neither ever
overrules a lead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from disputatio.errors import NoLogprobs
from disputatio.kit import Kit
from disputatio.strategies.disputation.hearing import believe, plead
from disputatio.strategies.disputation.resolve import Ruling, contested

# What belief weighs: on questions that it was fitted on it prefers the right answer in three of four, on news and on obscure
# names in one of two, and nothing that it says of itself tells these apart. Hence a weak vote, beyond a doubt.
BELIEF = 15.0  # of merit a nat by which the model prefers an answer,
DOUBT = 0.08  # beyond so many a rival: where it knows nothing of the matter, it prefers by as much as that


def believed(question: str, rulings: Sequence[Ruling], kit: Kit) -> bool:
    """Whether sides that contradict each other were moved by which of them the model itself prefers."""
    sides = [ruling.side for ruling in contested(rulings)]
    if len(sides) < 2:
        return False
    sides.sort(key=lambda side: side.log_odds, reverse=True)
    try:
        preferences = believe(question, [side.answer for side in sides], kit)
    except NoLogprobs as error:
        kit.trace.note("no_belief", reason=str(error))
        known = kit.beliefs.get(question, {})
        if any(side.answer not in known for side in sides):
            return False
        mean = sum(known[side.answer] for side in sides) / len(sides)
        preferences = [known[side.answer] - mean for side in sides]  # as if the others did not matter
    doubt = DOUBT * (len(sides) - 1)  # among more answers it strays further from their mean by chance
    for side, nats in zip(sides, preferences, strict=True):
        side.moved["belief"] = BELIEF * math.copysign(max(abs(nats) - doubt, 0.0), nats)
    kit.trace.note(
        "belief",
        question=question,
        nats={side.answer: round(nats, 3) for side, nats in zip(sides, preferences, strict=True)},
    )
    return True


def debated(question: str, rulings: Sequence[Ruling], kit: Kit, turn: int) -> bool:
    """Whether a round was held: the advocates of the open sides read the quotes, and keep or yield."""
    unsettled = contested(rulings)
    sides = [ruling.side for ruling in unsettled]
    if not sides:
        return False
    try:
        pleas = plead(question, sides, [ruling.rivals for ruling in unsettled], kit)
    except NoLogprobs as error:
        kit.trace.note("no_debate", reason=str(error))
        return False
    mean = sum(pleas) / len(pleas)
    for side, nats in zip(sides, pleas, strict=True):
        side.moved["debate"] = side.moved.get("debate", 0.0) + nats - mean
    kit.trace.note(
        "debate",
        round=turn + 1,
        kept={side.answer: round(nats, 3) for side, nats in zip(sides, pleas, strict=True)},
    )
    return True
