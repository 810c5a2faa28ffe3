"""How many liars a weighed vote survives, counted exactly.

An owner that lies takes its whole weight from where it stands to any other answer, one already given or a new
one; the rest stay. The certificate is the smallest number of owners whose lie changes the answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from disputatio.errors import InputError
from disputatio.types import Certificate


def certify(
    choices: Sequence[int],
    weights: Sequence[float],
    names: Sequence[str] = (),
    *,
    corrupted: int | None = None,
) -> Certificate | None:
    """The certificate of one question's vote; None where nobody answered.

    `choices[i]` is the cluster that owner i gave, -1 for none (it is no voter); clusters are numbered in the
    order met and a tie goes to the lowest, as in `weighing.weighted_vote`. `weights` are those the vote was
    held with; where all are zero, every voter counts as one. `names` are the owners'. Raises `InputError`
    where the three do not fit together or a weight is negative.

    >>> certify([0, 0, 0, 0, 1], [1, 1, 1, 1, 1], ["a", "b", "c", "d", "e"])
    Certificate(owners=2, voters=5, names=('a', 'b'), corrupted=None)
    """
    if len(choices) != len(weights) or (names and len(names) != len(choices)):
        raise InputError("a certificate needs one choice, one weight and one name an owner")
    if not all(0 <= weight < float("inf") for weight in weights):
        raise InputError("a certificate needs weights that are finite and not negative")
    heard = [i for i, choice in enumerate(choices) if choice >= 0]
    if not heard:
        return None
    power = [float(weights[i]) for i in heard]
    if not any(power):
        power = [1.0] * len(heard)
    fall = _smallest([choices[i] for i in heard], power)
    liars = tuple(names[heard[i]] for i in fall) if names else ()
    return Certificate(owners=len(fall), voters=len(heard), names=liars, corrupted=corrupted)


def _smallest(choices: list[int], power: list[float]) -> tuple[int, ...]:
    """The fewest liars that change the answer: places in the lists.

    For one rival r, the winner u falls to it when the gains of the liars reach the gap between their sums. A
    liar who stood by u gains 2 w (w lost there, w won here), one who stood elsewhere w, one who stood by r
    nothing. Only the sum of the gains matters, and the m largest gains have the greatest sum of any m, so
    the least m for which they reach the gap is the least for r; and whoever wins instead of u beats u, so
    the least over r, a new answer among them, is the least of all. It is exact, not a bound.

    A gap that is met but not passed is a tie, which goes to the answer met first, and liars can change who
    is met first: see `_met_first`.
    """
    places, where = np.unique(np.array(choices), return_inverse=True)
    weight = np.array(power)
    sums = np.bincount(where, weights=weight)
    slack = 1e-12 * float(weight.sum())
    winner = int(np.flatnonzero(sums >= sums.max() - slack)[0])
    base = np.where(where == winner, 2.0, 1.0) * weight
    found: tuple[int, ...] | None = None
    for rival in [*(int(one) for one in np.argsort(-sums) if one != winner), len(places)]:
        gap = float(sums[winner]) - (float(sums[rival]) if rival < len(places) else 0.0)
        gains = np.where(where == rival, 0.0, base)
        order = np.lexsort((where == rival, -gains))[: int((where != rival).sum())]
        reached = np.cumsum(gains[order])
        for m in range(int(np.searchsorted(reached, gap - slack)) + 1, len(order) + 1):
            if found is not None and m >= len(found):
                break
            liars: tuple[int, ...] | None = tuple(order[:m].tolist())
            if reached[m - 1] <= gap + slack:
                liars = _met_first(order, gains, m, where, winner, rival, slack)
            if liars is not None:
                found = tuple(sorted(liars))
                break
    if found is None:
        raise AssertionError("all voters together can always change the answer to a new one")
    return found


def _met_first(
    order: NDArray[np.int64],
    gains: NDArray[np.float64],
    m: int,
    where: NDArray[np.int64],
    winner: int,
    rival: int,
    slack: float,
) -> tuple[int, ...] | None:
    """Liars, m of them, that bring a tie in which the rival is met first; None where there are none.

    Only sets with the gains of the m greatest reach the gap, so they differ in who, among equal gains, makes
    up the last places. The rival is met first when the first voter of either is one of its own or a liar.
    """
    first = int(np.flatnonzero((where == winner) | (where == rival))[0])
    last = gains[order[m - 1]]
    forced = [int(i) for i in order if gains[i] > last + slack]
    equal = sorted(int(i) for i in order if abs(gains[i] - last) <= slack)
    liars = tuple(forced + equal[: m - len(forced)])
    return liars if where[first] == rival or min(liars) <= first else None
