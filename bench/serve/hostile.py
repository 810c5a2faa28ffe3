"""The server beside clients that read much, and beside connections that are hostile: does it answer others, in how much memory?

    python -m bench.serve.hostile --before CHECKOUT

Twelve clients search, list and describe over an index of 100,000 passages, while another asks for `/api/health` twenty
times a second. Then a hundred hostile connections are held open: heads and bodies that come a byte at a time, forms
with large fields, readers that do not read, and hundreds of requests in one piece. Memory is the most that the process
held, above what it held before. `--before` is a checkout of another commit, whose server is measured the same way.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import platform
import random
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import httpx

from bench import RESULTS, ROOT
from bench.lib.files import write_page
from bench.lib.options import parser_of
from bench.lib.waiting import process, resident

PAGE = RESULTS / "serve" / "hostile.md"
WORDS = (
    "bridge",
    "census",
    "ferry",
    "harbour",
    "library",
    "market",
    "mill",
    "orchard",
    "quarry",
    "school",
    "tower",
)
_RUN = "from disputatio.cli.main import main; main()"
_QUIET = ("--model", "none", "--journal", "none")
Figures = dict[str, str]


def documents(folder: Path, passages: int) -> Path:
    """Write a table with a row for each passage, of a thousand sources."""
    drawn = random.Random(4)
    table = folder / "rows.csv"
    with table.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(("text", "source", "title"))
        for number in range(passages):
            text = " ".join(drawn.choices(WORDS, k=30))
            rows.writerow((f"Of row {number}: {text}.", f"source {number % 1000}", f"Row {number}"))
    return table


@contextmanager
def serving(source: Path, index: Path) -> Iterator[tuple[int, str]]:
    """Serve an index with the code below a folder; yields the process and the address."""
    arguments = ["-c", _RUN, "serve", "--index", str(index), "--port", "0", "--allow-writing", *_QUIET]
    with process(arguments, PYTHONPATH=str(source), DISPUTATIO_ENCODER="none") as (running, url):
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with contextlib.suppress(httpx.HTTPError):
                httpx.get(f"{url}/api/search", params={"q": "ferry"}, timeout=60)
                break
        yield running.pid, url


# --- clients that read much -------------------------------------------------------------------------
def _requests(
    url: str, number: int, drawn: random.Random
) -> tuple[str, Callable[[httpx.Client], httpx.Response]]:
    """Return the kind of the requests of a client, and what makes one."""
    if number < 5:
        return "search", lambda client: client.get(
            f"{url}/api/search", params={"q": " ".join(drawn.choices(WORDS, k=3)), "k": 50}
        )
    if number < 8:
        return "documents", lambda client: client.get(
            f"{url}/api/documents", params={"limit": 1, "offset": drawn.randrange(90_000)}
        )
    if number < 10:
        return "sources", lambda client: client.get(f"{url}/api/sources")
    if number < 11:
        return "openapi.json", lambda client: client.get(f"{url}/api/openapi.json")
    passages = [{"text": " ".join(drawn.choices(WORDS, k=700)), "source": f"s{each}"} for each in range(180)]
    body = {"question": "When did the ferry first cross?", "passages": passages}
    return "ask with 0.9 MB of passages", lambda client: client.post(f"{url}/api/ask", json=body)


def _read(url: str, seconds: float) -> tuple[dict[str, list[float]], Counter[str]]:
    """Let twelve clients read; return the times by kind, and how many requests ended how."""
    times: dict[str, list[float]] = {}
    ends: Counter[str] = Counter()
    until = time.monotonic() + seconds
    lock = threading.Lock()

    def read(number: int) -> None:
        kind, send = _requests(url, number, random.Random(number))
        with httpx.Client(timeout=120) as client:
            while time.monotonic() < until:
                began = time.perf_counter()
                response = send(client)
                with lock:
                    times.setdefault(kind, []).append(time.perf_counter() - began)
                    ends[f"{kind}: {response.status_code}"] += 1

    threads = [threading.Thread(target=read, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times, ends


def _watch(process_id: int, url: str, seconds: float) -> tuple[list[float], float]:
    """Ask for health twenty times a second; return the times, and the most memory in MB."""
    health, most, until = [], 0.0, time.monotonic() + seconds
    with httpx.Client(timeout=120) as client:
        while time.monotonic() < until:
            began = time.perf_counter()
            with contextlib.suppress(httpx.HTTPError):
                client.get(f"{url}/api/health")
            health.append(time.perf_counter() - began)
            most = max(most, resident(process_id))
            time.sleep(0.05)
    return health, most


# --- hostile connections -----------------------------------------------------------------------------
def _slow_head(client: socket.socket, host: str) -> None:
    client.sendall(f"GET /api/health HTTP/1.1\r\nHost: {host}\r\nX-Slow: ".encode())
    while True:
        client.sendall(b"a")
        time.sleep(0.5)


def _slow_body(client: socket.socket, host: str) -> None:
    head = f"POST /api/ask HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
    client.sendall(head.encode() + b'{"question": "' + b"a" * 400_000)
    while True:
        client.sendall(b"a")
        time.sleep(0.5)


def _form_fields(client: socket.socket, host: str) -> None:
    head = (
        f"POST /api/ingest HTTP/1.1\r\nHost: {host}\r\nContent-Type: multipart/form-data; boundary=b\r\n"
        f"Content-Length: {62 << 20}\r\n\r\n"
    )
    client.sendall(head.encode())
    for number in range(61):
        field = f'--b\r\nContent-Disposition: form-data; name="f{number}"\r\n\r\n'.encode()
        client.sendall(field + b"a" * ((1 << 20) - len(field) - 2) + b"\r\n")
    time.sleep(60)


def _no_reader(client: socket.socket, host: str) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    request = f"GET /api/search?q=ferry+mill+tower&k=200 HTTP/1.1\r\nHost: {host}\r\n\r\n"
    for _ in range(300):
        client.sendall(request.encode())
        time.sleep(0.1)


def _pipeline(client: socket.socket, host: str) -> None:
    client.sendall(f"GET /api/openapi.json HTTP/1.1\r\nHost: {host}\r\n\r\n".encode() * 300)
    while client.recv(1 << 16):
        pass


HOSTILE = {
    "heads a byte at a time": _slow_head,
    "bodies a byte at a time": _slow_body,
    "forms with fields of 1 MB": _form_fields,
    "readers that do not read": _no_reader,
    "300 requests in one piece": _pipeline,
}


def _attack(url: str, connections: int, seconds: float) -> None:
    """Hold hostile connections, in equal parts; what is cut off comes again."""
    address = httpx.URL(url)
    until = time.monotonic() + seconds

    def attack(way: Callable[[socket.socket, str], None]) -> None:
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                client = socket.create_connection((address.host, address.port or 0), 60)
                with client:
                    way(client, f"{address.host}:{address.port}")
            time.sleep(0.2)

    for number in range(connections):
        way = list(HOSTILE.values())[number % len(HOSTILE)]
        threading.Thread(target=attack, args=(way,), daemon=True).start()
    time.sleep(seconds)


# --- the page ----------------------------------------------------------------------------------------
def measure(source: Path, folder: Path, table: Path, options: argparse.Namespace) -> Figures:
    """Return the figures of the server of one checkout."""
    index = folder / "town.index"
    command = f'"{sys.executable}" -c "{_RUN}" ingest "{table}" --index "{index}" --embedder none'
    if not index.exists() and os.system(f'PYTHONPATH="{source}" {command} > /dev/null 2>&1'):
        raise SystemExit(f"no index could be made with the code of {source}")
    figures: Figures = {}
    clients = ProcessPoolExecutor(1, get_context("spawn"))
    with serving(source, index) as (process_id, url), clients:
        alone, began = _watch(process_id, url, 10)
        figures |= {f"health alone: {name}": value for name, value in _spread(alone).items()}
        reading = clients.submit(_read, url, options.seconds)
        time.sleep(2)  # for its start
        health, most = _watch(process_id, url, options.seconds - 1)
        times, ends = reading.result()
        figures |= {f"health beside 12 readers: {name}": value for name, value in _spread(health).items()}
        for kind in sorted(times):
            figures[f"{kind}: requests"] = f"{len(times[kind]):,}"
            figures[f"{kind}: median / 95 %"] = " / ".join(list(_spread(times[kind]).values())[:2])
        figures["refused (429)"] = f"{sum(count for end, count in ends.items() if end.endswith('429')):,}"
        figures["memory: at first / at most, MB"] = f"{began:.0f} / {most:.0f}"
    hostile = get_context("spawn").Process
    with serving(source, index) as (process_id, url):
        before = resident(process_id)
        attack = hostile(target=_attack, args=(url, options.connections, options.seconds), daemon=True)
        attack.start()
        health, most = _watch(process_id, url, options.seconds)
        attack.kill()
        name = f"health beside {options.connections} hostile connections"
        figures |= {f"{name}: {what}": value for what, value in _spread(health).items()}
        figures["memory beside them: more than before, MB"] = f"{most - before:.0f}"
    return figures


def _spread(seconds: list[float]) -> Figures:
    ordered = sorted(seconds)
    named = {
        "median": statistics.median(ordered),
        "95 %": ordered[int(len(ordered) * 0.95)],
        "longest": ordered[-1],
    }
    return {name: f"{value * 1000:,.0f} ms" for name, value in named.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write the page."""
    parser = parser_of(__doc__)
    parser.add_argument("--before", type=Path, help="a checkout of another commit, to stand beside")
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--connections", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--folder", type=Path, help="where indexes are kept between runs")
    options = parser.parse_args(arguments)
    columns: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        table = folder / "rows.csv"
        if not table.exists():
            documents(folder, options.passages)
        for column, checkout in (("before", options.before), ("now", ROOT)):
            if checkout is not None:
                (folder / column).mkdir(exist_ok=True)
                columns[column] = measure(checkout / "src", folder / column, table, options)
    names = list(dict.fromkeys(name for figures in columns.values() for name in figures))
    rows = [
        f"| {name} | {' | '.join(figures.get(name, '') for figures in columns.values())} |" for name in names
    ]
    load = f"load {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores, niceness {os.nice(0)}"
    write_page(
        PAGE,
        "\n".join((
            "# Clients that read much, and hostile connections",
            "",
            f"`python -m bench.serve.hostile --before CHECKOUT --passages {options.passages} --connections "
            f"{options.connections} --seconds {options.seconds:g}`, {platform.machine()}, {time.strftime('%Y-%m-%d')}; "
            f"{load}: this machine ran other work, and the clients, beside the server.",
            "",
            f"| {options.passages:,} passages, keywords alone | {' | '.join(columns)} |",
            f"|---|{'--:|' * len(columns)}",
            *rows,
            "",
        )),
    )  # fmt: skip


if __name__ == "__main__":
    main()
