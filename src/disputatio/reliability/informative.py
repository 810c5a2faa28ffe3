"""Reliability where one reader speaks for all sources: what it would say anyway is no evidence.

A reader that finds nothing in a passage often answers from memory, the same for every source. Then sources
agree that never said so, and an estimate that counts agreement believes them. Here the reader is a common
copier: an answer is the reader's own, given with no passage at all, with a probability that is estimated;
else it is the source's, right with the source's reliability. Expectation maximisation finds both and the
truth of each question, so that agreement on what the reader says by itself earns little. Beside it stands
what an estimate takes for granted: how many questions, and how many honest owners.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from disputatio.errors import InputError
from disputatio.reliability.posterior import posterior
from disputatio.reliability.weighted_vote import CAP, UNKNOWN, FlatVotes, check_weights, distinct, pin_known
from disputatio.types import Source

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
KNOWS = (0.3, 0.6)  # how often the reader is right by itself: the likelier of the two is taken
START, COPIES, SURE = 0.7, 0.2, 10.0  # at first: reliability, copying, and the answers that the latter weighs
MARGIN = 6.0  # nats by which an estimate that climbs from equals must be likelier than the nearest one
ROUNDS = 100
_CHANGE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Informed:
    """The estimates by source: posterior mean and interval, and the expected answers of its own.

    `copied` is the estimated share of answers that the reader gave by itself, of questions that it answers
    with no passage.
    """

    reliability: Floats
    low: Floats
    high: Floats
    answered: Floats
    agreed: Floats
    copied: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _VoteRows:
    """Votes as the estimate reads them, one row an answer; `part` is its share of its group's one vote."""

    votes: FlatVotes
    part: Floats
    counts: Floats  # the weight of each answer's question
    truth: Ints
    asked: NDArray[np.bool_]  # questions that the reader answers by itself
    its_slot: Ints  # the slot of that answer, -1 for none
    question_of: Ints  # of each slot
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fit:
    likelihood: float
    right: Floats
    copied: float
    answered: Floats
    agreed: Floats


def estimate_informed(
    votes: ArrayLike | FlatVotes,
    own: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    known: NDArray[np.int32] | None = None,
    importance: ArrayLike | None = None,
    prior: float = 0.5,
    start: ArrayLike | None = None,
) -> Informed:
    """Estimate reliabilities from votes (questions, sources), given the reader's own answers.

    `own[j]` is the cluster of what the reader answers with no passage, -1 if no source says the same, -2 if
    it has no answer. Sources of one of the `groups` share one vote. `known` pins the right cluster as for
    `estimate`; `importance` weighs questions. A question that one group alone answered is not counted
    unless it is verified. `start` are reliabilities to climb from, such as the lower ends of an estimate that
    counts all agreement: of several hills the one nearest to them is found. Raises `InputError`.

    >>> rows = [[0, 0, 1, 1, 1]] * 4 + [[0, 0, 0, 1, 2]] * 4
    >>> estimate_informed(rows, [1, 1, 1, 1, -2, -2, -2, -2]).reliability.round(1).tolist()
    [0.9, 0.9, 0.8, 0.1, 0.1]
    """
    rows = _rows_of(FlatVotes.of(votes), own, groups, known, importance)
    even = np.full(rows.votes.sources, START)
    begin = even if start is None else np.clip(check_weights(start, rows.votes.sources), 0.05, 0.95)
    near, far = (
        max((_fit(rows, first, knows, prior) for knows in KNOWS), key=lambda fit: fit.likelihood)
        for first in (begin, even)
    )
    best = far if far.likelihood > near.likelihood + MARGIN else near
    mean, low, high = posterior(best.agreed, best.answered, mean=prior)
    return Informed(
        reliability=mean, low=low, high=high, answered=best.answered, agreed=best.agreed, copied=best.copied
    )


def overturns(before: Floats, after: Floats) -> bool:
    """Return True if one estimate orders the sources against another (a negative covariance).

    Setting the reader apart may refine what all agreement says, and never turn it round. Where most sources
    share one lie, honest ones have little but what the reader says as well, and the lie would be left.

    >>> up, down = np.array([0.2, 0.5, 0.9]), np.array([0.8, 0.5, 0.1])
    >>> overturns(up, down), overturns(up, up)
    (True, False)
    """
    return float(((before - before.mean()) * (after - after.mean())).sum()) < 0


def _rows_of(
    flat: FlatVotes,
    own: ArrayLike,
    groups: ArrayLike | None,
    known: NDArray[np.int32] | None,
    importance: ArrayLike | None,
) -> _VoteRows:
    readers = pin_known(np.asarray(own, dtype=np.int64), flat.questions).astype(np.int64)
    truth = pin_known(known, flat.questions).astype(np.int64)
    unit = np.arange(flat.sources) if groups is None else np.asarray(groups, dtype=np.int64)
    weight = np.ones(flat.questions) if importance is None else np.asarray(importance, dtype=np.float64)
    if unit.shape != (flat.sources,) or weight.shape != (flat.questions,):
        raise InputError("groups must be one a source, importance one a question")
    if np.any(readers >= np.diff(flat.start)):
        raise InputError("the reader's own answer must be a cluster of its question")
    key = flat.question * (int(unit.max(initial=0)) + 1) + unit[flat.source]
    _, back, shared = np.unique(key, return_inverse=True, return_counts=True)
    part = 1.0 / shared[back] if len(key) else np.zeros(0)
    voters = np.bincount(flat.question, weights=part, minlength=flat.questions)
    return _VoteRows(
        votes=flat,
        part=part,
        counts=(weight * ((voters > 1.5) | (truth != UNKNOWN)))[flat.question],
        truth=truth,
        asked=readers != UNKNOWN,
        its_slot=np.where(readers >= 0, flat.start[:-1] + readers, -1),
        question_of=np.repeat(np.arange(flat.questions), np.diff(flat.start)),
        size=distinct(flat, CAP) + 1,
    )


