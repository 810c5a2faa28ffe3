"""Votes by owner: the sources of one owner have one vote, and owners that copy share one vote.

An owner votes once on a question, however many sources it has: for the answer of most of them. Tied owners
(`copy_detection`) vote once together: for the answer of the trusted among them, with the weight of the most
trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from disputatio.errors import InputError
from disputatio.reliability.grouping import Split, find_order, groups_of, unite_votes
from disputatio.reliability.weighted_vote import FlatVotes, check_weights, distinct

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
RANKS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteOutcome:
    """The outcome of a vote.

    For each question: the winner (`winners`), -1 without answers; whether any weight backs it (`earned`);
    whether the winner leads alone (`clear`); and by the first weights, the three strongest clusters (`slots`,
    (questions, 3), -1 for none) with their `scores`: as many as it takes to know what leads, and whether it
    ties, without the vote of one unit. For each vote in `OwnerVotes.votes`: the weight of its stance
    (`powers`), and whether its unit took that stance (`took`).
    """

    winners: NDArray[np.int32]
    earned: NDArray[np.bool_]
    clear: NDArray[np.bool_]
    slots: Ints
    scores: Floats
    powers: Floats
    took: NDArray[np.bool_]

    @classmethod
    def empty(cls, votes: FlatVotes) -> VoteOutcome:
        return cls(
            winners=np.full(votes.questions, -1, dtype=np.int32),
            earned=np.zeros(votes.questions, dtype=np.bool_),
            clear=np.zeros(votes.questions, dtype=np.bool_),
            slots=np.full((votes.questions, RANKS), -1, dtype=np.int64),
            scores=np.full((votes.questions, RANKS), -np.inf),
            powers=np.zeros(len(votes.slot)),
            took=np.zeros(len(votes.slot), dtype=np.bool_),
        )

    def part(self, questions: slice, rows: slice, first_slot: int) -> VoteOutcome:
        """Return the outcome of some questions, with slots numbered from the first of theirs."""
        slots = self.slots[questions]
        return VoteOutcome(
            winners=self.winners[questions],
            earned=self.earned[questions],
            clear=self.clear[questions],
            slots=np.where(slots < 0, -1, slots - first_slot),
            scores=self.scores[questions],
            powers=self.powers[rows],
            took=self.took[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerVotes:
    """Votes by owner and unit; a unit is one owner or several tied owners.

    `owner` is each source's owner, `unit` each owner's unit: numbers from 0. `votes` are the owners' votes,
    sorted by question, unit and cluster. Votes of one unit for one cluster are a stance. `stance` and `pair`
    are the indices at which stances and pairs of question and unit begin; `joint` are the votes of pairs that
    have more than one. `split` says what becomes of the vote of an owner or unit that is evenly divided.
    """

    owner: Ints
    unit: Ints
    votes: FlatVotes
    stance: Ints
    pair: Ints
    joint: Ints
    split: Split

    @classmethod
    def of(
        cls,
        votes: ArrayLike | FlatVotes,
        owners: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        split: Split = "first",
    ) -> OwnerVotes:
        """Unite votes by owners and groups, each one number or name for each source.

        A negative number or an empty name stands for a source alone. An owner or unit that is evenly divided
        on a question votes for the cluster met first, or with `split="none"`, which suits estimates, for
        none. Raises `InputError`.
        """
        listed = FlatVotes.of(votes)
        sources = listed.sources
        owner = number_groups(owners, sources, "owners")
        group = number_groups(groups, sources, "groups")
        size = int(owner.max()) + 1 if sources else 0
        # Owners that have sources in one group are tied: each source ties its owner to its group.
        tied = groups_of(size + sources, np.stack([owner, size + group], axis=1))[:size]
        unit = np.unique(tied, return_inverse=True)[1].astype(np.int64)
        flat = unite_votes(listed, owner, split=split)
        units = int(unit.max(initial=0)) + 1
        key = flat.question * units + unit[flat.source]
        if len(key) > 1 and not np.all(key[1:] > key[:-1]):
            tied_rows = (np.bincount(unit) > 1)[unit][flat.source]
            order = find_order(key * distinct(flat, len(key)) + flat.number, tied_rows)
            key = key[order]
            flat = FlatVotes(
                question=flat.question[order],
                source=flat.source[order],
                slot=flat.slot[order],
                start=flat.start,
                sources=size,
            )
        begins_pair = np.ones(len(key), dtype=np.bool_)
        begins_pair[1:] = key[1:] != key[:-1]
        begins_stance = begins_pair.copy()
        begins_stance[1:] |= flat.slot[1:] != flat.slot[:-1]
        pair = np.flatnonzero(begins_pair)
        pair_sizes = np.diff(pair, append=len(key))
        return cls(
            owner=owner,
            unit=unit,
            votes=flat,
            stance=np.flatnonzero(begins_stance),
            pair=pair,
            joint=np.flatnonzero(np.repeat(pair_sizes > 1, pair_sizes)),
            split=split,
        )

    @property
    def units(self) -> Ints:
        return np.bincount(self.votes.question[self.pair], minlength=self.votes.questions)

    def run_vote(self, *weights: Floats) -> VoteOutcome:
        """Hold the vote with weights of owners, none negative.

        If no owner with a weight answered a question, the next weights decide it, and after the last
        all units count alike. A tie goes to the cluster met first.
        """
        outcome = VoteOutcome.empty(self.votes)
        for questions, rows in self.votes.spans():
            part = self.part(questions, rows)._held(weights)
            outcome.winners[questions], outcome.earned[questions] = part.winners, part.earned
            outcome.clear[questions] = part.clear
            slots = np.where(part.slots < 0, -1, part.slots + self.votes.start[questions.start])
            outcome.slots[questions], outcome.scores[questions] = slots, part.scores
            outcome.powers[rows], outcome.took[rows] = part.powers, part.took
        return outcome

    def part(self, questions: slice, rows: slice) -> OwnerVotes:
        """Return the votes of one of `votes.spans()`, with questions and slots numbered from 0."""
        flat = self.votes.part(questions, rows)
        if flat is self.votes:
            return self

        def within(places: Ints) -> Ints:
            begin, end = np.searchsorted(places, [rows.start, rows.stop])
            inside: Ints = places[begin:end] - rows.start
            return inside

        return OwnerVotes(
            owner=self.owner,
            unit=self.unit,
            votes=flat,
            stance=within(self.stance),
            pair=within(self.pair),
            joint=within(self.joint),
            split=self.split,
        )

    def _held(self, weights: Sequence[Floats]) -> VoteOutcome:
        flat, outcome = self.votes, VoteOutcome.empty(self.votes)
        if not flat.slot.size:
            return outcome
        answered = np.flatnonzero(np.diff(flat.start))
        start, clusters = flat.start[answered], np.diff(flat.start)[answered]
        total = int(flat.start[-1])
        single = len(self.stance) == len(flat.slot)
        slots = flat.slot if single else flat.slot[self.stance]
        for turn, power_of in enumerate([*weights, np.ones(flat.sources)]):
            if turn and np.all(outcome.winners[answered] >= 0):
                break
            power, takes = self._stances(power_of)
            chosen, weight = (slots, power) if takes.all() else (slots[takes], power[takes])
            sums = np.bincount(chosen, weights=weight, minlength=total).astype(np.float64, copy=False)
            sums[np.bincount(chosen, minlength=total) == 0] = -np.inf
            slack = 1e-12 * float(power_of.sum())
            first, best = _greatest(sums, start, clusters, slack)
            open_ = outcome.winners[answered] < 0
            decided = open_ & ((best > slack) | (turn == len(weights)))
            outcome.winners[answered[decided]] = (first - start)[decided]
            count = np.add.reduceat((sums >= np.repeat(best - slack, clusters)).astype(np.int64), start)
            outcome.clear[answered[decided]] = (count == 1)[decided]
            if turn == 0:
                outcome.earned[answered] = best > slack
                for rank in range(RANKS):
                    voted = np.isfinite(best)
                    outcome.slots[answered[voted], rank] = first[voted]
                    outcome.scores[answered[voted], rank] = best[voted]
                    sums[first] = -np.inf
                    first, best = _greatest(sums, start, clusters, slack)
                if not single:
                    votes_of = np.diff(self.stance, append=len(flat.slot))
                    power, takes = np.repeat(power, votes_of), np.repeat(takes, votes_of)
                outcome.powers[:], outcome.took[:] = power, takes
        return outcome

    def _stances(self, weights: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the weight of each stance (of its most trusted owner), and whether its unit takes it.

        A unit takes the stance with the greatest sum of weights, of equals the one of most owners, of those
        the one met first, or none (`split`).
        """
        power = weights[self.votes.source[self.stance]]
        takes = np.ones(len(power), dtype=np.bool_)
        if not self.joint.size:
            return power, takes
        mine = weights[self.votes.source[self.joint]]
        at = np.zeros(len(self.votes.slot), dtype=np.bool_)
        at[self.stance] = True
        stance = np.flatnonzero(at[self.joint])  # here and below: places among the joint votes
        at[self.stance] = False
        at[self.pair] = True
        pair = np.flatnonzero(at[self.joint])
        strongest = np.maximum.reduceat(mine, stance)
        total = np.add.reduceat(mine, stance)
        count = np.diff(stance, append=len(mine))
        begin = np.searchsorted(stance, pair)
        pair_of = np.repeat(np.arange(len(begin)), np.diff(begin, append=len(stance)))
        slack = 1e-12 * float(weights.sum())
        best = np.maximum.reduceat(total, begin)[pair_of]
        most = np.where(total >= best - slack, count, -1)
        leads = most == np.maximum.reduceat(most, begin)[pair_of]
        mine_of = np.searchsorted(self.stance, self.joint[stance])
        power[mine_of] = strongest
        if self.split == "none":
            takes[mine_of] = leads & (np.add.reduceat(leads.astype(np.int64), begin)[pair_of] == 1)
        else:
            places = np.where(leads, np.arange(len(leads)), len(leads))
            takes[mine_of] = np.minimum.reduceat(places, begin)[pair_of] == np.arange(len(leads))
        return power, takes


