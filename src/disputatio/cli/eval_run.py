"""`disputatio eval`: run strategies on data sets, report what was found, list the data sets.

Scores and tables go to stdout, progress and notes to stderr. Exit codes: 0 done, 1 stopped before the end
by an interrupt or a budget, 2 wrong use, 3 some questions failed (running the same command again tries
only those).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.padding import Padding
from rich.text import Text

from disputatio.cli import eval_report as cli_report
from disputatio.cli.eval_build import app as build_app
from disputatio.cli.eval_build import synthesize, tell
from disputatio.cli.options import Json, Model, Replay, Roles, read_roles
from disputatio.cli.screen import buffer_output, plain, wrap_beside, write_json
from disputatio.errors import InputError, UnknownName
from disputatio.text import one_line

if TYPE_CHECKING:
    from rich.console import Console

    from disputatio.eval.results import Results
    from disputatio.eval.running.runner import Left, Progress, RunOutcome
    from disputatio.spending import Amount, Budget

app = typer.Typer(help="Measure strategies on data sets, with intervals and costs.", no_args_is_help=True)
app.add_typer(build_app, name="build")
app.command()(synthesize)
app.command()(cli_report.report)
app.command()(cli_report.compare)
app.command()(cli_report.tables)


@app.command("run")
def run_command(
    dataset: Annotated[
        list[str],
        typer.Argument(metavar="NAME:PATH...", help="Data sets; `disputatio eval datasets` lists the names."),
    ],
    strategy: Annotated[
        str,
        typer.Option(
            "--strategy",
            metavar="NAME,...",
            help="Strategies, separated by commas; LABEL=NAME gives one a label.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="Folder for the results; the same command resumes there."),
    ],
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Only the first N rows.  [default: all]")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of shuffles and of the bootstrap.")] = 0,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="N,...", help="Run every strategy that has a seed with each of these, such as 0,1,2."
        ),
    ] = None,
    rows: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Row numbers to ask, from 0, one a line.")
    ] = None,
    as_json: Json = False,
    model: Model = None,
    role: Roles = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="An option of the strategies, or of one as STRATEGY.KEY=VALUE; may be repeated.",
        ),
    ] = None,
    verify: Annotated[bool, typer.Option(help="Check citations with the model; costs calls.")] = False,
    judge: Annotated[
        bool, typer.Option("--judge", help="Grade answers with the model of --role judge=MODEL.")
    ] = False,
    rubric: Annotated[
        Literal["menu", "release"],
        typer.Option(metavar="menu|release", help="How --judge grades: words of a menu, or as RAGentA does."),
    ] = "menu",
    index: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Search this index, not each row's passages.")
    ] = None,
    in_flight: Annotated[
        int,
        typer.Option("--in-flight", metavar="N", min=1, help="Questions at the same time, of each worker."),
    ] = 1,
    ray: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Ask on the workers of a Ray cluster: its address, or local."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Workers of --ray; without it the same as --in-flight."),
    ] = None,
    budget_calls: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Stop before all runs in --out exceed N model calls."),
    ] = None,
    budget_tokens: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Stop before they exceed N tokens.")
    ] = None,
    budget_money: Annotated[
        float | None,
        typer.Option(metavar="SUM", min=0, help="Stop before they exceed this cost, by --prices."),
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="TOML table of prices.  [default: that of `disputatio eval prices`]"
        ),
    ] = None,
    journal: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Where model calls are kept, to be reused; hides time.  [default: none]"
        ),
    ] = None,
    replay: Replay = False,
    estimator: Annotated[
        Literal["paper", "ours"],
        typer.Option(
            metavar="paper|ours", help="How ra_rag's sources are estimated on a multisource data set."
        ),
    ] = "paper",
) -> None:
    """Ask every strategy every question and print scores. It can be interrupted and resumed."""
    from disputatio.eval.evaluate import evaluate
    from disputatio.eval.reporting.report import summaries
    from disputatio.spending import Budget, read_prices

    table = read_prices(prices) if prices is not None or budget_money is not None else None
    budget = Budget(calls=budget_calls, tokens=budget_tokens, money=budget_money, prices=table)
    results = evaluate(
        dataset,
        strategy,
        options=setting or [],
        model=model,
        role=read_roles(role),
        index=index,
        out=out,
        limit=limit,
        rows=rows,
        seeds=_seeds(seeds, seed),
        verify=verify,
        judge=judge,
        rubric=rubric,
        in_flight=in_flight if ray is not None else workers or in_flight,
        ray=ray,
        workers=None if ray is None else workers,
        budget=budget,
        journal=journal,
        replay=replay,
        estimator=estimator,
        progress=_Line() if sys.stderr.isatty() else None,
        say=tell,
    )
    if as_json:
        for line in summaries(results.report):
            typer.echo(json.dumps(line))
    else:
        typer.echo(results.markdown(), nl=False)
    raise typer.Exit(_verdict(results, budget))


@app.command("prices")
def prices_command() -> None:
    """Print the built-in table of prices. It is a TOML file to edit, for --prices."""
    from disputatio.spending import our_prices

    typer.echo(our_prices(), nl=False)


# --- options as the command line has them -----------------------------------------------------------
def _seeds(text: str | None, seed: int) -> list[int]:
    """Return the seeds in order; raises `InputError` for what is no list of different numbers.

    >>> _seeds("0, 1,2", 0), _seeds(None, 7)
    ([0, 1, 2], [7])
    """
    if text is None:
        return [seed]
    try:
        seeds = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"--seeds {text}: write whole numbers separated by commas, as 0,1,2") from error
    if len(set(seeds)) < len(seeds):
        raise InputError(f"--seeds {text}: a seed stands twice")
    return seeds


def _verdict(results: Results, budget: Budget) -> int:
    """Return the exit code of a run, its reason said."""
    outcome = results.outcome
    if outcome is None:
        return 0
    failed = outcome.faults + outcome.bugs
    if failed:
        bugs = f", {outcome.bugs} by an unforeseen error" if outcome.bugs else ""
        again = f" ({outcome.retried} tried twice)" if outcome.retried else ""
        tell(f"{failed} questions failed{bugs}{again}: the same command again tries only those")
    if outcome.stopped:
        tell(f"stopped ({outcome.stopped}), {outcome.left} questions left: the same command goes on there")
        tell(_what_is_left(results, outcome, budget))
    return 3 if failed else int(bool(outcome.stopped))


def _what_is_left(results: Results, outcome: RunOutcome, budget: Budget) -> str:
    """Return what was spent and what is left, in words, with an estimate by the means so far."""
    waiting = ", ".join(f"{label} {count}" for label, count in outcome.waiting.items())
    ahead = f", about {_sum(results.ahead, budget)} by the means so far" if results.ahead is not None else ""
    larger = f"; give a larger --{_flag(outcome.stopped)}" if outcome.stopped.startswith("the budget") else ""
    spent = "" if results.spent is None else f"spent so far: {_sum(results.spent, budget)}; "
    return f"{spent}left: {waiting}{ahead}{larger}"


def _sum(amount: Amount, budget: Budget) -> str:
    prices = budget.prices
    money = "" if prices is None else f", {amount.money:.4f} {prices.currency}"
    return f"{amount.calls:,.0f} calls, {amount.tokens:,.0f} tokens{money}"


def _flag(stopped: str) -> str:
    kind = next((word for word in ("calls", "tokens") if word in stopped.split()), "money")
    return f"budget-{kind}"


class _Line:
    """One line of progress, rewritten in place."""

    def __call__(self, progress: Progress) -> None:
        left = "" if progress.left is None else f", about {_time_left(progress.left)} left"
        failed = f", {progress.faults} failed" if progress.faults else ""
        text = f"{progress.done}/{progress.total} {progress.entrant}, row {progress.row}{failed}{left}"
        if progress.fault:
            typer.echo(
                f"\r\x1b[Krow {progress.row}, {progress.entrant}: {one_line(progress.fault)}", err=True
            )
        typer.echo(f"\r\x1b[K{text}", err=True, nl=progress.done == progress.total)


def _time_left(left: Left) -> str:
    """Return the time left, with its range if there is one.

    >>> from disputatio.eval.running.runner import Left
    >>> _time_left(Left(60.0, None, None)), _time_left(Left(60.0, 45.0, 75.0))
    ('0:01:00', '0:01:00 (0:00:45 to 0:01:15)')
    """
    remaining = _clock(left.seconds)
    if left.low is None or left.high is None:
        return remaining
    return f"{remaining} ({_clock(left.low)} to {_clock(left.high)})"


def _clock(seconds: float) -> str:
    """Return seconds as hours, minutes and seconds.

    >>> _clock(3725.2)
    '1:02:05'
    """
    minutes, second = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{second:02}"


# --- eval datasets --------------------------------------------------------------------------------
@app.command()
def datasets(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One data set, in detail.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """List the data sets that can be read, or describe one of them.

    With a name: its origin, its licence, the shape of its files, what is measured.
    """
    from disputatio.eval.data.datasets import datasets as all_formats
    from disputatio.eval.data.datasets import describe_format

    rows = {form.name: describe_format(form) for form in all_formats()}
    if name is not None and name not in rows:
        raise UnknownName("data set", name, rows, command="disputatio eval datasets")
    if as_json:
        write_json(rows[name] if name else list(rows.values()), indent=2)
        return
    with buffer_output() as out:
        if name:
            _show_dataset(out, rows[name])
        else:
            _show_list(out, rows)


def short(description: str) -> str:
    """Return a description without the name of its paper.

    >>> short("questions that need retrieval (RetrievalQA)")
    'questions that need retrieval'
    """
    return description.partition(" (")[0]


def _show_list(out: Console, rows: dict[str, dict[str, Any]]) -> None:
    width = max(map(len, rows))
    for name, row in rows.items():
        out.print(Text(f"{name:<{width}}  ", "bold") + plain(short(row["description"])))
    out.print()
    out.print(plain("Origin, licence, files and metrics of one: disputatio eval datasets NAME", "dim"))


def _show_dataset(out: Console, row: dict[str, Any]) -> None:
    views = "".join(f" or {row['name']}:PATH#{view}" for view in row["views"])
    facts = {
        "write": f"{row['name']}:PATH{views}",
        "origin": row["origin"],
        "licence": row["licence"],
        "files": row["shape"],
        "fields": row["fields"],
        "passages": "in each row" if row["passages"] else "none: search an index (--index DIR)",
        "metrics": ", ".join(row["metrics"]) or "none",
        "measured": row["measure"],
    }
    out.print(Text(row["name"], "bold"))
    out.print(Padding(plain(row["description"]), (0, 0, 0, 4)))
    for label, text in facts.items():
        out.print(Padding(wrap_beside(f"{label + ':':<10} ", text), (0, 0, 0, 4)))
