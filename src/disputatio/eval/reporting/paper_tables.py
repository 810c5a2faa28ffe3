"""The papers' tables with our figures beside theirs: same methods, same columns, missing cells shown.

The papers' figures are in `paper_numbers.json`, each table with its number there. A run counts for a
column, and for a group of rows such as a data set, when the words of its data set's name or of its
folder's name are those of the column: `ramdocs:dev.jsonl`, or a folder `nq-a3` for three adversaries.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from disputatio.errors import UnknownName
from disputatio.eval.reporting.headline import CHANCE, tokens
from disputatio.eval.reporting.pairs import between, p_of
from disputatio.eval.reporting.report import report
from disputatio.eval.reporting.tables import Table, grid
from disputatio.eval.reporting.wording import p_value
from disputatio.eval.running.run_log import read_journal
from disputatio.pipeline import needs_estimates

MISSING = "missing"
REFUSED = "refused: no estimates"  # without them ra_rag is a majority vote


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSource:
    """One data set of one run: its report, the parts of its name, and who was run on it."""

    folder: Path
    model: str
    name_parts: frozenset[str]
    dataset: Mapping[str, Any]
    entrants: Mapping[str, Mapping[str, Any]]
    has_estimates: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One of our figures in a paper's unit: `None` with a reason where it was run and has no score."""

    part: TableSource
    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    why: str = ""


def paper_tables(paper: str, folders: Sequence[Path]) -> dict[str, Any]:
    """Return the tables of a paper with what the runs in `folders` found, as JSON values.

    `paper` is madam, ra-rag, ac-rag or ragenta; raises `UnknownName` for another, `InputError` where there
    is no run.
    """
    known = _numbers()
    if paper not in known:
        raise UnknownName("paper", paper, known)
    parts = [part for folder in folders for part in _parts(folder)]
    return {
        "paper": paper,
        "source": known[paper]["source"],
        "tables": [_table(table, parts) for table in known[paper]["tables"]],
    }


def markdown(results: Mapping[str, Any]) -> str:
    lines = [f"# {results['source']}", ""]
    lines += [
        "The paper's rows come first, then ours with 95 % intervals and the number of questions. "
        f"A dash is a figure that the paper does not give; `{MISSING}` one that was not run here.",
        "",
    ]
    for table in results["tables"]:
        head = [table["group"], table["method"], *table["columns"]]
        shown = Table(title=f"{table['id']}: {table['title']}", head=head, rows=table["lines"])
        lines += [f"## {shown.title}", "", *grid(shown), ""]
        lines += [f"* {line}" for line in table["said"]]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


# --- ours ---------------------------------------------------------------------------------------
def _parts(folder: Path) -> Iterator[TableSource]:
    results = report(folder)
    has_estimates = any(run.get("estimates") for run in read_journal(folder).runs)
    for dataset in results["datasets"]:
        name = f"{folder.absolute().name} {dataset['dataset']}"
        yield TableSource(
            folder=folder,
            model=results["model"],
            name_parts=frozenset(re.split(r"[^a-z0-9]+", name.casefold())),
            dataset=dataset,
            entrants={entrant["label"]: entrant for entrant in results["entrants"]},
            has_estimates=has_estimates,
        )


def _cell(table: Mapping[str, Any], method: Mapping[str, Any], column: int, group: str | None,
          parts: Sequence[TableSource]) -> Cell | None:  # fmt: skip
    """Return our figure for a method in a column of a group.

    Of several the one that goes by its strategy's own name, then the one in the run that has the most of the
    table's methods, so that a column is of one run where it can be, then the one on the most questions.
    """
    about = table["columns"][column]
    wanted = [about.get("words", ()), table.get("groups", {}).get(group, ())]
    scale = about.get("scale", table["scale"])
    cells = []
    for part in parts:
        if any(terms and not part.name_parts & set(terms) for terms in wanted):
            continue
        if part.name_parts & set(about.get("without", ())):
            continue
        for line in part.dataset["strategies"]:
            entrant = part.entrants[line["strategy"]]
            if not _is(method, entrant):
                continue
            if needs_estimates(entrant["strategy"], entrant["options"]) and not part.has_estimates:
                cells.append(Cell(part=part, label=line["strategy"], value=None, n=line["n"], why=REFUSED))
            else:
                cells.append(_build_cell(part, line, about.get("metric", ""), scale))
    names = {method["strategy"], method.get("also", {}).get("strategy")}

    def rank(cell: Cell) -> tuple[bool, bool, int, int]:
        return cell.value is not None, cell.label in names, _company(table, cell.part), cell.n

    return max(cells, key=rank, default=None)