def _greatest(sums: Floats, start: Ints, clusters: Ints, slack: float) -> tuple[Ints, Floats]:
    """Return, for each question, the slot with the greatest sum, the first of equals, and that sum."""
    best = np.maximum.reduceat(sums, start)
    tied = sums >= np.repeat(best - slack, clusters)
    slots = np.arange(len(sums))
    return np.minimum.reduceat(np.where(tied, slots, len(sums)), start), best


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerRuling:
    """The vote on one question: the `winner`, -1 without answers.

    For each unit, in the order met: its cluster (-1 for none), its weight and its name, that of its most
    trusted owner. `earned` is false if no voter has a weight: then all count alike.
    """

    winner: int
    choices: tuple[int, ...]
    weights: tuple[float, ...]
    names: tuple[str, ...]
    earned: bool


def rule(
    row: ArrayLike,
    weights: ArrayLike,
    *,
    owners: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    names: Sequence[str] = (),
) -> OwnerRuling:
    """Hold the vote on one question, with one vote for each owner and group; `certify` takes the result.

    `row` is the cluster of each source (-1: no answer), `weights` are the sources' weights, none negative. An
    owner's weight is the mean weight of its sources that vote as it does. Raises `InputError`.

    >>> rule([0, 1, 1, 1], [3.0, 2.0, 2.0, 2.0], owners=["a", "b", "b", "b"]).winner
    0
    """
    source_choices = np.asarray(row)
    source_weights = check_weights(weights, len(source_choices))
    if np.any(source_weights < 0):
        raise InputError("the weights of a vote by owners must not be negative")
    owner_votes = OwnerVotes.of(source_choices.reshape(1, -1), owners, groups)
    flat = owner_votes.votes
    choice = np.full(flat.sources, -1, dtype=np.int64)
    choice[flat.source] = flat.slot
    backs = (source_choices >= 0) & (source_choices == choice[owner_votes.owner])
    count = np.bincount(owner_votes.owner[backs], minlength=flat.sources)
    power = np.bincount(
        owner_votes.owner[backs], weights=source_weights[backs], minlength=flat.sources
    ) / np.maximum(count, 1)
    outcome = owner_votes.run_vote(power)
    source_names = list(names) if names else [str(i) for i in range(len(source_choices))]
    by_owner = [""] * flat.sources
    for i, number in reversed(list(enumerate(owner_votes.owner.tolist()))):
        by_owner[number] = (owners[i] if owners is not None else "") or source_names[i]
    units = int(owner_votes.unit.max()) + 1 if len(source_choices) else 0
    choices, strength, title = [-1] * units, [0.0] * units, [""] * units
    for i in range(flat.sources - 1, -1, -1):  # the first of equals is written last
        unit = int(owner_votes.unit[i])
        title[unit] = by_owner[i]
    for i in np.lexsort((-flat.source, power[flat.source])):
        if outcome.took[i]:
            unit = int(owner_votes.unit[flat.source[i]])
            choices[unit] = int(flat.slot[i])
            strength[unit] = float(outcome.powers[i])
            title[unit] = by_owner[int(flat.source[i])]
    earned = bool(outcome.earned[0]) if outcome.earned.size else False
    if not earned:
        strength = [1.0 if choice >= 0 else 0.0 for choice in choices]
    return OwnerRuling(
        winner=int(outcome.winners[0]),
        choices=tuple(choices),
        weights=tuple(strength),
        names=tuple(title),
        earned=earned,
    )


def number_groups(names: ArrayLike | None, sources: int, what: str) -> Ints:
    """Return numbers from 0, in the order met, for numbers or names; negative or empty ones stand alone."""
    if names is None:
        return np.arange(sources, dtype=np.int64)
    array = np.asarray(names)
    if array.shape != (sources,) or (array.dtype.kind not in "iuU" and sources):
        raise InputError(f"{what} must be {sources} whole numbers or names, one a source")
    if not sources:
        return np.zeros(0, dtype=np.int64)
    alone = (array == "") if array.dtype.kind == "U" else (array < 0)
    _, number = np.unique(array, return_inverse=True)
    number = np.where(alone, len(array) + np.arange(len(array)), number)
    _, first, back = np.unique(number, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[back].astype(np.int64)
