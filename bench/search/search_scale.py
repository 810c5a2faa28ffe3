"""Search at 10k, 100k and 1M passages beside LanceDB: speed, and the recall of the dense leg.

    python -m bench.search.search_scale --work DIR --peers-python PYTHON --out FILE.json.gz [--sizes 10000,100000,1000000]

DIR, outside of the checkout, keeps corpora and what each system built: run again, what is there is used again (`--rebuild ours`
builds one anew). PYTHON is the interpreter of an environment with the peers, made so:

    python3 -m venv ENV && ENV/bin/pip install --only-binary :all: --require-hashes -r bench/search/peers.lock

Each system runs in a process of its own (search_worker.py), on one core with one thread, and times itself by what the processor
worked for it, which other programs on the machine change little. They are asked in turns: query i of both, then query i + 1.
40 queries warm up, 120 are measured. Writes FILE and a page beside it after each size.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import ROOT
from bench.lib.asking import table
from bench.lib.files import beside, read_json, write_json, write_page
from bench.lib.machine import machine
from bench.lib.options import parser_of
from bench.search.corpus import WARM, Corpus, nearest, open_corpus
from bench.search.search_peers import SYSTEMS

say = partial(print, file=sys.stderr, flush=True)  # progress
LEGS = ("sparse", "dense", "hybrid")
ONE_THREAD = ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON")
_QUIET = {"LANCEDB_LOG": "error", "LANCE_LOG": "error", "PYTHONWARNINGS": "ignore"}


class Remote:
    """A system in its own process; `core` holds it to one core and one thread."""

    def __init__(self, name: str, options: argparse.Namespace, size: int, *, core: bool = False) -> None:
        python = sys.executable if name == "ours" else options.peers_python
        command = [python, "-m", "bench.search.search_worker", name, "--work", str(options.work)]
        command += ["--size", str(size), "--folder", str(folder_of(options, size, name))]
        environment = {**os.environ, **_QUIET}
        if core:
            command += ["--core", str(max(os.sched_getaffinity(0)))]
            environment |= {f"{library}_NUM_THREADS": "1" for library in ONE_THREAD}
            environment |= {"LANCE_CPU_THREADS": "1", "TOKIO_WORKER_THREADS": "1"}
        self.name = name
        self.errors = (options.work / f"{name}.log").open("a")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env=environment,
            cwd=ROOT,
        )

    def ask(self, op: str, **parameters: object) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"op": op, **parameters}) + "\n")
        self._process.stdin.flush()
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "its process ended"}
        if "error" in answer:
            raise RuntimeError(f"{self.name}: {op}: {answer['error']} (see {self.errors.name})")
        return answer

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)
        self.errors.close()


def folder_of(options: argparse.Namespace, size: int, name: str) -> Path:
    """Return the folder of a system's files."""
    return Path(options.work) / str(size) / "systems" / name


def built(options: argparse.Namespace, size: int, name: str) -> dict[str, Any]:
    """Build a system's files, or read what building them took."""
    folder = folder_of(options, size, name)
    note = folder.with_suffix(".json")
    if name in options.rebuild or not note.exists():
        note.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        remote = Remote(name, options, size)
        took = remote.ask("build")
        remote.close()
        sizes = (path.stat().st_size for path in folder.rglob("*") if path.is_file())
        took["disk"] = round(sum(sizes) / 1e6, 1)
        note.write_text(json.dumps(took), encoding="utf-8")
        say(f"{size} {name}: built in {took['seconds']} s, {took['disk']} MB")
    figures: dict[str, Any] = json.loads(note.read_text("utf-8"))
    return figures


def tuned(remote: Remote, options: argparse.Namespace, size: int, true: NDArray[np.int64]) -> dict[str, Any]:
    """Set and return the fastest setting with a recall@20 of .95 (else the best recall), on queries that are
    not measured.
    """
    settings = SYSTEMS[remote.name].settings
    note = folder_of(options, size, remote.name).with_suffix(".tuned.json")
    if len(settings) > 1 and (remote.name in options.rebuild or not note.exists()):
        tried = []
        for setting in settings:
            remote.ask("set", setting=setting)
            answers = [remote.ask("search", leg="dense", query=at, k=20) for at in range(25)][5:]
            recall = statistics.fmean(
                recalled(answer["rows"], true[at]) for at, answer in enumerate(answers, 5)
            )
            tried.append((recall, statistics.median(answer["seconds"] for answer in answers), setting))
        fit = [trial for trial in tried if trial[0] >= 0.95]
        best = min(fit, key=lambda trial: trial[1]) if fit else max(tried, key=lambda trial: trial[0])
        note.write_text(json.dumps({"setting": best[2], "recall": round(best[0], 3)}), encoding="utf-8")
    found: dict[str, Any] = json.loads(note.read_text("utf-8"))["setting"] if note.exists() else {}
    remote.ask("set", setting=found)
    return found


