"""Declared authority: the tiers that people give documents, and what a tier is worth in a vote.

A tier is declared by a person (`ingest --authority`, a sidecar, `Index.describe`), never by a document. It is
a prior on the weight v of a vote. With no record of the source it decides alone; with N answers on record its
share is S / (S + N), and what was learnt has the rest:

    v = S / (S + N) * factor * v0 + N / (S + N) * learnt

where v0 is the weight of a source of which nothing is known and S is `STRENGTH`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from disputatio.types import Passage

TIERS: Mapping[str, float] = MappingProxyType(
    {"binding": 4.0, "official": 3.0, "primary": 2.0, "secondary": 1.0, "informal": 0.5}
)
"""The tiers, the highest first: how many votes of undeclared documents a document of each counts for."""
STRENGTH = 10.0  # answers of a source that weigh as much as what was declared


def is_retracted(passage: Passage) -> bool:
    """Return whether people state that a passage's document is retracted."""
    return passage.by_people.get("status") == "retracted"


def highest_tier(passages: Iterable[Passage]) -> str:
    """Return the highest tier that people declared of some passages' documents; empty without one.

    >>> highest_tier([Passage(text="x", authority="informal"), Passage(text="y", authority="official")])
    'official'
    """
    return max(
        (passage.authority for passage in passages), key=lambda tier: TIERS.get(tier, -1.0), default=""
    )


def is_outranked(first: Passage, second: Passage) -> bool:
    """Return whether people declared a higher tier of the second passage's document, and not of the first's.

    >>> law, note = Passage(text="x", authority="binding"), Passage(text="y")
    >>> is_outranked(note, law), is_outranked(law, note), is_outranked(note, note)
    (True, False, False)
    """
    return second.authority in TIERS and TIERS.get(first.authority, 1.0) < TIERS[second.authority]


def unit_of(options: int) -> float:
    """Return v0 = L / 2 - 1, the weight of a source of which nothing is known among L answers, at least 1/2.

    With two answers such a source has no weight, and a tier shall still have one.
    """
    return max(options / 2 - 1, 0.5)


def weigh_by_tier(tier: str, learnt: float, *, answered: float = 0.0, unknown: float = 1.0) -> float:
    """Return the weight of a vote from what was learnt of its source and the tier of its document.

    `answered` is the number of answers that `learnt` rests on, `unknown` the weight of a source of which
    nothing is known. Without a tier, or with one that is not known, it is `learnt`.

    >>> weigh_by_tier("binding", 1.0), weigh_by_tier("", 0.9, answered=40, unknown=0.5)
    (4.0, 0.9)
    >>> weigh_by_tier("binding", 0.2, answered=90, unknown=0.5)
    0.38
    """
    factor = TIERS.get(tier)
    if factor is None:
        return learnt
    share = STRENGTH / (STRENGTH + answered)
    return round(share * factor * unknown + (1 - share) * learnt, 12)
