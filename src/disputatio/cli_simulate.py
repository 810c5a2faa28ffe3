"""`disputatio simulate`: the world of RA-RAG's experiments without a model, in seconds."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer


def simulate(
    prior: Annotated[
        str,
        typer.Option(help="How reliable sources are: adversary-hammer (0.1 or 0.9) or beta (Beta(3, 2))."),
    ] = "adversary-hammer",
    sources: Annotated[int, typer.Option(help="How many sources.", min=1, metavar="N")] = 9,
    adversaries: Annotated[
        int | None,
        typer.Option(
            help="How many of them are adversaries; 1 to all but two in turn by default.", metavar="K"
        ),
    ] = None,
    trials: Annotated[int, typer.Option(help="How many worlds a setting.", min=1, metavar="T")] = 10,
    estimated: Annotated[int, typer.Option(help="Questions to estimate reliability on.", min=1)] = 200,
    tested: Annotated[int, typer.Option(help="Questions to test on.", min=1)] = 1400,
    data: Annotated[str, typer.Option(help="Whose table of errors: nq, tqa or hotpotqa.")] = "nq",
    reader: Annotated[
        str, typer.Option(help="Which reader errs so: llama3-8b, phi3-mini, gpt-4o-mini; ideal never errs.")
    ] = "llama3-8b",
    tau: Annotated[float, typer.Option(help="Threshold of f_align: 0.1, 0.5, 0.8; 0: without it.")] = 0.1,
    common: Annotated[
        float, typer.Option(help="Share of readings that are the same for all sources, in [0, 1].")
    ] = 1.0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same figures.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines, one a setting.")] = False,
) -> None:
    """How MV, RA-RAG and Oracle fare where sources lie: the paper's world and reader errors, no model."""
    from disputatio.cli_screen import write, write_json
    from disputatio.errors import InputError
    from disputatio.eval.simulate import PRIORS, table
    from disputatio.eval.simulate import simulate as outcomes_of

    chosen = next((one for one in PRIORS if one == prior), None)
    if chosen is None:
        raise InputError(f"--prior is one of {', '.join(PRIORS)}, not {prior!r}")
    if chosen == "beta" and adversaries is not None:
        raise InputError("--adversaries belongs to --prior adversary-hammer")
    outcomes = outcomes_of(
        prior=chosen,
        sources=sources,
        adversaries=() if adversaries is None else (adversaries,),
        trials=trials,
        estimated=estimated,
        tested=tested,
        data=data,
        model=reader,
        tau=tau,
        common=common,
        seed=seed,
    )
    if as_json:
        for one in outcomes:
            write_json(asdict(one))
    else:
        write(table(list(outcomes)))
