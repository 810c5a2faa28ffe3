"""Who is to be believed when sources copy, collude or belong together: past RA-RAG.

The iterative estimate of RA-RAG starts from a majority, so it ends where the majority is: five of nine that
tell the same lie win, and then look reliable. Here a few verified questions (anchors) say where to start;
an owner has one vote, and tied owners one together; an owner is checked against what the others say, by
their weights, not against a vote of which it is part; and a weight is what the record shows at least:
L low - 1 with `low` the lower end of the 95 % interval, never negative. Who has no record has no weight, so
that a thousand new names change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from disputatio.errors import InputError
from disputatio.reliability.copy_detection import tied_by_votes
from disputatio.reliability.grouping import Dependence, united
from disputatio.reliability.owner_votes import OwnerBallots, Voices
from disputatio.reliability.posterior import posterior
from disputatio.reliability.weighted_vote import (
    CAP,
    ITERATIONS,
    UNKNOWN,
    Votes,
    distinct,
    estimate,
    pinned,
    weights_of,
)

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
DRIFT = 0.99  # how sure it must be that a record on live questions is worse than on checks


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What was counted for each owner: answers that could be judged, and those that were right.

    `checks_*` on verified questions that a source could tell for checks, `live_*` on verified others,
    `crossed_*` on questions where only the other owners' vote tells.
    """

    checks_answered: Floats
    checks_agreed: Floats
    live_answered: Floats
    live_agreed: Floats
    crossed_answered: Floats
    crossed_agreed: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """How far sources are to be trusted, and what won.

    Over sources, each with the figures of its owner: `reliability` (posterior mean), `low`, `high`,
    `weights`, `answered`, `agreed`; `checked` is false where nothing could be compared (the prior stands),
    `drifted` true where an owner does worse on live questions than on checks, so that its checks are not
    counted. `owner` and `unit` number its owner and those tied with it.

    Over questions: `winners`, -1 where nobody answered, and whether the winner was `earned` (backed by
    any weight). `converged` is false where rounds ran out or the winners came round in a circle.
    """

    reliability: Floats
    low: Floats
    high: Floats
    weights: Floats
    answered: Floats
    agreed: Floats
    checked: NDArray[np.bool_]
    drifted: NDArray[np.bool_]
    owner: Ints
    unit: Ints
    winners: NDArray[np.int32]
    earned: NDArray[np.bool_]
    options: int
    rounds: int
    converged: bool


def trust(
    votes: Votes,
    *,
    owners: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    known: NDArray[np.int32] | None = None,
    checks: ArrayLike | None = None,
    importance: ArrayLike | None = None,
    options: int | None = None,
    cap: int = CAP,
    prior: float = 0.5,
    iterations: int = ITERATIONS,
) -> Trust:
    """Estimate whom to trust from votes (questions, sources), with owners, ties and anchors.

    `owners` and `groups` are a number or a word a source (negative or empty: alone). `known` is as for
    `weighing.estimate`; `checks` marks the questions of it that a source could tell for checks, whose record
    is dropped for an owner that does worse on known others. `importance` is how much each question
    counts (forgetting); None: all 1. Raises `InputError`.
    """
    voices = Voices.of(votes, owners, groups)
    heard = voices.heard
    truth = pinned(known, heard.questions)
    size = distinct(votes, cap) if options is None else options
    seen = _flags(checks, heard.questions)
    weight = _importance(importance, heard.questions)
    told = truth != UNKNOWN
    if not 0 < prior < 1 or iterations < 1:
        raise InputError("prior must lie between 0 and 1, and iterations be at least 1")

    record = tally(voices, truth, seen, weight, None)
    figures = judge(record, size, prior)
    power, spare = figures.power, figures.spare
    if seen.any() and not record.live_answered.any():
        power = (power > 0).astype(
            np.float64
        )  # liars may do best on checks: who passes counts alike at first
    if not power.any():  # nothing is verified: begin where RA-RAG's estimate ends, each unit one voice
        plain = estimate(
            united(votes, voices.unit[voices.owner]), options=size, prior=prior, known=truth, lone=False
        )
        power = spare = np.maximum(plain.weights, 0)[voices.unit]
    winners = np.full(heard.questions, UNKNOWN, dtype=np.int32)
    met: set[bytes] = set()
    converged, rounds = False, 0
    held = voices.hold(power, spare)
    while rounds < iterations and not converged:
        rounds += 1
        record = tally(voices, truth, seen, weight, held)
        figures = judge(record, size, prior)
        power = figures.power
        held = voices.hold(figures.power, figures.spare)
        new = np.where(told, truth, held.winners).astype(np.int32)
        stance = new.tobytes() + held.earned.tobytes()
        converged = bool(np.array_equal(new, winners)) and stance in met
        winners = new
        if stance in met:
            break
        met.add(stance)
    of = voices.owner
    return Trust(
        reliability=figures.mean[of],
        low=figures.low[of],
        high=figures.high[of],
        weights=figures.power[of],
        answered=figures.answered[of],
        agreed=figures.agreed[of],
        checked=figures.answered[of] > 0,
        drifted=figures.drifted[of],
        owner=of,
        unit=voices.unit[of],
        winners=winners,
        earned=held.earned | told,
        options=size,
        rounds=rounds,
        converged=converged,
    )


