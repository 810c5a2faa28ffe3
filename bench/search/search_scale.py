"""Search at 10k, 100k and 1M passages beside LanceDB: speed, size, exactness.

    python -m bench.search.search_scale --work DIR --peers-python PYTHON --out FILE.json.gz [--sizes 10000,100000,1000000]

DIR, outside of the checkout, keeps corpora and what each system built: run again, what is there is used again (`--rebuild ours`
builds one anew). PYTHON is the interpreter of an environment with the peers, made so:

    python3 -m venv ENV && ENV/bin/pip install --only-binary :all: --require-hashes -r bench/search/peers.lock

Every system runs in a process of its own (search_worker.py) and times itself. They are asked in turns: query i of all,
then query i + 1. 40 queries warm up, 120 are measured. All of it is done twice: each process on one core
with one thread, told by the time that the processor worked for it, which other programs on the machine change little; and as the
systems come, told by the time that passed. Writes FILE and a page beside it (search_report.py) after each size.
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
from bench.lib.files import beside, read_json, write_json, write_whole
from bench.lib.options import parser_of
from bench.search import search_report
from bench.search.corpus import SOURCES, WARM, Corpus, Truth, open_corpus, source_name
from bench.search.search_peers import SYSTEMS

say = partial(print, file=sys.stderr, flush=True)  # progress
CLOCKS = {"one core": "cpu", "as they come": "seconds"}  # what is told of each mode; both are kept
LEGS = ("sparse", "dense", "hybrid")
COUNTS = (5, 20, 100, 1000)
ONE_THREAD = ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON")
_QUIET = {"LANCEDB_LOG": "error", "LANCE_LOG": "error", "PYTHONWARNINGS": "ignore"}


class Remote:
    """A system in its own process."""

    def __init__(
        self, name: str, options: argparse.Namespace, size: int, folder: Path, *, core: bool = False
    ) -> None:
        python = sys.executable if name == "ours" else options.peers_python
        command = [python, "-m", "bench.search.search_worker", name, "--work", str(options.work)]
        command += ["--size", str(size), "--folder", str(folder)]
        environment = {**os.environ, **_QUIET}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # imports are compiled once, as they are for users
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
        remote = Remote(name, options, size, folder)
        took = remote.ask("build")
        remote.close()
        took["disk"] = round(
            sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6, 1
        )
        note.write_text(json.dumps(took), encoding="utf-8")
        say(f"{size} {name}: built in {took['seconds']} s, {took['disk']} MB, peak {took['peak']} MB")
    figures: dict[str, Any] = json.loads(note.read_text("utf-8"))
    return figures


def cold(options: argparse.Namespace, size: int, name: str) -> dict[str, float]:
    """Return seconds of a first hybrid search in fresh processes, medians of three; then with the files out
    of memory.
    """
    folder = folder_of(options, size, name)
    times: dict[str, list[float]] = defaultdict(list)
    os.sync()
    for turn in range(7):  # the first does not count: it fills caches of compiled code
        if turn > 3:
            forget(folder)
        start = time.perf_counter()
        remote = Remote(name, options, size, folder)
        took = remote.ask("first", leg="hybrid", query=turn)
        wall = time.perf_counter() - start
        remote.close()
        if turn > 3:
            times["evicted"].append(took["open"] + took["search"])
        elif turn:
            times["imports"].append(took["all"] - took["open"] - took["search"])
            times["open"].append(took["open"])
            times["search"].append(took["search"])
            times["process"].append(wall)
    return {name: round(statistics.median(values), 3) for name, values in times.items()}


def forget(folder: Path) -> None:
    """Ask the system to drop the pages of a folder's files from memory."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def tuned(
    remote: Remote, options: argparse.Namespace, size: int, nearest: NDArray[np.int64]
) -> dict[str, Any]:
    """Return the fastest setting with a recall@20 of .96 (else the best recall), on queries that are not
    measured.
    """
    settings = SYSTEMS[remote.name].settings
    note = folder_of(options, size, remote.name).with_suffix(".tuned.json")
    if len(settings) > 1 and (remote.name in options.rebuild or not note.exists()):
        tried = []
        for setting in settings:
            remote.ask("set", setting=setting)
            answers = [remote.ask("search", leg="dense", query=at, k=20) for at in range(25)][5:]
            recall = statistics.fmean(
                len(set(answer["rows"]) & set(nearest[at].tolist())) / 20
                for at, answer in enumerate(answers, 5)
            )
            tried.append(
                (recall < 0.95, statistics.median(answer["seconds"] for answer in answers), recall, setting)
            )
        fit = [trial for trial in tried if not trial[0]]
        best = min(fit, key=lambda one: one[1]) if fit else max(tried, key=lambda one: one[2])
        note.write_text(json.dumps({"setting": best[3], "recall": round(best[2], 3)}), encoding="utf-8")
    found: dict[str, Any] = json.loads(note.read_text("utf-8"))["setting"] if note.exists() else {}
    remote.ask("set", setting=found)
    return found


