"""One strategy asked with several seeds counts once: a question's figures are means over its seeds.

So a question is the unit of every interval and test, and a lucky seed is no rival of its own strategy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from disputatio.eval.record import Record
from disputatio.eval.reporting.answers import Pair
from disputatio.eval.reporting.pairs import Rows, rounded
from disputatio.eval.running.run_log import Entrant, Entry
from disputatio.eval.statistics import mean

_COUNTS = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens", "seconds")


def seeds_of(entrants: Sequence[Entrant]) -> dict[str, list[str]]:
    """Return the labels of each strategy's seeds, by the name that they share.

    >>> seeds_of([Entrant(label="a", strategy="x"), Entrant(label="a#1", strategy="x")])
    {'a': ['a', 'a#1']}
    """
    labels: dict[str, list[str]] = {}
    for entrant in entrants:
        labels.setdefault(entrant.name, []).append(entrant.label)
    return labels


def merged(
    rows: Rows, confidences: Mapping[Pair, float | None], groups: Mapping[str, Sequence[str]]
) -> tuple[dict[str, dict[str, Entry]], dict[Pair, float | None]]:
    """Entries and confidences by name in place of label: one for each question that all seeds were asked.

    A question on which a seed failed has failed.
    """
    merged_rows: dict[str, dict[str, Entry]] = {}
    stated: dict[Pair, float | None] = {}
    for name, labels in groups.items():
        entries = [rows[label] for label in labels if label in rows]
        if not entries:
            continue
        for key in entries[0]:
            if len(entries) < len(labels) or any(key not in entry for entry in entries):
                continue
            merged_rows.setdefault(name, {})[key] = _one([entry[key] for entry in entries])
            seed_confidences = [confidences.get((label, key)) for label in labels]
            stated[name, key] = None if None in seed_confidences else mean(seed_confidences)
    return merged_rows, stated


def by_seed(
    rows: Rows, groups: Mapping[str, Sequence[str]], common: Sequence[str], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the means of each seed alone on the common rows, for strategies that have several."""
    lines = []
    for name, labels in groups.items():
        for label in labels if len(labels) > 1 else ():
            records = [rows[label][key].record for key in common if key in rows.get(label, {})]
            lines.append(
                {
                    "strategy": name,
                    "label": label,
                    "n": len(records),
                    "failed": sum(entry.state != "done" for entry in rows.get(label, {}).values()),
                    "abstained": sum(record.abstained is not None for record in records),
                    **{
                        metric: rounded(mean([record.scores.get(metric) for record in records]))
                        for metric in names
                    },
                }
            )
    return lines


def _one(entries: Sequence[Entry]) -> Entry:
    """Return the entries of one question with several seeds as one; its counts are means, and need not be
    whole.
    """
    failed = [entry for entry in entries if entry.state != "done"]
    if failed or len(entries) == 1:
        return (failed or entries)[0]
    records = [entry.record for entry in entries]
    scores = {name: mean([record.scores.get(name) for record in records]) for name in records[0].scores}
    usage: dict[str, Any] = {
        name: mean([getattr(record.usage, name) for record in records]) for name in _COUNTS
    }
    means: dict[str, Any] = {
        "rounds": mean([record.rounds for record in records]),
        "seconds": mean([record.seconds for record in records]),
        "retrievals": mean([record.retrievals for record in records]),
    }
    silent = [record.abstained for record in records if record.abstained is not None]
    record: Record = replace(
        records[0],
        scores=scores,
        usage=replace(records[0].usage, **usage),
        abstained=silent[0] if 2 * len(silent) > len(records) else None,
        **means,
    )
    return replace(entries[0], record=record)
