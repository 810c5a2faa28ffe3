"""`disputatio simulate`: the experiments of RA-RAG with simulated sources and readers, in seconds."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from disputatio.cli.screen import buffer_output, write_json
from disputatio.errors import InputError

if TYPE_CHECKING:
    from disputatio.eval.simulate import TrialOutcome


def simulate(
    prior: Annotated[
        Literal["beta", "adversary-hammer"],
        typer.Option(
            metavar="NAME",
            help="How reliable sources are: adversary-hammer (0.1 or 0.9) or beta (Beta(3, 2)).",
        ),
    ] = "adversary-hammer",
    sources: Annotated[int, typer.Option(metavar="N", help="Number of sources.", min=1)] = 9,
    adversaries: Annotated[
        int | None,
        typer.Option(
            metavar="K", help="How many of them are adversaries.  [default: 1 to all but two, in turn]"
        ),
    ] = None,
    trials: Annotated[int, typer.Option(metavar="T", help="Simulated worlds per setting.", min=1)] = 10,
    estimated: Annotated[
        int, typer.Option(metavar="N", help="Questions to estimate reliability on.", min=1)
    ] = 200,
    tested: Annotated[int, typer.Option(metavar="N", help="Questions to test on.", min=1)] = 1400,
    data: Annotated[
        str, typer.Option(metavar="NAME", help="Table of reader errors: nq, tqa or hotpotqa.")
    ] = "nq",
    reader: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Reader: llama3-8b, phi3-mini, gpt-4o-mini, or ideal, which never errs."
        ),
    ] = "llama3-8b",
    tau: Annotated[
        float, typer.Option(metavar="TAU", help="Threshold of f_align: 0.1, 0.5, 0.8; 0: not checked.")
    ] = 0.1,
    common: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Share of readings that all sources have in common, 0 to 1."),
    ] = 1.0,
    memory: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Share of answers that the reader gives from memory; adds our estimates."
        ),
    ] = 0.0,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Random seed; the same seed gives the same figures.", min=0)
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines, one a setting.")] = False,
) -> None:
    """Simulate votes over sources that lie; no model is called.

    Majority vote, RA-RAG and its oracle, in the worlds and with the reader errors of the RA-RAG paper.
    """
    from disputatio.eval.simulate import simulate as outcomes_of

    if prior == "beta" and adversaries is not None:
        raise InputError("--adversaries belongs to --prior adversary-hammer")
    outcomes = outcomes_of(
        prior=prior,
        sources=sources,
        adversaries=() if adversaries is None else (adversaries,),
        trials=trials,
        estimated=estimated,
        tested=tested,
        data=data,
        model=reader,
        tau=tau,
        common=common,
        memory=memory,
        seed=seed,
    )
    if as_json:
        for outcome in outcomes:
            write_json(asdict(outcome))
    else:
        _show(list(outcomes))


def _show(outcomes: list[TrialOutcome]) -> None:
    """Print a row for each method, grouped by adversaries: accuracy, its interval, the paper's figure."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("adversaries", "method", "accuracy", "95 % over trials", "paper"):
        table.add_column(column, justify="left" if column == "method" else "right", no_wrap=True)
    for outcome in outcomes:
        group = "" if outcome.adversaries is None else str(outcome.adversaries)
        for method, value in outcome.accuracy.items():
            known = value.low is not None and value.high is not None
            interval = f"{value.low:.3f} to {value.high:.3f}" if known else ""
            paper = f"{outcome.paper[method]:.3f}" if method in outcome.paper else ""
            table.add_row(group, method, f"{value.mean:.3f}", interval, paper)
            group = ""
    with buffer_output() as out:
        out.print(table)