def warm(
    remotes: Sequence[Remote], corpus: Corpus, nearest: NDArray[np.int64], clock: str
) -> dict[str, dict[str, Any]]:
    """Times and exactness of each leg, the systems asked in turns."""
    queries = corpus.queries()
    measured = range(WARM, len(queries))
    times: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    waits: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    rows: dict[str, dict[str, dict[int, list[int]]]] = defaultdict(lambda: defaultdict(dict))
    for leg in LEGS:
        for query in range(len(queries)):
            for remote in [*remotes[query % len(remotes) :], *remotes[: query % len(remotes)]]:
                answer = remote.ask("search", leg=leg, query=query, k=20)
                if query in measured:
                    times[remote.name][leg][query] = answer[clock] * 1000
                    waits[remote.name][leg].append(answer["seconds"] * 1000)
                    rows[remote.name][leg][query] = answer["rows"]
    truth = Truth(corpus)
    right: dict[str, list[float]] = defaultdict(list)
    for query in measured:
        scores = truth.sparse(queries[query])
        due = min(20, int(np.count_nonzero(scores)))
        least = np.partition(scores, -20)[-20] * (1 - 1e-4)
        for name in times:
            relevant_rows = scores[rows[name]["sparse"][query]]
            right[name].append(
                float(np.count_nonzero((relevant_rows >= least) & (relevant_rows > 0))) / due if due else 1.0
            )
    planted = np.load(corpus.folder / "planted.npy")
    relevant = {query: set(planted[planted[:, 0] == query, 1].tolist()) for query in measured}
    figures: dict[str, dict[str, Any]] = {}
    for name, legs in times.items():
        figures[name] = {leg: spread(list(took.values())) for leg, took in legs.items()}
        for leg, took in legs.items():
            figures[name][leg]["wall_p50"] = round(statistics.median(waits[name][leg]), 3)
            figures[name][leg]["kinds"] = {
                kind: round(statistics.median(ms for at, ms in took.items() if queries[at].kind == kind), 3)
                for kind in sorted({query.kind for query in queries})
            }
        figures[name]["sparse"]["exact"] = round(statistics.fmean(right[name]), 4)
        figures[name]["dense"]["recall"] = round(
            statistics.fmean(
                len(set(rows[name]["dense"][at]) & set(nearest[at].tolist())) / 20 for at in measured
            ),
            4,
        )
        figures[name]["hybrid"]["planted"] = round(
            statistics.fmean(
                len(best & set(rows[name]["hybrid"][at])) / len(best) for at, best in relevant.items() if best
            ),
            4,
        )
    return {remote.name: figures[remote.name] for remote in remotes}


def spread(times: Sequence[float]) -> dict[str, Any]:
    """Percentiles in milliseconds."""
    return {
        "p50": round(statistics.median(times), 3),
        "p95": round(float(np.percentile(times, 95)), 3),
        "n": len(times),
    }


def by_source(ours: Remote, corpus: Corpus, clock: str, turns: int = 15) -> dict[str, dict[str, Any]]:
    """Return the best three of each of N sources by leg and N, beside one BM25 top-20, asked in turns."""
    queries = corpus.queries()
    chosen = range(WARM, WARM + turns)
    truth = Truth(corpus)
    exact = {"dense": truth.dense([queries[at] for at in chosen])}
    exact["sparse"] = np.stack([truth.sparse(queries[at]).astype(np.float32) for at in chosen])
    of = corpus.sources().astype(np.int64)
    figures: dict[str, dict[str, Any]] = defaultdict(dict)
    for leg in LEGS:
        for count in COUNTS:
            answers: dict[str, list[dict[str, Any]]] = defaultdict(list)
            given: list[tuple[int, NDArray[np.int64], list[int]]] = []
            for turn, query in enumerate(chosen):
                picked = np.sort(np.random.default_rng((query, count)).choice(SOURCES, count, replace=False))
                names = None if count == SOURCES else [source_name(at) for at in picked.tolist()]
                best: dict[str, Any] = {"leg": leg, "k": 3, "sources": names}
                asks = [("per_source", best), ("search", {"leg": "sparse", "k": 20}), ("ranking", best)]
                for op, what in asks[turn % 3 :] + asks[: turn % 3]:
                    answers[op].append(ours.ask(op, query=query, **what))
                given.append((turn, picked, answers["per_source"][-1]["rows"]))
            took = {op: [each[clock] * 1000 for each in some] for op, some in answers.items()}
            options: dict[str, Any] = spread(took["per_source"])
            once = statistics.median(took["search"])
            options["times_bm25"] = round(options["p50"] / once, 2)
            options["hits"] = statistics.median(each["hits"] for each in answers["ranking"])
            options["ranking"] = round(statistics.median(took["ranking"]), 3)
            options["ranking_times_bm25"] = round(options["ranking"] / once, 2)
            if leg in exact:  # only now, so that no turn waits for it
                right = [share(leg, exact[leg][at], of, names, rows) for at, names, rows in given]
                means = [round(statistics.fmean(part), 4) for part in zip(*right, strict=True)]
                options |= dict(zip(("share", "known", "share_of_all"), means, strict=True))
            figures[leg][str(count)] = options
    return dict(figures)


