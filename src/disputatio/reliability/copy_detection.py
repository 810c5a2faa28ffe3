"""Copy detection finds sources that share false values.

Dong, Berti-Equille and Srivastava, Integrating Conflicting Data: The Role of Source Dependence (VLDB
2009). Sources that agree on the truth may be independent: there is one truth, and both know it. Sources
that share false values probably copy, because there are many ways to be wrong. Votes are the integer array
(questions, sources) of `weighted_vote`, or a list of votes. Ties by near-duplicate text are in `grouping`.
`estimate_copying` says how this differs from the paper. Up to `EXACT` sources all pairs are compared; of
more, those that `find_copying_pairs` finds, by the same formulas.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from disputatio.errors import InputError
from disputatio.reliability.grouping import Dependence, groups_of
from disputatio.reliability.weighted_vote import CAP, FlatVotes, Votes, distinct

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
COPIED = 0.8  # c: the share of its values that a copier copies (the paper's default)
SURE = 0.95  # posterior probability from which two sources are tied
LEAST = 2  # the fewest false values that tied sources share
EXACT = 2_000  # up to this many sources, all pairs are compared
_CELLS = 200_000_000  # and up to this many sources times questions
_CROWD = 64  # a value shared by more sources than this is counted by a product of matrices
_BLOCK = 2048


# --- evidence in false values that two sources share --------------------------------------------------
WRONG, RIGHT, NEITHER = 0, 1, 2
_LEVELS = 24  # how many classes of popularity group the false values


def statuses(flat: FlatVotes, winners: ArrayLike) -> NDArray[np.int8]:
    """Return whether each vote is `RIGHT`, `WRONG` or `NEITHER`; raises `InputError`.

    The winner is right; any vote on a question without a winner (below 0) is neither.
    """
    won = np.asarray(winners)
    if won.shape != (flat.questions,):
        raise InputError("winners must be one a question")
    right = np.where(won >= 0, flat.start[:-1] + won, -1)
    result = np.full(len(flat.slot), WRONG, dtype=np.int8)
    for _, rows in flat.spans():
        slot = right[flat.question[rows]]
        result[rows][flat.slot[rows] == slot] = RIGHT
        result[rows][slot < 0] = NEITHER
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedValues:
    """The false values that more than one source gave.

    For each vote, whether it is `wrong`; the number of sources that gave a false value (`voters`, by slot);
    the values (`slots`) and the class of popularity of each (`level`). `chances` is the mean probability,
    by class, that another error is the same; `usual` is that over all pairs that share a value.
    """

    wrong: NDArray[np.bool_]
    voters: Ints
    slots: Ints
    level: Ints
    chances: Floats
    usual: float

    @classmethod
    def of(cls, flat: FlatVotes, stand: NDArray[np.int8], false_values: int) -> SharedValues:
        """Count the false values; `false_values` is how many a question may have."""
        wrong = stand == WRONG
        voters = np.bincount(flat.slot[wrong], minlength=int(flat.start[-1]))
        of_question = np.bincount(flat.question[wrong], minlength=flat.questions)
        slots = np.flatnonzero(voters > 1)
        slot_question = np.searchsorted(flat.start, slots, side="right") - 1
        chance = (voters[slots] - 1) / (of_question[slot_question] - 2 + false_values)
        level = np.minimum((chance * _LEVELS).astype(np.int64), _LEVELS - 1)
        held = np.bincount(level, minlength=_LEVELS)
        chances = np.bincount(level, chance, minlength=_LEVELS) / np.maximum(held, 1)
        pairs = np.bincount(level, voters[slots] * (voters[slots] - 1.0), minlength=_LEVELS)
        usual = float((chances * pairs).sum() / pairs.sum()) if len(slots) else 1 / max(false_values, 1)
        return cls(wrong=wrong, voters=voters, slots=slots, level=level, chances=chances, usual=usual)

    @property
    def level_of_slot(self) -> NDArray[np.int8]:
        """The class of each slot, -1 for one that is not such a value."""
        levels = np.full(len(self.voters), -1, dtype=np.int8)
        levels[self.slots] = self.level
        return levels


def same_value(first: Floats, other: Floats, p: Floats | float) -> tuple[Floats, Floats]:
    """Return the probability that two sources give the same false value, if independent and if one copies."""
    mean, both = (first + other) / 2, (1 - first) * (1 - other)
    apart, tied = 1 - first * other, 1 - COPIED * mean - (1 - COPIED) * first * other
    return both * p / apart, (COPIED * (1 - mean) + (1 - COPIED) * both * p) / tied


def weigh_shared(first: Floats, other: Floats, p: Floats | float) -> Floats:
    """Return the log-odds of copying that each shared false value adds: never negative."""
    independent, copying = same_value(first, other, p)
    return np.asarray(np.log(copying / independent), dtype=np.float64)


def weigh_unshared(first: Floats, other: Floats, p: float) -> Floats:
    """Return what each question adds where both answered differently, not both right: never positive."""
    independent, copying = same_value(first, other, p)
    return np.asarray(np.log((1 - copying) / np.maximum(1 - independent, 1e-12)), dtype=np.float64)


def probability_of(evidence: Floats, prior: float) -> Floats:
    """Return the posterior probability from the evidence in log-odds and the prior probability."""
    odds = np.clip(evidence + np.log(prior / (1 - prior)), -500, 500)
    return np.asarray(1 / (1 + np.exp(-odds)), dtype=np.float64)


def accuracies(reliability: ArrayLike, sources: int) -> Floats:
    """Return reliabilities between 0.01 and 0.99; raises `InputError` unless there is one a source."""
    right = np.clip(np.asarray(reliability, dtype=np.float64), 0.01, 0.99)
    if right.shape != (sources,):
        raise InputError(f"reliability must be {sources} numbers, one a source")
    return right


def prior_of(sources: int, prior: float | None) -> float:
    """Return the prior of a pair: 1 / sources, at most 0.05, when None; raises `InputError`."""
    start = min(0.05, 1 / max(sources, 1)) if prior is None else prior
    if not 0 < start < 1:
        raise InputError("prior must lie between 0 and 1")
    return start


def estimate_copying(
    votes: Votes | FlatVotes,
    winners: ArrayLike,
    reliability: ArrayLike,
    *,
    options: int | None = None,
    prior: float | None = None,
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
    common mistake alone makes no tie. `prior` is the prior of a pair; None is 1 / sources, at most 0.05: each
    source copies about one other. Raises `InputError`.
    """
    flat = FlatVotes.of(votes)
    right = accuracies(reliability, flat.sources)
    start = prior_of(flat.sources, prior)
    stands = statuses(flat, winners)
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
        evidence += counts * weigh_shared(first, other, float(values.chances[number]))
        shared += counts
    differ = np.maximum(both_answered - both_right - shared, 0)
    evidence += differ * weigh_unshared(first, other, values.usual)
    probability = probability_of(evidence, start)
    np.fill_diagonal(probability, 0)
    np.fill_diagonal(shared, 0)
    return probability, shared.astype(np.int64)


