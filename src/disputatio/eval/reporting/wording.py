"""Words for figures and findings: the same in Markdown, on the page and in the terminal.

Scores are per cent, grades as they are, costs means per question; a dash stands for what cannot be computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from disputatio.eval import metrics
from disputatio.eval.judge import METRICS

TITLES = {row.name: row.title for row in metrics.SCORES} | {
    "correctness": "correctness",
    "faithfulness": "faithfulness",
    "calls": "calls",
    "tokens": "tokens",
    "prompt_tokens": "prompt tokens",
    "cached_tokens": "cached",
    "completion_tokens": "new tokens",
    "seconds": "seconds",
    "seconds_median": "median s",
    "model_seconds": "model s",
    "rounds": "rounds",
}
SCORES = tuple(dict.fromkeys(row.name for row in metrics.SCORES if not row.detail))
MORE = tuple(row.name for row in metrics.SCORES if row.detail)
COSTS = (
    "calls",
    "rounds",
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "seconds",
    "seconds_median",
    "model_seconds",
)
STRATA = (*dict.fromkeys(row.name for row in metrics.SCORES if row.compared), *METRICS)
_FEW = 30  # questions below which a reader should be warned of them


# --- figures ------------------------------------------------------------------------------------
def per_cent(value: float | None) -> str:
    """Return a share as per cent.

    >>> per_cent(0.41), per_cent(None)
    ('41.0', '–')
    """
    return "–" if value is None else f"{100 * value:.1f}"


def grade(value: float | None) -> str:
    """Return a grade, or a mean of grades.

    >>> grade(0.8256), grade(-1.0), grade(None)
    ('0.826', '-1.000', '–')
    """
    return "–" if value is None else f"{value:.3f}"


def number(value: float | None) -> str:
    """Return a count or a time, to what matters of it.

    >>> number(1234.56), number(12.345), number(0.01234), number(None)
    ('1235', '12.35', '0.012', '–')
    """
    if value is None:
        return "–"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def metric_value(name: str, value: float | None) -> str:
    if name in ("tokens", *COSTS):
        return number(value)
    return grade(value) if name in METRICS else per_cent(value)


def interval(name: str, span: Sequence[float | None] | None) -> str:
    """Return an interval of the named metric in brackets.

    >>> interval("em", [0.333, 0.49]), interval("em", None)
    ('[33.3, 49.0]', '–')
    """
    return "–" if span is None else f"[{metric_value(name, span[0])}, {metric_value(name, span[1])}]"


def with_interval(line: Mapping[str, Any], name: str) -> str:
    """Return the value of a metric in a line of a report, and its interval where it has one."""
    span = line["ci"].get(name)
    return metric_value(name, line.get(name)) + (f" {interval(name, span)}" if span else "")


def p_value(p: float | None) -> str:
    """Return a p value with its sign.

    >>> p_value(0.0312), p_value(0.00001), p_value(None)
    ('p = 0.031', 'p < 0.001', 'p unknown')
    """
    return "p unknown" if p is None else "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def unit(name: str) -> str:
    """Return the unit of a metric's value: per cent, or nothing for a grade."""
    return "" if name in METRICS else " %"


# --- findings -----------------------------------------------------------------------------------
def verdict(lead: Mapping[str, Any] | None) -> str:
    """Name the leader in a few words: the first line of a page."""
    if lead is None:
        return "Nothing to rank yet"
    if lead["metric"] not in METRICS and lead["score"] == 0:
        return "Nothing was answered right"
    if not lead["rivals"]:
        return f"{lead['leader']}, alone"
    if not lead["rivals"][0]["beyond_chance"]:
        return "No winner beyond chance"
    return f"{lead['leader']} leads"


def describe_finding(lead: Mapping[str, Any]) -> str:
    """Return the leader's score, its uncertainty, its lead and its cost, in one sentence."""
    metric = lead["metric"]
    score = (
        f"{lead['leader']}: {TITLES[metric]} {metric_value(metric, lead['score'])}{unit(metric)} "
        f"{interval(metric, lead['ci'])} on {lead['n']} questions"
    )
    if not lead["rivals"]:
        return f"{score}, {thousands(lead['tokens'])} tokens a question; there is nothing to compare it with."
    next_one = lead["rivals"][0]
    test = f"(paired, {interval(metric, next_one['ci'])}, {p_value(next_one['p'])})"
    if next_one["ahead"] is None:
        return f"{score}; {next_one['strategy']} shares no question with it."
    points = metric_value(metric, abs(next_one["ahead"]))
    ahead = f"{points} points above" if metric not in METRICS else f"{points} above"
    if next_one["ahead"] < 0:  # on the rows that the two share, which may be more than those of all
        ahead = ahead.replace("above", "below")
    if not next_one["ahead"]:
        ahead = "level with"
    return f"{score}, {ahead} {next_one['strategy']} {test}{_cost_beside(next_one)}."


def remarks(lead: Mapping[str, Any], strategies: Sequence[Mapping[str, Any]]) -> list[str]:
    """List what qualifies the finding: strategies level with the leader, cheap, or without scores."""
    lines = []
    rivals = lead["rivals"]
    nothing = lead["metric"] not in METRICS and lead["score"] == 0
    if lead["level"] and not nothing:
        adjusted = f", p adjusted for {len(rivals)} comparisons" if len(rivals) > 1 else ""
        lines.append(
            f"Not told apart from {lead['leader']} on these questions: {', '.join(lead['level'])} "
            f"(at the 5 % level{adjusted})."
        )
        level_rivals = [
            rival for rival in rivals if not rival["beyond_chance"] and rival["tokens"] is not None
        ]
        cheapest = min(level_rivals, key=lambda rival: rival["tokens"], default=None)
        if cheapest is not None and lead["tokens"] is not None and cheapest["tokens"] < lead["tokens"]:
            lines.append(
                f"The cheapest of these is {cheapest['strategy']}, {thousands(cheapest['tokens'])} tokens a "
                f"question against {thousands(lead['tokens'])}."
            )
    elif len(rivals) > 1 and not nothing:
        lines.append(f"Beyond chance against each of the {len(rivals)} others (p adjusted for their number).")
    if len(lead["front"]) > 1:
        lines.append(
            f"No other strategy beats these in both {TITLES[lead['metric']]} and tokens: "
            f"{', '.join(lead['front'])}."
        )
    if lead["n"] < _FEW:
        lines.append(f"{lead['n']} questions are few: only large differences show.")
    lines += [
        f"Without scores: {strategy['strategy']} ({strategy['withheld']})."
        for strategy in strategies
        if strategy["withheld"]
    ]
    return lines


def so_far(progress: Mapping[str, Any]) -> str:
    """Say how far an unfinished evaluation is; empty for a finished one."""
    if progress["complete"]:
        return ""
    return (
        f"So far: {progress['recorded']} of {progress['expected']} answers are recorded, so these figures "
        "will change; the same eval run goes on where it stopped."
    )


def thousands(value: float | None) -> str:
    """Return a count with its thousands set apart.

    >>> thousands(2130.4), thousands(None)
    ('2,130', '–')
    """
    return "–" if value is None else f"{value:,.0f}"


def _cost_beside(rival: Mapping[str, Any]) -> str:
    ratio = rival["tokens_ratio"]
    if not ratio:
        return ""
    times = f"{100 * ratio:.0f} %" if ratio < 2 else f"{ratio:.1f} times"
    return f", at {times} {'of its tokens' if ratio < 2 else 'its tokens'}"
