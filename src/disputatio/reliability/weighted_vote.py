"""Weighted votes, and reliability estimated from the votes alone, on arrays.

Majority voting, weighted majority voting and the iterative estimate of RA-RAG (Hwang et al. 2024, 4.2,
after Li and Yu 2014). Extensions of the paper (owners, anchors, dependence) are in `trust`.

Votes are an integer array of shape (questions, sources): the number of the semantic cluster of a source's
answer, numbered from 0 within each question in the order met; -1 if the source gave no answer ("I don't
know", or it was not asked).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from disputatio.errors import InputError
from disputatio.reliability.posterior import posterior

Votes: TypeAlias = NDArray[np.int32]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
NOBODY, UNKNOWN = -1, -2  # in `known`: no source gave the right answer; the right answer is not known
CAP, ITERATIONS = 10, 50
SLOTS = 10_000_000  # more clusters than this are not numbered from 0 within each question
SPAN = 500_000  # votes that are counted at once: more would leave the processor's cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The estimated reliability of each source, and the cluster that won each question.

    For each source: `reliability` (the share of its answers that won), its 95 % interval `low` to `high`,
    `weights`, and the counts `answered` and `agreed`, which has parts of a tied question. `checked` is false
    for a source that never answered a known question or one that another source answered: it has the prior,
    and counts of 0. For each question: `winners`, -1 without answers. `options` is the L of the weights.
    `converged` is false if the iterations ran out before the shares stopped changing.
    """

    reliability: Floats
    weights: Floats
    low: Floats
    high: Floats
    answered: Floats
    agreed: Floats
    checked: NDArray[np.bool_]
    winners: NDArray[np.int32]
    options: int
    rounds: int
    converged: bool

    @property
    def cross_checked(self) -> bool:
        """True if any source could be compared with another or with a known answer."""
        return bool(self.checked.any())


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatVotes:
    """The votes as a list: the question and source of each, and the slot it is for.

    The slots of question j are `start[j] : start[j + 1]`, one for each cluster, in the order met.
    """

    question: NDArray[np.int64]
    source: NDArray[np.int64]
    slot: NDArray[np.int64]
    start: NDArray[np.int64]
    sources: int

    @classmethod
    def of(cls, votes: ArrayLike | FlatVotes) -> FlatVotes:
        """Flatten votes; raises `InputError` unless they are whole numbers in two dimensions."""
        if isinstance(votes, FlatVotes):
            return votes
        array = np.asarray(votes)
        if array.ndim != 2 or not (np.issubdtype(array.dtype, np.integer) or array.size == 0):
            raise InputError("votes must be an integer array of shape (questions, sources)")
        question, source = np.nonzero(array >= 0)
        number = array[question, source].astype(np.int64)
        clusters = np.zeros(array.shape[0], dtype=np.int64)
        if array.size:
            clusters = np.maximum(array.max(axis=1).astype(np.int64) + 1, 0)
        if int(clusters.sum()) > max(SLOTS, 8 * len(number)):
            raise InputError("votes must number the clusters of each question from 0, in the order met")
        start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(clusters)])
        return cls(
            question=question,
            source=source,
            slot=start[question] + number,
            start=start,
            sources=array.shape[1],
        )

    @classmethod
    def from_list(
        cls, question: Ints, source: Ints, number: NDArray[Any], *, questions: int, sources: int
    ) -> FlatVotes:
        """Return votes from a list: the question and source of each, and its cluster, numbered from 0 as met.

        Of several votes of one source on a question the last one counts. So votes of many sources that each
        answer few questions take memory for the votes alone. Raises `InputError`.
        """
        if not len(question) == len(source) == len(number):
            raise InputError("votes need a question, a source and a cluster each")
        if len(question) and not (
            0 <= question.min() <= question.max() < questions
            and 0 <= source.min() <= source.max() < sources
            and number.min() >= 0
        ):
            raise InputError("votes need a question, a source and a cluster that exist")
        key = question.astype(np.int64) * sources + source
        if len(key) > 1 and not np.all(key[1:] > key[:-1]):
            order = np.argsort(key, kind="stable")
            key = key[order]
            order = order[np.append(key[1:] != key[:-1], True)]
            question, source, number = question[order], source[order], number[order]
        del key
        clusters = np.zeros(questions, dtype=np.int64)
        begins = np.flatnonzero(np.diff(question, prepend=-1))
        if len(begins):
            clusters[question[begins]] = np.maximum.reduceat(number, begins) + 1
        if int(clusters.sum()) > max(SLOTS, 8 * len(number)):
            raise InputError("votes must number the clusters of each question from 0, in the order met")
        start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(clusters)])
        return cls(
            question=question.astype(np.int64, copy=False),
            source=source.astype(np.int64, copy=False),
            slot=start[question] + number,
            start=start,
            sources=sources,
        )

    def spans(self) -> Iterator[tuple[slice, slice]]:
        """Yield runs of whole questions with about `SPAN` votes: their questions, and their votes."""
        begin = row = 0
        while begin < self.questions:
            if row + SPAN < len(self.question):
                end = max(int(self.question[row + SPAN]), begin + 1)
            else:
                end = self.questions
            last = int(np.searchsorted(self.question, end))
            yield slice(begin, end), slice(row, last)
            begin, row = end, last

    def part(self, questions: slice, rows: slice) -> FlatVotes:
        """Return the votes of one of the `spans`, with questions and slots numbered from 0."""
        if questions == slice(0, self.questions):
            return self
        first = self.start[questions.start]
        return FlatVotes(
            question=self.question[rows] - questions.start,
            source=self.source[rows],
            slot=self.slot[rows] - first,
            start=self.start[questions.start : questions.stop + 1] - first,
            sources=self.sources,
        )

    @property
    def questions(self) -> int:
        return len(self.start) - 1

    @property
    def number(self) -> Ints:
        """The cluster of each vote, numbered from 0 within its question."""
        return self.slot - self.start[self.question]

    def scores(self, weights: Floats) -> Floats:
        """Return the sum of the weights for each slot, minus infinity if it has no vote."""
        total = int(self.start[-1])
        summed = np.bincount(self.slot, weights=weights[self.source], minlength=total)
        voters = np.bincount(self.slot, minlength=total)
        return np.where(voters > 0, summed, -np.inf)

    def winners(self, weights: Floats) -> NDArray[np.int32]:
        """Return the cluster with the greatest sum in each question; a tie goes to the one met first."""
        won = np.full(self.questions, -1, dtype=np.int32)
        for questions, rows in self.spans():
            part = self.part(questions, rows)
            answered = np.flatnonzero(np.diff(part.start))
            if answered.size:
                start, tied = part.start[answered], part._find_leading(weights, answered)
                first = np.where(tied, np.arange(len(tied)), len(tied))
                won[questions.start + answered] = np.minimum.reduceat(first, start) - start
        return won

    def agreements(self, weights: Floats) -> Floats:
        """Return the share of its question's outcome that each vote agrees with, one number a vote.

        It is 1 for a vote for the cluster with the greatest sum, 0 for one for another cluster, and 1 / n for
        a vote for one of n clusters that tie: so no cluster gains by being met first.
        """
        agreed = np.zeros(len(self.slot))
        for questions, rows in self.spans():
            part = self.part(questions, rows)
            answered = np.flatnonzero(np.diff(part.start))
            if answered.size:
                tied = part._find_leading(weights, answered).astype(np.float64)
                count = np.add.reduceat(tied, part.start[answered])
                agreed[rows] = (tied / np.repeat(count, np.diff(part.start)[answered]))[part.slot]
        return agreed

    def _find_leading(self, weights: Floats, answered: Ints) -> NDArray[np.bool_]:
        """Return which slots have the greatest sum of their question, of those that were answered."""
        # Sums that differ by rounding alone, as they do when sources are reordered, are ties.
        slack = 1e-12 * float(np.abs(weights).sum())
        scores = self.scores(weights)
        best = np.maximum.reduceat(scores, self.start[answered])
        return scores >= np.repeat(best - slack, np.diff(self.start)[answered])


