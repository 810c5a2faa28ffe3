"""Two strategies on the same questions: how far apart they are, and whether that is beyond chance."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from disputatio.eval.journal import Entry
from disputatio.eval.judge import METRICS
from disputatio.eval.statistics import holm, mcnemar, paired_difference
from disputatio.types import Record

COMPARED = (
    "em", "em_lenient", "f1", "f1_lenient", "accuracy", "attack_success", *METRICS, "tokens", "seconds",
)  # fmt: skip

Rows = Mapping[str, Mapping[str, Entry]]  # entrant -> example id -> newest entry


def differences(
    labels: Sequence[str], rows: Rows, *, names: Sequence[str], resamples: int, seed: int
) -> list[dict[str, Any]]:
    """Every two strategies, the first minus the second, on every row that both have answered.

    Each line has the paired bootstrap's interval and p, and, where all scores are right or wrong, McNemar's
    exact test with the questions that only one of them got right. `p_holm` corrects the p of that test (else
    the bootstrap's) for all pairs that are compared by this metric.
    """
    lines = [
        line
        for one, other in itertools.combinations(labels, 2)
        for line in _pair(one, other, rows, names=names, resamples=resamples, seed=seed)
    ]
    for name in COMPARED:
        tested = [line for line in lines if line["metric"] == name and line["p"] is not None]
        for line, adjusted in zip(tested, holm([p_of(line) for line in tested]), strict=True):
            line["p_holm"] = rounded(adjusted)
    return lines


def p_of(line: Mapping[str, Any]) -> float:
    """The p of a pair by the test that fits its metric: McNemar's where there is one."""
    return float(line["p"] if line["mcnemar"] is None else line["mcnemar"]["p"])


def between(lines: Sequence[Mapping[str, Any]], one: str, other: str, name: str) -> dict[str, Any] | None:
    """The line of a pair as `one` minus `other`, whichever way round it was made; None without one."""
    for line in lines:
        if line["metric"] != name or {line["one"], line["other"]} != {one, other}:
            continue
        if line["one"] == one:
            return dict(line)
        gap, span, test = line["difference"], line["ci"], line["mcnemar"]
        return {
            **line,
            "one": one,
            "other": other,
            "difference": None if gap is None else 0.0 - gap,
            "ci": span and [0.0 - span[1], 0.0 - span[0]],
            "ratio": rounded(1 / line["ratio"]) if line["ratio"] else None,
            "mcnemar": test and {**test, "one_only": test["other_only"], "other_only": test["one_only"]},
        }
    return None


def cost(name: str) -> Callable[[Record], float]:
    """How a record's cost of that name is read."""
    if name == "seconds":
        return lambda record: record.seconds
    if name == "tokens":
        return lambda record: float(record.usage.prompt_tokens + record.usage.completion_tokens)
    return lambda record: float(getattr(record.usage, name))


def rounded(value: float | None) -> float | None:
    """A figure as reports keep it, so that the last bits of a sum are not in them."""
    return None if value is None else round(value, 6)


def _pair(
    one: str, other: str, rows: Rows, *, names: Sequence[str], resamples: int, seed: int
) -> list[dict[str, Any]]:
    shared = [
        (rows[one][key].record, rows[other][key].record)
        for key in rows[one]
        if rows[one][key].state == "done" and key in rows[other] and rows[other][key].state == "done"
    ]
    lines = []
    for name in COMPARED:
        if name in names:
            values = [(a.scores.get(name), b.scores.get(name)) for a, b in shared]
        elif name in ("tokens", "seconds"):
            read = cost(name)
            values = [(read(a), read(b)) for a, b in shared]
        else:
            continue
        first, second = [a for a, _ in values], [b for _, b in values]
        found = paired_difference(first, second, resamples=resamples, seed=seed)
        test = mcnemar(first, second) if name in names and found.n else None
        lines.append(
            {
                "one": one,
                "other": other,
                "metric": name,
                "n": found.n,
                "difference": rounded(found.mean),
                "ci": None if found.low is None else [rounded(found.low), rounded(found.high)],
                "p": rounded(found.p),
                "p_holm": None,
                "ratio": None if name in names else rounded(found.ratio),
                "mcnemar": test
                and {"one_only": test.one_only, "other_only": test.other_only, "p": rounded(test.p)},
            }
        )
    return lines
