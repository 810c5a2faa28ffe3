"""Compares two answers of a vote, for the reason that one won: more votes, fewer copies, or more
reliable sources.
"""

from __future__ import annotations

from typing import Literal

from disputatio.causes import Support

LostBy = Literal["outvoted", "owner_or_copy", "less_reliable"]
WonBy = Literal["most_votes", "more_reliable"]


def lost_vote(loser: Support, winner: Support, *, grouped: bool = True) -> LostBy:
    """Return why the votes for an answer weigh less than those for the winner.

    `grouped` says that copies and passages of one owner had one vote together.

    >>> lost_vote(Support(passages=3, groups=1), Support(passages=2, groups=2))
    'owner_or_copy'
    >>> lost_vote(Support(passages=1, groups=1), Support(passages=2, groups=2))
    'outvoted'
    >>> lost_vote(Support(sources=2, groups=2), Support(sources=1, groups=1))
    'less_reliable'
    """
    uncounted, uncounted_of_winner = _number(loser), _number(winner)
    votes, votes_of_winner = uncounted, uncounted_of_winner
    if grouped and loser.groups is not None and winner.groups is not None:
        votes, votes_of_winner = loser.groups, winner.groups
    if votes >= votes_of_winner:
        return "less_reliable"
    return "owner_or_copy" if uncounted >= uncounted_of_winner else "outvoted"


def won_vote(winner: Support, loser: Support, *, grouped: bool = True) -> WonBy:
    """Return why the votes for an answer weigh more than those for its strongest rival.

    >>> won_vote(Support(sources=1), Support(sources=2))
    'more_reliable'
    """
    lost = lost_vote(loser, winner, grouped=grouped)
    return "more_reliable" if lost == "less_reliable" else "most_votes"


def _number(support: Support) -> int:
    """Return how many passages, or else sources, give an answer, whether or not their votes count."""
    return support.passages if support.passages is not None else support.sources or 0
