"""`disputatio demo`: ingest a small corpus that disagrees, show its contradictions, and ask about it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from disputatio.cli.options import Model

CHECKS = "4"  # questions that sources are cross-checked by: few, for a demo is short


def demo(
    context: typer.Context,
    model: Model = None,
    index: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the demo's index goes.", show_default=True)
    ] = Path(".disputatio/demo.index"),
    calibrate: Annotated[
        bool, typer.Option(help="Estimate at last how reliable the sources are: as much again to read.")
    ] = True,
) -> None:
    """Show what it does, on a small corpus. It disagrees, and a real model answers about it."""
    start = time.monotonic()
    program = context.find_root().command
    chosen = ("--model", model) if model else ()

    def run(*words: str, fine: int = 0) -> None:
        """Show a command line of ours and run it here, so that the model is loaded once."""
        shown = " ".join(f'"{word}"' if " " in word else word for word in words)
        typer.echo(f"\n$ disputatio {shown}")
        code = program.main(list(words), prog_name="disputatio", standalone_mode=False)
        if code not in (0, None, fine):
            raise typer.Exit(code)

    folder = examples()
    sources = _short(folder / "disagreement" / "sources")
    index.parent.mkdir(parents=True, exist_ok=True)
    run("ingest", sources, "--index", str(index))
    run("check", sources, fine=1)  # what it exits with where it has found some; no model is waited for
    for question in json.loads((folder / "questions.json").read_text(encoding="utf-8")):
        run("ask", question["question"], "--index", str(index), *chosen)
    typer.echo(f"\nThe answers took {time.monotonic() - start:.0f} s.")
    if calibrate and model != "none":  # which writes no questions
        run("calibrate", "--index", str(index), "--questions", CHECKS, *chosen)
    typer.echo(f"\nThe same on a page: disputatio serve --index {index}, then open http://127.0.0.1:8377")


def examples() -> Path:
    """Return the folder of the corpus: of the package, or of the checkout that it is run from."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "examples"
    return installed if installed.is_dir() else package.parents[1] / "examples"


def _short(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
