"""`disputatio eval report`, `eval compare`, `eval tables`: what evaluations found, for people and programs.

Everything here is read from journals of `disputatio eval run`; nothing is asked of a model. A file is
written whole or not at all.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from disputatio.cli_screen import write, write_json
from disputatio.errors import InputError

_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def report(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="The --out folder of `disputatio eval run`.")],
    as_json: _Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, one figure a line.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with plots that stands alone.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Rank by this metric: em_lenient, f1, accuracy, ...")
    ] = None,
) -> None:
    """Who leads, by how much and at what cost; tables with intervals, paired tests, failures.

    An evaluation that is still running is reported as far as it is.
    """
    from disputatio.eval.page import page
    from disputatio.eval.report import report as found_in
    from disputatio.eval.sheet import sheet
    from disputatio.eval.tables import markdown

    if as_json and as_csv:
        raise InputError("--json and --csv: take one of them")
    found = found_in(out, metric=metric)
    if html is not None:
        keep(html, page(found))
        typer.echo(f"{html} written", err=True)
    if as_json:
        write_json(found, indent=2)
    elif as_csv:
        write(sheet(found))
    elif html is None:
        write(markdown(found))


def keep(path: Path, text: str) -> None:
    """Write a file whole or not at all: who interrupts this leaves the old one as it was.

    Raises `InputError` where it cannot be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
