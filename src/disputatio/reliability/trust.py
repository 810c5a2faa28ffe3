"""Reliability estimates for sources that copy, collude or have one owner; this goes beyond RA-RAG.

The iterative estimate of RA-RAG starts from a majority and ends with it: if five of nine sources tell the
same lie, they win and then look reliable. Here a few verified questions (anchors) set the start. An owner has
one vote, and tied owners have one together. An owner is compared with the weighted vote of the others,
without its own vote. A weight is what the record shows at least: L low - 1, with `low` the lower end of the
95 % interval, never negative. A source without a record has no weight, so that a thousand new names change
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from disputatio.errors import InputError
from disputatio.reliability.copy_detection import tie_by_votes
from disputatio.reliability.grouping import Dependence, unite_votes
from disputatio.reliability.owner_votes import OwnerVotes, VoteOutcome
from disputatio.reliability.posterior import posterior
from disputatio.reliability.weighted_vote import (
    ITERATIONS,
    UNKNOWN,
    FlatVotes,
    Votes,
    check_weights,
    distinct,
    estimate,
    pin_known,
    weights_of,
)

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
ROUNDS = 5  # the most, of estimating trust and ties in turn


# --- how often each owner was right -------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts for each owner: answers that could be judged, and those that were right.

    `known_*` count verified questions, `crossed_*` questions judged by the vote of the other owners.
    """

    known_answered: Floats
    known_agreed: Floats
    crossed_answered: Floats
    crossed_agreed: Floats


def tally(
    owner_votes: OwnerVotes, truth: NDArray[np.int32], weight: Floats, outcome: VoteOutcome | None
) -> Tally:
    """Count for each owner its answers to known questions, and with an `outcome` also to the others.

    If a question is not known, an answer is compared with the winner of the vote without its own unit. It is
    not counted if no voter with a weight remains or two clusters tie.
    """
    flat = owner_votes.votes
    slack = 0.0 if outcome is None else 1e-12 * (1 + float(outcome.powers.max(initial=0.0)))
    counts = np.zeros((4, flat.sources))
    for questions, rows in flat.spans():
        first_slot = int(flat.start[questions.start])
        counts += _counts(
            owner_votes.part(questions, rows),
            truth[questions],
            weight[questions],
            None if outcome is None else outcome.part(questions, rows, first_slot),
            slack,
        )
    return Tally(
        known_answered=counts[0], known_agreed=counts[1], crossed_answered=counts[2], crossed_agreed=counts[3]
    )


