"""Computes an estimate for each source from the record: a pure function, so that a replay gives the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from disputatio.reliability.grouping import tie_by_text, unite_votes
from disputatio.reliability.informative import estimate_informed, overturns
from disputatio.reliability.posterior import posterior
from disputatio.reliability.similarity import COPY
from disputatio.reliability.trust import Trust, join_ties, untangle
from disputatio.reliability.weighted_vote import CAP, FlatVotes, estimate
from disputatio.store.calibration_log import PAPER, UNKNOWN, Outcomes, QuestionOutcome
from disputatio.store.segments import minhash
from disputatio.types import Source

if TYPE_CHECKING:
    from disputatio.store.contract import SourcePassages

Floats: TypeAlias = NDArray[np.float64]
PRIOR = 0.5
_MOST_COMPARED = 500_000  # passages; a larger index is not searched for copies
_MOST_ALL_PAIRS = 4_000  # passages up to which all pairs are compared, with the lower threshold of copies
_BINS = 20  # bins that two texts must fill together, or they are alike by chance


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEstimates:
    """The estimates by name, how many questions could be cross-checked, and warnings for the user."""

    sources: Mapping[str, Source]
    cross_checked: int
    notices: tuple[str, ...] = ()


def estimates_of(
    record: Outcomes, passages: SourcePassages, names: Sequence[str], *, owners: Mapping[str, str], day: str
) -> NamedEstimates:
    """Return an estimate for each source of an index in `names`, from the whole record.

    Answers of sources that are no longer in the index still count for and against the others.
    """
    if record.estimator == PAPER:
        return estimates_as_published(record, names, owners=owners, day=day)
    return estimates_by_owner(record, passages, names, owners=owners, day=day)


class SourceColumns(Protocol):
    """Columns of figures, a row for each source."""

    @property
    def reliability(self) -> Floats: ...
    @property
    def low(self) -> Floats: ...
    @property
    def high(self) -> Floats: ...
    @property
    def answered(self) -> Floats: ...
    @property
    def agreed(self) -> Floats: ...


def with_figures(figures: SourceColumns, row: int, source: Source) -> Source:
    return replace(
        source,
        reliability=round(float(figures.reliability[row]), 6),
        low=round(float(figures.low[row]), 6),
        high=round(float(figures.high[row]), 6),
        answered=round(float(figures.answered[row]), 6),
        agreed=round(float(figures.agreed[row]), 6),
    )


def estimates_as_published(
    record: Outcomes, names: Sequence[str], *, owners: Mapping[str, str], day: str
) -> NamedEstimates:
    """Return RA-RAG's own estimates (Hwang et al. 2024, equations 3 and 4): one vote for each source.

    L is the number of sources, as in the paper, at most 10. Neither owners nor copies, verified answers or
    the age of an outcome count. The interval is ours: the paper has none.
    """
    former = {name for outcome in record.outcomes.values() for name in outcome.clusters} - set(names)
    all_names = [*names, *sorted(former)]
    rows = list(record.outcomes.values())
    found = estimate(votes_of(rows, all_names), options=max(2, min(len(all_names), CAP)), prior=PRIOR)
    asked = _count_asked(rows)
    sources = {
        name: with_figures(
            found, at, Source(name=name, owner=owners.get(name, ""), questions=asked[name], updated=day)
        )
        for at, name in enumerate(names)
    }
    return NamedEstimates(sources=sources, cross_checked=sum(len(row.clusters) > 1 for row in rows))


def estimates_by_owner(
    record: Outcomes, passages: SourcePassages, names: Sequence[str], *, owners: Mapping[str, str], day: str
) -> NamedEstimates:
    """Our estimates: an owner has one vote, and so have sources that copy each other's texts or share false
    values (`reliability.trust`)."""
    former = {name for outcome in record.outcomes.values() for name in outcome.clusters} - set(names)
    all_names = [*names, *sorted(former)]
    rows = list(record.outcomes.values())
    votes = votes_of(rows, all_names)
    numbers: dict[str, int] = {}
    owned = [numbers.setdefault(owners.get(name, f"\0{name}"), len(numbers)) for name in all_names]
    texts = group_by_text(passages, all_names)
    known = np.array([row.known for row in rows], dtype=np.int32)
    counts = importance(rows, day, record.half_life)
    trusted, ties = untangle(votes, owners=owned, groups=texts, known=known, importance=counts, prior=PRIOR)
    group = join_ties(ties.group[trusted.owner], texts)
    if not trusted.weights.any():  # no winner is sure enough to count errors that sources share
        group = join_ties(trusted.owner, texts)
        trusted = _compare_with_others(votes, trusted, group, known, counts)
    own = np.array([row.own for row in rows], dtype=np.int64)
    if (own != UNKNOWN).any():
        trusted = _set_reader_apart(votes, own, trusted, group, known, counts)
    group_names = {int(number): all_names[at] for at, number in reversed(list(enumerate(group)))}
    size = np.bincount(group)
    asked = _count_asked(rows)
    sources = {
        name: with_figures(
            trusted,
            at,
            Source(
                name=name,
                owner=owners.get(name, ""),
                questions=asked[name],
                group=group_names[int(group[at])] if size[group[at]] > 1 else "",
                updated=day,
            ),
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
    return NamedEstimates(
        sources=sources,
        cross_checked=sum(_is_checkable(row, owners) for row in rows),
        notices=tuple(notices),
    )


def _compare_with_others(
    votes: FlatVotes,
    trusted: Trust,
    group: NDArray[np.int64],
    known: NDArray[np.int32],
    counts: Floats,
) -> Trust:
    """Compare each owner with most of the others, for a record that gives no owner a weight yet.

    Owners tied with it are left out, and tied owners have one vote. If the others are divided evenly, or no
    other owner answered, the question is not counted.
    """
    by_owner = unite_votes(votes, trusted.owner, split="none")
    by_unit = unite_votes(votes, group, split="none")
    unit_of = group[np.unique(trusted.owner, return_index=True)[1]]
    slots, most = _three_strongest(by_unit)
    key = by_unit.question * by_unit.sources + by_unit.source
    wanted = by_owner.question * by_unit.sources + unit_of[by_owner.source]
    at = np.minimum(np.searchsorted(key, wanted), max(len(key) - 1, 0))
    own = np.where(key[at] == wanted, by_unit.slot[at], -2)  # a unit that is evenly divided has no vote
    others = most[by_owner.question] - (slots[by_owner.question] == own[:, None])
    lead = slots[by_owner.question, others.argmax(axis=1)]
    ordered = np.sort(others, axis=1)
    truth = known[by_owner.question]
    is_known = truth != UNKNOWN
    counted = is_known | (ordered[:, 2] > ordered[:, 1])
    right = np.where(is_known, by_owner.number == truth, by_owner.slot == lead)
    weight = counts[by_owner.question] * counted
    answered, agreed = (
        np.bincount(by_owner.source, each, minlength=by_owner.sources).astype(np.float64)
        for each in (weight, weight * right)
    )
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


def _set_reader_apart(
    votes: FlatVotes,
    own: NDArray[np.int64],
    trusted: Trust,
    group: NDArray[np.int64],
    known: NDArray[np.int32],
    counts: Floats,
) -> Trust:
    """Estimate each owner anew where the reader's own answers are known: agreeing with them earns little.

    An estimate that this would turn round is left as it is.
    """
    by_owner = unite_votes(votes, trusted.owner, split="none")
    first_source = np.unique(trusted.owner, return_index=True)[1]
    found = estimate_informed(
        by_owner,
        own,
        groups=group[first_source],
        known=known,
        importance=counts,
        prior=PRIOR,
        start=trusted.low[first_source],
    )
    if overturns(trusted.reliability[first_source], found.reliability):
        return trusted
    of = trusted.owner
    return replace(
        trusted,
        reliability=found.reliability[of],
        low=found.low[of],
        high=found.high[of],
        answered=found.answered[of],
        agreed=found.agreed[of],
        checked=found.answered[of] > 0,
    )


def _three_strongest(votes: FlatVotes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the three slots of most votes for each question, -1 for none, and their votes, 0 for none."""
    counts = np.bincount(votes.slot, minlength=int(votes.start[-1]))
    question = np.repeat(np.arange(votes.questions), np.diff(votes.start))
    order = np.lexsort((np.arange(len(counts)), -counts, question))
    rank = np.arange(len(order)) - votes.start[question[order]]
    first = order[rank < 3]
    slots = np.full((votes.questions, 3), -1, dtype=np.int64)
    most = np.zeros((votes.questions, 3), dtype=np.int64)
    slots[question[first], rank[rank < 3]] = first
    most[question[first], rank[rank < 3]] = counts[first]
    return slots, most


