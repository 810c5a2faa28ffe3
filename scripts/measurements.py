"""List the measurements in bench/ by room with their first line, or run one of them by name."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent / "bench"


def first_line(script: Path) -> str:
    """Return the first line of a script's docstring."""
    doc = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8")))
    return doc.splitlines()[0] if doc else "(no docstring)"


def is_measurement(script: Path) -> bool:
    """Return whether a user can run a file of bench/; a worker is started by the script that it serves."""
    serves = script.parent.name == "lib" or script.stem.endswith("_worker")
    return not serves and '__name__ == "__main__"' in script.read_text(encoding="utf-8")


def main(arguments: list[str]) -> int:
    """List when nothing is named; otherwise run the script of that name and pass the rest on."""
    scripts = {script.stem: script for script in sorted(BENCH.glob("*/[!_]*.py")) if is_measurement(script)}
    if not arguments:
        for room in sorted({script.parent for script in scripts.values()}):
            print(f"{room.name}: {first_line(room / '__init__.py')}")
            for name, script in scripts.items():
                if script.parent == room:
                    print(f"  {name:24}{first_line(script)}")
        print('\nRun one: make bench RUN=name ARGS="its options". Results are kept in bench/results/ROOM/.')
        return 0
    if arguments[0] not in scripts:
        print(f"no measurement {arguments[0]!r}: known: {', '.join(scripts)}", file=sys.stderr)
        return 2
    module = f"bench.{scripts[arguments[0]].parent.name}.{arguments[0]}"
    command = [sys.executable, "-m", module, *arguments[1:]]
    return subprocess.run(command, check=False, cwd=BENCH.parent).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
