"""`disputatio eval datasets`: the data sets that can be read, and by name what is known of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.text import Text

from disputatio.cli.options import Json
from disputatio.cli.screen import hanging, plain, printing, write_json
from disputatio.errors import UnknownName

if TYPE_CHECKING:
    from rich.console import Console


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
    with printing() as out:
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
    """Print a line for each data set: its name and what it holds."""

    width = max(map(len, rows))
    for name, row in rows.items():
        out.print(Text(f"{name:<{width}}  ", "bold") + plain(short(row["description"])))
    out.print()
    out.print(plain("Origin, licence, files and metrics of one: disputatio eval datasets NAME", "dim"))


def _show_dataset(out: Console, row: dict[str, Any]) -> None:
    """Print one data set in detail."""

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
        out.print(Padding(hanging(f"{label + ':':<10} ", text), (0, 0, 0, 4)))
