"""`disputatio eval report`, `eval compare`, `eval tables`: what evaluations found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from disputatio.cli.options import Json
from disputatio.cli.screen import buffer_output, plain, write, write_json
from disputatio.errors import InputError
from disputatio.platforms import whole_file
from disputatio.text import one_line


def report(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="The --out folder of `disputatio eval run`.")],
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, one figure a line.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a self-contained page with plots.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(metavar="NAME", help="Rank by this metric: em_lenient, f1, accuracy, ...")
    ] = None,
) -> None:
    """Rank the strategies of an evaluation.

    Scores have intervals, differences are tested in pairs, costs and failures are counted. An evaluation
    that is still running is reported so far.
    """
    from disputatio.eval.reporting.page import page
    from disputatio.eval.reporting.report import report as found_in
    from disputatio.eval.reporting.tables import markdown, sheet

    if as_json and as_csv:
        raise InputError("--json and --csv: take one of them")
    results = found_in(out, metric=metric)
    if html is not None:
        keep(html, page(results))
        typer.echo(f"{html} written", err=True)
    if as_json:
        write_json(results, indent=2)
    elif as_csv:
        write(sheet(results))
    elif html is None:
        write(markdown(results))


def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="DIR [DIR]", help="One run folder, or two with common questions.")
    ],
    strategies: Annotated[
        str | None,
        typer.Option(metavar="X,Y", help="The two to compare; X is in the first folder, Y in the second."),
    ] = None,
    as_json: Json = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a self-contained page.")] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=0, help="Questions to print; JSON and the page have all.")
    ] = 20,
    metric: Annotated[str | None, typer.Option(metavar="NAME", help="Compare by this metric.")] = None,
) -> None:
    """Show where two strategies differ. Each question has answers, scores, positions and traces."""
    from disputatio.eval.reporting.compare import choose_runs, comparison_page
    from disputatio.eval.reporting.compare import compare as compared

    comparison = compared(*choose_runs(runs, strategies), metric=metric)
    if html is not None:
        keep(html, comparison_page(comparison))
        typer.echo(f"{html} written", err=True)
    if as_json:
        write_json(comparison, indent=2)
    elif html is None:
        _show(comparison, limit)


def tables(
    runs: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of `disputatio eval run`.")],
    paper: Annotated[str, typer.Option(metavar="NAME", help="madam, ra-rag, ac-rag or ragenta.")],
    as_json: Json = False,
) -> None:
    """Print a paper's tables beside ours. Methods and columns are the same, and gaps are named."""
    from disputatio.eval.reporting.paper_tables import markdown, paper_tables

    results = paper_tables(paper, runs)
    if as_json:
        write_json(results, indent=2)
    else:
        write(markdown(results))


def _show(comparison: Mapping[str, Any], limit: int) -> None:
    from disputatio.eval.reporting.compare import names, outcome

    with buffer_output() as out:
        for line in outcome(comparison):
            out.print(plain(line))
        for question in comparison["questions"][:limit]:
            out.print()
            out.print(plain(f"row {question['row']}: {one_line(question['question'])}", "bold"))
            wrong = f" · wrong: {'; '.join(question['wrong'])}" if question["wrong"] else ""
            out.print(plain(one_line(f"right: {'; '.join(question['gold'])}{wrong}"), "dim"))
            table = Table(box=SIMPLE, show_edge=False, padding=(0, 1), expand=True)
            for name in names(comparison):
                table.add_column(plain(one_line(name)), overflow="fold", ratio=1)
            table.add_row(_side_text(question["one"]), _side_text(question["other"]))
            out.print(table)
        if len(comparison["questions"]) > limit:
            out.print()
            out.print(plain(f"{len(comparison['questions']) - limit} more: --limit N, --json or --html FILE"))


def _side_text(side: Mapping[str, Any]) -> Text:
    from disputatio.eval.reporting.compare import answer_text, event_line, figures, position_line, reply_line

    lines = [plain(one_line(answer_text(side)), "bold"), plain(figures(side), "dim")]
    lines += [plain(one_line(position_line(position))) for position in side["positions"]]
    lines += [plain(one_line(reply_line(reply)), "dim") for reply in side["replies"]]
    lines += [plain(one_line(event_line(event)), "dim") for event in side["trace"]]
    return Text("\n").join(lines)


def keep(path: Path, text: str) -> None:
    """Write a file whole or not at all: who interrupts this leaves the old one as it was.

    Raises `InputError` where it cannot be written.
    """
    try:
        with whole_file(path) as part:
            part.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error