def _counts(
    owner_votes: OwnerVotes,
    truth: NDArray[np.int32],
    weight: Floats,
    outcome: VoteOutcome | None,
    slack: float,
) -> Floats:
    """Return the fields of a `Tally`, in their order; leads of no more than `slack` are ties."""
    flat = owner_votes.votes
    question = flat.question
    is_known = truth[question] != UNKNOWN
    even = bool(np.all(weight == 1))

    def sums(chosen: NDArray[np.bool_], agreed: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        def total(which: NDArray[np.bool_]) -> Floats:
            rows = np.flatnonzero(which)
            weights = None if even else weight[question[rows]]
            counts = np.bincount(flat.source[rows], weights, minlength=flat.sources)
            return counts.astype(np.float64, copy=False)

        return total(chosen), total(chosen & agreed)

    known = crossed = (np.zeros(flat.sources), np.zeros(flat.sources))
    if is_known.any():
        known = sums(is_known, flat.number == truth[question])
    if outcome is not None:
        leads, clear = _lead_of_the_others(owner_votes, outcome, slack)
        crossed = sums(~is_known & clear, flat.slot == leads)
    return np.stack([*known, *crossed])


def _lead_of_the_others(
    owner_votes: OwnerVotes, outcome: VoteOutcome, slack: float
) -> tuple[Ints, NDArray[np.bool_]]:
    """Return for each vote the cluster that leads without its own unit, and whether it leads alone."""
    question = owner_votes.votes.question
    slots = outcome.slots[question]
    scores = outcome.scores[question] - _own_part(owner_votes, outcome)
    order = np.argsort(-scores, axis=1, kind="stable")
    rows = np.arange(len(scores))
    best, second = scores[rows, order[:, 0]], scores[rows, order[:, 1]]
    return slots[rows, order[:, 0]], (best > slack) & (best - np.maximum(second, 0.0) > slack)


def _own_part(owner_votes: OwnerVotes, outcome: VoteOutcome) -> Floats:
    """Return for each vote the weight of its unit for each of the strongest clusters of its question."""
    flat = owner_votes.votes
    slots = outcome.slots[flat.question]
    if not owner_votes.joint.size:
        return np.where(slots == flat.slot[:, None], outcome.powers[:, None], 0.0)
    pair = np.zeros(len(flat.slot), dtype=np.int64)
    pair[owner_votes.pair] = 1
    pair = np.cumsum(pair) - 1
    parts = np.zeros((len(owner_votes.pair), slots.shape[1]))
    for rank in range(slots.shape[1]):
        counted = outcome.took & (flat.slot == slots[:, rank])
        parts[pair[counted], rank] = outcome.powers[counted]  # the votes of one stance have one power
    return parts[pair]


# --- trust --------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """The estimated reliability of each source, and the winner of each question.

    For each source, with the figures of its owner: `reliability` (posterior mean), `low`, `high`, `weights`,
    `answered`, `agreed`; `checked` is false if nothing could be compared (the prior is used). `owner` and
    `unit` number its owner and the owners tied with it.

    For each question: the winner (`winners`), -1 without answers, whether any weight backs it (`earned`),
    and whether it leads alone (`clear`): of clusters that tie, the winner is the one met first. `converged`
    is false if the rounds ran out or the winners repeated in a cycle.
    """

    reliability: Floats
    low: Floats
    high: Floats
    weights: Floats
    answered: Floats
    agreed: Floats
    checked: NDArray[np.bool_]
    owner: Ints
    unit: Ints
    winners: NDArray[np.int32]
    earned: NDArray[np.bool_]
    clear: NDArray[np.bool_]
    options: int
    rounds: int
    converged: bool


def trust(
    votes: Votes | FlatVotes,
    *,
    owners: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    known: NDArray[np.int32] | None = None,
    importance: ArrayLike | None = None,
    options: int | None = None,
    prior: float = 0.5,
    start: ArrayLike | None = None,
) -> Trust:
    """Estimate reliabilities from votes (questions, sources), with owners, ties and anchors.

    `owners` and `groups` are one number or name for each source (negative or empty: alone). `known` is as for
    `weighted_vote.estimate`. `importance` is how much each question counts (older ones less); None: all 1.
    `start` are weights of sources to begin with, those of an earlier estimate (`Trust.weights`) to which
    answers were added. Raises `InputError`.
    """
    listed = FlatVotes.of(votes)
    owner_votes = OwnerVotes.of(listed, owners, groups, split="none")
    flat = owner_votes.votes
    truth = pin_known(known, flat.questions)
    size = distinct(votes) if options is None else options
    weight = _importance(importance, flat.questions)
    is_known = truth != UNKNOWN
    if not 0 < prior < 1:
        raise InputError("prior must lie between 0 and 1")

    record = tally(owner_votes, truth, weight, None)
    figures = judge(record, size, prior)
    power, spare = figures.power, figures.spare
    if start is not None:
        first_source = np.unique(owner_votes.owner, return_index=True)[1]
        power = spare = np.maximum(check_weights(start, listed.sources), 0)[first_source]
    if not power.any():  # nothing is verified: start from RA-RAG's estimate, with one vote for each unit
        plain = estimate(
            unite_votes(listed, owner_votes.unit[owner_votes.owner], split="none"),
            options=size,
            prior=prior,
            known=truth,
            lone=False,
        )
        power = spare = np.maximum(plain.weights, 0)[owner_votes.unit]
    winners = np.full(flat.questions, UNKNOWN, dtype=np.int32)
    seen_outcomes: set[bytes] = set()
    converged, rounds = False, 0
    outcome = owner_votes.run_vote(power, spare)
    while rounds < ITERATIONS and not converged:
        rounds += 1
        record = tally(owner_votes, truth, weight, outcome)
        figures = judge(record, size, prior)
        power = figures.power
        outcome = owner_votes.run_vote(figures.power, figures.spare)
        new = np.where(is_known, truth, np.where(outcome.clear, outcome.winners, -1)).astype(np.int32)
        stance = new.tobytes() + outcome.earned.tobytes()
        converged = bool(np.array_equal(new, winners)) and stance in seen_outcomes
        winners = new
        if stance in seen_outcomes:
            break
        seen_outcomes.add(stance)
    of = owner_votes.owner
    return Trust(
        reliability=figures.mean[of],
        low=figures.low[of],
        high=figures.high[of],
        weights=figures.power[of],
        answered=figures.answered[of],
        agreed=figures.agreed[of],
        checked=figures.answered[of] > 0,
        owner=of,
        unit=owner_votes.unit[of],
        winners=np.where(is_known, truth, outcome.winners).astype(np.int32),
        earned=outcome.earned | is_known,
        clear=outcome.clear | is_known,
        options=size,
        rounds=rounds,
        converged=converged,
    )


def vote(votes: ArrayLike, estimated: Trust) -> NDArray[np.int32]:
    """Return the winners of other questions, by the trust of the same sources; -1 for none."""
    first_source = np.unique(estimated.owner, return_index=True)[1]
    spare = np.maximum(weights_of(estimated.reliability, estimated.options), 0)
    return (
        OwnerVotes.of(votes, estimated.owner, estimated.unit)
        .run_vote(estimated.weights[first_source], spare[first_source])
        .winners
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of each owner; `power` is its weight, `spare` its weight if no voter has a `power`."""

    mean: Floats
    low: Floats
    high: Floats
    answered: Floats
    agreed: Floats
    power: Floats
    spare: Floats


def judge(record: Tally, options: int, prior: float = 0.5) -> Figures:
    """Return the posterior of each owner from its counts, and the weight that follows."""
    answered = record.known_answered + record.crossed_answered
    agreed = record.known_agreed + record.crossed_agreed
    mean, low, high = posterior(agreed, answered, mean=prior)
    return Figures(
        mean=mean,
        low=low,
        high=high,
        answered=answered,
        agreed=agreed,
        power=np.maximum(weights_of(low, options), 0),
        spare=np.maximum(weights_of(mean, options), 0),
    )


def untangle(
    votes: Votes | FlatVotes,
    *,
    owners: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    known: NDArray[np.int32] | None = None,
    importance: ArrayLike | None = None,
    options: int | None = None,
    prior: float = 0.5,
    start: tuple[Trust, Dependence] | None = None,
) -> tuple[Trust, Dependence]:
    """Estimate trust and ties together: shared errors show ties, and tied owners count once.

    The two are estimated in turn, as in Dong et al. 2009, section 5, until the ties do not change, at most
    `ROUNDS` times. `groups` (of near-duplicate text) stay tied throughout. `start` is an earlier result for
    the same sources, perhaps with further ones after them, to which answers were added.
    """
    size = distinct(votes) if options is None else options
    bound = groups
    listed = FlatVotes.of(votes)
    is_known = pin_known(known, listed.questions) != UNKNOWN
    ties: Dependence | None = None
    weights: Floats | None = None
    if start is not None:
        earlier, ties = start
        fresh = listed.sources - len(earlier.owner)
        weights = np.concatenate([earlier.weights, np.zeros(fresh)])
        group = ties.group[earlier.owner].astype(np.int64)
        bound = join_ties(np.concatenate([group, group.max(initial=-1) + 1 + np.arange(fresh)]), groups)
        if not weights.any():
            weights = None
    rounds = 0
    while True:
        estimated = trust(
            listed,
            owners=owners,
            groups=bound,
            known=known,
            importance=importance,
            options=size,
            prior=prior,
            start=weights,
        )
        judged = np.where(estimated.earned & estimated.clear, estimated.winners, -1)
        if ties is None and is_known.any():
            judged[~is_known] = -1
        first_source = np.unique(estimated.owner, return_index=True)[1]
        new = tie_by_votes(
            unite_votes(listed, estimated.owner), judged, estimated.reliability[first_source], options=size
        )
        rounds += 1
        if rounds == ROUNDS or (ties is not None and np.array_equal(new.group, ties.group)):
            return estimated, new
        ties = new
        bound = join_ties(new.group[estimated.owner], groups)


def join_ties(ties: ArrayLike, groups: ArrayLike | None) -> Ints:
    """Return groups of sources that are tied in either way."""
    first = np.asarray(ties, dtype=np.int64)
    return OwnerVotes.of(np.full((0, len(first)), -1, dtype=np.int32), first, groups).unit[first]


def _importance(importance: ArrayLike | None, questions: int) -> Floats:
    if importance is None:
        return np.ones(questions)
    array = np.asarray(importance, dtype=np.float64)
    if array.shape != (questions,) or not np.all((array >= 0) & np.isfinite(array)):
        raise InputError(f"importance must be {questions} numbers of 0 or more, one a question")
    return array
