"""How much the embedded engine answers with many questions in flight: in a process of its own, and in the caller's.

    python -m bench.engine.engine_process

`threads` threads each put one short call after the other through a journal, as strategies do. A step of the
engine's pipeline holds Python's global lock; where it runs in the caller's process, whatever a thread does
between two calls (a row of the journal, a search) waits for steps to end. Both ways answer the same prompts, over and over
in turn, each in a fresh process of its own that first loads and warms the model; `beats` counts how often a
thread that sleeps for a millisecond at a time woke up while the calls were made.
"""

from __future__ import annotations

import argparse
import json
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

from bench import RESULTS
from disputatio.kit import chat
from disputatio.llm import catalogue, local
from disputatio.llm.cached_llm import CachedLLM
from disputatio.llm.call_cache import CallCache
from disputatio.llm.embedded import Engine
from disputatio.types import Sampling

PAGE = RESULTS / "engine" / "engine_process.md"
WAYS = {"own": "a process of its own", "same": "the caller's process"}
WORDS = ("quay", "jetty", "crane", "barge", "sluice", "beacon", "ferry", "harbour")


class Within:
    """The engine in this process, stepped by a thread: what `local._Process` stands in for."""

    def __init__(self, arguments: Sequence[str], _say: object) -> None:
        path, cache, gigabytes, context = arguments
        self._engine = Engine(Path(path), Path(cache), int(gigabytes), int(context), self._send)
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._waiting: dict[int, Future[Any]] = {}
        self._numbers = count(1)
        self.ended = False
        threading.Thread(target=self._serve, daemon=True).start()

    def ready(self) -> None:
        """Loaded where it is made."""

    def ask(self, request: dict[str, Any]) -> Any:
        number, answer = next(self._numbers), Future[Any]()
        self._waiting[number] = answer
        self._inbox.put({"id": number, **request})
        return answer.result()

    def _send(self, message: Any) -> None:
        if "words" in message:
            self._waiting.pop(message["id"]).set_result(message["words"])

    def _serve(self) -> None:
        while True:
            self._engine.step(self._inbox)


def measure(way: str, threads: int, calls: int, name: str) -> dict[str, float]:
    """Calls and new tokens a second of one way, and the beats a second of a thread beside it."""
    if way == "same":
        vars(local)["_Process"] = Within
    with tempfile.TemporaryDirectory() as folder:
        model = local.Local(
            name, lambda: catalogue.path(name, pull=True), cache=catalogue.cache_folder(), cache_gb=1
        )
        journalled = CachedLLM(model, CallCache(Path(folder) / "calls.sqlite"), engine=model.engine)
        journalled.complete([chat("", "Say yes.")], Sampling(max_tokens=1))
        beats, over = [0], threading.Event()

        def beat() -> None:
            while not over.is_set():
                time.sleep(0.001)
                beats[0] += 1

        def ask(number: int) -> int:
            prompt = chat("Write one sentence.", f"On the {WORDS[number % 8]} numbered {number}.")
            return journalled.complete([prompt], Sampling(max_tokens=8 + number % 9))[
                0
            ].usage.completion_tokens

        threading.Thread(target=beat, daemon=True).start()
        began = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            written = sum(pool.map(ask, range(calls)))
        took = time.perf_counter() - began
        over.set()
    return {"calls": calls / took, "tokens": written / took, "beats": beats[0] / took}


def main() -> None:
    """Measure both ways in turn and write the table."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--threads", type=int, default=16)
    options.add_argument("--calls", type=int, default=160)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--model", default=catalogue.DEFAULT_MODEL)
    options.add_argument("--way", choices=WAYS, help="measure one way in this process and print it")
    arguments = options.parse_args()
    if arguments.way:
        print(json.dumps(measure(arguments.way, arguments.threads, arguments.calls, arguments.model)))
        return
    same = ["--threads", str(arguments.threads), "--calls", str(arguments.calls), "--model", arguments.model]
    samples: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(arguments.repeats):
        for way in WAYS:
            command = [sys.executable, "-m", "bench.engine.engine_process", "--way", way, *same]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            samples[way].append(json.loads(done.stdout.splitlines()[-1]))
    lines = [
        "# The embedded engine in a process of its own, and in the caller's",
        "",
        f"`python -m bench.engine.engine_process --threads {arguments.threads} --calls {arguments.calls} --model {arguments.model}`: "
        f"{arguments.threads} threads, {arguments.calls} journalled calls of 8 to 16 new tokens each, medians of "
        f"{arguments.repeats} runs of each way in turn (least to most).",
        "",
        "| the engine runs in | calls a second | new tokens a second | beats a second of a thread beside it |",
        "|---|--:|--:|--:|",
    ]
    for way, description in WAYS.items():
        figures = []
        for what in ("calls", "tokens", "beats"):
            some = sorted(sample[what] for sample in samples[way])
            figures.append(f"{statistics.median(some):.1f} ({some[0]:.1f} to {some[-1]:.1f})")
        lines.append(f"| {description} | {' | '.join(figures)} |")
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
