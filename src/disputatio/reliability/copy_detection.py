"""Copy detection finds sources that share false values.

Dong, Berti-Equille and Srivastava, Integrating Conflicting Data: The Role of Source Dependence (VLDB
2009). Sources that agree on the truth may be independent: there is one truth, and both know it. Sources
that share false values probably copy, because there are many ways to be wrong. Votes are the integer array
(questions, sources) of `weighted_vote`. Ties by near-duplicate text are in `grouping`. `copying` says how
this differs from the paper.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from disputatio.errors import InputError
from disputatio.reliability.grouping import Dependence, alone, groups_of
from disputatio.reliability.weighted_vote import CAP, FlatVotes, Votes, distinct

Floats: TypeAlias = NDArray[np.float64]
Relation: TypeAlias = NDArray[np.int64]  # (n, 3): question, a cluster, and a cluster that it entails
COPIED = 0.8  # c: the share of its values that a copier copies (the paper's default)
SURE = 0.95  # posterior probability from which two sources are tied
LEAST = 2  # the fewest false values that tied sources share
ODDS = np.log(19.0)  # the log-odds from which an original is distinguished from its copies
WRONG, RIGHT, NEITHER = 0, 1, 2
_LEVELS = 24  # how many classes of popularity group the false values
_CROWD = 64  # a value shared by more sources than this is counted by a product of matrices
_BLOCK = 2048


def standing(votes: ArrayLike, winners: ArrayLike, entails: Relation | None = None) -> NDArray[np.int8]:
    """Whether each vote is `RIGHT`, `WRONG` or `NEITHER`, in the votes' shape; -1 where there is no vote.

    The winner is right. A cluster that the winner entails ("Minnesota" if "Minneapolis" won) says less but
    nothing false, so it is neither; so is any vote on a question without a winner (below 0).
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
        chosen = array[rows]
        is_on_path = (chosen >= 0) & np.take_along_axis(on_path[rows], np.maximum(chosen, 0), axis=1)
        result[rows] = np.where(is_on_path, NEITHER, result[rows])
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
    """The probability that one of two sources copies the other, and how many false values they share.

    Both arrays are (sources, sources). Bayes' rule is applied to the questions that both of a pair answered
    and did not both get right (Dong et al. 2009, section 3.2). With accuracies A, errors F = 1 - A and p the
    probability that two errors are the same, a pair gives the same false value with probability

        independent: F1 F2 p                   of 1 - A1 A2
        copying:     c F + (1 - c) F1 F2 p     of 1 - c A - (1 - c) A1 A2,   A and F the pair's means

    This differs from the paper in two ways. Answers that both have right are no evidence here; the paper
    counts them as weak evidence of copying, which ties honest sources of high accuracy as the number of
    questions grows. And p is not 1/n for all values: it follows the value's popularity among the sources that
    err on that question without the pair, (n_v - 2 + 1) / (n_wrong - 2 + n) with n = `options` - 1, so that a
    common mistake alone ties nobody. `prior` is the prior of a pair; None is 1 / sources, at most 0.05: each
    source copies about one other. Raises `InputError`.
    """
    flat = FlatVotes.of(votes)
    size = flat.sources
    right = np.clip(np.asarray(reliability, dtype=np.float64), 0.01, 0.99)
    if right.shape != (size,):
        raise InputError(f"reliability must be {size} numbers, one a source")
    start = min(0.05, 1 / max(size, 1)) if prior is None else prior
    if not (0 < start < 1 and 0 < copied < 1):
        raise InputError("prior and copied must lie between 0 and 1")
    stand = standing(votes, winners, entails)
    standings = stand[flat.question, flat.source]
    wrong = standings == WRONG
    total = int(flat.start[-1])
    voters = np.bincount(flat.slot[wrong], minlength=total)
    of_question = np.bincount(flat.question[wrong], minlength=flat.questions)
    false_values = (distinct(votes, CAP) if options is None else options) - 1
    slots = np.flatnonzero(voters > 1)
    slot_question = np.searchsorted(flat.start, slots, side="right") - 1
    chance = (voters[slots] - 1) / (of_question[slot_question] - 2 + false_values)
    level = np.minimum((chance * _LEVELS).astype(np.int64), _LEVELS - 1)

    both_answered = _together((stand == RIGHT) | (stand == WRONG))
    both_right = _together(stand == RIGHT)
    errors = 1 - right
    first, other = right[:, None], right[None, :]
    mean, both = (first + other) / 2, errors[:, None] * errors[None, :]
    apart, tied = 1 - first * other, 1 - copied * mean - (1 - copied) * first * other
    evidence = np.zeros((size, size))
    shared = np.zeros((size, size))
    usual = 0.0
    for number in np.unique(level):
        level_slots = slots[level == number]
        counts = _pairs_of_slots(flat, wrong, level_slots)
        p = float(chance[level == number].mean())
        usual += p * float(counts.sum())
        same0 = both * p / apart
        same1 = (copied * (1 - mean) + (1 - copied) * both * p) / tied
        evidence += counts * np.log(same1 / same0)
        shared += counts
    usual = usual / float(shared.sum()) if shared.any() else 1 / max(false_values, 1)
    same0 = both * usual / apart
    same1 = (copied * (1 - mean) + (1 - copied) * both * usual) / tied
    differ = np.maximum(both_answered - both_right - shared, 0)
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
    """Tie sources that copy with a probability of at least `sure` and share at least `least` false values.

    The winners and reliabilities are given; `untangled` estimates them and the ties in turn.
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


def _together(marked: NDArray[np.bool_]) -> Floats:
    """In how many rows two columns are both true, for all pairs of columns."""
    size = marked.shape[1]
    result = np.zeros((size, size))
    for begin in range(0, len(marked), _BLOCK):
        block = marked[begin : begin + _BLOCK].astype(np.float32)
        result += block.T @ block
    return result


def _pairs_of_slots(flat: FlatVotes, wrong: NDArray[np.bool_], slots: NDArray[np.int64]) -> Floats:
    """How many of the slots both of two sources voted for, for all pairs of sources."""
    size = flat.sources
    result = np.zeros(size * size)
    row = np.full(int(flat.start[-1]), -1, dtype=np.int64)
    row[slots] = np.arange(len(slots))
    mine = np.flatnonzero(wrong & (row[flat.slot] >= 0))
    at, source = row[flat.slot[mine]], flat.source[mine]
    order = np.argsort(at, kind="stable")
    at, source = at[order], source[order]
    count = np.bincount(at, minlength=len(slots))
    crowded = count > _CROWD
    few = ~crowded[at]
    ends = np.cumsum(count)[at]  # where the voters of the same slot end
    position = np.arange(len(at))
    step = 1
    while True:  # each voter with the one `step` further on, while any slot has one
        pair = np.flatnonzero(few & (position + step < ends))
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
        voted = np.zeros((len(chosen), size), dtype=np.float32)
        voted[np.searchsorted(chosen, at[inside]), source[inside]] = 1
        matrix += voted.T @ voted
    return np.asarray(matrix, dtype=np.float64)


def _origins(group: NDArray[np.int32], stand: NDArray[np.int8]) -> NDArray[np.int32]:
    """The source that each group copies: its accuracy is the same whether or not its copier answers.

    Dong et al. 2009, intuition 2: a copier's accuracy differs between copied and other values. For a member
    and another, compare the member's record where the other answered with its record where the other did not:
    their difference is the log of the ratio of two Beta-binomial likelihoods, given the latter record and
    given none. The origin is the member whose records differ least against every other, by log 19 or more.
    """
    origin = alone(group)
    answered = int((stand >= 0).sum(axis=0).max(initial=0))
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, answered + 3)))])

    def log_beta(right: Floats, wrong: Floats) -> Floats:  # of Beta(right + 1, wrong + 1)
        hits, misses = right.astype(np.int64), wrong.astype(np.int64)
        return np.asarray(log_factorial[hits] + log_factorial[misses] - log_factorial[hits + misses + 1])

    for number in np.flatnonzero(np.bincount(group, minlength=1) > 1):
        members = np.flatnonzero(group == number)
        inside = stand[:, members]
        answering = (inside >= 0).astype(np.float32)
        right, wrong = ((inside == kind).astype(np.float32) for kind in (RIGHT, WRONG))
        # Of each member (row), on the questions that each other member (column) answered.
        both_right, both_wrong = right.T @ answering, wrong.T @ answering
        all_right, all_wrong = right.sum(axis=0)[:, None], wrong.sum(axis=0)[:, None]
        rest = log_beta(all_right - both_right, all_wrong - both_wrong)
        likeness = np.minimum(log_beta(all_right, all_wrong) - rest - log_beta(both_right, both_wrong), 0)
        margin = likeness - likeness.T
        np.fill_diagonal(margin, np.inf)
        first = np.flatnonzero(margin.min(axis=1) >= ODDS)
        if first.size == 1:
            origin[members] = members[first[0]]
    return origin
