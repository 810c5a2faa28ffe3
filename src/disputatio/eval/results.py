"""The results of an evaluation as values: scores with intervals, paired differences, cost, records."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from disputatio.errors import UnknownName
from disputatio.eval.judge import METRICS
from disputatio.eval.reporting.headline import tokens
from disputatio.eval.reporting.markup import escape, grid
from disputatio.eval.reporting.pairs import p_of
from disputatio.eval.reporting.report import COSTS, report, summaries
from disputatio.eval.reporting.tables import Table, counts, markdown, tables
from disputatio.eval.reporting.wording import (
    MORE,
    SCORES,
    TITLES,
    describe_finding,
    metric_value,
    number,
    remarks,
    so_far,
    verdict,
    with_interval,
)
from disputatio.eval.running.run_log import Entry, read_journal, read_spending
from disputatio.eval.running.runner import RunOutcome
from disputatio.spending import Amount
from disputatio.text import one_line
from disputatio.types import Usage

What = Literal["scores", "differences", "records"]

_METRICS = (*SCORES, *MORE, *METRICS)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanScore:
    """A mean over questions with its 95 % bootstrap interval; None where it cannot be computed."""

    mean: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyScores:
    """The scores of one strategy on one data set, on the `n` questions that every strategy answered.

    `scores` are shares in [0, 1] by metric (a judge's grades as they are), `costs` means a question. Of the
    `asked` questions `failed` came to a fault or a bug; `withheld` says why there are no scores.
    """

    dataset: str
    strategy: str
    n: int
    asked: int
    failed: int
    abstained: int
    withheld: str
    scores: Mapping[str, MeanScore]
    costs: Mapping[str, MeanScore]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """The mean of `first` minus `second` on the `n` questions that both answered.

    `p` is two-sided, of McNemar's exact test where all scores are right or wrong and else of the paired
    bootstrap (`test` names it); `p_adjusted` is Holm's, for all pairs of that metric. `ratio` is the sum of
    the first over the sum of the second, for costs.
    """

    dataset: str
    first: str
    second: str
    metric: str
    n: int
    difference: MeanScore
    p: float | None
    p_adjusted: float | None
    test: str
    ratio: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The results of an evaluation.

    `report` holds every figure, as `disputatio eval report --json` prints it; `records` the newest record of
    each (question, strategy). `spending` is what all calls cost, by model, those of failed questions with
    them. `outcome` and `spent` are of the run that made the results, `ahead` what is left by the means so
    far; None where they were read from a folder. `folder` is None where that was temporary.
    """

    folder: Path | None
    report: Mapping[str, Any]
    records: tuple[Entry, ...]
    spending: Mapping[str, Usage]
    outcome: RunOutcome | None = None
    spent: Amount | None = None
    ahead: Amount | None = None

    @property
    def scores(self) -> tuple[StrategyScores, ...]:
        """The scores of each data set and strategy."""
        return tuple(_scores(line) for line in summaries(self.report))

    @property
    def differences(self) -> tuple[PairedDifference, ...]:
        """Every two strategies of a data set, by each metric and by tokens and seconds."""
        return tuple(
            _difference(part["dataset"], line)
            for part in self.report["datasets"]
            for line in part["differences"]
        )

    @property
    def failures(self) -> tuple[Entry, ...]:
        """The records of questions that failed: faults of a model or the network, bugs of a strategy."""
        return tuple(entry for entry in self.records if entry.state != "done")

    def of(self, strategy: str, dataset: str | None = None) -> StrategyScores:
        """Return a strategy's scores by its label, on a data set or the first; raises `UnknownName`."""
        lines = [line for line in self.scores if dataset in (None, line.dataset)]
        if not lines:
            raise UnknownName("data set", str(dataset), (line.dataset for line in self.scores))
        for line in lines:
            if line.strategy == strategy:
                return line
        raise UnknownName("strategy", strategy, (line.strategy for line in lines))

    def rows(self, what: What = "scores") -> list[dict[str, Any]]:
        """Flat rows, one for each strategy, pair or record; a metric's interval is `..._low`, `..._high`."""
        if what == "scores":
            return [_score_row(line) for line in self.scores]
        if what == "differences":
            return [_difference_row(pair) for pair in self.differences]
        if what == "records":
            return [_record_row(entry) for entry in self.records]
        raise UnknownName("table", str(what), ("scores", "differences", "records"))

    def frame(self, what: What = "scores") -> Any:
        """Return `rows` as a pandas DataFrame where pandas is installed, else as {column: list of values}."""
        rows = self.rows(what)
        columns = list(dict.fromkeys(key for row in rows for key in row))
        table = {column: [row.get(column) for row in rows] for column in columns}
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            return table
        return pandas.DataFrame(table)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON values: the report, the records, what was spent and how the run ended."""
        return {
            **self.report,
            "folder": None if self.folder is None else str(self.folder),
            "spending": {model: asdict(usage) for model, usage in self.spending.items()},
            "outcome": None if self.outcome is None else asdict(self.outcome),
            "records": [{**asdict(entry), "record": asdict(entry.record)} for entry in self.records],
        }

    def markdown(self) -> str:
        """Return the whole report as a page of Markdown, as `disputatio eval report` prints it."""
        return markdown(self.report)

    def __str__(self) -> str:
        """Return the leader and the table of scores, for a terminal."""
        unfinished = so_far(self.report["progress"])
        paragraphs = [unfinished] if unfinished else []
        for part in self.report["datasets"]:
            paragraphs.append("\n".join(_headline(part)))
            if part["strategies"]:
                paragraphs.append(_align(_short_table(part)))
        return "\n\n".join(paragraphs)

    def _repr_html_(self) -> str:
        """Return the finding and the tables as escaped HTML, for a notebook."""
        unfinished = so_far(self.report["progress"])
        body = [f"<p>{escape(unfinished)}</p>"] if unfinished else []
        for part in self.report["datasets"]:
            body += [f"<p>{escape(line)}</p>" for line in _headline(part)]
            for place, table in enumerate(tables(part)):
                state = "" if place else " open"
                body.append(
                    f"<details{state}><summary>{escape(table.title)}</summary>{grid(table)}</details>"
                )
        return "\n".join(body)


def read_results(folder: str | Path) -> Results:
    """Return the results that an evaluation left in its folder; raises `InputError` where there are none."""
    folder_path = Path(folder)
    return Results(
        folder=folder_path,
        report=report(folder_path),
        records=read_journal(folder_path).entries,
        spending=read_spending(folder_path),
    )


# --- values out of the report -------------------------------------------------------------------
def _scores(line: Mapping[str, Any]) -> StrategyScores:
    return StrategyScores(
        dataset=line["dataset"],
        strategy=line["strategy"],
        n=line["n"],
        asked=line["asked"],
        failed=line["failed"],
        abstained=line["abstained"],
        withheld=line["withheld"] or "",
        scores={name: _score(line, name) for name in _METRICS if line.get(name) is not None},
        costs={name: _score(line, name) for name in COSTS},
    )


def _score(line: Mapping[str, Any], name: str) -> MeanScore:
    low, high = line["ci"].get(name) or (None, None)
    return MeanScore(mean=line[name], low=low, high=high)


def _difference(dataset: str, line: Mapping[str, Any]) -> PairedDifference:
    low, high = line["ci"] or (None, None)
    return PairedDifference(
        dataset=dataset,
        first=line["one"],
        second=line["other"],
        metric=line["metric"],
        n=line["n"],
        difference=MeanScore(mean=line["difference"], low=low, high=high),
        p=None if line["p"] is None else p_of(line),
        p_adjusted=line["p_holm"],
        test="McNemar, exact" if line["mcnemar"] else "paired bootstrap",
        ratio=line["ratio"],
    )


# --- flat rows ----------------------------------------------------------------------------------
def _score_row(line: StrategyScores) -> dict[str, Any]:
    row = {
        name: getattr(line, name)
        for name in ("dataset", "strategy", "n", "asked", "failed", "abstained", "withheld")
    }
    for name, score in {**line.scores, **line.costs}.items():
        row |= {name: score.mean, f"{name}_low": score.low, f"{name}_high": score.high}
    return row


def _difference_row(pair: PairedDifference) -> dict[str, Any]:
    row = asdict(pair)
    spread = row.pop("difference")
    return {**row, "difference": spread["mean"], "low": spread["low"], "high": spread["high"]}


def _record_row(entry: Entry) -> dict[str, Any]:
    record = entry.record
    return {
        "dataset": entry.dataset,
        "strategy": entry.entrant,
        "example": record.example,
        "row": record.row,
        "state": entry.state,
        "answers": "; ".join(record.answers),
        "abstained": record.abstained,
        "fault": record.fault,
        **record.scores,
        "calls": record.usage.calls,
        "prompt_tokens": record.usage.prompt_tokens,
        "completion_tokens": record.usage.completion_tokens,
        "seconds": record.seconds,
    }


# --- text ---------------------------------------------------------------------------------------
def _headline(part: Mapping[str, Any]) -> list[str]:
    lead = part["headline"]
    lines = [f"{part['dataset']}: {verdict(lead)}."]
    return lines if lead is None else [*lines, describe_finding(lead), *remarks(lead, part["strategies"])]


def _short_table(part: Mapping[str, Any]) -> Table:
    """Return the scores of one data set, with the ranking metric's interval and tokens per question."""
    shown = [name for name in _METRICS if any(line.get(name) is not None for line in part["strategies"])]
    shown = [name for name in shown if name not in MORE]
    table_rows = []
    for line in part["strategies"]:
        cells = [line["strategy"], *counts(line)]
        for name in shown:
            alone = name != part["metric"]
            cells.append(metric_value(name, line[name]) if alone else with_interval(line, name))
        table_rows.append([*cells, number(tokens(line))])
    head = ["strategy", "n", "failed", "abstained", *(TITLES[name] for name in shown), TITLES["tokens"]]
    return Table(title="Scores", head=head, rows=table_rows)


def _align(table: Table) -> str:
    """Return a table in columns of equal width, figures to the right."""
    cells = [[one_line(cell) for cell in row] for row in (table.head, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )
