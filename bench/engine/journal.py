"""Measure whether several processes that fill one journal of calls lose any.

    python -m bench.engine.journal [--processes 8] [--calls 10000] [--page FILE]

Each process opens the journal that all share, keeps its calls one by one as a question does, and after each reads one of its
earlier calls. A call is lost if it was acknowledged and is not found, or is found with another value, when all have ended.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench import RESULTS
from bench.lib.asking import table
from disputatio.llm.call_cache import CallCache
from disputatio.llm.cores import processor

PAGE = RESULTS / "engine" / "journal.md"
AT_ONCE = 500  # calls that are looked up together at the end


def call(process: int, number: int) -> tuple[str, str]:
    """Return the key and the value of a call; values are as long as a reply with its usage."""
    return f"{process}-{number}", f'{{"text": "{process} {number} ' + "word " * 100 + '"}'


def fill(file: Path, process: int, calls: int, wrong: multiprocessing.Queue[tuple[int, float]]) -> None:
    """Keep calls one by one and read an earlier one after each; tell how many were not there, and the slowest write."""
    missed, slowest = 0, 0.0
    try:
        with CallCache(file) as journal:
            for number in range(calls):
                key, value = call(process, number)
                began = time.perf_counter()
                journal.put("complete", "m", {key: value})
                slowest = max(slowest, time.perf_counter() - began)
                earlier, expected = call(process, number // 2)
                missed += journal.get([earlier]).get(earlier) != expected
    finally:
        wrong.put((missed, slowest))


def lost(file: Path, processes: int, calls: int) -> int:
    """Return how many calls are not in the journal as they were kept."""
    count = 0
    with CallCache(file, readonly=True) as journal:
        for process in range(processes):
            for first in range(0, calls, AT_ONCE):
                kept = dict(call(process, number) for number in range(first, min(first + AT_ONCE, calls)))
                found = journal.get(list(kept))
                count += sum(found.get(key) != value for key, value in kept.items())
    return count


def main(words: Sequence[str] | None = None) -> None:
    """Let processes fill a journal, count what was lost, and write the page."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--processes", type=int, default=8)
    options.add_argument("--calls", type=int, default=10_000)
    options.add_argument("--page", type=Path, default=PAGE)
    asked = options.parse_args(words)
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        file, wrong, began = Path(folder) / "calls.sqlite", context.Queue(), time.perf_counter()
        running = [
            context.Process(target=fill, args=(file, process, asked.calls, wrong))
            for process in range(asked.processes)
        ]
        for each in running:
            each.start()
        told = [wrong.get() for _ in running]
        for each in running:
            each.join()
        seconds = time.perf_counter() - began
        missing = lost(file, asked.processes, asked.calls)
    row = [
        asked.processes,
        f"{asked.processes * asked.calls:,}",
        missing,
        sum(missed for missed, _ in told),
        sum(each.exitcode != 0 for each in running),
        f"{seconds:.0f}",
        f"{max(slowest for _, slowest in told):.2f}",
    ]
    names = [
        "processes",
        "calls",
        "lost",
        "not read back at once",
        "processes that failed",
        "seconds",
        "slowest write, s",
    ]
    asked.page.write_text(
        "# Calls lost by a journal that processes share\n\n"
        f"{processor()}, {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f} in the last five minutes, Python "
        f"{platform.python_version()}, {time.strftime('%Y-%m-%d')}. `python -m bench.engine.journal --processes "
        f"{asked.processes} --calls {asked.calls}`.\n\n{table(names, [row])}\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
