"""Options of measurements on the command line."""

from __future__ import annotations

import argparse
from pathlib import Path


def parser_of(text: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is the docstring of a module."""
    return argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)


def asking_parser(text: str | None, journal: str, rows: int, out: Path) -> argparse.ArgumentParser:
    """Return the parser of a measurement that asks rows of data sets and keeps figures with a page."""
    options = parser_of(text)
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--journal", default=journal)
    options.add_argument("--rows", type=int, default=rows, help="of each corpus at most")
    options.add_argument(
        "--out", type=Path, default=out, help="a .json or .json.gz file; the .md stands beside it"
    )
    return options
