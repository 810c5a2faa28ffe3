"""Which sources do not speak independently: they share false values.

Dong, Berti-Equille and Srivastava, Integrating Conflicting Data: The Role of Source Dependence (VLDB
2009). Sources that agree on the truth may be independent: there is one truth, and both know it. Sources
that share values which are false probably copy, as there are many ways to be wrong. Votes are the
integer array (questions, sources) of `weighing`. Ties by near-duplicate text are in `groups`. How this
differs from the paper is told in `copying`.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from disputatio.errors import InputError
from disputatio.reliability.grouping import Dependence, alone, groups_of
from disputatio.reliability.weighted_vote import CAP, Ballots, Votes, distinct

Floats: TypeAlias = NDArray[np.float64]
Relation: TypeAlias = NDArray[np.int64]  # (n, 3): question, a cluster, and a cluster that it entails
COPIED = 0.8  # c: the share of its values that a copier copies (the paper's default)
SURE = 0.95  # posterior probability from which two sources are tied
LEAST = 2  # false values that tied sources share at least
ODDS = np.log(19.0)  # the log-odds from which an original is told from its copies
WRONG, RIGHT, NEITHER = 0, 1, 2
_LEVELS = 24  # how many classes of popularity false values are counted in
_CROWD = 64  # a value shared by more sources than this is counted by a product of matrices
_BLOCK = 2048


def standing(votes: ArrayLike, winners: ArrayLike, entails: Relation | None = None) -> NDArray[np.int8]:
    """Whether each vote is `RIGHT`, `WRONG` or `NEITHER`, in the votes' shape; -1 where there is none.

    Right is the winner. A cluster that the winner entails ("Minnesota" where "Minneapolis" won) says
    less but nothing false, so it is neither; so is any vote on a question without a winner (below 0).
    """
    array = np.asarray(votes)
    won = np.asarray(winners)
    if array.ndim != 2 or won.shape != array.shape[:1]:
        raise InputError("winners must be one a question")
    result = np.where(array == won[:, None], RIGHT, WRONG).astype(np.int8)
    result[won < 0] = NEITHER
    if entails is not None and len(entails):
        question, general = (column[won[entails[:, 0]] == entails[:, 1]] for column in entails[:, [0, 2]].T)
        width = int(array.max()) + 1
        on_path = np.zeros((len(array), max(width, 1)), dtype=np.bool_)
        on_path[question, general] = True
        rows = np.unique(question)
        said = array[rows]
        said_on_path = (said >= 0) & np.take_along_axis(on_path[rows], np.maximum(said, 0), axis=1)
        result[rows] = np.where(said_on_path, NEITHER, result[rows])
    result[array < 0] = -1
    return result


def copying(
    votes: Votes,
    winners: ArrayLike,
    reliability: ArrayLike,
    *,
    options: int | None = None,
    prior: float | None = None,
    copied: float = COPIED,
    entails: Relation | None = None,
) -> tuple[Floats, NDArray[np.int64]]:
    """How probably one of two copies the other, and how many false values they share: (sources, sources).

    Bayes' rule on what a pair said where both spoke and were not both right (Dong et al. 2009, section 3.2).
    With accuracies A, errors F = 1 - A and p the probability that two errors are the same, a pair says the
    same false thing with probability

        apart:   F1 F2 p                       of 1 - A1 A2
        copying: c F + (1 - c) F1 F2 p         of 1 - c A - (1 - c) A1 A2,   A and F the pair's means

    Two departures. What both have right says nothing here (the paper counts it as weak evidence of copying,
    which ties honest sources of high accuracy as questions grow in number). And p is not 1/n for all: it
    follows the value's popularity among those who err on that question, the pair left out, (n_v - 2 + 1) /
    (n_wrong - 2 + n) with n = `options` - 1, so that a common mistake ties nobody by itself. `prior` is that
    of a pair; None is 1 / sources, 0.05 at most: each copies about one other. Raises `InputError`.
    """
    heard = Ballots.of(votes)
    size = heard.sources
    right = np.clip(np.asarray(reliability, dtype=np.float64), 0.01, 0.99)
    if right.shape != (size,):
        raise InputError(f"reliability must be {size} numbers, one a source")
    start = min(0.05, 1 / max(size, 1)) if prior is None else prior
    if not (0 < start < 1 and 0 < copied < 1):
        raise InputError("prior and copied must lie between 0 and 1")
    stand = standing(votes, winners, entails)
    said = stand[heard.question, heard.source]
    wrong = said == WRONG
    total = int(heard.start[-1])
    voters = np.bincount(heard.slot[wrong], minlength=total)
    of_question = np.bincount(heard.question[wrong], minlength=heard.questions)
    false_values = (distinct(votes, CAP) if options is None else options) - 1
    slots = np.flatnonzero(voters > 1)
    where = np.searchsorted(heard.start, slots, side="right") - 1
    chance = (voters[slots] - 1) / (of_question[where] - 2 + false_values)
    level = np.minimum((chance * _LEVELS).astype(np.int64), _LEVELS - 1)

    spoke = _together((stand == RIGHT) | (stand == WRONG))
    both_right = _together(stand == RIGHT)
    errors = 1 - right
    one, other = right[:, None], right[None, :]
    mean, both = (one + other) / 2, errors[:, None] * errors[None, :]
    apart, tied = 1 - one * other, 1 - copied * mean - (1 - copied) * one * other
    evidence = np.zeros((size, size))
    shared = np.zeros((size, size))
    usual = 0.0
    for each in np.unique(level):
        here = slots[level == each]
        counts = _pairs_of_slots(heard, wrong, here)
        p = float(chance[level == each].mean())
        usual += p * float(counts.sum())
        same0 = both * p / apart
        same1 = (copied * (1 - mean) + (1 - copied) * both * p) / tied
        evidence += counts * np.log(same1 / same0)
        shared += counts
    usual = usual / float(shared.sum()) if shared.any() else 1 / max(false_values, 1)
    same0 = both * usual / apart
    same1 = (copied * (1 - mean) + (1 - copied) * both * usual) / tied
    differ = np.maximum(spoke - both_right - shared, 0)
    evidence += differ * np.log((1 - same1) / np.maximum(1 - same0, 1e-12))
    odds = np.clip(evidence + np.log(start / (1 - start)), -500, 500)
    probability = 1 / (1 + np.exp(-odds))
    np.fill_diagonal(probability, 0)
    np.fill_diagonal(shared, 0)
    return probability, shared.astype(np.int64)


def tied_by_votes(
    votes: Votes,
    winners: ArrayLike,
    reliability: ArrayLike,
    *,
    options: int | None = None,
    prior: float | None = None,
    copied: float = COPIED,
    sure: float = SURE,
    least: int = LEAST,
    entails: Relation | None = None,
) -> Dependence:
    """Tie the sources that copy with a probability of `sure` or more and share `least` false values or more.

    The winners and reliabilities are taken for granted: `discover` finds them and the ties by turns.
    """
    probability, shared = copying(
        votes, winners, reliability, options=options, prior=prior, copied=copied, entails=entails
    )
    first, second = np.nonzero(np.triu((probability >= sure) & (shared >= least)))
    pairs = np.stack([first, second], axis=1).astype(np.int64)
    group = groups_of(len(probability), pairs)
    return Dependence(
        group=group,
        origin=_origins(group, standing(votes, winners, entails)),
        pairs=pairs,
        probability=probability[first, second],
    )


def _together(held: NDArray[np.bool_]) -> Floats:
    """How many rows two columns both hold, for all pairs of columns."""
    size = held.shape[1]
    result = np.zeros((size, size))
    for begin in range(0, len(held), _BLOCK):
        block = held[begin : begin + _BLOCK].astype(np.float32)
        result += block.T @ block
    return result


def _pairs_of_slots(heard: Ballots, wrong: NDArray[np.bool_], slots: NDArray[np.int64]) -> Floats:
    """How many of the slots two sources both voted for, for all pairs of sources."""
    size = heard.sources
    result = np.zeros(size * size)
    row = np.full(int(heard.start[-1]), -1, dtype=np.int64)
    row[slots] = np.arange(len(slots))
    mine = np.flatnonzero(wrong & (row[heard.slot] >= 0))
    at, source = row[heard.slot[mine]], heard.source[mine]
    order = np.argsort(at, kind="stable")
    at, source = at[order], source[order]
    count = np.bincount(at, minlength=len(slots))
    crowded = count > _CROWD
    few = ~crowded[at]
    ends = np.cumsum(count)[at]  # where the voters of the same slot end
    place = np.arange(len(at))
    step = 1
    while True:  # each voter with the one `step` further on, while any slot has one
        pair = np.flatnonzero(few & (place + step < ends))
        if not pair.size:
            break
        result += np.bincount(source[pair] * size + source[pair + step], minlength=size * size)
        step += 1
    matrix = result.reshape(size, size)
    matrix = matrix + matrix.T
    many = np.flatnonzero(crowded)
    for begin in range(0, len(many), _BLOCK):
        chosen = many[begin : begin + _BLOCK]
        inside = np.isin(at, chosen)
        held = np.zeros((len(chosen), size), dtype=np.float32)
        held[np.searchsorted(chosen, at[inside]), source[inside]] = 1
        matrix += held.T @ held
    return np.asarray(matrix, dtype=np.float64)


def _origins(group: NDArray[np.int32], stand: NDArray[np.int8]) -> NDArray[np.int32]:
    """Who is copied: an origin is as accurate where its copier speaks too as where the copier is silent.

    Dong et al. 2009, intuition 2: a copier's accuracy on what it took differs from that on its own. How far
    a member's record where another spoke is foreign to its record where the other was silent is the log of
    the ratio of two Beta-binomial likelihoods, after the latter record and after none. The origin is the
    member least foreign to itself against every other, by log 19 or more.
    """
    origin = alone(group)
    answered = int((stand >= 0).sum(axis=0).max(initial=0))
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, answered + 3)))])

    def log_beta(right: Floats, wrong: Floats) -> Floats:  # of Beta(right + 1, wrong + 1)
        one, other = right.astype(np.int64), wrong.astype(np.int64)
        return np.asarray(log_factorial[one] + log_factorial[other] - log_factorial[one + other + 1])

    for number in np.flatnonzero(np.bincount(group, minlength=1) > 1):
        members = np.flatnonzero(group == number)
        inside = stand[:, members]
        spoke = (inside >= 0).astype(np.float32)
        right, wrong = ((inside == each).astype(np.float32) for each in (RIGHT, WRONG))
        here_right, here_wrong = right.T @ spoke, wrong.T @ spoke  # of each (row), where each other spoke
        all_right, all_wrong = right.sum(axis=0)[:, None], wrong.sum(axis=0)[:, None]
        rest = log_beta(all_right - here_right, all_wrong - here_wrong)
        foreign = log_beta(all_right, all_wrong) - rest - log_beta(here_right, here_wrong)
        own = np.minimum(foreign, 0)
        margin = own - own.T
        np.fill_diagonal(margin, np.inf)
        first = np.flatnonzero(margin.min(axis=1) >= ODDS)
        if first.size == 1:
            origin[members] = members[first[0]]
    return origin
