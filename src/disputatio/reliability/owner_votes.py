"""Who speaks with one voice: sources of one owner, and owners that do not speak independently.

An owner has one vote a question, however many sources it has: what most of them say. Owners that are tied
(`dependence`) have one vote together: what the trusted among them say, at the weight of the most trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from disputatio.errors import InputError
from disputatio.reliability.grouping import groups_of, united
from disputatio.reliability.weighted_vote import Ballots, fitting

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerBallots:
    """A vote that was held. Over questions: `winners`, -1 where nobody answered; whether one was `earned`,
    that is, backed by any weight; and by the first weights given, the `slots` of the two strongest clusters
    (questions, 2), -1 for none, with their `scores`. Over the answers in `Voices.heard`: the weight of the
    stance that each is part of (`powers`), and whether its unit took that stance (`spoke`).
    """

    winners: NDArray[np.int32]
    earned: NDArray[np.bool_]
    slots: Ints
    scores: Floats
    powers: Floats
    spoke: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Voices:
    """Votes by owner and unit. `owner` is each source's owner, `unit` each owner's unit: numbers from 0.

    `heard` are the answers of owners, sorted by question, unit and cluster; answers of one unit to one
    question that agree are a stance, `stance` and `pair` the places where stances and pairs of question
    and unit begin.
    """

    owner: Ints
    unit: Ints
    heard: Ballots
    stance: Ints
    pair: Ints

    @classmethod
    def of(cls, votes: ArrayLike, owners: ArrayLike | None = None, groups: ArrayLike | None = None) -> Voices:
        """Unite votes by owners and groups, each a number or a word a source.

        A negative number or an empty word stands for a source alone. Raises `InputError`.
        """
        sources = np.asarray(votes).shape[1] if np.asarray(votes).ndim == 2 else 0
        owner = numbered(owners, sources, "owners")
        group = numbered(groups, sources, "groups")
        size = int(owner.max()) + 1 if sources else 0
        # Owners that have sources in one group are tied: each source ties its owner to its group.
        tied = groups_of(size + sources, np.stack([owner, size + group], axis=1))[:size]
        unit = np.unique(tied, return_inverse=True)[1].astype(np.int64)
        flat = Ballots.of(united(votes, owner))
        order = np.lexsort((flat.slot, unit[flat.source], flat.question))
        heard = Ballots(
            question=flat.question[order],
            source=flat.source[order],
            slot=flat.slot[order],
            start=flat.start,
            sources=size,
        )
        who = unit[heard.source]
        pair = np.ones(len(order), dtype=np.bool_)
        pair[1:] = (np.diff(heard.question) != 0) | (np.diff(who) != 0)
        stance = pair.copy()
        stance[1:] |= np.diff(heard.slot) != 0
        return cls(
            owner=owner, unit=unit, heard=heard, stance=np.flatnonzero(stance), pair=np.flatnonzero(pair)
        )

    @property
    def units(self) -> Ints:
        """How many units answered each question."""
        return np.bincount(self.heard.question[self.pair], minlength=self.heard.questions)

    def hold(self, *weights: Floats) -> OwnerBallots:
        """Hold the vote with weights over owners, none negative.

        Where nobody with a weight answered, the next weights given decide, and after the last
        all units count alike. A tie goes to the cluster met first.
        """
        heard, questions = self.heard, self.heard.questions
        held = OwnerBallots(
            winners=np.full(questions, -1, dtype=np.int32),
            earned=np.zeros(questions, dtype=np.bool_),
            slots=np.full((questions, 2), -1, dtype=np.int64),
            scores=np.zeros((questions, 2)),
            powers=np.zeros(len(heard.slot)),
            spoke=np.zeros(len(heard.slot), dtype=np.bool_),
        )
        if not heard.slot.size:
            return held
        asked = np.flatnonzero(np.diff(heard.start))
        start, clusters = heard.start[asked], np.diff(heard.start)[asked]
        total = int(heard.start[-1])
        slots = heard.slot[self.stance]
        for turn, given in enumerate([*weights, np.ones(heard.sources)]):
            if turn and np.all(held.winners[asked] >= 0):
                break
            power, takes = self._stances(given)
            sums: Floats = np.bincount(slots[takes], weights=power[takes], minlength=total).astype(np.float64)
            sums[np.bincount(slots[takes], minlength=total) == 0] = -np.inf
            slack = 1e-12 * float(given.sum())
            first, best = _greatest(sums, start, clusters, slack)
            open_ = held.winners[asked] < 0
            decided = open_ & ((best > slack) | (turn == len(weights)))
            held.winners[asked[decided]] = (first - start)[decided]
            if turn == 0:
                held.earned[asked] = best > slack
                held.slots[asked, 0], held.scores[asked, 0] = first, best
                sums[first] = -np.inf
                second, best = _greatest(sums, start, clusters, slack)
                others = np.isfinite(best)
                held.slots[asked[others], 1], held.scores[asked[others], 1] = second[others], best[others]
                each = np.repeat(np.arange(len(self.stance)), np.diff(self.stance, append=len(heard.slot)))
                held.powers[:], held.spoke[:] = power[each], takes[each]
        return held

    def _stances(self, weights: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """The weight of each stance (its most trusted owner's), and whether its unit takes it.

        A unit takes the stance with the greatest sum of weights, of equals the one most of its owners
        hold, of those the one met first.
        """
        mine = weights[self.heard.source]
        power = np.maximum.reduceat(mine, self.stance)
        total = np.add.reduceat(mine, self.stance)
        count = np.diff(self.stance, append=len(mine))
        begin = np.searchsorted(self.stance, self.pair)
        pair_of = np.repeat(np.arange(len(begin)), np.diff(begin, append=len(self.stance)))
        slack = 1e-12 * float(weights.sum())
        best = np.maximum.reduceat(total, begin)[pair_of]
        most = np.where(total >= best - slack, count, -1)
        most = np.where(most == np.maximum.reduceat(most, begin)[pair_of], np.arange(len(most)), len(most))
        return power, np.minimum.reduceat(most, begin)[pair_of] == np.arange(len(most))


def _greatest(sums: Floats, start: Ints, clusters: Ints, slack: float) -> tuple[Ints, Floats]:
    """The slot with the greatest sum of each question, the first of equals, and its sum."""
    best = np.maximum.reduceat(sums, start)
    tied = sums >= np.repeat(best - slack, clusters)
    places = np.arange(len(sums))
    return np.minimum.reduceat(np.where(tied, places, len(sums)), start), best


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerRuling:
    """One question's vote: the `winner` (-1: nobody answered), and over units, in the order first met,
    what each said (-1: nothing), with which weight, and what it is called (its most trusted owner's name).
    `earned` is false where nobody heard has earned a weight: all then count alike.
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
    """Hold the vote on one question, with one vote an owner and a group; `certify` takes what it gives.

    `row` is the cluster of each source (-1: no answer), `weights` are theirs, none negative; an owner's
    weight is the mean of those of its sources that say what it says. Raises `InputError`.

    >>> rule([0, 1, 1, 1], [3.0, 2.0, 2.0, 2.0], owners=["a", "b", "b", "b"]).winner
    0
    """
    said = np.asarray(row)
    own = fitting(weights, len(said))
    if np.any(own < 0):
        raise InputError("the weights of a vote by owners must not be negative")
    voices = Voices.of(said.reshape(1, -1), owners, groups)
    heard = voices.heard
    choice = np.full(heard.sources, -1, dtype=np.int64)
    choice[heard.source] = heard.slot
    backs = (said >= 0) & (said == choice[voices.owner])
    count = np.bincount(voices.owner[backs], minlength=heard.sources)
    power = np.bincount(voices.owner[backs], weights=own[backs], minlength=heard.sources) / np.maximum(
        count, 1
    )
    held = voices.hold(power)
    called = list(names) if names else [str(i) for i in range(len(said))]
    by_owner = [""] * heard.sources
    for i, number in reversed(list(enumerate(voices.owner.tolist()))):
        by_owner[number] = (owners[i] if owners is not None else "") or called[i]
    units = int(voices.unit.max()) + 1 if len(said) else 0
    choices, strength, title = [-1] * units, [0.0] * units, [""] * units
    for i in range(heard.sources - 1, -1, -1):  # the first of equals is written last
        unit = int(voices.unit[i])
        title[unit] = by_owner[i]
    for i in np.lexsort((-heard.source, power[heard.source])):
        if held.spoke[i]:
            unit = int(voices.unit[heard.source[i]])
            choices[unit] = int(heard.slot[i])
            strength[unit] = float(held.powers[i])
            title[unit] = by_owner[int(heard.source[i])]
    earned = bool(held.earned[0]) if held.earned.size else False
    if not earned:
        strength = [1.0 if one >= 0 else 0.0 for one in choices]
    return OwnerRuling(
        winner=int(held.winners[0]),
        choices=tuple(choices),
        weights=tuple(strength),
        names=tuple(title),
        earned=earned,
    )


def numbered(names: ArrayLike | None, sources: int, what: str) -> Ints:
    """Numbers from 0, in the order met, for numbers or words; a negative or empty one stands alone."""
    if names is None:
        return np.arange(sources, dtype=np.int64)
    array = np.asarray(names)
    if array.shape != (sources,) or (array.dtype.kind not in "iuU" and sources):
        raise InputError(f"{what} must be {sources} whole numbers or words, one a source")
    if not sources:
        return np.zeros(0, dtype=np.int64)
    alone = (array == "") if array.dtype.kind == "U" else (array < 0)
    _, number = np.unique(array, return_inverse=True)
    number = np.where(alone, len(array) + np.arange(len(array)), number)
    _, first, back = np.unique(number, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[back].astype(np.int64)