def tie_by_votes(
    votes: Votes | FlatVotes,
    winners: ArrayLike,
    reliability: ArrayLike,
    *,
    options: int | None = None,
    exact: bool | None = None,
) -> Dependence:
    """Tie sources that copy with a probability of at least `SURE` and share at least `LEAST` false values.

    The winners and reliabilities are given; `untangle` estimates them and the ties in turn. `exact` compares
    all pairs of sources; None does so where there are few. Raises `InputError`.
    """
    flat = FlatVotes.of(votes)
    if exact is None:
        exact = flat.sources <= EXACT and flat.sources * flat.questions <= _CELLS
    if exact:
        chances, shared = estimate_copying(flat, winners, reliability, options=options)
        first, second = np.nonzero(np.triu((chances >= SURE) & (shared >= LEAST)))
        pairs = np.stack([first, second], axis=1).astype(np.int64)
        probability = chances[first, second]
    else:
        pairs, probability = find_copying_pairs(
            flat,
            statuses(flat, winners),
            accuracies(reliability, flat.sources),
            false_values=(distinct(flat, CAP) if options is None else options) - 1,
            prior=prior_of(flat.sources, None),
        )
    return Dependence(group=groups_of(flat.sources, pairs), pairs=pairs, probability=probability)


def _dense(flat: FlatVotes, stands: NDArray[np.int8]) -> NDArray[np.int8]:
    result = np.full((flat.questions, flat.sources), -1, dtype=np.int8)
    result[flat.question, flat.source] = stands
    return result