def _company(table: Mapping[str, Any], part: TableSource) -> int:
    """Count how many of a table's methods a run has."""
    return sum(any(_is(method, entrant) for entrant in part.entrants.values()) for method in table["methods"])


def _is(method: Mapping[str, Any], entrant: Mapping[str, Any]) -> bool:
    """Return True if an entrant is a paper's method: by its strategy, and options where stated."""
    options = entrant["options"]
    if "also" in method and _is(method["also"], entrant):
        return True
    return (
        entrant["strategy"] == method["strategy"]
        and all(options.get(key) == value for key, value in method.get("options", {}).items())
        and all(options.get(key) != value for key, value in method.get("unlike", {}).items())
    )


def _build_cell(part: TableSource, line: Mapping[str, Any], metric: str, scale: float) -> Cell:
    if line["withheld"]:
        return Cell(part=part, label=line["strategy"], value=None, why="withheld: faults")
    if metric == "tokens":
        value, span = tokens(line), None
    elif metric in ("ra", "iters"):
        value, span = (line["adaptive"] or {}).get(metric), None
    else:
        value, span = line.get(metric), line["ci"].get(metric)
    if value is None:
        return Cell(part=part, label=line["strategy"], value=None, n=line["n"], why=f"no {metric}")
    low, high = span or (None, None)
    return Cell(
        part=part,
        label=line["strategy"],
        value=scale * value,
        low=None if low is None else scale * low,
        high=None if high is None else scale * high,
        n=line["n"],
    )


# --- one table ----------------------------------------------------------------------------------
def _table(table: Mapping[str, Any], parts: Sequence[TableSource]) -> dict[str, Any]:
    groups: list[str | None] = [*table["groups"]] if "groups" in table else [None]
    columns = [column["name"] for column in table["columns"]]
    lines, ours, remarks = [], [], [table["note"]] if "note" in table else []
    missing = 0
    for group in groups:
        lines += [
            [row[0], row[1], *(_written(table, at, value) for at, value in enumerate(row[2:]))]
            for row in table["rows"]
            if group is None or row[0] == group
        ]
        cells = {
            method["name"]: [_cell(table, method, at, group, parts) for at in range(len(columns))]
            for method in table["methods"]
            if method["strategy"]  # without one it is nothing that an evaluation runs
        }
        for row in cells.values():
            _fill_means(table, row)
        models = sorted({cell.part.model for row in cells.values() for cell in row if cell is not None})
        who = f"ours: {', '.join(models)}" if models else "ours"
        for method, row in cells.items():
            missing += sum(cell is None for cell in row)
            name = who if group is None else f"{group}, {who}"
            lines.append([name, method, *(_ours(table, at, cell) for at, cell in enumerate(row))])
            ours.append({"group": group, "method": method, "cells": [_as_json(cell) for cell in row]})
        for at, column in enumerate(columns):
            remarks += _order(table, at, column if group is None else f"{group}, {column}", group, cells)
            remarks += [_gain(at, gain, cells) for gain in table.get("gains", ()) if gain["column"] == column]
    if missing:
        remarks.append(f"Missing here: {missing} of {len(ours) * len(columns)} cells.")
    return {
        "id": table["id"],
        "title": table["title"],
        "group": table["group"],
        "method": table["method"],
        "columns": columns,
        "rows": table["rows"],
        "ours": ours,
        "lines": lines,
        "said": remarks,
    }


def _fill_means(table: Mapping[str, Any], row: list[Cell | None]) -> None:
    """Put the mean of the others into a column of means; nothing where one of them is missing."""
    for at, about in enumerate(table["columns"]):
        if not about.get("mean"):
            continue
        others = [cell for column, cell in enumerate(row) if column != at]
        values = [cell.value for cell in others if cell is not None and cell.value is not None]
        is_complete = len(values) == len(others) and others[0] is not None
        row[at] = None
        if is_complete and others[0] is not None:
            n = sum(cell.n for cell in others if cell is not None)
            row[at] = Cell(part=others[0].part, label="", value=sum(values) / len(values), n=n)


