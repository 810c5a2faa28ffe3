"""Scores by kind of question, where a data set tells kinds apart: gold answers, misinformation, ..."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from disputatio.eval.reporting.pairs import Rows, rounded
from disputatio.eval.statistics import estimates

_FIGURES = re.compile(r"(\d+)")


def by_stratum(
    rows: Rows,
    labels: Sequence[str],
    common: Sequence[str],
    examples: Mapping[str, Mapping[str, Any]],
    *,
    names: Sequence[str],
    resamples: int,
    seed: int,
) -> list[dict[str, Any]]:
    """Means with their intervals on the `common` rows of each kind, and what failed and abstained there.

    `n` counts the common rows of the kind and `abstained` those of them without an answer; `failed` counts
    the rows of the kind that this strategy failed on, which are none of the common ones.
    """
    kinds: dict[tuple[str, str], list[str]] = defaultdict(list)
    for key, example in examples.items():
        for stratum, value in example["strata"].items():
            kinds[stratum, value].append(key)
    common_keys = set(common)
    lines = []
    for (stratum, value), keys in sorted(kinds.items(), key=lambda kind: in_order(*kind[0])):
        shared = [key for key in keys if key in common_keys]
        if not shared:
            continue
        records = {label: [rows[label][key].record for key in shared] for label in labels}
        columns = [
            [record.scores.get(name) for record in records[label]] for label in labels for name in names
        ]
        means = iter(estimates(columns, resamples=resamples, seed=seed))
        for label in labels:
            scores = {name: next(means) for name in names}
            lines.append(
                {
                    "stratum": stratum,
                    "value": value,
                    "strategy": label,
                    "n": len(shared),
                    "failed": sum(key in rows[label] and rows[label][key].state != "done" for key in keys),
                    "abstained": sum(record.abstained is not None for record in records[label]),
                    **{name: rounded(estimate.mean) for name, estimate in scores.items()},
                    "ci": {
                        name: [rounded(estimate.low), rounded(estimate.high)]
                        for name, estimate in scores.items()
                        if estimate.low is not None
                    },
                }
            )
    return lines


def in_order(*values: str) -> tuple[tuple[tuple[int, int, str], ...], ...]:
    """Return a key that puts figures in words by their size: 2 before 10.

    >>> sorted(["10", "2", "1 against 3", "without"], key=in_order)
    ['1 against 3', '2', '10', 'without']
    """
    return tuple(
        tuple(
            (0, int(part), "") if part.isdecimal() else (1, 0, part) for part in _FIGURES.split(value) if part
        )
        for value in values
    )
