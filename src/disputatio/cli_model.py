"""`disputatio model`: models known by name, fetched and verified by checksum."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

app = typer.Typer(help="Models known by name, verified by sha256.", no_args_is_help=True)

_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_Name = Annotated[str, typer.Argument(help="A name of the list, a path, or a hub's owner/repo[:file].")]


@app.command("list")
def list_command(as_json: _Json = False) -> None:
    """The models known by name, and which are here."""
    from disputatio.llm import catalogue

    rows: list[dict[str, Any]] = [
        {
            "name": one.name,
            "kind": one.kind,
            "about": one.about,
            "licence": one.licence,
            "bytes": sum(file.size or 0 for file in one.files),
            "sha256": {file.name: file.sha256 for file in one.files},
            "present": catalogue.is_present(one.name),
        }
        for one in catalogue.entries()
    ]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        here = "here" if row["present"] else "not fetched"
        size = f"{row['bytes'] / 1e6:,.0f} MB"
        typer.echo(f"{row['name']:<20}  {row['kind']:<14}  {size:>8}  {here}")
        typer.echo(f"    {row['about']}")


@app.command("pull")
def pull_command(name: _Name, as_json: _Json = False) -> None:
    """Fetch a model, resumably, check it, and print where it is."""
    from disputatio.cli_screen import Meter
    from disputatio.llm import catalogue

    with Meter(f"fetching {name}", in_bytes=True) as meter:
        path = catalogue.pull(name, meter.told)
    typer.echo(json.dumps({"name": name, "path": str(path)}) if as_json else str(path))


@app.command("path")
def path_command(name: _Name, as_json: _Json = False) -> None:
    """Print where a model is; exit 2 when it has not been fetched."""
    from disputatio.llm import catalogue

    path = catalogue.path(name)
    typer.echo(json.dumps({"name": name, "path": str(path)}) if as_json else str(path))
