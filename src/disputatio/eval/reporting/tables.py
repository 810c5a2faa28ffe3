"""A report as tables, the same in Markdown and on the page: pure functions of what `report` returns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from disputatio.eval.judge import METRICS
from disputatio.eval.reporting.wording import (
    COSTS,
    MORE,
    SCORES,
    STRATA,
    TITLES,
    describe_finding,
    grade,
    interval,
    metric_value,
    number,
    per_cent,
    remarks,
    so_far,
    verdict,
    with_interval,
)

Lines = Sequence[Mapping[str, Any]]
_COUNTS = ("n", "failed", "abstained")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Plain text in rows and columns; the first column names the row, the others are figures."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def markdown(report: Mapping[str, Any]) -> str:
    head = ["# Evaluation", ""]
    if unfinished := so_far(report["progress"]):
        head += [f"**{unfinished}**", ""]
    for part in report["datasets"]:
        head += [*_summary(part, named=len(report["datasets"]) > 1), ""]
    head += [f"* {cell(line)}" for line in describe_setting(report)]
    return "\n\n".join(["\n".join(head), *(_dataset(part) for part in report["datasets"])]) + "\n"


def describe_setting(report: Mapping[str, Any]) -> list[str]:
    """Return the setting of the figures, a line each: model, engine, seed, versions, prompts."""
    roles = "".join(f", {role}: {model}" for role, model in sorted(report["roles"].items()))
    versions = "; ".join(f"{what} {', '.join(which)}" for what, which in report["versions"].items())
    lines = [
        f"model: {report['model']}{roles}",
        f"engine: {report['engine'] or 'not stated'}",
        f"seed: {report['seed']}; citations judged: {'yes' if report['verify'] else 'no'}",
        *([f"answers graded by: {report['judge']}"] if report["judge"] else []),
        *([f"searched: {report['index']}"] if report["index"] else []),
        f"versions: {versions or 'not stated'}",
        f"intervals: {report['interval']['level']:.0%}, {report['interval']['method']}, "
        f"{report['interval']['resamples']} resamples of the questions",
    ]
    for entrant in report["entrants"]:
        options = ", ".join(f"{key}={value}" for key, value in sorted(entrant["options"].items()))
        if hints := _hints(report, entrant["label"]):
            options = options.replace("expect=declared", f"expect={hints} (from the data set)")
        name = "" if entrant["label"] == entrant["strategy"] else f" = {entrant['strategy']}"
        lines.append(
            f"{entrant['label']}{name}: {options or 'no options'}; "
            f"prompts {entrant['prompts'] or 'not hashed'}; settings {entrant['options_hash']}"
        )
    return lines


def _hints(report: Mapping[str, Any], label: str) -> str:
    lines = [line for part in report["datasets"] for line in part["strategies"]]
    name = label.partition("#")[0]
    return ", ".join(sorted({line["expect"] or "" for line in lines if line["strategy"] == name}))


def basis(part: Mapping[str, Any]) -> list[str]:
    """Return on which rows of which file a data set's tables are, and what is to be known of them."""
    lines = [
        f"File {part['sha256'][:16]}; {part['rows']} rows asked for. The tables are on the same "
        f"{part['same_rows']} rows that every strategy answered"
        + (f" (rows {part['row_numbers']})." if part["row_numbers"] else "."),
        *(f"Note: {note}." for note in part["notes"]),
    ]
    lines += [
        f"Withheld, {strategy['strategy']}: {strategy['withheld']}."
        for strategy in part["strategies"]
        if strategy["withheld"]
    ]
    return lines if part["strategies"] else [*lines, "No records yet."]


def tables(part: Mapping[str, Any]) -> list[Table]:
    """Return the tables of one data set, in the order in which they are read."""
    strategies = part["strategies"]
    if not strategies:
        return []
    names = [name for name in SCORES if _seen(strategies, name)]
    more = [name for name in MORE if _seen(strategies, name)]
    adaptive = [strategy for strategy in strategies if strategy["adaptive"]]
    graded = any(strategy["judged"] for strategy in strategies)
    all_tables = [_scores("Scores, per cent [95 % interval]", strategies, names)]
    if more:
        all_tables.append(_scores("Other readings, per cent [95 % interval]", strategies, more))
    if part["seeds"]:
        all_tables.append(_seeds(part["seeds"], names))
    if graded:
        all_tables.append(_grades(strategies))
    all_tables.append(_costs(strategies))
    if adaptive:
        all_tables.append(_adaptive(adaptive))
    if part["differences"]:
        all_tables.append(_differences(part["differences"]))
    if part["strata"]:
        all_tables.append(_strata(part["strata"], graded=graded))
    if any(curve["points"] for curve in part["confidence"]):
        all_tables.append(_confidence(part["confidence"]))
    return all_tables


