"""The leader, its distance to the others, its cost, and a test against chance: the top of a report.

The leader has the highest mean of the data set's first metric on the rows that all have answered; of equals
the one with fewer tokens. It is compared with every other by the test that fits the metric, the p values
adjusted for their number (Holm 1979). "Beyond chance" is an adjusted p below 0.05, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from disputatio.errors import InputError
from disputatio.eval.judge import METRICS
from disputatio.eval.metrics import SCORES
from disputatio.eval.reporting.pairs import between, p_of, round_figure
from disputatio.eval.statistics import holm

CHANCE = 0.05
_LESS = tuple(row.name for row in SCORES if row.less_is_better)  # none of these ranks
_FIRST = ("em", "accuracy", *METRICS, "f1")  # the metric that decides, the first that is measured


def choose_metric(names: Sequence[str], wanted: str | None) -> str | None:
    """Return the metric that ranks the strategies; raises `InputError` for one that is not measured."""
    if wanted is not None:
        if wanted in _LESS:
            raise InputError(f"--metric {wanted}: less of it is better; rank by another, it stands beside")
        if wanted not in names:
            raise InputError(
                f"--metric {wanted}: this evaluation has {', '.join(names) or 'no scores (see --judge)'}"
            )
        return wanted
    return next((name for name in _FIRST if name in names), None)


def tokens(strategy: Mapping[str, Any]) -> float | None:
    """Return the mean tokens a question, read and written."""
    read, written = strategy["prompt_tokens"], strategy["completion_tokens"]
    return None if read is None or written is None else float(read) + float(written)


def pareto_front(strategies: Sequence[Mapping[str, Any]], metric: str) -> list[str]:
    """Return the Pareto front of strategies in score and tokens, cheapest first.

    Of two with the same score and tokens both are on it.

    >>> cheap = {"strategy": "a", "em": 0.2, "prompt_tokens": 10, "completion_tokens": 0}
    >>> dear = {"strategy": "b", "em": 0.4, "prompt_tokens": 90, "completion_tokens": 9}
    >>> beaten = {"strategy": "c", "em": 0.3, "prompt_tokens": 99, "completion_tokens": 9}
    >>> pareto_front([dear, cheap, beaten], "em")
    ['a', 'b']
    """
    points = [
        (spent, -float(strategy[metric]), str(strategy["strategy"]))
        for strategy in strategies
        if (spent := tokens(strategy)) is not None and strategy[metric] is not None
    ]
    beaten = {
        name
        for spent, loss, name in points
        for less, smaller, _ in points
        if less <= spent and smaller <= loss and (less, smaller) != (spent, loss)
    }
    return [name for _, _, name in sorted(points) if name not in beaten]


def headline(
    strategies: Sequence[Mapping[str, Any]],
    lines: Sequence[Mapping[str, Any]],
    metric: str | None,
) -> dict[str, Any] | None:
    """Return the leader and its rivals, as JSON values; None where nothing is scored.

    `strategies` and `lines` are those of a report's data set. `level` names the rivals that the leader cannot
    be distinguished from.
    """
    scored = [
        strategy
        for strategy in strategies
        if metric and not strategy["withheld"] and strategy[metric] is not None
    ]
    if not scored or metric is None:
        return None
    ranked = sorted(scored, key=lambda strategy: (-strategy[metric], tokens(strategy) or 0.0))
    leader = ranked[0]
    rivals = _rivals(leader, ranked[1:], lines, metric)
    return {
        "metric": metric,
        "leader": leader["strategy"],
        "n": leader["n"],
        "failed": leader["failed"],
        "abstained": leader["abstained"],
        "score": leader[metric],
        "ci": leader["ci"].get(metric),
        "tokens": round_figure(tokens(leader)),
        "calls": leader["calls"],
        "rivals": rivals,
        "level": [rival["strategy"] for rival in rivals if not rival["beyond_chance"]],
        "front": pareto_front(scored, metric),
    }


def _rivals(
    leader: Mapping[str, Any],
    others: Sequence[Mapping[str, Any]],
    lines: Sequence[Mapping[str, Any]],
    metric: str,
) -> list[dict[str, Any]]:
    """Return the others by falling score: how far they are behind, and at what share of their tokens."""
    pairs = [between(lines, leader["strategy"], other["strategy"], metric) for other in others]
    tested = [pair for pair in pairs if pair is not None and pair["p"] is not None]
    adjusted = dict(
        zip((pair["other"] for pair in tested), holm([p_of(pair) for pair in tested]), strict=True)
    )
    rivals = []
    for other, pair in zip(others, pairs, strict=True):
        spent = between(lines, leader["strategy"], other["strategy"], "tokens")
        p = adjusted.get(other["strategy"])
        rivals.append(
            {
                "strategy": other["strategy"],
                "score": other[metric],
                "ahead": pair and pair["difference"],
                "ci": pair and pair["ci"],
                "n": pair["n"] if pair else 0,
                "test": "McNemar, exact" if pair and pair["mcnemar"] else "paired bootstrap",
                "p": round_figure(p),
                "beyond_chance": p is not None and p < CHANCE,
                "tokens": round_figure(tokens(other)),
                "tokens_ratio": spent and spent["ratio"],
            }
        )
    return rivals