def _together(marked: NDArray[np.bool_]) -> Floats:
    """Count in how many rows two columns are both true, for all pairs of columns."""
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


# --- candidates -----------------------------------------------------------------------------------
# Not all pairs of many sources are compared. Two sources are candidates if
#
# - false values that few sources gave show that they copy: such values are listed with the pairs of their
#   sources, rarest first, at most `PAIRS` pairs a wrong answer; or
# - the sets of all their false values are alike, by MinHash (Broder 1997) with locality-sensitive hashing.
#
# Candidates are judged by the exact formulas on all their votes, so a tie that is found has its exact
# probability. If all shared values are listed, no tie is missed; else a pair that shares a small part of its
# common errors can be missed.

PAIRS = 32  # listed pairs of sources for each wrong answer, at most
HASHES = 126  # of a MinHash
WINDOW = 8  # neighbours in a bucket that a source is a candidate with
_FEW = 20_000  # up to this many sources, two equal hashes make a bucket; of more, three
_CHUNK = 4_000_000  # pairs, or votes of pairs, handled at once


def find_copying_pairs(
    flat: FlatVotes, stands: NDArray[np.int8], right: Floats, *, false_values: int, prior: float
) -> tuple[Ints, Floats]:
    """Return the pairs of sources (n, 2) that copy with at least `SURE`, and their probabilities.

    `stands` is the status of each vote, `right` the accuracy of each source.
    """
    values = SharedValues.of(flat, stands, false_values)
    needed = np.log(SURE / (1 - SURE)) - np.log(prior / (1 - prior))
    largest = _largest_listed(values)
    everything = largest >= values.voters.max(initial=0)
    # Evidence of shared values is never negative and all other is never positive: it bounds the sum.
    keys = _find_listed_candidates(
        flat, values, right, largest, needed if everything else needed / 2, LEAST if everything else 1
    )
    if not everything:
        keys = np.union1d(keys, _find_hashed_candidates(flat, values))
    first, other = np.divmod(keys, flat.sources)
    shared, evidence = _weigh_pairs(flat, stands, values, right, first, other)
    probability = probability_of(evidence, prior)
    tied = (probability >= SURE) & (shared >= LEAST)
    return np.stack([first[tied], other[tied]], axis=1).astype(np.int64), probability[tied]