def vote(votes: ArrayLike, found: Trust) -> NDArray[np.int32]:
    """The winners of other questions that the same sources answered, by the trust found; -1 for none."""
    own = np.unique(found.owner, return_index=True)[1]
    spare = np.maximum(weights_of(found.reliability, found.options), 0)
    return Voices.of(votes, found.owner, found.unit).hold(found.weights[own], spare[own]).winners


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a tally says of each owner; `power` is its weight, `spare` that where nobody heard has one."""

    mean: Floats
    low: Floats
    high: Floats
    answered: Floats
    agreed: Floats
    drifted: NDArray[np.bool_]
    power: Floats
    spare: Floats


def judge(record: Tally, options: int, prior: float = 0.5) -> Figures:
    """The posterior of each owner from what was counted, and the weight that follows.

    An owner has drifted when it is `DRIFT` sure to do worse on known live questions than on checks: then
    its checks are left out, as they show only how it does when it is looked at.
    """
    drifted = _drifted(record)
    answered = record.live_answered + record.crossed_answered + np.where(drifted, 0, record.checks_answered)
    agreed = record.live_agreed + record.crossed_agreed + np.where(drifted, 0, record.checks_agreed)
    mean, low, high = posterior(agreed, answered, mean=prior)
    return Figures(
        mean=mean,
        low=low,
        high=high,
        answered=answered,
        agreed=agreed,
        drifted=drifted,
        power=np.maximum(weights_of(low, options), 0),
        spare=np.maximum(weights_of(mean, options), 0),
    )


def _drifted(record: Tally) -> NDArray[np.bool_]:
    """Whether the record on live questions is surely worse: by the two Beta posteriors, as normals."""
    size = len(record.live_answered)
    if not record.live_answered.any() or not record.checks_answered.any():
        return np.zeros(size, dtype=np.bool_)
    gap, spread = np.zeros(size), np.zeros(size)
    for sign, agreed, answered in (
        (1, record.checks_agreed, record.checks_answered),
        (-1, record.live_agreed, record.live_answered),
    ):
        mean = (agreed + 1) / (answered + 2)
        gap += sign * mean
        spread += mean * (1 - mean) / (answered + 3)
    return gap > 2.326 * np.sqrt(spread)  # the quantile of DRIFT


def tally(
    voices: Voices,
    truth: NDArray[np.int32],
    seen: NDArray[np.bool_],
    weight: Floats,
    held: OwnerBallots | None,
) -> Tally:
    """Count for each owner what is known, and with a vote `held` also what the others say.

    On a question that is not known an answer is compared with the winner of the vote without its own unit;
    where nobody with a weight remains, or two clusters then tie, it is not counted.
    """
    heard = voices.heard
    question = heard.question
    told = truth[question] != UNKNOWN
    right = heard.slot - heard.start[question] == truth[question]

    def sums(chosen: NDArray[np.bool_], agreed: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        def total(which: NDArray[np.bool_]) -> Floats:
            counts = np.bincount(heard.source[which], weight[question[which]], minlength=heard.sources)
            return counts.astype(np.float64, copy=False)

        return total(chosen), total(chosen & agreed)

    checks = sums(told & seen[question], right)
    live = sums(told & ~seen[question], right)
    crossed = (np.zeros(heard.sources), np.zeros(heard.sources))
    if held is not None:
        mine = _own_part(voices, held)
        first, second = held.scores[question, 0] - mine[0], held.scores[question, 1] - mine[1]
        slack = 1e-12 * (1 + float(held.powers.max(initial=0.0)))
        leads = np.where(first > second, held.slots[question, 0], held.slots[question, 1])
        clear = (np.abs(first - second) > slack) & (np.maximum(first, second) > slack)
        crossed = sums(~told & clear, heard.slot == leads)
    return Tally(
        checks_answered=checks[0],
        checks_agreed=checks[1],
        live_answered=live[0],
        live_agreed=live[1],
        crossed_answered=crossed[0],
        crossed_agreed=crossed[1],
    )


def _own_part(voices: Voices, held: OwnerBallots) -> tuple[Floats, Floats]:
    """For each answer, what its unit gave to the strongest cluster of its question, and to the second."""
    heard = voices.heard
    pair = np.zeros(len(heard.slot), dtype=np.int64)
    pair[voices.pair] = 1
    pair = np.cumsum(pair) - 1
    parts = []
    for rank in (0, 1):
        gave = held.spoke & (heard.slot == held.slots[heard.question, rank])
        part = np.zeros(len(voices.pair))
        part[pair[gave]] = held.powers[gave]  # those who speak for a unit share one power
        parts.append(part[pair])
    return parts[0], parts[1]


def untangled(
    votes: Votes,
    *,
    owners: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    known: NDArray[np.int32] | None = None,
    checks: ArrayLike | None = None,
    importance: ArrayLike | None = None,
    options: int | None = None,
    cap: int = CAP,
    prior: float = 0.5,
    rounds: int = 5,
) -> tuple[Trust, Dependence]:
    """Trust and ties found together: ties show against what is false, and tied owners count once.

    By turns, as Dong et al. 2009, section 5, until the ties stay, at most `rounds` times. `groups` given
    (near-duplicate text) stay tied throughout.
    """
    size = distinct(votes, cap) if options is None else options
    bound = groups
    told = pinned(known, len(votes)) != UNKNOWN
    ties: Dependence | None = None
    while True:
        found = trust(
            votes,
            owners=owners,
            groups=bound,
            known=known,
            checks=checks,
            importance=importance,
            options=size,
            prior=prior,
        )
        judged = np.where(found.earned, found.winners, -1)
        if ties is None and told.any():
            judged[~told] = -1
        own = np.unique(found.owner, return_index=True)[1]
        new = tied_by_votes(united(votes, found.owner), judged, found.reliability[own], options=size)
        rounds -= 1
        if rounds <= 0 or (ties is not None and np.array_equal(new.group, ties.group)):
            return found, new
        ties = new
        bound = joined(new.group[found.owner], groups)


def joined(ties: ArrayLike, groups: ArrayLike | None) -> Ints:
    """Groups of sources that are tied in either way."""
    first = np.asarray(ties, dtype=np.int64)
    return Voices.of(np.full((0, len(first)), -1, dtype=np.int32), first, groups).unit[first]


def _flags(checks: ArrayLike | None, questions: int) -> NDArray[np.bool_]:
    if checks is None:
        return np.zeros(questions, dtype=np.bool_)
    array = np.asarray(checks)
    if array.shape != (questions,) or array.dtype != np.bool_:
        raise InputError(f"checks must be {questions} times true or false, one a question")
    return array


def _importance(importance: ArrayLike | None, questions: int) -> Floats:
    if importance is None:
        return np.ones(questions)
    array = np.asarray(importance, dtype=np.float64)
    if array.shape != (questions,) or not np.all((array >= 0) & np.isfinite(array)):
        raise InputError(f"importance must be {questions} numbers of 0 or more, one a question")
    return array
