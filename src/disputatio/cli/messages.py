"""Messages on stderr, each on one line, with untrusted text neutralised."""

from __future__ import annotations

import typer

from disputatio.text import one_line


def say(message: str) -> None:
    """Print a message on stderr."""
    typer.echo(one_line(message), err=True)


def complain(message: str) -> None:
    """Print an error on stderr, after the program's name."""
    say(f"disputatio: {message}")
