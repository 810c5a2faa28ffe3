"""Votes of groups as an array, from those of their members."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from disputatio.reliability.grouping import unite_votes
from disputatio.reliability.weighted_vote import FlatVotes


def united(votes: ArrayLike, group: ArrayLike) -> NDArray[np.int32]:
    """Votes of groups, (questions, groups): each group votes like most of its members.

    A tie goes to the cluster met first.

    >>> united([[0, 1, 1], [0, -1, -1]], [0, 1, 1]).tolist()
    [[0, 1], [0, -1]]
    """
    flat = unite_votes(FlatVotes.of(votes), group)
    result = np.full((flat.questions, flat.sources), -1, dtype=np.int32)
    result[flat.question, flat.source] = flat.number
    return result