def _fit(rows: _VoteRows, start: Floats, knows: float, prior: float) -> _Fit:
    """Run expectation maximisation from some reliabilities."""
    flat, of, asked = rows.votes, rows.votes.source, rows.asked
    there = asked[flat.question]
    same = there & (rows.its_slot[flat.question] == flat.slot)
    chance = np.where(asked[rows.question_of], (1 - knows) / (rows.size - 1), 1.0 / rows.size)
    chance[rows.its_slot[asked & (rows.its_slot >= 0)]] = knows
    sums = np.bincount(rows.question_of, weights=chance, minlength=flat.questions)
    elsewhere = np.log(np.maximum(1.0 - sums, 1e-9))
    counts, right_of, copied = rows.counts, start, COPIES
    nothing = np.zeros(flat.sources)
    fit = _Fit(likelihood=-np.inf, right=start, copied=copied, answered=nothing, agreed=nothing)
    for _ in range(ROUNDS):
        keep = np.where(there, 1 - copied, 1.0)
        own_right, own_wrong = keep * right_of[of], keep * (1 - right_of[of]) / (rows.size - 1)
        right, wrong = same * copied + own_right, same * copied + own_wrong
        true, total = _truths(rows, np.log(chance), elsewhere, right, wrong)
        its_right = true[flat.slot] * own_right / right
        its_wrong = (1 - true[flat.slot]) * own_wrong / wrong
        agreed = np.bincount(of, its_right * counts, flat.sources).astype(np.float64)
        answered = np.bincount(of, (its_right + its_wrong) * counts, flat.sources).astype(np.float64)
        fit = _Fit(likelihood=total, right=right_of, copied=copied, answered=answered, agreed=agreed)
        made = (rows.part * (1 - its_right - its_wrong))[there].sum()
        copied = float((COPIES * SURE + made) / (SURE + rows.part[there].sum()))
        new = (2 * prior + agreed) / (2 + answered)
        if float(np.abs(new - right_of).max(initial=0.0)) < _CHANGE:
            break
        right_of = new
    return fit


def _truths(
    rows: _VoteRows, chance: Floats, elsewhere: Floats, right: Floats, wrong: Floats
) -> tuple[Floats, float]:
    """Return how likely each slot is true, and the log-likelihood of all answers."""
    flat, of = rows.votes, rows.question_of
    score = chance + np.bincount(flat.slot, rows.part * np.log(right / wrong), len(chance))
    best = elsewhere.copy()
    np.maximum.at(best, of, score)
    mass = np.exp(score - best[of])
    total = np.bincount(of, mass, flat.questions) + np.exp(elsewhere - best)
    fixed = rows.truth[of] != UNKNOWN
    pinned_slot = (flat.start[:-1] + rows.truth)[of]
    true = np.where(fixed, np.arange(len(mass)) == pinned_slot, mass / total[of])
    likelihood = float((np.log(total) + best).sum() + (rows.part * np.log(wrong)).sum())
    return true, likelihood


# --- what it takes to know anything -----------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The assumptions of estimates without labels, and how many sources they tell from chance.

    At least `honest` of `owners` must be honest: where half or more tell one lie, the world in which they are
    right looks the same, and only verified questions tell. `told` of the `sources` are told from chance,
    which takes at least `questions` compared answers each.
    """

    owners: int
    honest: int
    questions: int
    sources: int
    told: int


def bound_of(sources: Mapping[str, Source]) -> Bound:
    """Return the bound for the estimates of sources.

    >>> some = {"a": Source(name="a", reliability=0.8, low=0.6, high=0.9, owner="o"), "b": Source(name="b")}
    >>> bound_of(some)
    Bound(owners=2, honest=2, questions=5, sources=2, told=1)
    """
    owners = len({source.owner or f"\0{name}" for name, source in sources.items()})
    apart = sum(is_told(source) for source in sources.values())
    needed = questions_needed(1.0) or 0
    return Bound(owners=owners, honest=owners // 2 + 1, questions=needed, sources=len(sources), told=apart)


def is_told(source: Source) -> bool:
    """Return True if the interval of an estimate excludes one half."""
    return source.low is not None and source.high is not None and not source.low <= 0.5 <= source.high


def questions_needed(share: float, most: int = 10_000) -> int | None:
    """Return after how many compared questions a source that agrees on such a share is told from chance.

    None if that takes more than `most`.

    >>> questions_needed(1.0), questions_needed(0.9), questions_needed(0.7), questions_needed(0.5)
    (5, 7, 25, None)
    """
    away = max(share, 1 - share)
    low, high = 1, most
    if posterior(away * most, most)[1] <= 0.5:
        return None
    while low < high:
        middle = (low + high) // 2
        if posterior(away * middle, middle)[1] > 0.5:
            high = middle
        else:
            low = middle + 1
    return low