def _order(
    table: Mapping[str, Any],
    column: int,
    name: str,
    group: str | None,
    cells: Mapping[str, Sequence[Cell | None]],
) -> list[str]:
    """List the pairs that our runs order otherwise than the paper, of those on which all its models agree.

    Costs do not rank strategies: a column of them has no sentence.
    """
    metric = table["columns"][column].get("metric", "")
    if metric in ("", "tokens", "calls", "ra", "iters", "prompt_tokens", "completion_tokens"):
        return []
    measured = {
        method: cell
        for method, row in cells.items()
        if (cell := row[column]) is not None and cell.value is not None
    }
    agreed = [
        (above, below, models)
        for above in measured
        for below in measured
        if (models := _count_agreeing(table, column, group, above, below))
    ]
    if not agreed:
        return []
    remarks, same = [], 0
    for above, below, models in agreed:
        first, second = measured[above].value or 0.0, measured[below].value or 0.0
        same += first > second
        if first < second:
            remarks.append(_describe_reversal(name, above, below, models, measured, metric))
    level = "" if same == len(agreed) else f"; {len(agreed) - same} are level"
    pairs = "pair" if len(agreed) == 1 else "pairs"
    return remarks or [
        f"{name}: the order is the paper's in {same} of {len(agreed)} {pairs} that it orders and we "
        f"measured{level}."
    ]


def _gain(column: int, gain: Mapping[str, Any], cells: Mapping[str, Sequence[Cell | None]]) -> str:
    """Compare a gain that the paper states without its ends with ours between the same methods."""
    text = f"{gain['column']}, from {gain['from']} to {gain['to']}: the paper {gain['gain']:+.2f}, ours "
    first, second = cells[gain["from"]][column], cells[gain["to"]][column]
    if first is None or second is None or first.value is None or second.value is None:
        return f"{text}{MISSING}."
    ours = second.value - first.value
    n = f"n {first.n}" if first.n == second.n else f"n {first.n} and {second.n}"
    direction = "other than in the paper" if ours * gain["gain"] <= 0 else "the paper's direction"
    return f"{text}{ours:+.2f} ({n}): {direction}."


def _count_agreeing(table: Mapping[str, Any], column: int, group: str | None, above: str, below: str) -> int:
    """Count the paper's models with which `above` is better than `below`; 0 where they do not agree."""
    by_model: dict[str, dict[str, float]] = {}
    for model, method, *values in table["rows"]:
        if values[column] is not None and group in (None, model):
            by_model.setdefault(model, {})[method] = values[column]
    both = [scores for scores in by_model.values() if above in scores and below in scores]
    return len(both) if both and all(scores[above] > scores[below] for scores in both) else 0


def _describe_reversal(
    name: str, above: str, below: str, models: int, measured: Mapping[str, Cell], metric: str
) -> str:
    """Return a sentence on a pair that stands the other way round here."""
    first, second = measured[below], measured[above]
    text = f"{first.value:.4g} against {second.value:.4g}"
    chance = ""
    if first.part is second.part and first.label and second.label:
        pair = between(first.part.dataset["differences"], first.label, second.label, metric)
        if pair is not None and pair["p"] is not None:
            p = p_of(pair)
            doubt = ": may be chance" if p >= CHANCE else ""
            chance = f" (paired on {pair['n']} questions, {p_value(p)}{doubt})"
    with_models = f"with {models} of {models} models" if models > 1 else "with its model"
    return (
        f"{name}: other than in the paper, {below} stands above {above} here, {text}{chance}; the paper has "
        f"{above} above {below} {with_models}."
    )


# --- words --------------------------------------------------------------------------------------
def _written(table: Mapping[str, Any], column: int, value: float | None) -> str:
    digits = table["columns"][column].get("digits", table["digits"])
    return "–" if value is None else f"{value:.{digits}f}"


def _ours(table: Mapping[str, Any], column: int, cell: Cell | None) -> str:
    if cell is None:
        return MISSING
    if cell.value is None:
        return cell.why
    span = ""
    if cell.low is not None and cell.high is not None:
        span = f" [{_written(table, column, cell.low)}, {_written(table, column, cell.high)}]"
    return f"{_written(table, column, cell.value)}{span} (n {cell.n})"


def _as_json(cell: Cell | None) -> dict[str, Any] | None:
    if cell is None:
        return None
    return {
        "folder": str(cell.part.folder),
        "model": cell.part.model,
        "dataset": cell.part.dataset["dataset"],
        "strategy": cell.label,
        "value": None if cell.value is None else round(cell.value, 6),
        "ci": None if cell.low is None or cell.high is None else [round(cell.low, 6), round(cell.high, 6)],
        "n": cell.n,
        "why": cell.why,
    }


def _numbers() -> dict[str, Any]:
    file = resources.files("disputatio.eval.reporting").joinpath("paper_numbers.json")
    text = file.read_text(encoding="utf-8")
    return dict(json.loads(text))
