"""Counts how often each owner was right: its answers to verified questions, and beside the vote of
the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from disputatio.reliability.owner_votes import OwnerVotes, VoteOutcome
from disputatio.reliability.weighted_vote import UNKNOWN

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts for each owner: answers that could be judged, and those that were right.

    `checks_*` count verified questions that a source could recognise as checks, `live_*` other verified
    questions, `crossed_*` questions judged by the vote of the other owners.
    """

    checks_answered: Floats
    checks_agreed: Floats
    live_answered: Floats
    live_agreed: Floats
    crossed_answered: Floats
    crossed_agreed: Floats


def tally(
    owner_votes: OwnerVotes,
    truth: NDArray[np.int32],
    seen: NDArray[np.bool_],
    weight: Floats,
    outcome: VoteOutcome | None,
) -> Tally:
    """Count for each owner its answers to known questions, and with an `outcome` also to the others.

    If a question is not known, an answer is compared with the winner of the vote without its own unit. It is
    not counted if no voter with a weight remains or two clusters tie.
    """
    flat = owner_votes.votes
    slack = 0.0 if outcome is None else 1e-12 * (1 + float(outcome.powers.max(initial=0.0)))
    counts = np.zeros((6, flat.sources))
    for questions, rows in flat.spans():
        first_slot = int(flat.start[questions.start])
        counts += _counts(
            owner_votes.part(questions, rows),
            truth[questions],
            seen[questions],
            weight[questions],
            None if outcome is None else outcome.part(questions, rows, first_slot),
            slack,
        )
    return Tally(
        checks_answered=counts[0],
        checks_agreed=counts[1],
        live_answered=counts[2],
        live_agreed=counts[3],
        crossed_answered=counts[4],
        crossed_agreed=counts[5],
    )


def _counts(
    owner_votes: OwnerVotes,
    truth: NDArray[np.int32],
    seen: NDArray[np.bool_],
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

    checks = live = crossed = (np.zeros(flat.sources), np.zeros(flat.sources))
    if is_known.any():
        right = flat.number == truth[question]
        checks, live = sums(is_known & seen[question], right), sums(is_known & ~seen[question], right)
    if outcome is not None:
        leads, clear = _lead_of_the_others(owner_votes, outcome, slack)
        crossed = sums(~is_known & clear, flat.slot == leads)
    return np.stack([*checks, *live, *crossed])


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
