"""The options of benches that build an index of made passages."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple


class BuildOptions(NamedTuple):
    """The folder of this size, how many passages, and the seed that they are made with."""

    folder: Path
    size: int
    seed: int


def read_build_options(description: str | None) -> BuildOptions:
    """Return the options of the command line: `--work DIR --size N [--seed S]`."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    return BuildOptions(arguments.work / str(arguments.size), arguments.size, arguments.seed)
