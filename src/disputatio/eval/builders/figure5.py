"""The make-up of RAMDocs (Wang et al. 2025, figure 5), as targets for a set of its kind, and its measurement.

The paper prints the means; its bars cannot be read off. The shares of right answers and of misinformation
are those of its released 500 rows. The others are ours: within the ranges of section 3 (1-3 passages an
answer, 0-2 of noise) and with the means of the figure.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from disputatio.errors import InputError
from disputatio.values import same_answer

Shares = Mapping[int, float]
ANSWERS: Shares = {1: 0.20, 2: 0.40, 3: 0.40}  # right answers of a question: 2.20
SUPPORTS: Shares = {1: 0.48, 2: 0.29, 3: 0.23}  # passages of a right answer: 1.75, and 3.84 of a question
MISINFORMATION: Shares = {0: 0.51, 1: 0.36, 2: 0.13}  # passages of a question: 0.61
NOISE: Shares = {0: 0.30, 1: 0.32, 2: 0.38}  # passages of a question: 1.08
CORRECT, MISINFO, NOISY = "correct", "misinfo", "noise"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """A mean with the paper's beside it, and how often each number occurs."""

    name: str
    target: float
    numbers: tuple[int, ...]

    @property
    def mean(self) -> float:
        """The mean; 0.0 where there is nothing to count."""
        return fmean(self.numbers) if self.numbers else 0.0

    @property
    def counts(self) -> dict[int, int]:
        """Count how often each number occurs, rising."""
        return dict(sorted(Counter(self.numbers).items()))


class Quota:
    """Numbers to be drawn so that their shares come out as they should: what is still owed is likelier."""

    def __init__(self, shares: Shares, chance: random.Random) -> None:
        """Owe nothing yet; shares need not add up to 1. Raises `InputError` for shares that cannot be."""
        total = sum(shares.values())
        if not shares or total <= 0 or min(shares.values()) < 0:
            raise InputError(f"shares {dict(shares)}: numbers from 0, of which one is above it")
        self._shares = {level: share / total for level, share in shares.items()}
        self._drawn: Counter[int] = Counter()
        self._chance = chance

    def draw(self, most: int | None = None) -> int:
        """Return a drawn number not above `most`; the least where all are above it.

        `add` is then told what came of it.
        """
        count = self._drawn.total() + 1
        levels = [level for level in sorted(self._shares) if most is None or level <= most] or [
            min(self._shares)
        ]
        owed = [max(self._shares.get(level, 0.0) * count - self._drawn[level], 0.0) for level in levels]
        if not any(owed):
            # Nothing of what can be had is owed: take what is least in excess.
            excess = [self._drawn[level] - self._shares.get(level, 0.0) * count for level in levels]
            return levels[excess.index(min(excess))]
        return self._chance.choices(levels, owed)[0]

    def add(self, level: int) -> None:
        """Count a number that was built."""
        self._drawn[level] += 1


def counts_of_shares(shares: Shares, total: int) -> dict[int, int]:
    """Return so many of each as the shares give of a total, the largest remainders rounded up.

    >>> counts_of_shares({1: 0.23, 2: 0.34, 3: 0.43}, 10)
    {1: 2, 2: 4, 3: 4}
    """
    exact = {level: share / sum(shares.values()) * total for level, share in shares.items()}
    counts = {level: int(number) for level, number in exact.items()}
    rest = sorted(exact, key=lambda level: counts[level] - exact[level])
    for level in rest[: total - sum(counts.values())]:
        counts[level] += 1
    return counts


def statistics(rows: Sequence[Mapping[str, Any]]) -> tuple[Statistic, ...]:
    """Return the eight figures of a set of RAMDocs' format, each beside the paper's."""

    def each(kind: str) -> list[int]:
        return [sum(document["type"] == kind for document in row["documents"]) for row in rows]

    def borne(key: str, kind: str) -> Iterable[int]:
        for row in rows:
            answers = [document["answer"] for document in row["documents"] if document["type"] == kind]
            yield from (sum(same_answer(answer, other) for other in answers) for answer in row[key])

    measures = (
        ("passages a question", 5.53, [len(row["documents"]) for row in rows]),
        ("of them correct", 3.84, each(CORRECT)),
        ("of them misinformation", 0.61, each(MISINFO)),
        ("of them noise", 1.08, each(NOISY)),
        ("right answers a question", 2.20, [len(row["gold_answers"]) for row in rows]),
        ("wrong answers a question", 0.86, [len(row["wrong_answers"]) for row in rows]),
        ("passages a right answer", 1.77, borne("gold_answers", CORRECT)),
        ("passages a wrong answer", 0.73, borne("wrong_answers", MISINFO)),
    )
    return tuple(
        Statistic(name=name, target=target, numbers=tuple(numbers)) for name, target, numbers in measures
    )


def table(measures: Sequence[Statistic]) -> list[str]:
    """Return lines for a reader: the mean, the target, and how often each number occurs."""
    lines = [f"{'':26} {'built':>6} {'target':>6}   how often each number occurs"]
    for measure in measures:
        often = "  ".join(f"{number}: {count}" for number, count in measure.counts.items())
        lines.append(f"{measure.name:26} {measure.mean:6.2f} {measure.target:6.2f}   {often}")
    return lines
