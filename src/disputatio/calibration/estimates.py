"""From what is on record to an estimate a source: a pure function, so that a replay gives the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from disputatio.calibration.copies import tied_texts
from disputatio.reliability.grouping import united
from disputatio.reliability.posterior import posterior
from disputatio.reliability.trust import Trust, joined, untangled
from disputatio.store.calibration_log import UNKNOWN, Outcomes, QuestionOutcome
from disputatio.types import Source

if TYPE_CHECKING:
    from disputatio.store.segments.view import View

Floats: TypeAlias = NDArray[np.float64]
PRIOR = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """The estimates by name, how many questions could be cross-checked, and what a user should know."""

    sources: Mapping[str, Source]
    cross_checked: int
    notices: tuple[str, ...] = ()


def estimates_of(
    record: Outcomes, view: View, names: Sequence[str], *, owners: Mapping[str, str], day: str
) -> Estimates:
    """An estimate for each of the sources `names` of an index, from all that is on record.

    Sources that have left the index still bear witness for and against the others. An owner has one
    vote, and so have those that copy each other's texts or share what is false (`evidence.trust`).
    """
    gone = {name for one in record.outcomes.values() for name in one.clusters} - set(names)
    heard = [*names, *sorted(gone)]
    rows = list(record.outcomes.values())
    votes = votes_of(rows, heard)
    numbers: dict[str, int] = {}
    owned = [numbers.setdefault(owners.get(name, f"\0{name}"), len(numbers)) for name in heard]
    texts = tied_texts(view, heard)
    known = np.array([one.known for one in rows], dtype=np.int32)
    counts = importance(rows, day, record.half_life)
    found, ties = untangled(votes, owners=owned, groups=texts, known=known, importance=counts, prior=PRIOR)
    group = joined(ties.group[found.owner], texts)
    if not found.weights.any():  # nothing is sure enough for shared errors to tie anybody
        group = joined(found.owner, texts)
        found = _by_others(votes, found, group, known, counts)
    spoken = {int(number): heard[at] for at, number in reversed(list(enumerate(group)))}
    size = np.bincount(group)
    asked = [sum(name in one.states for one in rows) for name in names]
    sources = {
        name: Source(
            name=name,
            owner=owners.get(name, ""),
            reliability=round(float(found.reliability[at]), 6),
            low=round(float(found.low[at]), 6),
            high=round(float(found.high[at]), 6),
            questions=asked[at],
            answered=round(float(found.answered[at]), 6),
            agreed=round(float(found.agreed[at]), 6),
            group=spoken[int(group[at])] if size[group[at]] > 1 else "",
            updated=day,
        )
        for at, name in enumerate(names)
    }
    notices = []
    if not found.weights.any() and found.checked.any():
        notices.append(
            "too few questions to tell anybody from chance: each is held against most of the others; ask more"
        )
    if texts is None:
        notices.append(
            "the index is too large for all its passages to be compared: copied texts are not told"
        )
    drifted = [name for at, name in enumerate(names) if found.drifted[at]]
    if drifted:
        notices.append(f"do worse where they are not checked: {', '.join(drifted[:5])}")
    return Estimates(
        sources=sources,
        cross_checked=sum(_is_checkable(one, owners) for one in rows),
        notices=tuple(notices),
    )


def _by_others(
    votes: NDArray[np.int32], found: Trust, group: NDArray[np.int64], known: NDArray[np.int32], counts: Floats
) -> Trust:
    """The figures where nobody's record earns a weight yet: each owner against most of the others.

    Those tied with it are left out, and tied owners are one voice; where the others are divided evenly,
    or nobody else answered, there is nothing to compare with.
    """
    owners, units = united(votes, found.owner), united(votes, group)
    unit_of = group[np.unique(found.owner, return_index=True)[1]]
    answered, agreed = np.zeros(owners.shape[1]), np.zeros(owners.shape[1])
    for said, voices, truth, weight in zip(owners, units, known.tolist(), counts.tolist(), strict=True):
        told = np.bincount(voices[voices >= 0], minlength=int(said.max(initial=0)) + 2)
        for owner in np.flatnonzero(said >= 0).tolist():
            others = told.copy()
            if voices[unit_of[owner]] >= 0:
                others[voices[unit_of[owner]]] -= 1
            first, second = np.sort(others)[[-1, -2]].tolist()
            if truth != UNKNOWN or first > second:
                right = truth if truth != UNKNOWN else int(others.argmax())
                answered[owner] += weight
                agreed[owner] += weight * (said[owner] == right)
    mean, low, high = posterior(agreed, answered, mean=PRIOR)
    of = found.owner
    return replace(
        found,
        reliability=mean[of],
        low=low[of],
        high=high[of],
        answered=answered[of],
        agreed=agreed[of],
        checked=answered[of] > 0,
    )


def votes_of(rows: Sequence[QuestionOutcome], names: Sequence[str]) -> NDArray[np.int32]:
    """The clusters of each question's answers, shape (questions, sources), -1 where there is none."""
    votes = np.full((len(rows), len(names)), -1, dtype=np.int32)
    column = {name: number for number, name in enumerate(names)}
    for row, one in enumerate(rows):
        for name, cluster in one.clusters.items():
            votes[row, column[name]] = cluster
    return votes


def importance(rows: Sequence[QuestionOutcome], day: str, half_life: float | None) -> NDArray[np.float64]:
    """How much each outcome counts on a day: 1, or half for each `half_life` days since.

    >>> past = QuestionOutcome(question="f", answers={}, clusters={}, day="2026-11-01")
    >>> importance([past], "2026-11-21", 10.0).tolist()
    [0.25]
    """
    if half_life is None:
        return np.ones(len(rows))
    now = date.fromisoformat(day)
    ages = [max((now - date.fromisoformat(one.day)).days, 0) if one.day else 0 for one in rows]
    return np.asarray(np.exp2(-np.array(ages, dtype=np.float64) / half_life))


def _is_checkable(one: QuestionOutcome, owners: Mapping[str, str]) -> bool:
    """Whether two owners answered, or one did and the right answer is known."""
    voters = {owners.get(name, f"\0{name}") for name in one.clusters}
    return len(voters) > 1 or (one.known != UNKNOWN and bool(voters))
