"""Copy detection finds sources that share false values.

Dong, Berti-Equille and Srivastava, Integrating Conflicting Data: The Role of Source Dependence (VLDB
2009). Sources that agree on the truth may be independent: there is one truth, and both know it. Sources
that share false values probably copy, because there are many ways to be wrong. Votes are the integer array
(questions, sources) of `weighted_vote`, or a list of votes. Ties by near-duplicate text are in `grouping`.
`copying` says how this differs from the paper. Up to `EXACT` sources all pairs are compared; of more, those
that `copy_candidates` finds, by the same formulas.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from disputatio.reliability.copy_candidates import copying_pairs
from disputatio.reliability.copy_evidence import (
    RIGHT,
    WRONG,
    Relation,
    SharedValues,
    accuracies,
    prior_of,
    probability_of,
    shared_evidence,
    statuses,
    unshared_evidence,
)
from disputatio.reliability.grouping import Dependence, alone, groups_of
from disputatio.reliability.weighted_vote import CAP, FlatVotes, Votes, distinct

Floats: TypeAlias = NDArray[np.float64]
COPIED = 0.8  # c: the share of its values that a copier copies (the paper's default)
SURE = 0.95  # posterior probability from which two sources are tied
LEAST = 2  # the fewest false values that tied sources share
ODDS = np.log(19.0)  # the log-odds from which an original is distinguished from its copies
EXACT = 2_000  # up to this many sources, all pairs are compared
_CELLS = 200_000_000  # and up to this many sources times questions
_MEMBERS = 1_000  # the origin of a larger group is not looked for
_CROWD = 64  # a value shared by more sources than this is counted by a product of matrices
_BLOCK = 2048


def copying(
    votes: Votes | FlatVotes,
    winners: ArrayLike,
    reliability: ArrayLike,
    *,
    options: int | None = None,
    prior: float | None = None,
    copied: float = COPIED,
    entails: Relation | None = None,
) -> tuple[Floats, NDArray[np.int64]]:
    """Return the probability that one of two sources copies the other, and how many false values they share.

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
    right = accuracies(reliability, flat.sources)
    start = prior_of(flat.sources, prior, copied)
    stands = statuses(flat, winners, entails)
    false_values = (distinct(flat, CAP) if options is None else options) - 1
    values = SharedValues.of(flat, stands, false_values)
    stand = _dense(flat, stands)
    both_answered = _together((stand == RIGHT) | (stand == WRONG))
    both_right = _together(stand == RIGHT)
    first, other = right[:, None], right[None, :]
    evidence = np.zeros((flat.sources, flat.sources))
    shared = np.zeros((flat.sources, flat.sources))
    for number in np.unique(values.level):
        counts = _pairs_of_slots(flat, values.wrong, values.slots[values.level == number])
        evidence += counts * shared_evidence(first, other, float(values.chances[number]), copied)
        shared += counts
    differ = np.maximum(both_answered - both_right - shared, 0)
    evidence += differ * unshared_evidence(first, other, values.usual, copied)
    probability = probability_of(evidence, start)
    np.fill_diagonal(probability, 0)
    np.fill_diagonal(shared, 0)
    return probability, shared.astype(np.int64)


def tied_by_votes(
    votes: Votes | FlatVotes,
    winners: ArrayLike,
    reliability: ArrayLike,
    *,
    options: int | None = None,
    prior: float | None = None,
    copied: float = COPIED,
    sure: float = SURE,
    least: int = LEAST,
    entails: Relation | None = None,
    exact: bool | None = None,
) -> Dependence:
    """Tie sources that copy with a probability of at least `sure` and share at least `least` false values.

    The winners and reliabilities are given; `untangled` estimates them and the ties in turn. `exact` compares
    all pairs of sources; None does so where there are few. Raises `InputError`.
    """
    flat = FlatVotes.of(votes)
    if exact is None:
        exact = flat.sources <= EXACT and flat.sources * flat.questions <= _CELLS
    if exact:
        chances, shared = copying(
            flat, winners, reliability, options=options, prior=prior, copied=copied, entails=entails
        )
        first, second = np.nonzero(np.triu((chances >= sure) & (shared >= least)))
        pairs = np.stack([first, second], axis=1).astype(np.int64)
        probability = chances[first, second]
        stands = statuses(flat, winners, entails)
    else:
        stands = statuses(flat, winners, entails)
        pairs, probability = copying_pairs(
            flat,
            stands,
            accuracies(reliability, flat.sources),
            false_values=(distinct(flat, CAP) if options is None else options) - 1,
            prior=prior_of(flat.sources, prior, copied),
            copied=copied,
            sure=sure,
            least=least,
        )
    group = groups_of(flat.sources, pairs)
    return Dependence(group=group, origin=_origins(flat, group, stands), pairs=pairs, probability=probability)


def _dense(flat: FlatVotes, stands: NDArray[np.int8]) -> NDArray[np.int8]:
    result = np.full((flat.questions, flat.sources), -1, dtype=np.int8)
    result[flat.question, flat.source] = stands
    return result


def _together(marked: NDArray[np.bool_]) -> Floats:
    """In how many rows two columns are both true, for all pairs of columns."""
    size = marked.shape[1]
    result = np.zeros((size, size))
    for begin in range(0, len(marked), _BLOCK):
        block = marked[begin : begin + _BLOCK].astype(np.float32)
        result += block.T @ block
    return result


def _pairs_of_slots(flat: FlatVotes, wrong: NDArray[np.bool_], slots: NDArray[np.int64]) -> Floats:
    """Return how many of the slots both of two sources voted for, for all pairs of sources."""
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


def _origins(flat: FlatVotes, group: NDArray[np.int32], stands: NDArray[np.int8]) -> NDArray[np.int32]:
    """Return the source that each group copies: its accuracy is the same whether or not its copier answers.

    Dong et al. 2009, intuition 2: a copier's accuracy differs between copied and other values. For a member
    and another, compare the member's record where the other answered with its record where the other did not:
    their difference is the log of the ratio of two Beta-binomial likelihoods, given the latter record and
    given none. The origin is the member whose records differ least against every other, by log 19 or more. It
    is left unknown in a group of more than `_MEMBERS`.
    """
    origin = alone(group)
    size = np.bincount(group, minlength=1)
    chosen = np.flatnonzero((size[group] > 1) & (size[group] <= _MEMBERS))  # sources
    if not chosen.size:
        return origin
    answered = int(np.bincount(flat.source, minlength=flat.sources)[chosen].max(initial=0))
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, answered + 3)))])

    def log_beta(right: Floats, wrong: Floats) -> Floats:  # of Beta(right + 1, wrong + 1)
        hits, misses = right.astype(np.int64), wrong.astype(np.int64)
        return np.asarray(log_factorial[hits] + log_factorial[misses] - log_factorial[hits + misses + 1])

    tied = np.zeros(flat.sources, dtype=np.bool_)
    tied[chosen] = True
    mine = np.flatnonzero(tied[flat.source])
    mine = mine[np.argsort(group[flat.source[mine]], kind="stable")]
    of = group[flat.source[mine]]
    begins = np.flatnonzero(np.diff(of, prepend=-1))
    for begin, end in zip(begins, np.append(begins[1:], len(of)), strict=True):
        rows = mine[begin:end]
        questions, row = np.unique(flat.question[rows], return_inverse=True)
        members, column = np.unique(flat.source[rows], return_inverse=True)
        if len(members) < size[of[begin]]:
            continue  # a member has no votes
        inside = np.full((len(questions), len(members)), -1, dtype=np.int8)
        inside[row, column] = stands[rows]
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
