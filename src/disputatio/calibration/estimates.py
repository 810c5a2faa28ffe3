"""From what is on record to an estimate a source: a pure function, so that a replay gives the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from disputatio.evidence.groups import united
from disputatio.evidence.posterior import posterior
from disputatio.evidence.weighing import estimate
from disputatio.store.outcomes import UNKNOWN, Outcome, Outcomes
from disputatio.types import Source

PRIOR = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to estimate."""

    prior: float = PRIOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """The estimates by name, how many questions could be cross-checked, and what a user should know."""

    sources: Mapping[str, Source]
    cross_checked: int
    notices: tuple[str, ...] = ()


def estimates_of(
    record: Outcomes, names: Sequence[str], *, owners: Mapping[str, str], day: str, settings: Settings
) -> Estimates:
    """An estimate for each of the sources `names`, from all that is on record."""
    heard = sorted({*names, *(name for one in record.outcomes.values() for name in one.clusters)})
    rows = list(record.outcomes.values())
    votes = np.full((len(rows), len(heard)), -1, dtype=np.int32)
    column = {name: number for number, name in enumerate(heard)}
    for row, one in enumerate(rows):
        for name, cluster in one.clusters.items():
            votes[row, column[name]] = cluster
    known = np.array([one.known for one in rows], dtype=np.int32)
    owner_of: dict[str, int] = {}
    owned = np.array([owner_of.setdefault(owners.get(n, n), len(owner_of)) for n in heard], dtype=np.int64)
    found = estimate(united(votes, owned), known=known, lone=False)
    checkable = [_is_checkable(one, owners) for one in rows]
    counts = (votes >= 0) & np.array(checkable, dtype=np.bool_).reshape(-1, 1)
    answered = counts.sum(axis=0)
    agreed = (counts & (votes == found.winners[:, None])).sum(axis=0)
    mean, low, high = posterior(agreed, answered, mean=settings.prior)
    sources = {
        name: Source(
            name=name,
            owner=owners.get(name, ""),
            reliability=round(float(mean[at]), 6),
            low=round(float(low[at]), 6),
            high=round(float(high[at]), 6),
            questions=sum(name in one.states for one in rows),
            answered=float(answered[at]),
            agreed=float(agreed[at]),
            updated=day,
        )
        for name, at in column.items()
        if name in set(names)
    }
    return Estimates(sources=sources, cross_checked=sum(checkable), notices=())


def _is_checkable(one: Outcome, owners: Mapping[str, str]) -> bool:
    """Whether two owners answered, or one did and the right answer is known."""
    voters = {owners.get(name, name) for name in one.clusters}
    return len(voters) > 1 or (one.known != UNKNOWN and bool(voters))