def hold_vote(votes: ArrayLike, weights: ArrayLike) -> NDArray[np.int32]:
    """Return each question's winning cluster: argmax over u of the sum of v_i of its voters i (eq. 1).

    A tie goes to the cluster met first; -1 without answers. With the true reliabilities as weights it is
    the paper's Oracle WMV. Raises `InputError` on weights that do not fit.

    >>> hold_vote([[0, 1, 1], [-1, -1, -1]], [3.0, 1.0, 1.0]).tolist()
    [0, -1]
    """
    flat = FlatVotes.of(votes)
    return flat.winners(check_weights(weights, flat.sources))


def majority(votes: ArrayLike) -> NDArray[np.int32]:
    """Return the cluster of most sources: every weight is 1.

    >>> majority([[0, 1, 1], [0, 1, -1]]).tolist()
    [1, 0]
    """
    flat = FlatVotes.of(votes)
    return flat.winners(np.ones(flat.sources))


def weights_of(reliability: ArrayLike, options: int) -> Floats:
    """Return v = L w - 1 for L possible answers (Li and Yu 2014): 0 for a guesser, negative below.

    >>> weights_of([0.9, 0.1], 10).round(9).tolist()
    [8.0, 0.0]
    """
    if options < 2:
        raise InputError("options must be at least 2: with one possible answer no source can be wrong")
    return options * np.asarray(reliability, dtype=np.float64) - 1


