"""Computes an estimate for each source from the record: a pure function, so that a replay gives the same."""

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
from disputatio.reliability.weighted_vote import CAP, estimate
from disputatio.store.calibration_log import PAPER, UNKNOWN, Outcomes, QuestionOutcome
from disputatio.types import Source

if TYPE_CHECKING:
    from disputatio.store.segments.view import View

Floats: TypeAlias = NDArray[np.float64]
PRIOR = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """The estimates by name, how many questions could be cross-checked, and warnings for the user."""

    sources: Mapping[str, Source]
    cross_checked: int
    notices: tuple[str, ...] = ()


def estimates_of(
    record: Outcomes, view: View, names: Sequence[str], *, owners: Mapping[str, str], day: str
) -> Estimates:
    """An estimate for each of the sources `names` of an index, from the whole record, by its estimator.

    Answers of sources that have left the index still count for and against the others.
    """
    if record.estimator == PAPER:
        return estimates_as_published(record, names, owners=owners, day=day)
    return estimates_by_owner(record, view, names, owners=owners, day=day)


def estimates_as_published(
    record: Outcomes, names: Sequence[str], *, owners: Mapping[str, str], day: str
) -> Estimates:
    """RA-RAG's own estimates (Hwang et al. 2024, equations 3 and 4): one vote for each source.

    L is the number of sources, as in the paper, at most 10. Neither owners nor copies, verified answers or
    the age of an outcome count. The interval is ours: the paper has none.
    """
    former = {name for outcome in record.outcomes.values() for name in outcome.clusters} - set(names)
    all_names = [*names, *sorted(former)]
    rows = list(record.outcomes.values())
    found = estimate(votes_of(rows, all_names), options=max(2, min(len(all_names), CAP)), prior=PRIOR)
    sources = {
        name: Source(
            name=name,
            owner=owners.get(name, ""),
            reliability=round(float(found.reliability[at]), 6),
            low=round(float(found.low[at]), 6),
            high=round(float(found.high[at]), 6),
            questions=sum(name in row.states for row in rows),
            answered=round(float(found.answered[at]), 6),
            agreed=round(float(found.agreed[at]), 6),
            updated=day,
        )
        for at, name in enumerate(names)
    }
    return Estimates(sources=sources, cross_checked=sum(len(row.clusters) > 1 for row in rows))


def estimates_by_owner(
    record: Outcomes, view: View, names: Sequence[str], *, owners: Mapping[str, str], day: str
) -> Estimates:
    """Our estimates: an owner has one vote, and so have sources that copy each other's texts or share false
    values (`reliability.trust`)."""
    former = {name for outcome in record.outcomes.values() for name in outcome.clusters} - set(names)
    all_names = [*names, *sorted(former)]
    rows = list(record.outcomes.values())
    votes = votes_of(rows, all_names)
    numbers: dict[str, int] = {}
    owned = [numbers.setdefault(owners.get(name, f"\0{name}"), len(numbers)) for name in all_names]
    texts = tied_texts(view, all_names)
    known = np.array([row.known for row in rows], dtype=np.int32)
    counts = importance(rows, day, record.half_life)
    trusted, ties = untangled(votes, owners=owned, groups=texts, known=known, importance=counts, prior=PRIOR)
    group = joined(ties.group[trusted.owner], texts)
    if not trusted.weights.any():  # no winner is sure enough to count errors that sources share
        group = joined(trusted.owner, texts)
        trusted = _by_others(votes, trusted, group, known, counts)
    group_names = {int(number): all_names[at] for at, number in reversed(list(enumerate(group)))}
    size = np.bincount(group)
    asked_count = [sum(name in row.states for row in rows) for name in names]
    sources = {
        name: Source(
            name=name,
            owner=owners.get(name, ""),
            reliability=round(float(trusted.reliability[at]), 6),
            low=round(float(trusted.low[at]), 6),
            high=round(float(trusted.high[at]), 6),
            questions=asked_count[at],
            answered=round(float(trusted.answered[at]), 6),
            agreed=round(float(trusted.agreed[at]), 6),
            group=group_names[int(group[at])] if size[group[at]] > 1 else "",
            updated=day,
        )
        for at, name in enumerate(names)
    }
    notices = []
    if not trusted.weights.any() and trusted.checked.any():
        notices.append(
            "too few questions to tell any source from chance: "
            "each is compared with most of the others; ask more"
        )
    if texts is None:
        notices.append("the index is too large to compare all its passages: copied texts are not detected")
    drifted = [name for at, name in enumerate(names) if trusted.drifted[at]]
    if drifted:
        notices.append(f"do worse on questions that are no checks: {', '.join(drifted[:5])}")
    return Estimates(
        sources=sources,
        cross_checked=sum(_is_checkable(row, owners) for row in rows),
        notices=tuple(notices),
    )


def _by_others(
    votes: NDArray[np.int32],
    trusted: Trust,
    group: NDArray[np.int64],
    known: NDArray[np.int32],
    counts: Floats,
) -> Trust:
    """The figures if no record gives a weight yet: each owner is compared with most of the others.

    Owners tied with it are left out, and tied owners have one vote. If the others are divided evenly or
    nobody else answered, the question is not counted.
    """
    by_owner, by_unit = united(votes, trusted.owner), united(votes, group)
    unit_of = group[np.unique(trusted.owner, return_index=True)[1]]
    answered, agreed = np.zeros(by_owner.shape[1]), np.zeros(by_owner.shape[1])
    rows = zip(by_owner, by_unit, known.tolist(), counts.tolist(), strict=True)
    for owner_votes, unit_votes, truth, weight in rows:
        tally = np.bincount(unit_votes[unit_votes >= 0], minlength=int(owner_votes.max(initial=0)) + 2)
        for owner in np.flatnonzero(owner_votes >= 0).tolist():
            others = tally.copy()
            if unit_votes[unit_of[owner]] >= 0:
                others[unit_votes[unit_of[owner]]] -= 1
            first, second = np.sort(others)[[-1, -2]].tolist()
            if truth != UNKNOWN or first > second:
                right = truth if truth != UNKNOWN else int(others.argmax())
                answered[owner] += weight
                agreed[owner] += weight * (owner_votes[owner] == right)
    mean, low, high = posterior(agreed, answered, mean=PRIOR)
    of = trusted.owner
    return replace(
        trusted,
        reliability=mean[of],
        low=low[of],
        high=high[of],
        answered=answered[of],
        agreed=agreed[of],
        checked=answered[of] > 0,
    )


def votes_of(rows: Sequence[QuestionOutcome], names: Sequence[str]) -> NDArray[np.int32]:
    """The clusters of each question's answers, shape (questions, sources), -1 for no answer."""
    votes = np.full((len(rows), len(names)), -1, dtype=np.int32)
    column = {name: number for number, name in enumerate(names)}
    for row, outcome in enumerate(rows):
        for name, cluster in outcome.clusters.items():
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
    ages = [max((now - date.fromisoformat(row.day)).days, 0) if row.day else 0 for row in rows]
    return np.asarray(np.exp2(-np.array(ages, dtype=np.float64) / half_life))


def _is_checkable(outcome: QuestionOutcome, owners: Mapping[str, str]) -> bool:
    """Whether two owners answered, or one did and the right answer is known."""
    voters = {owners.get(name, f"\0{name}") for name in outcome.clusters}
    return len(voters) > 1 or (outcome.known != UNKNOWN and bool(voters))
