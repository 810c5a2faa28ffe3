"""The pace of an evaluation and the time that is left, by each strategy's own times.

Questions that are in hand count for what is left of them. The range holds nineteen times of twenty, if
the questions to come are like those seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

_WIDE = 1.96  # standard deviations of the normal distribution to either side for 95 %


class Left(NamedTuple):
    """Seconds that remain; `low` and `high` are None before there are two times of each strategy."""

    seconds: float
    low: float | None
    high: float | None


@dataclass(slots=True)
class _Times:
    """Seconds of a strategy's questions: number, mean, sum of squared deviations (Welford 1962)."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, seconds: float) -> None:
        self.count += 1
        off = seconds - self.mean
        self.mean += off / self.count
        self.squares += off * (seconds - self.mean)

    @property
    def variance(self) -> float | None:
        return None if self.count < 2 else self.squares / (self.count - 1)


@dataclass(slots=True)
class QuestionPace:
    """The times of questions by strategy, where `workers` are in hand at a time."""

    workers: int = 1
    _times: dict[str, _Times] = field(default_factory=dict)

    def note(self, entrant: str, seconds: float) -> None:
        """Record how long a question of a strategy took."""
        self._times.setdefault(entrant, _Times()).add(seconds)

    def left(self, waiting: Mapping[str, int], in_hand: Sequence[tuple[str, float]]) -> Left | None:
        """Estimate the time left for questions to begin and those in hand, each with the seconds it has had.

        A strategy that was not seen is taken to need the mean of those that were; None before any was.

        >>> pace = QuestionPace(workers=2)
        >>> for seconds in (8.0, 12.0):
        ...     pace.note("a", seconds)
        >>> pace.left({"a": 4}, [("a", 4.0)]).seconds
        23.0
        """
        if not self._times:
            return None
        mean = sum(times.mean for times in self._times.values()) / len(self._times)
        total = longest = spread = 0.0
        known = True
        counts = dict(waiting)
        for entrant, had in in_hand:
            times = self._times.get(entrant, _Times(mean=mean))
            rest = max(times.mean - had, 0.0)
            total += rest
            longest = max(longest, rest)
            counts.setdefault(entrant, 0)
        for entrant, count in counts.items():
            times = self._times.get(entrant, _Times(mean=mean))
            total += count * times.mean
            many = count + sum(name == entrant for name, _ in in_hand)
            if times.variance is None:
                known = known and not many
            else:  # of the questions to come, and of the mean that stands for them
                spread += many * times.variance + many**2 * times.variance / times.count
        seconds = max(total / self.workers, longest)
        if not known:
            return Left(seconds, None, None)
        wide = _WIDE * math.sqrt(spread) / self.workers
        return Left(seconds, max(seconds - wide, 0.0), seconds + wide)
