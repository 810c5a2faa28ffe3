"""A report in Markdown, for people: pure functions of what `report` returns.

Scores are per cent here, costs are means per question; a dash stands for what cannot be computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_TITLES = {
    "em": "EM",
    "em_lenient": "EM lenient",
    "em_literal": "EM literal",
    "precision": "P",
    "recall": "R",
    "f1": "F1",
    "precision_lenient": "P lenient",
    "recall_lenient": "R lenient",
    "f1_lenient": "F1 lenient",
    "accuracy": "accuracy",
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
_SCORES = ("em", "em_lenient", "precision", "recall", "f1", "accuracy")
_MORE = ("em_literal", "precision_lenient", "recall_lenient", "f1_lenient")
_COSTS = (
    "calls",
    "rounds",
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "seconds",
    "seconds_median",
    "model_seconds",
)
_JUDGED = ("correctness", "faithfulness")  # grades, not shares
_STRATA = ("em", "em_lenient", "f1", "f1_lenient", "accuracy", *_JUDGED)


def markdown(found: Mapping[str, Any]) -> str:
    """The whole report as one Markdown page, ending with a newline."""
    parts = [_setting(found)]
    for part in found["datasets"]:
        parts.append(_dataset(part))
    return "\n\n".join(parts) + "\n"


def _setting(found: Mapping[str, Any]) -> str:
    roles = "".join(f", {role}: {model}" for role, model in sorted(found["roles"].items()))
    versions = "; ".join(f"{what} {', '.join(which)}" for what, which in found["versions"].items())
    lines = [
        "# Evaluation",
        "",
        f"* model: {_cell(found['model'])}{_cell(roles)}",
        f"* engine: {_cell(found['engine'] or 'not stated')}",
        f"* seed: {found['seed']}; citations judged: {'yes' if found['verify'] else 'no'}",
        *([f"* answers graded by: {_cell(found['judge'])}"] if found["judge"] else []),
        *([f"* searched: {_cell(found['index'])}"] if found["index"] else []),
        f"* versions: {_cell(versions or 'not stated')}",
        f"* intervals: {found['interval']['level']:.0%}, {found['interval']['method']}, "
        f"{found['interval']['resamples']} resamples of the questions",
    ]
    for entrant in found["entrants"]:
        options = ", ".join(f"{key}={value}" for key, value in sorted(entrant["options"].items()))
        name = "" if entrant["label"] == entrant["strategy"] else f" = {entrant['strategy']}"
        lines.append(
            f"* {_cell(entrant['label'] + name)}: {_cell(options) or 'no options'}; "
            f"prompts {entrant['prompts'] or 'not hashed'}"
        )
    return "\n".join(lines)


def _dataset(part: Mapping[str, Any]) -> str:
    lines = [
        f"## {_cell(part['dataset'])}",
        "",
        f"File {part['sha256'][:16]}; {part['rows']} rows asked for. The tables are on the same "
        f"{part['same_rows']} rows that every strategy answered"
        + (f" (rows {part['row_numbers']})." if part["row_numbers"] else "."),
        *(f"Note: {_cell(note)}." for note in part["notes"]),
    ]
    strategies = part["strategies"]
    for one in strategies:
        if one["withheld"]:
            lines.append(f"Withheld, {_cell(one['strategy'])}: {_cell(one['withheld'])}.")
    if not strategies:
        return "\n".join([*lines, "", "No records yet."])
    lines += ["", "### Scores, per cent [95 % interval]", ""]
    lines += _scores(strategies, [name for name in _SCORES if _seen(strategies, name)], ci=True)
    more = [name for name in _MORE if _seen(strategies, name)]
    if more:
        lines += ["", "### Other readings, per cent", "", *_scores(strategies, more, ci=False)]
    if any(one["judged"] for one in strategies):
        lines += ["", "### By the judge, means of grades [95 % interval]", "", *_grades(strategies)]
    lines += ["", "### Cost, means per question", "", *_costs(strategies)]
    adaptive = [one for one in strategies if one["adaptive"]]
    if adaptive:
        lines += ["", "### Adaptive retrieval", "", *_adaptive(adaptive)]
    if part["differences"]:
        lines += [
            "",
            "### Paired differences (first minus second)",
            "",
            "On every row that both answered; p is two-sided and not adjusted for the number of comparisons.",
            "",
            *_differences(part["differences"]),
        ]
    if part["strata"]:
        scale = "per cent (grades as they are)" if any(one["judged"] for one in strategies) else "per cent"
        lines += ["", f"### By kind of question, {scale}", "", *_strata(part["strata"])]
    return "\n".join(lines)


def _scores(strategies: Sequence[Mapping[str, Any]], names: Sequence[str], *, ci: bool) -> list[str]:
    head = ["strategy", "n", "failed", "abstained", *(_TITLES[name] for name in names)]
    rows = []
    for one in strategies:
        cells = [one["strategy"], str(one["n"]), str(one["failed"]), str(one["abstained"])]
        for name in names:
            span = one["ci"].get(name) if ci else None
            between = f" [{100 * span[0]:.1f}, {100 * span[1]:.1f}]" if span else ""
            cells.append(_share(one[name]) + between)
        rows.append(cells)
    return _table(head, rows)


def _grades(strategies: Sequence[Mapping[str, Any]]) -> list[str]:
    """Grades with how many answers have none: an unscored answer is in no mean."""
    rows = []
    for one in strategies:
        for name, judged in one["judged"].items():
            span = one["ci"].get(name)
            between = f" [{_grade(span[0])}, {_grade(span[1])}]" if span else ""
            given = ", ".join(f"{grade}: {n}" for grade, n in judged["grades"].items())
            why = "; ".join(f"{n} {reason}" for reason, n in judged["reasons"].items())
            mean, margin = _grade(one[name]) + between, _grade(judged["margin_median"])
            counts = [str(judged["n"]), mean, given or "–", margin, str(judged["unscored"]), why or "–"]
            rows.append([one["strategy"], _TITLES[name], *counts])
    head = ["strategy", "metric", "n", "mean", "answers by grade", "median margin", "unscored", "why"]
    return _table(head, rows)


def _costs(strategies: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [[one["strategy"], *(_number(one[name]) for name in _COSTS)] for one in strategies]
    return _table(["strategy", *(_TITLES[name] for name in _COSTS)], rows)


def _adaptive(strategies: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = []
    for one in strategies:
        told = one["adaptive"]
        shares = [_share(told["direct"]), _share(told["ra"])]
        rows.append([one["strategy"], str(told["n"]), *shares, _number(told["iters"])])
    return _table(["strategy", "n", "direct answer rate", "RA rate", "Iters"], rows)


def _differences(differences: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = []
    for one in differences:
        cost = one["metric"] in ("tokens", "seconds")
        show = _number if cost else _grade if one["metric"] in _JUDGED else _share
        span = "–" if one["ci"] is None else f"[{show(one['ci'][0])}, {show(one['ci'][1])}]"
        p = "–" if one["p"] is None else f"{one['p']:.4f}"
        ratio = "–" if one["ratio"] is None else f"{one['ratio']:.2f}"
        pair = f"{one['one']} − {one['other']}"
        rows.append([pair, _TITLES[one["metric"]], str(one["n"]), show(one["difference"]), span, p, ratio])
    return _table(["pair", "metric", "n", "difference", "95 % interval", "p", "ratio"], rows)


def _strata(strata: Sequence[Mapping[str, Any]]) -> list[str]:
    names = [name for name in _STRATA if any(one.get(name) is not None for one in strata)]
    rows = [
        [f"{one['stratum']}: {one['value']}", one["strategy"], str(one["n"])]
        + [(_grade if name in _JUDGED else _share)(one.get(name)) for name in names]
        for one in strata
    ]
    return _table(["kind", "strategy", "n", *(_TITLES[name] for name in names)], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    line = "| " + " | ".join(["---", *("---:" for _ in head[1:])]) + " |"
    return [_row(head), line, *(_row(row) for row in rows)]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _cell(text: str) -> str:
    """Text of a user or a model in a table: one line, and no bar that would end the cell.

    >>> _cell("a|b\\nc")
    'a\\\\|b c'
    """
    return " ".join(text.replace("|", "\\|").split())


def _seen(strategies: Sequence[Mapping[str, Any]], name: str) -> bool:
    return any(one.get(name) is not None for one in strategies)


def _grade(value: float | None) -> str:
    """A grade, or a mean of grades.

    >>> _grade(0.8256), _grade(-1.0), _grade(None)
    ('0.826', '-1.000', '–')
    """
    return "–" if value is None else f"{value:.3f}"


def _share(value: float | None) -> str:
    """A share as per cent.

    >>> _share(0.41), _share(None)
    ('41.0', '–')
    """
    return "–" if value is None else f"{100 * value:.1f}"


def _number(value: float | None) -> str:
    """A count or a time, to what matters of it.

    >>> _number(1234.56), _number(12.345), _number(0.01234), _number(None)
    ('1235', '12.35', '0.012', '–')
    """
    if value is None:
        return "–"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"
