"""Measure what asking over HTTP adds to the library's own calls: to a question, to a search, and until the first event.

    python -m bench.serve.overhead

A question of the library and one of the server take turns, on the same questions, over the same index and with
the same waiting model (`delay` seconds a batch); so do searches. The server is a process of its own.
"""

from __future__ import annotations

import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import httpx

from bench import RESULTS
from bench.lib.files import write_page
from bench.lib.options import parser_of
from bench.lib.waiting import NAMES, Waiting, ferries, process, question, spent
from disputatio.api.indexing import Index
from disputatio.kit import Kit
from disputatio.pipeline import ask

Way = TypeVar("Way")
PAGE = RESULTS / "serve" / "overhead.md"


def timed(work: Callable[[Way, str], object], way: Way, text: str) -> float:
    """Milliseconds that some work takes."""
    began = time.perf_counter()
    work(way, text)
    return (time.perf_counter() - began) * 1000


def asked(kit: Kit, text: str) -> str:
    """Return the library's answer as JSON."""
    return ask(text, kit=kit).to_json()


def over_http_asked(client: httpx.Client, text: str) -> object:
    """Return the server's answer, read."""
    return client.post("/api/ask", json={"question": text}).json()


def searched(index: Index, text: str) -> list[str]:
    """Return the library's hits as JSON."""
    return [hit.to_json() for hit in index.search(text)]


def over_http_searched(client: httpx.Client, text: str) -> object:
    """Return the server's hits, read."""
    return client.get("/api/search", params={"q": text}).json()


def first_event(client: httpx.Client, text: str) -> tuple[float, float]:
    """Milliseconds to the first event, and to the first one that the library tells."""
    began = time.perf_counter()
    times: list[float] = []
    with client.stream(
        "POST", "/api/ask", json={"question": text}, headers={"Accept": "text/event-stream"}
    ) as response:
        for line in response.iter_lines():
            if line.startswith("event: "):
                times.append((time.perf_counter() - began) * 1000)
    return times[0], times[1]


def spread(values: Sequence[float]) -> str:
    """Median, and the 95th of a hundred."""
    return f"{statistics.median(values):.1f} | {sorted(values)[int(len(values) * 0.95)]:.1f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write the page."""
    parser = parser_of(__doc__)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--searches", type=int, default=300)
    parser.add_argument("--delay", type=float, default=0.5)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        index = ferries(folder)
        kit = replace(Kit(model=Waiting(options.delay), retriever=index), sources=index.estimates())
        own, served, firsts, seconds = list[float](), list[float](), list[float](), list[float]()
        own_search, served_search = list[float](), list[float]()
        with (
            process(["-m", "bench.serve.serving_worker", name, str(options.delay)]) as (serving, url),
            httpx.Client(base_url=url, timeout=60) as client,
        ):
            ask(question("warm"), kit=kit)
            client.post("/api/ask", json={"question": question("warm")})
            begun, begun_here = spent(serving.pid), time.process_time()
            for number in range(options.questions):
                text = question(NAMES[number % len(NAMES)])
                client.post("/api/ask", json={"question": text})
            over_http = 1000 * (spent(serving.pid) - begun) / options.questions
            over_http += 1000 * (time.process_time() - begun_here) / options.questions
            begun_here = time.process_time()
            for number in range(options.questions):
                ask(question(NAMES[number % len(NAMES)]), kit=kit).to_json()
            in_library = 1000 * (time.process_time() - begun_here) / options.questions
            for number in range(options.questions):
                text = question(NAMES[number % len(NAMES)])
                served.append(timed(over_http_asked, client, text))
                own.append(timed(asked, kit, text))
                first, second = first_event(client, text)
                firsts.append(first)
                seconds.append(second)
            for number in range(options.searches):
                text = question(NAMES[number % len(NAMES)])
                served_search.append(timed(over_http_searched, client, text))
                own_search.append(timed(searched, index, text))
    added = statistics.median(b - a for a, b in zip(own, served, strict=True))
    added_search = statistics.median(b - a for a, b in zip(own_search, served_search, strict=True))
    write_page(
        PAGE,
        f"""# What the server adds

`python -m bench.serve.overhead --questions {options.questions} --searches {options.searches} --delay {options.delay}`, {platform.machine()}, {time.strftime("%Y-%m-%d")}; beside it this machine ran other work.

| milliseconds | median | 95 % |
|---|--:|--:|
| a question, the library's `ask` | {spread(own)} |
| a question, `POST /api/ask` | {spread(served)} |
| until the first event (`asked`) | {spread(firsts)} |
| until the library's first event (`started`) | {spread(seconds)} |
| a search, the library's | {spread(own_search)} |
| a search, `GET /api/search` | {spread(served_search)} |

In pairs the server adds a median of {added:.1f} ms to a question ({100 * added / statistics.median(own):.2f} % of one that takes {statistics.median(own) / 1000:.1f} s) and of {added_search:.1f} ms
to a search. What is added does not grow with the time that the model takes: a question of a model on this machine takes
20 to 45 s (`bench/results/engine/overhead.md`). Of processor time a question takes {in_library:.1f} ms in the library, and {over_http:.1f} ms over HTTP with what
the client takes: that part does not depend on what else the machine did. Load while this ran: {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores.
""",
    )


if __name__ == "__main__":
    main()
