"""Two strategies on the same questions: how far apart they are, and whether that is beyond chance."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from disputatio.eval.reporting.wording import STRATA
from disputatio.eval.running.run_log import Entry, Record
from disputatio.eval.statistics import Difference, estimate_differences, holm, mcnemar

COMPARED = (*STRATA, "tokens", "seconds")

Rows = Mapping[str, Mapping[str, Entry]]  # entrant -> example id -> newest entry


def differences(
    labels: Sequence[str], rows: Rows, *, names: Sequence[str], resamples: int, seed: int
) -> list[dict[str, Any]]:
    """Return every two strategies, the first minus the second, on every row that both have answered.

    Each line has the paired bootstrap's interval and p, and, where all scores are right or wrong, McNemar's
    exact test with the questions that only one of them got right. `p_holm` corrects the p of that test (else
    the bootstrap's) for all pairs that are compared by this metric.
    """
    columns = [
        column
        for first, second in itertools.combinations(labels, 2)
        for column in _columns(first, second, rows, names)
    ]
    gaps = estimate_differences([column[3:] for column in columns], resamples=resamples, seed=seed)
    lines = [_line(*column, gap, names) for column, gap in zip(columns, gaps, strict=True)]
    for name in COMPARED:
        tested = [line for line in lines if line["metric"] == name and line["p"] is not None]
        for line, adjusted in zip(tested, holm([p_of(line) for line in tested]), strict=True):
            line["p_holm"] = round_figure(adjusted)
    return lines


def p_of(line: Mapping[str, Any]) -> float:
    """Return the p of a pair by the test that fits its metric: McNemar's where there is one."""
    return float(line["p"] if line["mcnemar"] is None else line["mcnemar"]["p"])


def between(lines: Sequence[Mapping[str, Any]], first: str, second: str, name: str) -> dict[str, Any] | None:
    """Return the line of a pair as `first` minus `second`, in either order; None without one."""
    for line in lines:
        if line["metric"] != name or {line["one"], line["other"]} != {first, second}:
            continue
        if line["one"] == first:
            return dict(line)
        gap, span, test = line["difference"], line["ci"], line["mcnemar"]
        return {
            **line,
            "one": first,
            "other": second,
            "difference": None if gap is None else 0.0 - gap,
            "ci": span and [0.0 - span[1], 0.0 - span[0]],
            "ratio": round_figure(1 / line["ratio"]) if line["ratio"] else None,
            "mcnemar": test and {**test, "one_only": test["other_only"], "other_only": test["one_only"]},
        }
    return None


def cost(name: str) -> Callable[[Record], float]:
    """Return the function that reads a cost of a record by name."""
    if name == "seconds":
        return lambda record: record.seconds
    if name == "tokens":
        return lambda record: float(record.usage.prompt_tokens + record.usage.completion_tokens)
    return lambda record: float(getattr(record.usage, name))


def round_figure(value: float | None) -> float | None:
    """Return a figure as reports keep it, so that the last bits of a sum are not in them."""
    return None if value is None else round(value, 6)


def ends_of(low: float | None, high: float | None) -> list[float | None] | None:
    """Return an interval as reports keep it; None where there is none."""
    return None if low is None else [round_figure(low), round_figure(high)]


_Values = list[float | None]


def _columns(
    first: str, second: str, rows: Rows, names: Sequence[str]
) -> Iterator[tuple[str, str, str, _Values, _Values]]:
    """Yield the two, a metric or cost, and its values on every row that both have answered."""
    shared = [
        (rows[first][key].record, rows[second][key].record)
        for key in rows[first]
        if rows[first][key].state == "done" and key in rows[second] and rows[second][key].state == "done"
    ]
    for name in COMPARED:
        if name in names:
            yield (
                first,
                second,
                name,
                [a.scores.get(name) for a, _ in shared],
                [b.scores.get(name) for _, b in shared],
            )
        elif name in ("tokens", "seconds"):
            read = cost(name)
            yield first, second, name, [read(a) for a, _ in shared], [read(b) for _, b in shared]


def _line(
    first: str,
    second: str,
    name: str,
    first_values: _Values,
    second_values: _Values,
    gap: Difference,
    names: Sequence[str],
) -> dict[str, Any]:
    test = mcnemar(first_values, second_values) if name in names and gap.n else None
    return {
        "one": first,
        "other": second,
        "metric": name,
        "n": gap.n,
        "difference": round_figure(gap.mean),
        "ci": ends_of(gap.low, gap.high),
        "p": round_figure(gap.p),
        "p_holm": None,
        "ratio": None if name in names else round_figure(gap.ratio),
        "mcnemar": test
        and {"one_only": test.one_only, "other_only": test.other_only, "p": round_figure(test.p)},
    }