def cell(text: str) -> str:
    """Return text of a user or a model in a table: one line, and no bar that would end the cell.

    >>> cell("a|b\\nc")
    'a\\\\|b c'
    """
    return " ".join(text.replace("|", "\\|").split())


def grid(table: Table) -> list[str]:
    line = "| " + " | ".join(["---", *("---:" for _ in table.head[1:])]) + " |"
    return [_row(table.head), line, *(_row(row) for row in table.rows)]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(cell, cells)) + " |"


def _summary(part: Mapping[str, Any], *, named: bool) -> list[str]:
    lead = part["headline"]
    name = f"{part['dataset']}: " if named else ""
    lines = [f"**{cell(name + verdict(lead))}.**"]
    if lead is None:
        return lines
    lines[0] += f" {cell(describe_finding(lead))}"
    return [" ".join([*lines, *map(cell, remarks(lead, part["strategies"]))])]


def _dataset(part: Mapping[str, Any]) -> str:
    lines = [f"## {cell(part['dataset'])}", "", *map(cell, basis(part))]
    for table in tables(part):
        lines += ["", f"### {table.title}", ""]
        lines += [table.note, ""] if table.note else []
        lines += grid(table)
    return "\n".join(lines)


# --- the tables ---------------------------------------------------------------------------------
def _scores(title: str, strategies: Lines, names: Sequence[str]) -> Table:
    return Table(
        title=title,
        head=["strategy", *_COUNTS, *(TITLES[name] for name in names)],
        rows=[
            [line["strategy"], *counts(line), *(with_interval(line, name) for name in names)]
            for line in strategies
        ],
        note=_expectations(strategies),
    )


def _expectations(strategies: Lines) -> str:
    """Return which strategies were told how many answers are right, a hint that the others do not have."""
    hints = [f"{line['strategy']} expect={line['expect']}" for line in strategies if line["expect"]]
    return f"Told how many answers are right (auto: not told): {', '.join(hints)}." if hints else ""


def _seeds(lines: Lines, names: Sequence[str]) -> Table:
    return Table(
        title="By seed, per cent",
        note="In all other tables a strategy with several seeds stands once: a question's figures are means "
        "over its seeds, its answer an abstention where most of them are.",
        head=["seed", *_COUNTS, *(TITLES[name] for name in names)],
        rows=[
            [line["label"], *counts(line), *(per_cent(line.get(name)) for name in names)] for line in lines
        ],
    )


def _grades(strategies: Lines) -> Table:
    """Return grades with how many answers have none: an unscored answer is in no mean.

    Beside the mean stands that in which an abstention, which states nothing, counts 0.
    """
    rows = []
    for strategy in strategies:
        for name, judged in strategy["judged"].items():
            by_grade = ", ".join(f"{value}: {n}" for value, n in judged["grades"].items())
            why = "; ".join(f"{n} {reason}" for reason, n in judged["reasons"].items())
            margin = grade(judged["margin_median"])
            every = grade(judged["mean_with_abstentions"])
            cells = [str(judged["n"]), with_interval(strategy, name), every, by_grade or "–"]
            cells += [margin, str(judged["unscored"]), why or "–"]
            rows.append([strategy["strategy"], TITLES[name], *cells])
    return Table(
        title="By the judge, means of grades [95 % interval]",
        head=[
            *("strategy", "metric", "n", "mean", "abstentions as 0", "answers by grade"),
            *("median margin", "unscored", "why"),
        ],
        rows=rows,
    )


def _costs(strategies: Lines) -> Table:
    rows = [
        [strategy["strategy"], str(strategy["n"]), *(number(strategy[name]) for name in COSTS)]
        for strategy in strategies
    ]
    return Table(
        title="Cost, means per question", head=["strategy", "n", *(TITLES[name] for name in COSTS)], rows=rows
    )


