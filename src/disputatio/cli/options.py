"""Options that several commands share: each is declared here once, with its help text and its default.

A default that settings bring is written into the help text, as reading the settings would slow down every
`--help`; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from disputatio.errors import InputError

Expect = Literal["auto", "one", "several"]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
IndexFolder = Annotated[
    Path | None,
    typer.Option("--index", metavar="DIR", help="Folder of the index.  [default: disputatio.index]"),
]
Indexes = Annotated[
    Path | None,
    typer.Option(
        "--index",
        metavar="DIR[,DIR]...",
        help="Folder of the index; several are searched as one.  [default: disputatio.index]",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="The language model: local:NAME, openai:NAME or none.  [default: local:qwen2.5-coder-1.5b]",
    ),
]
Sidecar = Annotated[
    Path | None,
    typer.Option(
        "--sidecar",
        metavar="FILE",
        help="A disputatio.yaml of yours: what it states of files counts whole, now and from now on.",
    ),
]
Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--role", metavar="ROLE=MODEL", help="Another model for one role, such as judge; may be repeated."
    ),
]
StrategyName = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        metavar="NAME",
        help="How to answer; `disputatio strategies` lists them.  [default: disputation]",
    ),
]
StrategyOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="An option of the strategy (`disputatio strategies NAME` lists them); may be repeated.",
    ),
]
TextColumn = Annotated[
    str | None,
    typer.Option(
        "--text-column",
        metavar="NAME",
        help="Column of a table, or field of a JSON row, that holds the text.  [default: text]",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="FIELD=COLUMN",
        help="Columns of other fields (title, url, date, source, owner): title=name,date=published.",
    ),
]
Sources = Annotated[
    list[str] | None,
    typer.Option("--source", metavar="NAME", help="Search only this source; may be repeated."),
]
After = Annotated[
    str | None,
    typer.Option(
        "--after", metavar="DATE", help="Only passages dated on or after, such as 2021 or 2021-05-30."
    ),
]
Before = Annotated[
    str | None, typer.Option("--before", metavar="DATE", help="Only passages dated on or before.")
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of", metavar="DATE", help="The answer of that day, with what holds today, such as 2021-05-30."
    ),
]
Journal = Annotated[
    str | None,
    typer.Option(
        "--journal",
        metavar="FILE",
        help="Where model calls are kept, to be reused: a file, default or none.  [default: default]",
    ),
]
Replay = Annotated[
    bool, typer.Option("--replay", help="Take every model call from the journal, and call no model.")
]
StatedDate = Annotated[
    str | None, typer.Option("--date", metavar="DATE", help="State the date of the documents, as 2021-05-30.")
]
StatedOwner = Annotated[
    str | None, typer.Option("--owner", metavar="NAME", help="State who owns them; an owner has one vote.")
]
StatedSource = Annotated[
    str | None, typer.Option("--source", metavar="NAME", help="State the source that they count to.")
]
StatedAuthority = Annotated[
    str | None,
    typer.Option(
        "--authority",
        metavar="TIER",
        help="State their authority: binding, official, primary, secondary or informal.",
    ),
]
StatedReplaces = Annotated[
    str | None, typer.Option("--replaces", metavar="DOC", help="State the document that they replace.")
]


def read_pairs(option: str, pairs: Sequence[str], form: str) -> dict[str, str]:
    """Return `key=value` arguments as a mapping; raises `InputError` that names a malformed or repeated one.

    >>> read_pairs("--set", ["rounds=2", "history = peers"], "key=value")
    {'rounds': '2', 'history': 'peers'}
    """
    values: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not (key and equals and value):
            raise InputError(f"{option} {pair!r}: write it as {form}")
        if values.setdefault(key, value) != value:
            raise InputError(f"{option} {key}: is given twice, as {values[key]!r} and as {value!r}")
    return values


def read_roles(pairs: Sequence[str] | None) -> dict[str, str] | None:
    """Return the models of `--role ROLE=MODEL` by role; None where the option was not used."""
    return read_pairs("--role", pairs or [], "ROLE=MODEL") or None
