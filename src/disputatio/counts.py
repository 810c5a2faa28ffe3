"""What an answer counts beside votes: passages read and not read, and the liars it survives."""

from __future__ import annotations

from dataclasses import dataclass

from disputatio.serialisation import Serialisable


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate(Serialisable):
    """How many liars an answer survives: `owners` is the smallest number of owners whose lie would change it.

    Counted exactly over the `voters` owners that were read; `names` is one such set. `corrupted` is how
    many passages may be corrupted without changing the answer, where that is provable. The `unread` owners,
    whose passages no reply could be used on, are counted as if they opposed the answer: with 0 `owners` they
    alone could change it.
    """

    owners: int
    voters: int
    names: tuple[str, ...] = ()
    corrupted: int | None = None
    unread: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsearched(Serialisable):
    """One of several indexes that a search had to leave out, and why, in one line."""

    index: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What became of the passages that a question's searches found.

    Of `found` passages the answer's agents `read` some, every reply on others `failed`, and the rest were
    `set_aside`: not put to an agent, or judged to be of no use. `faults` counts the replies of agents of any
    role that could not be used. `unsearched` are those of several indexes that could not be searched.
    """

    found: int
    read: int
    failed: int
    set_aside: int
    faults: int = 0
    unsearched: tuple[Unsearched, ...] = ()