def share(
    leg: str, scores: NDArray[np.float32], of: NDArray[np.int64], picked: NDArray[np.int64], rows: list[int]
) -> tuple[float, float, float]:
    """Return how right an answer is on the sources with a hit, the share of sources with a hit, and how right
    on all.

    Sparse: of the sources with a word of the query, the share whose three best have the right scores.
    Dense: of the true best three of each picked source, the share that was found.
    """
    wanted = np.isin(of, picked)
    if leg == "sparse":
        wanted &= scores > 0
    filled = np.flatnonzero(wanted)
    true = filled[best_of_groups(scores[filled], of[filled], 3)]
    due = set(of[true].tolist())
    got = np.array(sorted(set(rows)), dtype=np.int64)
    known = due & set(of[got].tolist())
    if not known:
        return float(not due), float(not due), float(not due)
    if leg == "dense":
        right = len(set(true.tolist()) & set(rows))
        return right / int(np.isin(of[true], sorted(known)).sum()), len(known) / len(due), right / len(true)
    right = 0
    for source in known:
        best = np.sort(scores[true[of[true] == source]])
        mine = scores[got[of[got] == source]]
        mine = np.sort(mine[mine > 0])
        right += len(mine) == len(best) and bool(np.allclose(mine, best, rtol=1e-4))
    return right / len(known), len(known) / len(due), right / len(due)


def best_of_groups(scores: NDArray[Any], groups: NDArray[Any], k: int) -> NDArray[np.int64]:
    """Places of the k best of each group."""
    order = np.lexsort((-scores, groups))
    edges = np.flatnonzero(np.diff(groups[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(edges, np.diff(edges, append=len(order)))
    best: NDArray[np.int64] = order[rank < k]
    return best


def measure(options: argparse.Namespace, size: int, systems: Sequence[str]) -> dict[str, Any]:
    """Return all that is measured at one size."""
    start = time.perf_counter()
    corpus = open_corpus(options.work, size, options.seed)
    nearest = Truth(corpus).nearest(20)
    say(f"{size}: corpus ready after {time.perf_counter() - start:.0f} s")
    figures: dict[str, Any] = {"modes": {}, "settings": {}}
    figures["built"] = {name: built(options, size, name) for name in systems}
    figures["cold"] = {name: cold(options, size, name) for name in systems}
    say(f"{size}: first searches measured after {time.perf_counter() - start:.0f} s")
    for mode in options.modes.split(","):
        clock = CLOCKS[mode]
        remotes = [
            Remote(name, options, size, folder_of(options, size, name), core=mode == "one core")
            for name in systems
        ]
        for remote in remotes:
            remote.ask("open", setting={})
        for remote in remotes:
            figures["settings"][remote.name] = tuned(remote, options, size, nearest)
        part: dict[str, Any] = {"warm": warm(remotes, corpus, nearest, clock)}
        part["memory"] = {remote.name: remote.ask("memory") for remote in remotes}
        for remote in remotes:
            if remote.name == "ours":
                part["by_source"] = by_source(remote, corpus, clock)
        part["memory_after"] = {remote.name: remote.ask("memory") for remote in remotes}
        for remote in remotes:
            remote.close()
        figures["modes"][mode] = part
        say(f"{size}: {mode} measured after {time.perf_counter() - start:.0f} s")
    figures["minutes"] = round((time.perf_counter() - start) / 60, 1)
    figures["load"] = [round(load, 1) for load in os.getloadavg()]
    figures["date"] = f"{datetime.now(UTC):%Y-%m-%d}"
    figures["command"] = (
        "python -m bench.search.search_scale --work DIR --peers-python PYTHON --out FILE "
        f"--sizes {options.sizes} --systems {options.systems} --modes '{options.modes}'"
    )
    return figures


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = parser_of(__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--peers-python", default=sys.executable, help="interpreter that has the peers")
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--modes", default=",".join(CLOCKS), help="one core, as they come")
    parser.add_argument("--rebuild", default="", help="systems to build anew")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, required=True, help="a .json or .json.gz file")
    options = parser.parse_args(words)
    options.rebuild = options.rebuild.split(",")
    return options


def main() -> None:
    """Measure each size and write what was found after each."""
    options = arguments()
    results: dict[str, Any] = read_json(options.out) if options.out.exists() else {}
    for size in map(int, options.sizes.split(",")):
        results[str(size)] = measure(options, size, options.systems.split(","))
        write(options.out, results)
    print(beside(options.out, ".md").read_text("utf-8"))


def write(out: Path, results: Mapping[str, Any]) -> None:
    """Write the results as JSON and as tables."""
    write_json(out, results)
    write_whole(beside(out, ".md"), search_report.page(results))


if __name__ == "__main__":
    main()
