"""Measure `import disputatio`: time in the interpreter and number of modules loaded."""

from __future__ import annotations

import statistics
import subprocess
import sys

PROBE = (
    "import sys, time\n"
    "before = set(sys.modules)\n"
    "wall, cpu = time.perf_counter(), time.process_time()\n"
    "import disputatio\n"
    "print(time.perf_counter() - wall, time.process_time() - cpu, len(set(sys.modules) - before))\n"
)


def main(repeats: int = 7) -> None:
    """Import in `repeats` fresh interpreters and print the medians."""
    rows = []
    for _ in range(repeats):
        run = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
        rows.append([float(figure) for figure in run.stdout.split()])
    wall, cpu, modules = (statistics.median(column) for column in zip(*rows, strict=True))
    print(f"import disputatio: {wall:.3f} s wall, {cpu:.3f} s CPU, {modules:.0f} modules ({repeats} runs)")


if __name__ == "__main__":
    main()
