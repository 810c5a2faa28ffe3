"""What is true and who is to be believed, where a value may say less than another without being false.

The model of TDH (Jung, Kim and Shim, Crowdsourced Truth Discovery in the Presence of Hierarchies for
Knowledge Fusion, EDBT 2019): of what a source says a share is exact, a share is general (the truth entails
it: "Minnesota" where the truth is "Minneapolis"; one author of two), the rest is wrong. Truth and shares
are found together by expectation maximisation. Past it: sources that copy one another count once
(`dependence`), and where values mean the same from question to question, it is learned which of
them are mistakes that are often made. Arrays as in `weighing`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from disputatio.errors import InputError
from disputatio.reliability.copy_detection import tied_by_votes
from disputatio.reliability.copy_evidence import RIGHT, WRONG, standing
from disputatio.reliability.grouping import Dependence, alone, shared_votes
from disputatio.reliability.posterior import posterior
from disputatio.reliability.weighted_vote import CAP, NOBODY, UNKNOWN, FlatVotes, Votes, distinct, pinned

Floats: TypeAlias = NDArray[np.float64]
STRENGTH = 3.0  # answers that the prior of a source weighs; its mean is that of all sources together
ITERATIONS, TOLERANCE = 300, 1e-4
ROUNDS = 3  # of looking for copies
START = (0.5, 0.25, 0.25)  # exact, general, wrong, before anything is known
ERRORS, TRUTHS = 0.1, 1.0  # what each value's count of errors, and of truths, starts from
_LEAST = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """What was found. Over sources: the shares `exact`, `general` and `wrong` of what a source says, with
    the 95 % interval `low` to `high` of the share that is not wrong; `answered` counts the answers that this
    rests on (a copy's in part), 0 where only the prior of all sources is known. Over questions: `winners`,
    the most probable cluster, and its `probability`; -1 and 0 where nobody answered or none is right.
    """

    exact: Floats
    general: Floats
    wrong: Floats
    low: Floats
    high: Floats
    answered: Floats
    winners: NDArray[np.int32]
    probability: Floats
    dependence: Dependence
    rounds: int
    converged: bool

    @property
    def right(self) -> Floats:
        """The share of what each source says that is true, if only in general."""
        return self.exact + self.general


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claims:
    """The votes laid out for the sums below; slots are the clusters of all questions in a row."""

    heard: FlatVotes
    of: NDArray[np.int64]  # (slots,) the question of each
    specific: NDArray[np.int64]  # (relations,) slots
    general: NDArray[np.int64]
    generals: Floats  # (slots,) how many said clusters each entails
    number: NDArray[np.int64] | None  # (slots,) the value of each, the same from question to question
    errors_possible: Floats  # (slots,) how many errors there are if this is the truth
    truth: NDArray[np.int32]  # (questions,) as `known`
    tells: NDArray[np.bool_]  # (claims,) whether the question can tell anything of its sources


def discover(
    votes: Votes,
    *,
    entails: ArrayLike | None = None,
    values: ArrayLike | None = None,
    options: int | None = None,
    cap: int = CAP,
    known: NDArray[np.int32] | None = None,
    copies: bool = True,
    strength: float = STRENGTH,
    iterations: int = ITERATIONS,
) -> Discovery:
    """Find what is true, and what share of each source's answers is exact, general and wrong.

    `entails` (n, 3) are rows of question, cluster and another cluster that it strictly entails (with all that
    follow: if a entails b and b c, then a c too). `values` (questions, clusters) number what the clusters
    mean where meanings return from question to question (yes and no; places), -1 for no cluster: then the
    frequency of each value among truths and among errors is learned. Otherwise errors are spread over
    `options` possible values; None takes the most distinct clusters of a question, at most `cap`. `known`
    pins questions as for `weighing.estimate`. `copies=False` takes all sources as independent. `strength` is
    how many answers the prior of a source weighs. Raises `InputError`.
    """
    if strength <= 0 or iterations < 1:
        raise InputError("strength must be above 0 and iterations at least 1")
    flat = FlatVotes.of(votes)
    size = distinct(votes, cap) if options is None else options
    claims = _laid_out(flat, entails, values, size, pinned(known, flat.questions))
    relation = None if entails is None else np.asarray(entails, dtype=np.int64).reshape(-1, 3)
    group = np.arange(flat.sources, dtype=np.int32)
    ties = Dependence(
        group=group, origin=alone(group), pairs=np.zeros((0, 2), np.int64), probability=np.zeros(0)
    )
    part = np.ones(len(flat.slot))
    # Faithful copies agree so well that they would be believed: they are looked for before anybody is.
    solution = _maximised(claims, part, strength, 1 if copies else iterations)
    for _ in range(ROUNDS if copies and flat.slot.size else 0):
        stand = standing(votes, solution.winners, relation)
        right, wrong = (stand == RIGHT).sum(axis=0), (stand == WRONG).sum(axis=0)
        accuracy = (right + 1) / (right + wrong + 2)
        new = tied_by_votes(votes, solution.winners, accuracy, options=size, entails=relation)
        same = np.array_equal(new.group, ties.group)
        ties = new
        if same and solution.rounds > 1:
            break
        part = shared_votes(ties.group, votes)[flat.question, flat.source]
        solution = _maximised(claims, part, strength, iterations)
    answered = _summed(flat.source, part * claims.tells, flat.sources)
    right = 1 - solution.shares[:, 2]
    counted = np.clip((right * (answered + strength) - solution.prior_right * strength), 0, answered)
    _, low, high = posterior(counted, answered, mean=solution.prior_right, strength=strength)
    return Discovery(
        exact=solution.shares[:, 0],
        general=solution.shares[:, 1],
        wrong=solution.shares[:, 2],
        low=low,
        high=high,
        answered=answered,
        winners=solution.winners,
        probability=solution.probability,
        dependence=ties,
        rounds=solution.rounds,
        converged=solution.converged,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Where the maximisation ended; `prior_right` is the mean share of all sources that is not wrong."""

    shares: Floats  # (sources, 3)
    prior_right: float
    winners: NDArray[np.int32]
    probability: Floats
    rounds: int
    converged: bool


def _laid_out(
    votes: FlatVotes,
    entails: ArrayLike | None,
    values: ArrayLike | None,
    options: int,
    truth: NDArray[np.int32],
) -> _Claims:
    """Turn the arguments into flat arrays; raises `InputError` where they do not fit the votes."""
    total = int(votes.start[-1])
    clusters = np.diff(votes.start)
    of = np.repeat(np.arange(votes.questions), clusters)
    relation = np.zeros((0, 3), np.int64) if entails is None else np.asarray(entails, dtype=np.int64)
    relation = relation.reshape(-1, 3) if relation.size == 0 else relation
    if relation.ndim != 2 or relation.shape[1] != 3:
        raise InputError("entails must be rows of question, cluster, and the cluster that it entails")
    question, ends = relation[:, 0], relation[:, 1:]
    inside = (question >= 0) & (question < votes.questions)
    if not inside.all() or (ends < 0).any() or (ends >= clusters[question][:, None]).any():
        raise InputError("entails names a question or cluster that the votes do not have")
    if (ends[:, 0] == ends[:, 1]).any():
        raise InputError("entails says that a cluster entails itself")
    specific, general = (votes.start[question] + ends[:, side] for side in (0, 1))
    generals = np.bincount(specific, minlength=total).astype(np.float64)
    number = None
    if values is not None:
        meaning = np.asarray(values)
        column = np.arange(total) - votes.start[of]
        if (
            meaning.ndim != 2
            or len(meaning) != votes.questions
            or (total and column.max() >= meaning.shape[1])
        ):
            raise InputError("values must be an integer array of shape (questions, clusters)")
        chosen = meaning[of, column]
        if (chosen < 0).any():
            raise InputError("values gives a cluster that was voted for no number")
        number = np.unique(chosen, return_inverse=True)[1].astype(np.int64)
    known = truth != UNKNOWN
    return _Claims(
        heard=votes,
        of=of,
        specific=specific,
        general=general,
        generals=generals,
        number=number,
        errors_possible=np.maximum(np.maximum(options, clusters[of]) - 1 - generals, 1.0),
        truth=truth,
        tells=(known | (np.bincount(votes.question, minlength=votes.questions) > 1))[votes.question],
    )


def _maximised(claims: _Claims, part: Floats, strength: float, iterations: int) -> _Found:
    """Expectation maximisation from `START`, until no share moves by more than `TOLERANCE`.

    `part` (claims,) is what each claim counts. The prior of a source is the mean of all, times `strength`.
    """
    votes, total = claims.heard, int(claims.heard.start[-1])
    shares = np.tile(np.array(START), (votes.sources, 1))
    mean = np.array(START)
    count = _summed(votes.slot, part, total)
    values = 0 if claims.number is None else int(claims.number.max(initial=-1)) + 1
    errors = np.full(values, 1 / max(values, 1))
    truths = errors.copy()
    belief, rounds, converged = np.zeros(total), 0, False
    counts = part * claims.tells
    while rounds < iterations and total:
        rounds += 1
        belief = _beliefs(claims, part, count, shares, errors, truths)
        above = _summed(claims.general, belief[claims.specific], total)  # that it is on the truth's path
        bare = np.where(claims.generals > 0, 0.0, belief)  # the truth, and nothing more general was said
        first = shares[:, 0] / (shares[:, 0] + shares[:, 1])
        of_claim = (belief - bare)[votes.slot] + bare[votes.slot] * first[votes.source]
        exact = _summed(votes.source, counts * of_claim, votes.sources)
        either = _summed(votes.source, counts * np.minimum(belief + above, 1)[votes.slot], votes.sources)
        answered = _summed(votes.source, counts, votes.sources)
        spread = np.stack([exact, np.maximum(either - exact, 0), np.maximum(answered - either, 0)], axis=1)
        if spread.sum() > 0:
            mean = spread.sum(axis=0) / spread.sum()
        new = spread + strength * mean + _LEAST
        new /= new.sum(axis=1, keepdims=True)
        if claims.number is not None:
            wrong = _summed(claims.number, count * np.maximum(1 - belief - above, 0), values) + ERRORS
            true = _summed(claims.number, belief, values) + TRUTHS
            errors, truths = wrong / wrong.sum(), true / true.sum()
        moved = float(np.abs(new - shares).max())
        shares = new
        if moved < TOLERANCE:
            converged = True
            break
    winners = np.full(votes.questions, NOBODY, dtype=np.int32)
    probability = np.zeros(votes.questions)
    filled = np.flatnonzero(np.diff(votes.start))
    if filled.size:
        best = np.maximum.reduceat(belief, votes.start[filled])
        at = np.where(belief >= best[np.searchsorted(filled, claims.of)] - 1e-12, np.arange(total), total)
        winner = np.minimum.reduceat(at, votes.start[filled]) - votes.start[filled]
        winners[filled] = np.where(best > 0, winner, NOBODY)
        probability[filled] = best
    known = claims.truth != UNKNOWN
    winners[known] = claims.truth[known]
    return _Found(
        shares=shares,
        prior_right=float(np.clip(mean[0] + mean[1], 0.01, 0.99)),
        winners=winners,
        probability=probability,
        rounds=rounds,
        converged=converged,
    )


def _beliefs(
    claims: _Claims, part: Floats, count: Floats, shares: Floats, errors: Floats, truths: Floats
) -> Floats:
    """Return the probability that each slot is the truth of its question, given the shares (the expectation
    step).

    log P(claims | t) is the sum over claims of log exact (or exact + general, where no general value of t was
    said), log general / generals(t), or log wrong + log of the error's own probability. It is summed slot
    by slot: all claims as errors first, then put right for those on the truth and on its path.
    """
    votes = claims.heard
    total = len(count)

    def behind(value: Floats) -> Floats:
        return _summed(votes.slot, part * value[votes.source], total)

    log = np.log(np.maximum(shares, 1e-12))
    as_exact = behind(log[:, 0])
    as_right = behind(np.log(np.maximum(shares[:, 0] + shares[:, 1], 1e-12)))
    as_general, as_wrong = behind(log[:, 1]), behind(log[:, 2])
    specific, general = claims.specific, claims.general
    below = _summed(specific, count[general], total)  # claims on the path of each slot
    everyone = _summed(claims.of, count, votes.questions)[claims.of]
    astray = everyone - count - below
    if claims.number is None:
        score = -astray * np.log(claims.errors_possible)
    else:
        mine = errors[claims.number]
        as_wrong = as_wrong + count * np.log(mine)
        possible = 1 - mine - _summed(specific, mine[general], total)
        score = np.log(truths[claims.number]) - astray * np.log(np.maximum(possible, _LEAST))
    score += _summed(claims.of, as_wrong, votes.questions)[claims.of] - as_wrong
    score += np.where(claims.generals > 0, as_exact, as_right)
    share = as_general[general] - count[general] * np.log(np.maximum(claims.generals[specific], 1))
    score += _summed(specific, share - as_wrong[general], total)
    voters = np.bincount(votes.slot, minlength=total)
    score = np.where(voters > 0, score, -np.inf)
    filled = np.flatnonzero(np.diff(votes.start))
    top = np.maximum.reduceat(score, votes.start[filled])[np.searchsorted(filled, claims.of)]
    belief = np.exp(score - top)
    belief /= _summed(claims.of, belief, votes.questions)[claims.of]
    truth = claims.truth[claims.of]
    pin = np.arange(total) - votes.start[claims.of] == truth
    return np.where(truth == UNKNOWN, belief, pin.astype(np.float64))


def _summed(at: NDArray[np.int64], value: Floats, size: int) -> Floats:
    """Return the sum of the values at each place."""
    return np.bincount(at, value, size).astype(np.float64, copy=False)
