"""Sixteen people who ask at once, against an evaluation with sixteen questions in flight.

    python -m bench.serve.crowd

Both answer the same questions over the same index with the same waiting model, one way after the other, in several
rounds. Every person asks the next question as soon as the last one is answered. What waits for its turn is
measured apart, with twice as many people as there are turns.
"""

from __future__ import annotations

import os
import platform
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import httpx

from bench import RESULTS
from bench.lib.files import write_page
from bench.lib.options import parser_of
from bench.lib.waiting import NAMES, Waiting, ferries, process, question
from disputatio.api.indexing import Index
from disputatio.eval.evaluate import evaluate
from disputatio.types import Example

PAGE = RESULTS / "serve" / "crowd.md"


def crowd(url: str, people: int, questions: Sequence[str]) -> tuple[float, list[float], int]:
    """Return seconds until all are answered, the seconds of each, and how many were not answered."""
    waiting = list(enumerate(questions))
    lock = threading.Lock()
    times: list[float] = []
    failed = 0

    def person() -> None:
        nonlocal failed
        with httpx.Client(base_url=url, timeout=120) as client:
            while True:
                with lock:
                    if not waiting:
                        return
                    _, text = waiting.pop()
                began = time.perf_counter()
                response = client.post("/api/ask", json={"question": text})
                with lock:
                    times.append(time.perf_counter() - began)
                    failed += response.status_code != 200

    began = time.perf_counter()
    threads = [threading.Thread(target=person) for _ in range(people)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began, times, failed


def evaluation(index: Index, delay: float, questions: Sequence[str]) -> float:
    """Return seconds that an evaluation of the questions takes, with sixteen in flight."""
    examples = [
        Example(id=f"e{number}", row=number, question=text, gold=("x",))
        for number, text in enumerate(questions)
    ]
    began = time.perf_counter()
    evaluate(examples, model=Waiting(delay), index=index, in_flight=16, verify=True)
    return time.perf_counter() - began


def queued(url: str) -> tuple[float, float]:
    """Return how many questions have waited for a turn, and the bound under which 95 % of them waited."""
    text = httpx.get(f"{url}/metrics").text
    buckets = [
        (float(bound), float(count))
        for bound, count in re.findall(r'queue_seconds_bucket\{le="([^"]+)"\} (\S+)', text)
    ]
    total = buckets[-1][1]
    return total, next(bound for bound, count in buckets if count >= 0.95 * total)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write the page."""
    parser = parser_of(__doc__)
    parser.add_argument("--questions", type=int, default=160)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--delay", type=float, default=1.0)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        index = ferries(Path(name))
        texts = [
            question(NAMES[number % len(NAMES)]) + " " * (number // len(NAMES))
            for number in range(options.questions)
        ]
        ways = {"eval": list[float](), "people": list[float]()}
        lost = 0
        with process(["-m", "bench.serve.serving_worker", name, str(options.delay)]) as (_, url):
            crowd(url, 16, texts[:16])
            for _ in range(options.rounds):
                ways["eval"].append(evaluation(index, options.delay, texts))
                seconds, _, failed = crowd(url, 16, texts)
                ways["people"].append(seconds)
                lost += failed
        with process(["-m", "bench.serve.serving_worker", name, str(options.delay)]) as (_, url):
            _, times, failed = crowd(url, 32, texts)
            lost += failed
            total, bound = queued(url)
    hourly = {way: 3600 * options.questions / statistics.median(seconds) for way, seconds in ways.items()}
    write_page(
        PAGE,
        f"""# Sixteen people at once

`python -m bench.serve.crowd --questions {options.questions} --rounds {options.rounds} --delay {options.delay}`, {platform.machine()}, {time.strftime("%Y-%m-%d")}; beside it this machine ran other work.

| | questions an hour | seconds a round |
|---|--:|---|
| `evaluate(in_flight=16)`, the library of `eval run --in-flight 16` | {hourly["eval"]:,.0f} | {", ".join(f"{each:.1f}" for each in ways["eval"])} |
| 16 people over HTTP | {hourly["people"]:,.0f} | {", ".join(f"{each:.1f}" for each in ways["people"])} |

The people get {100 * hourly["people"] / hourly["eval"]:.0f} % of the evaluation's questions an hour; {lost} questions were not answered. Both verify citations. With a model
that takes {options.delay:g} s a batch this is far more than a real one answers here, so the share is a lower bound. Load: {os.getloadavg()[1]:.1f} on
{os.cpu_count()} cores.

With 32 people and 16 turns ({total:.0f} questions), 95 % waited at most {bound:g} s for their turn (a bound of the histogram in `/metrics`); from asking to the answer the
median was {statistics.median(times):.1f} s and the 95th of a hundred {sorted(times)[int(len(times) * 0.95)]:.1f} s.
""",
    )


if __name__ == "__main__":
    main()