def _count_asked(rows: Sequence[QuestionOutcome]) -> Counter[str]:
    return Counter(name for row in rows for name in row.states)


def group_by_text(passages: SourcePassages, names: Sequence[str]) -> NDArray[np.int32] | None:
    """Group sources of mostly near-duplicate passages: a number for each name, the same within a group.

    None if the index is too large to compare all passages.
    """
    if sum(passages.counts().values()) > _MOST_COMPARED:
        return None
    rows, sources = passages.sketches(names)
    pairs = np.array(
        _find_copies(rows) if len(rows) <= _MOST_ALL_PAIRS else minhash.pairs(rows), dtype=np.int64
    ).reshape(-1, 2)
    if not len(pairs):
        return np.arange(len(names), dtype=np.int32)
    return tie_by_text(pairs, sources, len(names)).group


def _find_copies(sketches: NDArray[np.uint8]) -> list[tuple[int, int]]:
    """Return pairs of rows (earlier, later) that are as alike as copies (`similarity.COPY`)."""
    pairs: list[tuple[int, int]] = []
    filled = sketches > 0
    for row, (sketch, bins) in enumerate(zip(sketches, filled, strict=True)):
        later, full = sketches[row + 1 :], filled[row + 1 :]
        same = ((later == sketch) & bins).sum(axis=1)
        either = (full | bins).sum(axis=1)
        near = (either >= _BINS) & (same >= COPY * either)
        pairs += [(row, row + 1 + other) for other in np.flatnonzero(near).tolist()]
    return pairs


def votes_of(rows: Sequence[QuestionOutcome], names: Sequence[str]) -> FlatVotes:
    """Return the clusters of the answers to each question; the sources are `names`."""
    column = {name: number for number, name in enumerate(names)}
    given = [
        (number, column[name], cluster)
        for number, row in enumerate(rows)
        for name, cluster in row.clusters.items()
        if cluster >= 0
    ]
    question, source, cluster = np.array(given, dtype=np.int64).reshape(-1, 3).T
    return FlatVotes.from_list(question, source, cluster, questions=len(rows), sources=len(names))


def importance(rows: Sequence[QuestionOutcome], day: str, half_life: float | None) -> NDArray[np.float64]:
    """Weigh each outcome on a day: 1, or half for each `half_life` days since.

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
    """Return True if two owners answered, or one did and the right answer is known."""
    answering = {owners.get(name, f"\0{name}") for name in outcome.clusters}
    return len(answering) > 1 or (outcome.known != UNKNOWN and bool(answering))
