"""`disputatio stale`: documents that are superseded or old, by how many kept answers rest on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from disputatio.cli.opening import open_named
from disputatio.cli.options import IndexFolder, Json
from disputatio.cli.screen import say, write_json, write_row
from disputatio.rendering.wording import count
from disputatio.versions.dates import today

if TYPE_CHECKING:
    from disputatio.api.staleness import StaleDocument

_STATES = {
    "replaces": "replaced by {by}",
    "amends": "amended by {by}",
    "corrects": "corrected by {by}",
    "version": "{by} is a higher version",
    "date": "{by} is later",
    "withdrawn": "withdrawn",
    "retracted": "retracted, as people stated",
    "draft": "a draft; {by} is in force",
    "expired": "no longer in force; {by} is",
    "not_in_force": "not in force yet; {by} is",
}


def stale(
    index: IndexFolder = None,
    older: Annotated[
        float,
        typer.Option(
            "--older-than", metavar="YEARS", min=0.0, help="Years from which a document counts as old."
        ),
    ] = 3.0,
    answers: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Kept answers, of a server or of ask_many; may be repeated.  [default: the server's]",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List documents that are superseded or old. First comes what most kept answers cite."""
    from disputatio.api.staleness import find_stale
    from disputatio.config import read_settings
    from disputatio.parts import cache_folder

    usual = cache_folder(read_settings()) / "answers.sqlite"
    files = answers or ([usual] if usual.is_file() else [])
    found = find_stale(open_named(index), today=today(), years=older, answers=files)
    if as_json:
        write_json([document.to_dict() for document in found])
        return
    for label, line in dict.fromkeys(map(_row, found)):  # rows of a table are documents of one file
        write_row(label, line)
    if not found:
        say(f"no document is superseded, or older than {older:g} years")


def _row(document: StaleDocument) -> tuple[str, str]:
    if document.state == "old":
        why = document.age
    else:
        why = _STATES.get(document.state, "superseded by {by}").format(by=Path(document.by).name)
        why = why if document.by else why.partition(";")[0]
        why += f": “{document.quote}”" if document.quote else ""
    dated = f" ({document.date})" if document.date else ""
    name = Path(document.path).name or document.title or document.document
    return f"{count(document.answers, 'answer')}  ", f"{name}{dated}: {why}"