def _adaptive(strategies: Lines) -> Table:
    rows = []
    for strategy in strategies:
        adaptive = strategy["adaptive"]
        shares = [per_cent(adaptive["direct"]), per_cent(adaptive["ra"])]
        rows.append([strategy["strategy"], str(adaptive["n"]), *shares, number(adaptive["iters"])])
    return Table(
        title="Adaptive retrieval",
        head=["strategy", "n", "direct answer rate", "RA rate", "Iters"],
        rows=rows,
    )


def _differences(differences: Lines) -> Table:
    rows = []
    for difference in differences:
        name, test = difference["metric"], difference["mcnemar"]
        rows.append(
            [
                f"{difference['one']} − {difference['other']}",
                TITLES[name],
                str(difference["n"]),
                metric_value(name, difference["difference"]),
                interval(name, difference["ci"]),
                "–" if difference["p"] is None else f"{difference['p']:.4f}",
                f"{test['one_only']} : {test['other_only']}" if test else "–",
                f"{test['p']:.4f}" if test else "–",
                "–" if difference["p_holm"] is None else f"{difference['p_holm']:.4f}",
                "–" if difference["ratio"] is None else f"{difference['ratio']:.2f}",
            ]
        )
    head = ["pair", "metric", "n", "difference", "95 % interval", "p", "only first : only second right"]
    return Table(
        title="Paired differences (first minus second)",
        note="On every row that both answered. p is two-sided, by paired bootstrap; beside it McNemar's "
        "exact test on the rows that only one of them got right; p (Holm) corrects the latter, else the "
        "former, for the number of pairs compared by that metric.",
        head=[*head, "p (McNemar)", "p (Holm)", "ratio"],
        rows=rows,
    )


def _strata(strata: Lines, *, graded: bool) -> Table:
    names = [name for name in STRATA if any(stratum.get(name) is not None for stratum in strata)]
    return Table(
        title=f"By kind of question, {'per cent (grades as they are)' if graded else 'per cent'}",
        head=["kind", "strategy", *_COUNTS, *(TITLES[name] for name in names)],
        rows=[
            [
                f"{stratum['stratum']}: {stratum['value']}",
                stratum["strategy"],
                *counts(stratum),
                *(with_interval(stratum, name) for name in names),
            ]
            for stratum in strata
        ],
    )


def _confidence(lines: Lines) -> Table:
    rows = []
    for line in lines:
        area, ece = line["area"], line["ece"]
        full = per_cent(line["points"][-1][1]) if line["points"] else "–"
        rows.append(
            [
                line["strategy"],
                *(str(line[count]) for count in ("n", "answered", "abstained", "unsure")),
                full,
                f"{per_cent(area['value'])} {interval('em', area['ci'])}" if area else "–",
                f"{per_cent(ece['value'])} {interval('em', ece['ci'])}" if ece else "–",
            ]
        )
    metric = TITLES[lines[0]["metric"]]
    return Table(
        title="Confidence, per cent [95 % interval]",
        note=f"Risk is 100 less {metric}, of what was answered; AURC its mean while answers are let in by "
        "falling confidence (lower is better, and below the risk where confidence tells right from wrong). "
        "ECE is the mean gap of confidence and score over ten bins; it is too high where answers are few.",
        head=["strategy", "n", "answered", "abstained", "without confidence", "risk", "AURC", "ECE"],
        rows=rows,
    )


def counts(line: Mapping[str, Any]) -> list[str]:
    return [str(line[count]) for count in _COUNTS]


def _seen(strategies: Lines, name: str) -> bool:
    return any(strategy.get(name) is not None for strategy in strategies)


COLUMNS = (
    "dataset", "figure", "strategy", "other", "stratum", "value", "metric", "n", "failed", "abstained",
    "mean", "low", "high", "p", "test",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the beginning of one


def sheet(report: Mapping[str, Any]) -> str:
    """Return the figures as CSV: shares in [0, 1], costs as means per question, empty if unknown.

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
    for line in (*part["strategies"], *part["strata"]):
        about = {key: line[key] for key in ("strategy", "stratum", "value", *_COUNTS) if key in line}
        for name in (*names, *COSTS):
            if line.get(name) is not None:
                kind = "stratum" if "stratum" in line else "cost" if name in COSTS else "score"
                figures = _spread(line[name], line["ci"].get(name))
                yield {"figure": kind, **about, "metric": name, **figures}
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
