"""A report as CSV: one figure a line, each with what it rests on, for spreadsheets and plots elsewhere."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from disputatio.eval.judge import METRICS
from disputatio.eval.reporting.wording import COSTS, MORE, SCORES

COLUMNS = (
    "dataset", "figure", "strategy", "other", "stratum", "value", "metric", "n", "failed", "abstained",
    "mean", "low", "high", "p", "test",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the beginning of one


def sheet(report: Mapping[str, Any]) -> str:
    """Return the figures as CSV with a head: shares in [0, 1], costs as means per question, empty where
    unknown.

    `figure` is score, cost, stratum, difference, confidence or progress. A name that a spreadsheet would run
    as a formula gets an apostrophe before it.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    progress = report["progress"]
    if not progress["complete"]:
        writer.writerow(
            {
                "figure": "progress",
                "metric": "recorded",
                "n": progress["expected"],
                "mean": progress["recorded"],
            }
        )
    for part in report["datasets"]:
        for line in _figures(part):
            named = {"dataset": part["dataset"], **line}
            writer.writerow({key: _safe(value) for key, value in named.items()})
    return out.getvalue()


def _figures(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    names = (*SCORES, *MORE, *METRICS)
    for strategy in part["strategies"]:
        counts = {key: strategy[key] for key in ("strategy", "n", "failed", "abstained")}
        for name in (*names, *COSTS):
            if strategy.get(name) is not None:
                kind = "cost" if name in COSTS else "score"
                yield {
                    "figure": kind,
                    **counts,
                    "metric": name,
                    **_spread(strategy[name], strategy["ci"].get(name)),
                }
    for stratum in part["strata"]:
        counts = {key: stratum[key] for key in ("strategy", "stratum", "value", "n", "failed", "abstained")}
        for name in names:
            if stratum.get(name) is not None:
                yield {
                    "figure": "stratum",
                    **counts,
                    "metric": name,
                    **_spread(stratum[name], stratum["ci"].get(name)),
                }
    for difference in part["differences"]:
        pair = {
            "figure": "difference",
            "strategy": difference["one"],
            "other": difference["other"],
            "metric": difference["metric"],
        }
        pair |= {"n": difference["n"], **_spread(difference["difference"], difference["ci"])}
        yield {**pair, "p": difference["p"], "test": "paired bootstrap"}
        if difference["mcnemar"]:
            yield {**pair, "p": difference["mcnemar"]["p"], "test": "McNemar, exact"}
    failed = {strategy["strategy"]: strategy["failed"] for strategy in part["strategies"]}
    for curve in part["confidence"]:
        counts = {key: curve[key] for key in ("strategy", "n", "abstained")}
        for name in ("area", "ece"):
            if curve[name]:
                yield {
                    "figure": "confidence",
                    **counts,
                    "failed": failed[curve["strategy"]],
                    "metric": "aurc" if name == "area" else name,
                    **_spread(curve[name]["value"], curve[name]["ci"]),
                }


def _spread(mean: float | None, span: Any) -> dict[str, Any]:
    low, high = span or (None, None)
    return {"mean": mean, "low": low, "high": high}


def _safe(value: Any) -> Any:
    """Return text that no spreadsheet runs; figures as they are.

    >>> _safe("=1+1"), _safe("concat"), _safe(-0.5)
    ("'=1+1", 'concat', -0.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
