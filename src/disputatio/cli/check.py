"""`disputatio check`: contradictions between documents, without a question; for people and for CI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from disputatio import __version__
from disputatio.cli.eval_report import keep
from disputatio.cli.opening import check_writable, open_named
from disputatio.cli.options import Columns, Json, Sidecar, TextColumn
from disputatio.cli.screen import ProgressBar, say, write, write_json
from disputatio.errors import InputError
from disputatio.rendering.checks import check_page, check_sarif, check_text
from disputatio.store.ingesting.files import check_paths
from disputatio.store.ingesting.options import ReadOptions, read_columns

if TYPE_CHECKING:
    from disputatio.types import Check


_REFUSED = 20  # files and rows that could not be read, which are named


def check(
    paths: Annotated[
        list[str] | None,  # a `Path` would make this folder of an empty text
        typer.Argument(metavar="PATH...", help="Files, folders, or a file of passages (.jsonl)."),
    ] = None,
    index: Annotated[
        Path | None, typer.Option("--index", metavar="DIR", help="Check the documents of an index instead.")
    ] = None,
    severity: Annotated[
        Literal["low", "medium", "high"],
        typer.Option(
            metavar="LEVEL",
            help="The least severity that is reported: low, medium, high; low may only differ in scope.",
        ),
    ] = "medium",
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Contradictions that were accepted: only others fail.")
    ] = None,
    write_baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Accept what is found: write it to a baseline.")
    ] = None,
    sarif: Annotated[bool, typer.Option("--sarif", help="Print SARIF 2.1.0, for code hosts.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page of HTML that stands alone.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="Let a model judge pairs, too: local:NAME or openai:NAME.  [default: none]"
        ),
    ] = None,
    calls: Annotated[
        int | None,
        typer.Option(metavar="N", help="The most pairs that the model of --model judges.  [default: 200]"),
    ] = None,
    text_column: TextColumn = None,
    columns: Columns = None,
    sidecar: Sidecar = None,
    as_json: Json = False,
) -> None:
    """Find where documents contradict each other. It takes no question.

    Without --model code alone compares values, dates, names and negations. Exit status: 0 nothing new, 1 new
    contradictions, 2 bad input, 3 a fault outside.
    """
    from disputatio.api.checking import CALLS
    from disputatio.api.checking import check as find
    from disputatio.contradictions.baseline import baseline_text

    if bool(paths) == (index is not None):
        raise InputError("check: name files or folders, or an index with --index, and not both")
    if as_json and sarif:
        raise InputError("--json and --sarif both go to stdout: choose one")
    if calls is not None and model is None:
        raise InputError("--calls needs --model: without one no pair is judged by a model")
    check_paths(paths or [])
    check_writable("--write-baseline", write_baseline)
    check_writable("--html", html)
    with ProgressBar("reading") as meter:
        found = find(
            [*map(Path, paths or [])] if index is None else open_named(index),
            severity=severity,
            baseline=baseline or (),
            model=model,
            calls=CALLS if calls is None else calls,
            options=ReadOptions(columns=read_columns(columns or [], text_column), sidecar=sidecar),
            progress=lambda step, done, total: meter.update(done, total, step),
        )
    for refused in found.refused[:_REFUSED]:
        say(f"not read: {refused}")
    if len(found.refused) > _REFUSED:
        say(f"not read: {len(found.refused) - _REFUSED} more")
    for notice in found.notices:
        say(notice)
    if write_baseline is not None:
        keep(write_baseline, baseline_text(found.contradictions))
        say(f"accepted {len(found.contradictions)} in {write_baseline}")
    _report(found, as_json=as_json, sarif=sarif, html=html)
    raise typer.Exit(1 if found.new and write_baseline is None else 0)


def _report(found: Check, *, as_json: bool, sarif: bool, html: Path | None) -> None:
    if html is not None:
        keep(html, check_page(found))
        say(f"written to {html}")
    if as_json:
        write_json(found.to_dict())
    elif sarif:
        write_json(check_sarif(found, version=__version__), indent=1)
    else:
        write(f"{check_text(found)}\n")
