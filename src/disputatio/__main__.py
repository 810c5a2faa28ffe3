"""The command line as a module: `python -m disputatio`."""

from __future__ import annotations

from disputatio.cli import run

if __name__ == "__main__":
    run()
