"""Measure how soon the best sentences are shown: by a cold `ask`, without a model, and by a server with 8 askers.

    python -m bench.serve.first_evidence [--busy 1]

A cold `ask` is a process of its own over the examples, with the default embedder, and is ended at its first
evidence. The server is a process of its own too, whose waiting model takes `--delay` seconds a batch. `--busy`
processes that do nothing but count run beside all of it.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

import disputatio as d
from bench import RESULTS
from bench.lib.files import write_page
from bench.lib.options import parser_of
from bench.lib.waiting import NAMES, ferries, neighbours, process, question
from bench.serve.overhead import spread

PAGE = RESULTS / "serve" / "first_evidence.md"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "disagreement"
COLD = "Who designed the lighthouse?"


def cold(index: Path, folder: Path) -> dict[str, float]:
    """Milliseconds from the start of a process to its first evidence by words and by the encoder."""
    began, times = time.perf_counter(), dict[str, float]()
    words = [
        "ask",
        COLD,
        "--index",
        str(index),
        "--stream",
        "--json",
        "--journal",
        str(folder / "calls.sqlite"),
    ]
    asking = subprocess.Popen(
        [sys.executable, "-c", "from disputatio.cli import run; run()", *words],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert asking.stdout is not None
    with asking.stdout as lines:
        for line in lines:
            event = json.loads(line)
            if event["event"] == "evidence":
                times.setdefault(event["by"], 1000 * (time.perf_counter() - began))
            if event["event"] == "read" or len(times) == 2:
                break
    asking.kill()
    asking.wait()
    return times


def warm(index: d.Index, times: int) -> list[float]:
    """Milliseconds of whole answers without a language model."""
    d.ask(question("warm"), index=index, model="none", settings={"journal": "none"})
    took = []
    for number in range(times):
        began = time.perf_counter()
        text = question(NAMES[number % len(NAMES)])
        d.ask(text, index=index, model="none", settings={"journal": "none"})
        took.append(1000 * (time.perf_counter() - began))
    return took


def evidence_of(client: httpx.Client, text: str) -> float:
    """Milliseconds from asking a server to its first evidence; the answer is waited for."""
    began, first = time.perf_counter(), 0.0
    wanted = {"Accept": "text/event-stream"}
    with client.stream("POST", "/api/ask", json={"question": text}, headers=wanted) as response:
        for line in response.iter_lines():
            if line == "event: evidence" and not first:
                first = 1000 * (time.perf_counter() - began)
    return first


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write the page."""
    parser = parser_of(__doc__)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--cold", type=int, default=5)
    parser.add_argument("--warm", type=int, default=40)
    parser.add_argument("--questions", type=int, default=80)
    parser.add_argument("--askers", type=int, default=8)
    parser.add_argument("--delay", type=float, default=2.0)
    options = parser.parse_args(arguments)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name, neighbours(options.busy):
        folder = Path(name)
        kept = d.Index.open(folder / "examples.index")
        kept.ingest(EXAMPLES)
        starts = [cold(folder / "examples.index", folder) for _ in range(options.cold)]
        index = ferries(folder)
        without = warm(index, options.warm)
        with (
            process(["-m", "bench.serve.serving_worker", name, str(options.delay)]) as (_, url),
            httpx.Client(base_url=url, timeout=120) as client,
            ThreadPoolExecutor(options.askers) as askers,
        ):
            client.post("/api/ask", json={"question": question("warm")})
            texts = [question(NAMES[number % len(NAMES)]) for number in range(options.questions)]
            served = list(askers.map(lambda text: evidence_of(client, text), texts))
    by_encoder = [each["encoder"] for each in starts if "encoder" in each]
    page = f"""# How soon there is something to see

`python -m bench.serve.first_evidence --busy {options.busy} --cold {options.cold} --warm {options.warm} --questions {options.questions} --askers {options.askers} --delay {options.delay}`, {platform.machine()}, {os.cpu_count()} cores, {time.strftime("%Y-%m-%d")}; {options.busy} busy processes beside it, load before it {load:.1f}.

| milliseconds | median | 95 % |
|---|--:|--:|
| a cold `ask` over the examples, from the start of its process to the best sentences by words | {spread([each["words"] for each in starts])} |
| the same, to those that the encoder has read | {spread(by_encoder) if by_encoder else "- | -"} |
| a whole answer with `--model none`, warm | {spread(without)} |
| a server with {options.askers} askers, from asking to the best sentences | {spread(served)} |

The cold `ask` has an embedder and searches by meaning too; the index of the other two rows is searched by keyword. The server's model
only waits, so no engine competes with it for a core.
"""
    write_page(PAGE, page)


if __name__ == "__main__":
    main()
