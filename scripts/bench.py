"""List the measurements in bench/ with their first line, or run one of them by name."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent / "bench"


def first_line(script: Path) -> str:
    """What a script says it measures: the first line of its docstring."""
    doc = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8")))
    return doc.splitlines()[0] if doc else "(says nothing of itself)"


def main(arguments: list[str]) -> int:
    """List when nothing is named; otherwise run the script of that name and pass the rest on."""
    scripts = {script.stem: script for script in sorted(BENCH.glob("[!_]*.py"))}
    if not arguments:
        for name, script in scripts.items():
            print(f"{name:24}{first_line(script)}")
        print('\nRun one: make bench RUN=name ARGS="its options". Results are kept in bench/results/.')
        return 0
    if arguments[0] not in scripts:
        print(f"no measurement {arguments[0]!r}: known: {', '.join(scripts)}", file=sys.stderr)
        return 2
    return subprocess.run(
        [sys.executable, str(scripts[arguments[0]]), *arguments[1:]], check=False
    ).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
