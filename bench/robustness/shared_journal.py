"""Many processes on one journal of calls: is every call that was acknowledged there at the end?

    python -m bench.robustness.shared_journal --processes 8 --calls 10000

Each process keeps calls in sessions, as commands do: it opens the journal, keeps a number of calls, reads each back,
and closes it. Halfway through a session it opens the same file a second time beside the first and closes that again, as
a server with several models, an evaluation or a second question in the same program does. Some calls are the same in
all processes: the first stays, and all read that one. Afterwards the file is checked and every acknowledged call is
read. Counted are calls that are lost or changed, and calls that ended in a fault.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import platform
import random
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from disputatio.errors import StoreError
from disputatio.llm.call_cache import CallCache

_SHARED = 0.1  # of the calls are the same in every process


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--calls", type=int, default=10_000, help="of each process")
    parser.add_argument("--session", type=int, default=100, help="calls between opening and closing")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "calls.sqlite"
        context = multiprocessing.get_context("spawn")
        with context.Pool(options.processes) as pool:
            tasks = [
                (str(journal), number, options.calls, options.session, options.seed)
                for number in range(options.processes)
            ]
            outcomes = pool.starmap(_keep_calls, tasks)
        found = _compare(journal, [json.loads(Path(outcome["kept"]).read_text()) for outcome in outcomes])
    faults: Counter[str] = Counter()
    for outcome in outcomes:
        faults.update(outcome["faults"])
    report = {
        "machine": f"{platform.machine()}, {multiprocessing.cpu_count()} cores, SQLite {sqlite3.sqlite_version}",
        "calls": options.processes * options.calls,
        "seconds": round(time.perf_counter() - began, 1),
        **found,
        "faults": sum(faults.values()),
        "kinds of faults": dict(faults.most_common(10)),
    }
    json.dump(report, sys.stdout, indent=1)
    print()


def _keep_calls(path: str, number: int, calls: int, session: int, seed: int) -> dict[str, Any]:
    """Keep calls in sessions; return the faults, and the file with each key that was acknowledged."""
    drawn = random.Random(f"{seed} {number}")
    kept: dict[str, str] = {}
    faults: Counter[str] = Counter()
    done = 0
    while done < calls:
        length = min(drawn.randint(1, 2 * session), calls - done)
        try:
            with CallCache(path) as journal:
                for nth in range(length):
                    shared = drawn.random() < _SHARED
                    key = f"call {done}" if shared else f"call {number} {done}"
                    done += 1
                    value = json.dumps({"from": number, "text": "x" * drawn.randint(10, 3_000)})
                    try:
                        journal.put("complete", "model", {key: value})
                        read = journal.get([key]).get(key)
                        if read is None or (not shared and read != value):
                            faults["was not read back"] += 1
                        else:
                            kept[key] = read
                    except StoreError as error:
                        faults[_kind(error)] += 1
                    if nth == length // 2:
                        with contextlib.suppress(StoreError), CallCache(path) as second:
                            second.get([key])
        except StoreError as error:
            faults[_kind(error)] += 1
            done += 1  # as long as it cannot be opened, no call is kept
    out = Path(path).with_name(f"kept-{number}.json")
    out.write_text(json.dumps(kept))
    return {"faults": dict(faults), "kept": str(out)}


def _kind(error: Exception) -> str:
    return str(error).rpartition("cannot be used: ")[2]


def _compare(journal: Path, kept: list[dict[str, str]]) -> dict[str, Any]:
    """Read every acknowledged call, and let SQLite check the file."""
    lost = changed = acknowledged = 0
    checked = "not readable"
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(journal)) as database:
        checked = str(database.execute("PRAGMA integrity_check(1)").fetchone()[0])
    try:
        with CallCache(journal) as opened:
            for calls in kept:
                acknowledged += len(calls)
                found = opened.get(list(calls))
                lost += sum(key not in found for key in calls)
                changed += sum(found.get(key, value) != value for key, value in calls.items())
    except StoreError as error:
        return {"acknowledged": sum(map(len, kept)), "file": f"{checked}; {_kind(error)}"}
    return {"acknowledged": acknowledged, "lost": lost, "changed": changed, "file": checked}


if __name__ == "__main__":
    main()