def recalled(rows: Sequence[int], true: NDArray[np.int64]) -> float:
    """Return the share of the true best 20 that was found."""
    return len(set(rows) & set(true.tolist())) / len(true)


def searched(remotes: Sequence[Remote], corpus: Corpus, true: NDArray[np.int64]) -> dict[str, dict[str, Any]]:
    """Return percentiles of each system and leg in milliseconds of the processor, the systems asked in turns."""
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    recalls: dict[str, list[float]] = defaultdict(list)
    for leg in LEGS:
        for query in range(len(corpus.queries())):
            for remote in [*remotes[query % len(remotes) :], *remotes[: query % len(remotes)]]:
                answer = remote.ask("search", leg=leg, query=query, k=20)
                if query >= WARM:
                    times[remote.name, leg].append(answer["cpu"] * 1000)
                    if leg == "dense":
                        recalls[remote.name].append(recalled(answer["rows"], true[query]))
    return {
        remote.name: {
            **{leg: spread(times[remote.name, leg]) for leg in LEGS},
            "recall": round(statistics.fmean(recalls[remote.name]), 4),
        }
        for remote in remotes
    }


def spread(times: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th percentile."""
    return {"p50": round(statistics.median(times), 3), "p95": round(float(np.percentile(times, 95)), 3)}


def measure(options: argparse.Namespace, size: int, systems: Sequence[str]) -> dict[str, Any]:
    """Return all that is measured at one size."""
    start = time.perf_counter()
    corpus = open_corpus(options.work, size, options.seed)
    true = nearest(corpus, 20)
    figures: dict[str, Any] = {"built": {name: built(options, size, name) for name in systems}}
    say(f"{size}: corpus and systems ready after {time.perf_counter() - start:.0f} s")
    remotes = [Remote(name, options, size, core=True) for name in systems]
    for remote in remotes:
        remote.ask("open", setting={})
    figures["settings"] = {remote.name: tuned(remote, options, size, true) for remote in remotes}
    figures["searched"] = searched(remotes, corpus, true)
    for remote in remotes:
        remote.close()
    say(f"{size}: measured after {time.perf_counter() - start:.0f} s")
    figures["load"] = [round(load, 1) for load in os.getloadavg()]
    figures["date"] = f"{datetime.now(UTC):%Y-%m-%d}"
    return figures


def page(results: Mapping[str, Any]) -> str:
    """Return the page in Markdown."""
    rows, ratios = [], []
    for size in sorted(results, key=int):
        figures = results[size]
        for name, legs in figures["searched"].items():
            took, setting = figures["built"][name], figures["settings"][name]
            cells = [f"{legs[leg]['p50']} / {legs[leg]['p95']}" for leg in LEGS]
            row = [f"{int(size):,}", name, took["seconds"], took["disk"], *cells, legs["recall"]]
            rows.append([*row, json.dumps(setting) if setting else "", figures["date"], figures["load"][1]])
        p50 = {name: legs["hybrid"]["p50"] for name, legs in figures["searched"].items()}
        if len(p50) > 1:
            ratios.append(f"{p50['ours'] / p50['lancedb']:.3f} at {int(size):,}")
    head = ["passages", "system", "build, s", "disk, MB", "BM25: p50 / p95", "dense", "hybrid"]
    head += ["recall@20 of dense", "setting", "date", "load"]
    return f"""# Search beside LanceDB

`python -m bench.search.search_scale --work DIR --peers-python PYTHON --out FILE.json.gz --sizes {",".join(sorted(results, key=int))}`

Machine: {machine()}. Zipf text of about 125 words a passage, 384 clustered dimensions (bench/search/corpus.py); 120 queries of 2-6
words after 40 to warm up, texts of all hits fetched; milliseconds that the processor worked for the system's process on one core.

{table(head, rows)}

Hybrid p50, ours over LanceDB's: {", ".join(ratios) or "not measured"}.
"""


def main(words: Sequence[str] | None = None) -> None:
    """Measure each size, and write what was found after each."""
    parser = parser_of(__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--peers-python", default=sys.executable, help="interpreter that has the peers")
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--rebuild", nargs="*", default=[], help="systems to build anew")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, required=True, help="a .json or .json.gz file")
    options = parser.parse_args(words)
    results: dict[str, Any] = read_json(options.out) if options.out.exists() else {}
    for size in map(int, options.sizes.split(",")):
        results[str(size)] = measure(options, size, options.systems.split(","))
        write_json(options.out, results)
        write_page(beside(options.out, ".md"), page(results))


if __name__ == "__main__":
    main()
