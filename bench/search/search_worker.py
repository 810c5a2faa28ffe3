"""One search system in a process of its own, asked over a pipe by search_scale.py.

    PYTHON -m bench.search.search_worker SYSTEM --work DIR --size N --folder DIR

The peers' interpreter has the packages of peers.lock and not ours. A request is a line of JSON with `op` on
standard input, an answer a line of JSON on standard output; every time is taken here, around the call that a
user would write, with the texts of all hits fetched.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from bench.search.corpus import Corpus
from bench.search.search_peers import SYSTEMS, System


class Worker:
    """Answers requests about one system."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.queries = system.corpus.queries()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what `op` names."""
        does: Any = getattr(self, f"do_{request.pop('op')}")
        answer: dict[str, Any] = does(**request)
        return answer

    def do_build(self) -> dict[str, Any]:
        """Build into an empty folder."""
        start = time.perf_counter()
        self.system.build()
        seconds = time.perf_counter() - start
        self.system.tidy()
        return {"seconds": round(seconds, 2)}

    def do_open(self, setting: dict[str, Any]) -> dict[str, Any]:
        """Open what was built."""
        self.system.setting = setting
        self.system.load()
        self.system.open()
        return {}

    def do_set(self, setting: dict[str, Any]) -> dict[str, Any]:
        """Search with other settings from now on."""
        self.system.setting = setting
        return {}

    def do_search(self, leg: str, query: int, k: int) -> dict[str, Any]:
        """Return seconds on the clock and of the processor, of all threads, and the rows found."""
        sought = self.queries[query]
        begun, worked = time.perf_counter(), time.process_time()
        hits = self.system.search(leg, sought, k)
        seconds, cpu = time.perf_counter() - begun, time.process_time() - worked
        if not all(text for _, text in hits):
            raise ValueError("a hit came without its text")
        return {"seconds": seconds, "cpu": cpu, "rows": [int(row) for row, _ in hits]}


def main() -> None:
    """Read requests until the pipe is closed; nothing but answers goes to the pipe."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="where this system keeps its files")
    parser.add_argument("--core", type=int, default=-1, help="run on this core alone")
    arguments = parser.parse_args()
    if arguments.core >= 0:
        os.sched_setaffinity(0, {arguments.core})
    pipe = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    corpus = Corpus(arguments.work / str(arguments.size) / "corpus", arguments.size)
    worker = Worker(SYSTEMS[arguments.system](corpus, arguments.folder))
    for line in sys.stdin:
        try:
            answer = worker.answer(json.loads(line))
        except Exception as error:  # noqa: BLE001  (told to the one who asked)
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        print(json.dumps(answer), file=pipe)


if __name__ == "__main__":
    main()
