"""Evidence of copying in false values that two sources share: how common they are, and how it adds up.

The formulas of `copy_detection`, which says how they differ from the paper. They are the same whether all
pairs of sources are compared or only candidates (`copy_detection`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from disputatio.errors import InputError
from disputatio.reliability.weighted_vote import FlatVotes

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Relation: TypeAlias = NDArray[np.int64]  # (n, 3): question, a cluster, and a cluster that it entails
WRONG, RIGHT, NEITHER = 0, 1, 2
_LEVELS = 24  # how many classes of popularity group the false values


def statuses(flat: FlatVotes, winners: ArrayLike, entails: Relation | None = None) -> NDArray[np.int8]:
    """Return whether each vote is `RIGHT`, `WRONG` or `NEITHER`; raises `InputError`.

    The winner is right. A cluster that the winner entails ("Minnesota" if "Minneapolis" won) says less but
    nothing false, so it is neither; so is any vote on a question without a winner (below 0).
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
    if entails is not None and len(entails):
        question, general = (column[won[entails[:, 0]] == entails[:, 1]] for column in entails[:, [0, 2]].T)
        held = general < np.diff(flat.start)[question]
        on_path = np.zeros(int(flat.start[-1]), dtype=np.bool_)
        on_path[flat.start[question[held]] + general[held]] = True
        result[on_path[flat.slot]] = NEITHER
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


def same_value(first: Floats, other: Floats, p: Floats | float, copied: float) -> tuple[Floats, Floats]:
    """Return the probability that two sources give the same false value, if independent and if one copies."""
    mean, both = (first + other) / 2, (1 - first) * (1 - other)
    apart, tied = 1 - first * other, 1 - copied * mean - (1 - copied) * first * other
    return both * p / apart, (copied * (1 - mean) + (1 - copied) * both * p) / tied


def shared_evidence(first: Floats, other: Floats, p: Floats | float, copied: float) -> Floats:
    """Return the log-odds of copying that each shared false value adds: never negative."""
    independent, copying = same_value(first, other, p, copied)
    return np.asarray(np.log(copying / independent), dtype=np.float64)


def unshared_evidence(first: Floats, other: Floats, p: float, copied: float) -> Floats:
    """Return what each question adds where both answered differently, not both right: never positive."""
    independent, copying = same_value(first, other, p, copied)
    return np.asarray(np.log((1 - copying) / np.maximum(1 - independent, 1e-12)), dtype=np.float64)


def probability_of(evidence: Floats, prior: float) -> Floats:
    """Return the posterior probability from the evidence in log-odds and the prior probability."""
    odds = np.clip(evidence + np.log(prior / (1 - prior)), -500, 500)
    return np.asarray(1 / (1 + np.exp(-odds)), dtype=np.float64)


def accuracies(reliability: ArrayLike, sources: int) -> Floats:
    """Reliabilities that no error makes impossible; raises `InputError` unless there is one a source."""
    right = np.clip(np.asarray(reliability, dtype=np.float64), 0.01, 0.99)
    if right.shape != (sources,):
        raise InputError(f"reliability must be {sources} numbers, one a source")
    return right


def prior_of(sources: int, prior: float | None, copied: float) -> float:
    """Return the prior of a pair: 1 / sources, at most 0.05, when None; raises `InputError`."""
    start = min(0.05, 1 / max(sources, 1)) if prior is None else prior
    if not (0 < start < 1 and 0 < copied < 1):
        raise InputError("prior and copied must lie between 0 and 1")
    return start