def _largest_listed(values: SharedValues) -> int:
    """Return the most sources that a value may have for its pairs to be listed."""
    counts = np.sort(values.voters[values.slots])
    pairs = np.cumsum(counts * (counts - 1) // 2)
    fitting = int(np.searchsorted(pairs, PAIRS * np.count_nonzero(values.wrong), side="right"))
    if fitting == len(counts):
        return int(counts.max(initial=0))
    return int(counts[fitting]) - 1  # all values with as many sources, or none of them


def _find_listed_candidates(
    flat: FlatVotes, values: SharedValues, right: Floats, largest: int, needed: float, least: int
) -> Ints:
    """Return pairs, as first * sources + other, whose listed values give the evidence that is needed."""
    is_listed = (values.voters > 1) & (values.voters <= largest)
    mine = np.flatnonzero(values.wrong & is_listed[flat.slot])
    slot, source = flat.slot[mine], flat.source[mine]
    order = np.argsort(slot * flat.sources + source)  # no source votes twice for a value
    slot, source = slot[order], source[order]
    count = values.voters[slot]
    begins = np.flatnonzero(np.diff(slot, prepend=-1))
    position = np.arange(len(slot)) - np.repeat(begins, np.diff(np.append(begins, len(slot))))
    later = count - 1 - position  # the voters of the same value that come after each one
    at = np.arange(len(slot))
    by_source = np.argsort(source * len(source) + at)
    level, found = values.level_of_slot, []
    for chunk in _chunks(later[by_source], source[by_source]):
        rows = by_source[chunk]
        reach = later[rows]
        one = np.repeat(at[rows], reach)
        step = np.arange(len(one)) - np.repeat(np.cumsum(reach) - reach, reach) + 1
        first, other = source[one], source[one + step]
        weight = weigh_shared(right[first], right[other], values.chances[level[slot[one]]])
        keys, back, shared = np.unique(first * flat.sources + other, return_inverse=True, return_counts=True)
        evidence = np.bincount(back, weight, minlength=len(keys))
        found.append(keys[(evidence >= needed - 1e-9) & (shared >= least)])
    return np.concatenate([np.zeros(0, dtype=np.int64), *found])


def _find_hashed_candidates(flat: FlatVotes, values: SharedValues) -> Ints:
    """Return pairs whose sets of shared false values fall into one bucket of their MinHashes."""
    mine = np.flatnonzero(values.wrong & (values.voters[flat.slot] > 1))
    mine = mine[np.argsort(flat.source[mine], kind="stable")]
    begins = np.flatnonzero(np.diff(flat.source[mine], prepend=-1))
    sources = flat.source[mine][begins]
    slots = _mix(flat.slot[mine].astype(np.uint64))
    rows = 2 if flat.sources <= _FEW else 3
    found = np.zeros(0, dtype=np.int64)
    for band in range(HASHES // rows):
        bucket = np.zeros(len(sources), dtype=np.uint64)
        for row in range(rows):
            seed = _mix(np.full(1, band * rows + row + 1, dtype=np.uint64))
            bucket = _mix(bucket ^ np.minimum.reduceat(_mix(slots ^ seed), begins))
        order = np.argsort(bucket, kind="stable")
        keys = [found]
        for step in range(1, WINDOW + 1):
            same = np.flatnonzero(bucket[order[step:]] == bucket[order[:-step]])
            one, next_one = sources[order[same]], sources[order[same + step]]
            keys.append(np.minimum(one, next_one) * flat.sources + np.maximum(one, next_one))
        found = np.unique(np.concatenate(keys))
    return found


def _weigh_pairs(
    flat: FlatVotes, stands: NDArray[np.int8], values: SharedValues, right: Floats, first: Ints, other: Ints
) -> tuple[Ints, Floats]:
    """Return, for each pair, how many false values it shares, and its evidence, from all votes of both."""
    compared = np.zeros(flat.sources, dtype=np.bool_)
    compared[first] = compared[other] = True
    mine = np.flatnonzero((stands != NEITHER) & compared[flat.source])
    mine = mine[np.argsort(flat.source[mine], kind="stable")]  # by source, then question
    key = flat.source[mine] * flat.questions + flat.question[mine]
    bounds = np.searchsorted(flat.source[mine], np.arange(flat.sources + 1))
    held = np.diff(bounds)
    level = values.level_of_slot
    few, many = np.where(held[first] <= held[other], (first, other), (other, first))
    shared, evidence = np.zeros(len(first), dtype=np.int64), np.zeros(len(first))
    for chunk in _chunks(held[few]):
        reach = held[few[chunk]]
        pair = np.repeat(chunk, reach)
        row = np.repeat(bounds[few[chunk]] - np.cumsum(reach) + reach, reach) + np.arange(len(pair))
        wanted = many[pair] * flat.questions + flat.question[mine[row]]
        found = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        met = np.flatnonzero(key[found] == wanted)
        pair, one, two = pair[met], mine[row[met]], mine[found[met]]
        not_both_right = (stands[one] != RIGHT) | (stands[two] != RIGHT)
        same = not_both_right & (flat.slot[one] == flat.slot[two])
        of = pair[same]
        p = values.chances[level[flat.slot[one[same]]]]
        weight = weigh_shared(right[first[of]], right[other[of]], p)
        begin, size = int(chunk[0]), len(chunk)
        counts = np.bincount(of - begin, minlength=size)
        differ = np.bincount(pair[not_both_right] - begin, minlength=size) - counts
        shared[chunk] = counts
        evidence[chunk] = np.bincount(of - begin, weight, minlength=size) + differ * weigh_unshared(
            right[first[chunk]], right[other[chunk]], values.usual
        )
    return shared, evidence


def _chunks(work: Ints, together: Ints | None = None) -> Iterator[Ints]:
    """Yield runs of rows whose `work` sums to about `_CHUNK`; equal neighbours of `together` share one."""
    total = np.cumsum(work)
    begin = 0
    while begin < len(work):
        base = int(total[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(total, base + _CHUNK, side="right")), begin + 1)
        if together is not None and end < len(work):
            end = int(np.searchsorted(together, together[end - 1], side="right"))
        yield np.arange(begin, end)
        begin = end


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of 64 bits (the finaliser of SplitMix64)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
