"""A certificate counts exactly how many lying owners a weighted vote survives.

An owner that lies moves its whole weight to any other answer, one already given or a new one; the other
owners do not move. The certificate is the smallest number of owners whose lies change the winner.
"""

from __future__ import annotations

import math
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
    unread: Sequence[float] = (),
) -> Certificate | None:
    """Return the certificate of one question's vote; None if no source answered.

    `choices[i]` is the cluster of owner i, -1 if it did not vote. Clusters are numbered in the order met and
    a tie goes to the lowest, as in `hold_vote`. `weights` are the weights of the vote; if all are zero,
    every voter counts 1. `names` are the owners' names. `unread` has the weights of owners that could not be
    read: they are taken to back whichever answer the liars back. Raises `InputError` if the three have
    different lengths or a weight is negative or not finite.

    >>> certify([0, 0, 0, 0, 1], [1, 1, 1, 1, 1], ["a", "b", "c", "d", "e"])
    Certificate(owners=2, voters=5, names=('a', 'b'), corrupted=None, unread=0)
    >>> certify([0, 0], [1, 1], ["a", "b"], unread=[1, 1, 1])
    Certificate(owners=0, voters=2, names=(), corrupted=None, unread=3)
    """
    if len(choices) != len(weights) or (names and len(names) != len(choices)):
        raise InputError("a certificate needs one choice, one weight and one name an owner")
    if not all(0 <= weight < float("inf") for weight in (*weights, *unread)):
        raise InputError("a certificate needs weights that are finite and not negative")
    voters = [i for i, choice in enumerate(choices) if choice >= 0]
    if not voters:
        return None
    power = [float(weights[i]) for i in voters]
    against = math.fsum(unread)
    if not any(power):
        power, against = [1.0] * len(voters), float(len(unread))
    fall = _smallest([choices[i] for i in voters], power, against)
    liars = tuple(names[voters[i]] for i in fall) if names else ()
    return Certificate(owners=len(fall), voters=len(voters), names=liars, unread=len(unread))


def _smallest(choices: list[int], power: list[float], against: float = 0.0) -> tuple[int, ...]:
    """Return the fewest liars that change the answer, as indices into the lists.

    A rival r beats the winner u when the gains of the liars reach the gap between the sums of u and r. A liar
    who voted for u gains 2 w (u loses w, r wins w), one who voted for a third answer gains w, one who voted
    for r gains nothing. Only the sum of the gains matters, and the m largest gains have the greatest sum of
    any m. So the least m for which they reach the gap is the least for r. Whichever answer wins instead of u
    beats u, so the least over all r, a new answer included, is the least of all. The number is exact, not a
    bound. The weight `against` is that of owners that were not read: it narrows the gap to every rival.

    If the gains equal the gap, there is a tie, which goes to the answer met first. Liars can change which
    answer is met first: see `_met_first`.
    """
    places, where = np.unique(np.array(choices), return_inverse=True)
    weight = np.array(power)
    sums = np.bincount(where, weights=weight)
    slack = 1e-12 * float(weight.sum())
    winner = int(np.flatnonzero(sums >= sums.max() - slack)[0])
    base = np.where(where == winner, 2.0, 1.0) * weight
    fewest: tuple[int, ...] | None = None
    for rival in [*(int(cluster) for cluster in np.argsort(-sums) if cluster != winner), len(places)]:
        gap = float(sums[winner]) - (float(sums[rival]) if rival < len(places) else 0.0) - against
        if against and gap <= slack:
            return ()
        gains = np.where(where == rival, 0.0, base)
        order = np.lexsort((where == rival, -gains))[: int((where != rival).sum())]
        reached = np.cumsum(gains[order])
        for m in range(int(np.searchsorted(reached, gap - slack)) + 1, len(order) + 1):
            if fewest is not None and m >= len(fewest):
                break
            liars: tuple[int, ...] | None = tuple(order[:m].tolist())
            if reached[m - 1] <= gap + slack and not against:  # of those not read any may be met first
                liars = _met_first(order, gains, m, where, winner, rival, slack)
            if liars is not None:
                fewest = tuple(sorted(liars))
                break
    if fewest is None:
        raise AssertionError("all voters together can always change the answer to a new one")
    return fewest


def _met_first(
    order: NDArray[np.int64],
    gains: NDArray[np.float64],
    m: int,
    where: NDArray[np.int64],
    winner: int,
    rival: int,
    slack: float,
) -> tuple[int, ...] | None:
    """Return liars, m of them, that make a tie in which the rival is met first; None if there are none.

    Only sets with the m greatest gains reach the gap, so they differ only in which voters of equal gain come
    last. The rival is met first if the first voter of either answer votes for the rival or is a liar.
    """
    first = int(np.flatnonzero((where == winner) | (where == rival))[0])
    last = gains[order[m - 1]]
    forced = [int(i) for i in order if gains[i] > last + slack]
    equal = sorted(int(i) for i in order if abs(gains[i] - last) <= slack)
    liars = tuple(forced + equal[: m - len(forced)])
    return liars if where[first] == rival or min(liars) <= first else None