def most_reliable(votes: ArrayLike, weights: ArrayLike, kappa: int) -> NDArray[np.int32]:
    """Return the votes of the `kappa` sources of greatest weight that answered each question (kappa-RRSS).

    Of sources with equal weights the first is preferred. Other votes become -1.

    >>> most_reliable([[0, 0, 1, 1], [0, 0, -1, 1]], [1.0, 2.0, 4.0, 3.0], 2).tolist()
    [[-1, -1, 1, 1], [-1, 0, -1, 1]]
    """
    array = np.asarray(votes, dtype=np.int32)
    if kappa < 1:
        raise InputError("kappa must be at least 1")
    order = np.argsort(-check_weights(weights, array.shape[1]), kind="stable")
    ranked = array[:, order]
    chosen = np.where(np.cumsum(ranked >= 0, axis=1) <= kappa, ranked, -1)
    result = np.empty_like(array)
    result[:, order] = chosen
    return result


def as_met(labels: ArrayLike) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return votes from labels (questions, sources), any numbers of 0 or more, and the clusters of label 0.

    Clusters are numbered in the order met; the second array has the cluster of label 0 in each question, -1
    if no source gave it.

    >>> votes, first = as_met([[7, 0, 7], [-1, 3, 3]])
    >>> votes.tolist(), first.tolist()
    ([[0, 1, 0], [-1, 0, 0]], [1, -1])
    """
    array = np.asarray(labels, dtype=np.int64)
    votes = np.full(array.shape, -1, dtype=np.int32)
    question, source = np.nonzero(array >= 0)
    zero = np.full(len(array), -1, dtype=np.int32)
    if not question.size:
        return votes, zero
    label = array[question, source]
    width = int(label.max()) + 1
    keys, first, back = np.unique(question * width + label, return_index=True, return_inverse=True)
    of = keys // width
    order = np.lexsort((first, of))
    begins = np.flatnonzero(np.diff(of[order], prepend=-1))
    number = np.empty(len(keys), dtype=np.int64)
    number[order] = np.arange(len(keys)) - np.repeat(begins, np.diff([*begins, len(keys)]))
    votes[question, source] = number[back]
    right = keys % width == 0
    zero[of[right]] = number[right]
    return votes, zero


def check_weights(weights: ArrayLike, sources: int) -> Floats:
    """Return weights as an array; raises `InputError` unless there is one finite number for each source."""
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (sources,) or not np.all(np.isfinite(array)):
        raise InputError(f"weights must be {sources} finite numbers, one a source")
    return array


def distinct(votes: ArrayLike | FlatVotes, cap: int = CAP) -> int:
    """Return L, the number of possible answers: the most distinct clusters in a question, from 2 to `cap`."""
    if isinstance(votes, FlatVotes):
        most = int(np.diff(votes.start).max(initial=0))
    else:
        array = np.asarray(votes)
        most = int(array.max()) + 1 if array.size else 0
    return max(2, min(most, cap))


def pin_known(known: ArrayLike | None, questions: int) -> NDArray[np.int32]:
    """Return the right cluster of each question as far as known; raises `InputError` if it does not fit."""
    if known is None:
        return np.full(questions, UNKNOWN, dtype=np.int32)
    array: NDArray[Any] = np.asarray(known)
    if array.shape != (questions,) or (
        array.size and (array.dtype.kind not in "iu" or array.min() < UNKNOWN)
    ):
        raise InputError(f"known must be {questions} whole numbers of -2 or more, one a question")
    return array.astype(np.int32)


def estimate(
    votes: Votes | FlatVotes,
    *,
    options: int | None = None,
    prior: float = 0.5,
    iterations: int = ITERATIONS,
    known: NDArray[np.int32] | None = None,
    lone: bool = True,
    start: ArrayLike | None = None,
) -> Estimate:
    """Estimate how reliable sources are by cross-checking their answers, as RA-RAG does (4.2).

    All weights start at 1. Then in turn: the weighted vote of each question; for each source the share of
    its answers that won; the weight of that share (`weights_of`); until the shares do not change or
    `iterations` have run. The paper says nothing of ties: here each of n clusters that tie has won an nth of
    the question, so that the order of the sources changes no estimate.

    `options` is L; None takes the most distinct clusters seen in a question, at most `CAP`. `known[j]` fixes
    the right cluster of question j: -2 if it is not known, -1 if no source gave it. A source that cannot be
    compared gets the `prior`. `lone=False` leaves out questions that only one source answered: the paper
    counts them, although such an answer always wins and so shows nothing. `start` are weights to begin with
    instead of 1, such as those of an earlier estimate to which answers were added: fewer rounds are then
    needed, and where a vote is close another cluster may win. Raises `InputError`.
    """
    if not 0 < prior < 1 or iterations < 1:
        raise InputError("prior must lie between 0 and 1, and iterations be at least 1")
    flat = FlatVotes.of(votes)
    size = distinct(votes) if options is None else options
    truth = pin_known(known, flat.questions)
    is_known = truth != UNKNOWN
    together = is_known | (np.bincount(flat.question, minlength=flat.questions) > 1)
    checked = np.zeros(flat.sources, dtype=np.bool_)
    checked[flat.source[together[flat.question]]] = True
    counts = checked[flat.source] & (lone | together[flat.question])
    answered = np.bincount(flat.source[counts], minlength=flat.sources).astype(np.float64)

    def shares(agreed: Floats) -> Floats:
        return np.where(checked, agreed / np.maximum(answered, 1), prior)

    def sum_agreements(weights: Floats) -> Floats:
        agreement = flat.agreements(weights)
        if is_known.any():
            right = (flat.number == truth[flat.question]).astype(np.float64)
            agreement = np.where(is_known[flat.question], right, agreement)
        total = np.bincount(flat.source[counts], weights=agreement[counts], minlength=flat.sources)
        return total.astype(np.float64, copy=False)

    # This always ends and never cycles. With a_i answers that won of n_i, each round's vote makes the sum
    # over i of (L a_i / n_i - 1) a'_i greatest: the tangent at a of the strictly convex sum of
    # L a_i^2 / (2 n_i) - a_i, which rises with every round that changes an a_i; the votes are finitely many.
    weights = np.ones(flat.sources) if start is None else check_weights(start, flat.sources)
    agreed, following = np.zeros(flat.sources), sum_agreements(weights)
    converged, rounds = False, 0
    while rounds < iterations and not converged:
        rounds += 1
        agreed = following
        weights = weights_of(shares(agreed), size)
        following = sum_agreements(weights)
        converged = np.allclose(following, agreed, rtol=0, atol=1e-9)
    winners = np.where(is_known, truth, flat.winners(weights)).astype(np.int32)
    _, low, high = posterior(agreed, answered, mean=prior)
    return Estimate(
        reliability=shares(agreed),
        weights=weights,
        low=low,
        high=high,
        answered=answered,
        agreed=agreed,
        checked=checked,
        winners=winners,
        options=size,
        rounds=rounds,
        converged=converged,
    )
