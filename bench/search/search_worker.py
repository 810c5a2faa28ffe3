"""One search system in a process of its own, asked over a pipe by search_scale.py.

    PYTHON -m bench.search.search_worker SYSTEM --work DIR --size N --folder DIR

The peers' interpreter has the packages of peers.lock and not ours. A request is a line of JSON with `op` on
standard input, an answer a line of JSON on standard output; every time is taken here, around the call that a
user would write, with the texts of all hits fetched.
"""

from __future__ import annotations

import time

STARTED = time.perf_counter()  # before the other imports, which a first search waits for too

import argparse  # noqa: E402
import gc  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import re  # noqa: E402
import resource  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

from bench.search.corpus import Corpus  # noqa: E402
from bench.search.search_peers import SYSTEMS, Found, Ours, System  # noqa: E402


def memory() -> dict[str, float]:
    """Megabytes of this process: resident now, of that its own and of mapped files, and the most it ever had.

    A page counts once however often this process maps it, and by its share where others map it too.
    """
    text = Path("/proc/self/smaps_rollup").read_text("utf-8")
    sizes = {name: int(size) for name, size in re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE)}
    names = {"resident": "Pss", "own": "Pss_Anon", "mapped": "Pss_File"}
    figures = {name: round(sizes[field] / 1024, 1) for name, field in names.items()}
    figures["peak"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
    return figures


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
        figures = {"parts": {name: round(took, 1) for name, took in self.system.parts.items()}, **memory()}
        self.system.tidy()
        return {"seconds": round(seconds, 2), **figures}

    def do_open(self, setting: dict[str, Any]) -> dict[str, Any]:
        """Open; seconds of imports and of opening."""
        self.system.setting = setting
        start = time.perf_counter()
        self.system.load()
        loaded = time.perf_counter()
        self.system.open()
        return {"imports": loaded - start, "open": time.perf_counter() - loaded}

    def do_first(self, leg: str, query: int) -> dict[str, Any]:
        """Open and search once in a fresh process; `all` counts from the first line of this file."""
        times = self.do_open({})
        start = time.perf_counter()
        hits = self.system.search(leg, self.queries[query], 20)
        end = time.perf_counter()
        return {**times, "search": end - start, "all": end - STARTED, "hits": len(hits)}

    def do_set(self, setting: dict[str, Any]) -> dict[str, Any]:
        """Search with other settings from now on."""
        self.system.setting = setting
        return {}

    def do_search(self, leg: str, query: int, k: int) -> dict[str, Any]:
        """Return seconds, and the rows found."""
        sought = self.queries[query]
        clocks = _clocks()
        hits = self.system.search(leg, sought, k)
        return self._told(_since(clocks), hits)

    def do_per_source(self, leg: str, query: int, k: int, sources: list[str] | None) -> dict[str, Any]:
        """Return seconds, and the rows found."""
        assert isinstance(self.system, Ours)
        sought = self.queries[query]
        clocks = _clocks()
        hits = self.system.per_source(leg, sought, k, sources)
        return self._told(_since(clocks), hits)

    def do_ranking(self, leg: str, query: int, k: int, sources: list[str] | None) -> dict[str, Any]:
        """Return seconds of the ranking alone, and how many hits there are."""
        assert isinstance(self.system, Ours)
        sought = self.queries[query]
        clocks = _clocks()
        hits = self.system.ranking(leg, sought, k, sources)
        return {**_since(clocks), "hits": hits}

    def do_memory(self) -> dict[str, Any]:
        """Megabytes now."""
        gc.collect()
        return dict(memory())

    @staticmethod
    def _told(spent: dict[str, float], hits: Found) -> dict[str, Any]:
        if not all(text for _, text in hits):
            raise ValueError("a hit came without its text")
        return {**spent, "rows": [int(row) for row, _ in hits]}


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _since(clocks: tuple[float, float]) -> dict[str, float]:
    """Return seconds that have passed, and seconds that processors worked for all threads of this process."""
    return {"seconds": time.perf_counter() - clocks[0], "cpu": time.process_time() - clocks[1]}


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
