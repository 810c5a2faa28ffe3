"""`disputatio model`: models known by name, fetched and verified by checksum."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from disputatio.cli.options import Json
from disputatio.cli.screen import ProgressBar, write, write_json

app = typer.Typer(help="List, fetch and find models; verified by sha256.", no_args_is_help=True)

_Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A name of the list, a path, or a hub's owner/repo[:file].")
]


@app.command("list")
def list_command(as_json: Json = False) -> None:
    """List the models known by name, and show which have been fetched."""
    from disputatio.llm import catalogue

    rows: list[dict[str, Any]] = [
        {
            "name": entry.name,
            "kind": entry.kind,
            "about": entry.about,
            "licence": entry.licence,
            "bytes": sum(file.size or 0 for file in entry.files),
            "sha256": {file.name: file.sha256 for file in entry.files},
            "present": catalogue.is_present(entry.name),
        }
        for entry in catalogue.entries()
    ]
    if as_json:
        write_json(rows, indent=2)
        return
    lines = []
    for row in rows:
        here = "here" if row["present"] else "not fetched"
        size = f"{row['bytes'] / 1e6:,.0f} MB"
        lines.append(f"{row['name']:<20}  {row['kind']:<14}  {size:>8}  {here}\n    {row['about']}\n")
    write("".join(lines))


@app.command("pull")
def pull_command(name: _Name, as_json: Json = False) -> None:
    """Fetch a model and verify it. Prints where it is; can be interrupted and resumed."""
    from disputatio.llm import catalogue

    with ProgressBar(f"fetching {name}", in_bytes=True) as meter:
        path = catalogue.pull(name, meter.update)
    _show_path(name, path, as_json=as_json)


@app.command("path")
def path_command(name: _Name, as_json: Json = False) -> None:
    """Print where a model is; exit 2 when it has not been fetched."""
    from disputatio.llm import catalogue

    path = catalogue.path(name)
    _show_path(name, path, as_json=as_json)


@app.command("verify")
def verify_command(name: _Name, as_json: Json = False) -> None:
    """Compare a model with its checksums. The exit code is 1 when a file differs."""
    from disputatio.llm import catalogue

    damaged = catalogue.verify(name)
    if as_json:
        write_json({"name": name, "damaged": list(damaged)})
    else:
        words = f"damaged: {', '.join(damaged)}" if damaged else "every file matches its checksum"
        write(f"{name}: {words}\n")
    if damaged:
        raise typer.Exit(1)


def _show_path(name: str, path: Path, *, as_json: bool) -> None:
    if as_json:
        write_json({"name": name, "path": str(path)})
    else:
        write(f"{path}\n")
